"""The library that knows tables of Delta, with the account and the address of a store that other files have."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.storage.stores import scheme_of

_ORNAMENT = re.compile(r"\x1b\[[0-9;]*m|↳")
"""What the library's messages have for terminals."""
_TAKEN_APART = re.compile(r"[\[\]\\%]")
"""The signs of local paths by which the library panics, or finds another folder."""


def load_deltalake() -> Any:
    """The library. Raises `DiagnosticError` RQ471 where it is not installed."""
    try:
        import deltalake
    except ImportError:
        hint = "pip install 'cedilla[delta]'"
        raise failure("RQ471", "tables of Delta need the library deltalake", hint=hint) from None
    return deltalake


def storage_options(table: str) -> dict[str, str]:
    """What is to be said to the library of the store of a table; the rest it takes from its environment, as others do.

    Of S3 it knows the address by one of its two names only, and asks to be told that one without TLS is meant.
    """
    address = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if address is None or scheme_of(table) not in ("s3", "s3a"):
        return {}
    plain = {"AWS_ALLOW_HTTP": "true"} if address.startswith("http:") else {}
    return {"AWS_ENDPOINT_URL": address, **plain}


def opened_table(table: str, version: int | None = None) -> Any:
    """A table, at its last version or at another one; `None` where there is none. Raises `DiagnosticError`: RQ431,
    RQ434, RQ471."""
    if scheme_of(table) == "" and (found := _TAKEN_APART.search(str(Path(table).absolute()))):
        message = f"the library of Delta does not take the path {table}, as it has `{found[0]}` in it"
        raise failure("RQ434", message, hint="a folder with a plain name")
    of, options = load_deltalake().DeltaTable, storage_options(table)
    with table_refusals(table):
        return of(table, version, options) if of.is_deltatable(table, options) else None


@contextmanager
def table_refusals(table: str) -> Iterator[None]:
    """Raise RQ431 for what the library says of a table that it cannot read or write."""
    try:
        yield
    except (OSError, load_deltalake().exceptions.DeltaError) as problem:
        lines = (line.strip() for line in _ORNAMENT.sub("", str(problem)).splitlines())
        reason = ": ".join(line for line in lines if line)
        hint = "rights and space; the table's store, and the account in the environment"
        raise failure("RQ431", f"the table {table} cannot be used: {reason}", hint=hint) from None
