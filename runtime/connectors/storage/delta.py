"""The library for Delta tables, with the same account and store address that other files use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.storage.stores import scheme_of

EPOCH_KEY = "cedilla.epoch"
"""The field of a version's metadata with the epoch that a run has written."""
_ORNAMENT = re.compile(r"\x1b\[[0-9;]*m|↳")
"""Terminal decorations in the library's messages."""
_TAKEN_APART = re.compile(r"[\[\]\\%]")
"""Characters of local paths that make the library panic, or find another folder."""


def load_deltalake() -> Any:
    """Returns the library. Raises `DiagnosticError` RQ471 if it is not installed."""
    try:
        import deltalake
    except ImportError:
        hint = "pip install 'cedilla[delta]'"
        raise failure("RQ471", "tables of Delta need the library deltalake", hint=hint) from None
    return deltalake


def storage_options(table: str) -> dict[str, str]:
    """Returns options for the store of a table that the library does not take from its environment.

    For S3 it knows only one of the two names for the address, and needs an option for an address without TLS.
    """
    address = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if address is None or scheme_of(table) not in ("s3", "s3a"):
        return {}
    plain = {"AWS_ALLOW_HTTP": "true"} if address.startswith("http:") else {}
    return {"AWS_ENDPOINT_URL": address, **plain}


def opened_table(table: str, version: int | None = None) -> Any:
    """Opens a table at its last version or at another one; `None` if it does not exist. Raises `DiagnosticError`:
    RQ431, RQ434, RQ471."""
    if scheme_of(table) == "" and (match := _TAKEN_APART.search(str(Path(table).absolute()))):
        message = f"the library of Delta does not take the path {table}, because it contains `{match[0]}`"
        raise failure("RQ434", message, hint="a folder with a plain name")
    of, options = load_deltalake().DeltaTable, storage_options(table)
    with table_refusals(table):
        return of(table, version, options) if of.is_deltatable(table, options) else None


@contextmanager
def table_refusals(table: str) -> Iterator[None]:
    """Converts the library's errors about a table that it cannot read or write to `DiagnosticError` RQ431."""
    try:
        yield
    except (OSError, load_deltalake().exceptions.DeltaError) as problem:
        lines = (line.strip() for line in _ORNAMENT.sub("", str(problem)).splitlines())
        reason = ": ".join(line for line in lines if line)
        hint = "rights and space; the table's store, and the account in the environment"
        raise failure("RQ431", f"the table {table} cannot be used: {reason}", hint=hint) from None
