"""The library for Iceberg tables: a table of a catalog, by the library's own configuration, or one by its folder or its
metadata file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import frozen

from cedilla.compiler.plan.formats import catalogued
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import Files, name_of

_METADATA = re.compile(r"(?:v(\d+)|(\d+)-[^/]*?)(?:\.gz)?\.metadata\.json(?:\.gz)?")
"""Names of metadata files: of a table without a catalog, and of one with a catalog, whose names are unique."""
_SUFFIX = ".metadata.json"


def load_pyiceberg() -> Any:
    """Returns the library. Raises `DiagnosticError` RQ471 if it is not installed."""
    try:
        import pyiceberg.catalog
        import pyiceberg.table
    except ImportError:
        hint = "pip install 'cedilla[iceberg]'"
        raise failure("RQ471", "tables of Iceberg need the library pyiceberg", hint=hint) from None
    return pyiceberg


@frozen
class IcebergTable:
    """A table at the time of a look. `loaded`: that of the library; `at`: the path of its metadata file."""

    loaded: Any
    at: str

    @property
    def metadata(self) -> Any:
        """The metadata, as the library has them."""
        return self.loaded.metadata

    @property
    def io(self) -> Any:
        """The reader of the table's files."""
        return self.loaded.io


def opened_iceberg(files: Files, table: str, before: IcebergTable | None = None) -> IcebergTable | None:
    """Opens the present table; `None` if it does not exist. `before`: the result of an earlier look, which is the
    same as long as the table has no other metadata file. Raises `DiagnosticError`: RQ431, RQ439, RQ471, RQ530."""
    library = load_pyiceberg()
    if catalogued(table):
        loaded = _of_catalog(library, table, before)
        return None if loaded is None else IcebergTable(loaded, loaded.metadata_location)
    at = table if table.endswith(_SUFFIX) else _newest_metadata(files, table)
    if at is None or not files.exists(at):
        return None
    if before is not None and before.at == at:
        return before
    with iceberg_refusals(table):
        local = local_path(at)
        whole = at if local is None else str(local.absolute())
        loaded = library.table.StaticTable.from_metadata(whole, _properties())
        return IcebergTable(loaded, at)


def _of_catalog(library: Any, table: str, before: IcebergTable | None) -> Any:
    """Returns a table of a catalog, with the connection of an earlier look; `None` if it does not exist."""
    name, _, identifier = table.partition(":")
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    try:
        with _catalog_refusals(table):
            if before is not None:
                return before.loaded.refresh()
            return library.catalog.load_catalog(name).load_table(identifier)
    except (NoSuchTableError, NoSuchNamespaceError):
        return None


@contextmanager
def _catalog_refusals(table: str) -> Iterator[None]:
    """Converts errors about a catalog to `DiagnosticError` RQ530, except those about a table or a commit. Catalogs are
    servers and databases, whose libraries raise errors of any type."""
    from pyiceberg.exceptions import CommitFailedException, NoSuchNamespaceError, NoSuchTableError

    name = table.partition(":")[0]
    try:
        yield
    except (CommitFailedException, NoSuchNamespaceError, NoSuchTableError):
        raise
    except Exception as problem:
        reason = str(problem).strip().partition("\n")[0] or type(problem).__name__
        hint = f"the catalog `{name}` in `.pyiceberg.yaml`, or in variables `PYICEBERG_CATALOG__{name.upper()}__URI`"
        message = f"the catalog `{name}` of {table} cannot be used: {reason}"
        raise failure("RQ530", message, hint=hint) from None


def _newest_metadata(files: Files, table: str) -> str | None:
    """Returns the metadata file with the greatest number. Raises `DiagnosticError` RQ439 if two have it, because only a
    catalog knows which of them was committed."""
    numbered: dict[int, list[str]] = {}
    for file in files.list(f"{table}/metadata"):
        if (match := _METADATA.fullmatch(name_of(file.path))) is not None:
            numbered.setdefault(int(match[1] or match[2]), []).append(file.path)
    if not numbered:
        return None
    number = max(numbered)
    if len(numbered[number]) > 1:
        message = f"{table} has {len(numbered[number])} metadata files with the number {number}"
        hint = 'the table by its catalog, `from iceberg "CATALOG:NAMESPACE.TABLE"`, or the metadata file that counts'
        raise failure("RQ439", message, hint=hint)
    return numbered[number][0]


def _properties() -> dict[str, str]:
    """Returns what the library does not take from the environment as other files do."""
    address = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return {} if address is None else {"s3.endpoint": address}


@contextmanager
def iceberg_refusals(table: str) -> Iterator[None]:
    """Converts errors about the files of a table to `DiagnosticError`: RQ431 if they cannot be read, RQ439 if they are
    not those of a table."""
    load_pyiceberg()
    from pyiceberg.exceptions import ValidationError

    try:
        yield
    except OSError as problem:
        hint = "rights; the table's store, and the account in the environment"
        raise failure("RQ431", f"the table {table} cannot be used: {problem}", hint=hint) from None
    except (
        ValidationError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        EOFError,
        AssertionError,
    ) as problem:
        reason = (
            ": ".join(line.strip() for line in str(problem).strip().splitlines()[:3])
            or type(problem).__name__
        )
        message = f"the metadata of {table} cannot be read: {reason}"
        raise failure(
            "RQ439", message, hint="its folder `metadata`, as Iceberg's specification has it"
        ) from None


def created_table(table: str, schema: Any) -> Any:
    """Creates a table of a catalog, and its namespace, and returns it. Raises `DiagnosticError` RQ530."""
    name, _, identifier = table.partition(":")
    with _catalog_refusals(table):
        catalog = load_pyiceberg().catalog.load_catalog(name)
        catalog.create_namespace_if_not_exists(identifier.rpartition(".")[0])
        return catalog.create_table_if_not_exists(identifier, schema)


@contextmanager
def refused_commits(table: str, *, is_last: bool) -> Iterator[None]:
    """Passes over a commit that lost to another writer, unless it `is_last`; converts other errors to `DiagnosticError`
    RQ431 and RQ530."""
    from pyiceberg.exceptions import CommitFailedException

    try:
        with _catalog_refusals(table):
            yield
    except CommitFailedException as problem:
        if is_last:
            hint = "fewer writers of the table; a later run continues with the epoch"
            raise failure("RQ431", f"the table {table} cannot be used: {problem}", hint=hint) from None
