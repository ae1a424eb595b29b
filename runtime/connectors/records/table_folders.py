"""Recognizes folders that are tables: their log says which files count, so files that are read without it give deleted
and compacted rows, too (RQ345)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from cedilla.grammar.diagnostics import DiagnosticError, Span, failure

DELTA, ICEBERG, HUDI, PAIMON, SPARK = "Delta", "Iceberg", "Hudi", "Paimon", "Spark"
_LOGS = {"_delta_log": DELTA, ".hoodie": HUDI, "_spark_metadata": SPARK}
"""Folders that only a table of a kind has."""
_FORMATS = {DELTA: "delta", ICEBERG: "iceberg"}
"""Kinds that streams read, with their formats."""
_READERS = {HUDI: "hudi", PAIMON: "paimon"}
"""Names of the kinds for `spark.read.format`."""


def table_kind(has: Callable[[str], bool], names_in: Callable[[str], Iterable[str]]) -> str | None:
    """Returns the kind of table that a folder is. `has`: tells if it has a subfolder. `names_in`: the names in one,
    which is only asked if that of the subfolder does not decide."""
    for log, kind in _LOGS.items():
        if has(log):
            return kind
    if has("metadata") and any(name.endswith(".metadata.json") for name in names_in("metadata")):
        return ICEBERG
    has_names = has("snapshot") and has("schema")
    return PAIMON if has_names and any(name.startswith("schema-") for name in names_in("schema")) else None


def table_format(path: str) -> str | None:
    """Returns the format of the table that a folder on this machine is, if the language has one for it."""
    at = Path(path)
    kind = table_kind(
        lambda name: (at / name).is_dir(), lambda name: (of.name for of in (at / name).iterdir())
    )
    return _FORMATS.get(kind or "")


def check_no_table(folder: Path, below: Iterable[Path] = (), span: Span | None = None) -> None:
    """Raises `DiagnosticError` RQ345 if a local folder, a visible folder `below`, or the folder whose data or partition
    it is, is a table."""
    inside = (path for path in below if not _is_hidden(path, folder) and path.is_dir())
    for path in (folder, *_around(folder), *inside):
        kind = table_kind(
            lambda name, at=path: (at / name).is_dir(),
            lambda name, at=path: (entry.name for entry in (at / name).iterdir()),
        )
        if kind is not None:
            raise is_table(str(path), kind, span)


def is_table(folder: str, kind: str, span: Span | None = None) -> DiagnosticError:
    """Returns RQ345 for a folder that is a table of a kind."""
    if kind == SPARK:
        message = (
            f"{folder} is written by Spark's streaming, whose log `_spark_metadata` says which files count"
        )
    else:
        message = f"{folder} is a table of {kind}, whose log says which files and rows count"
    copied = f"spark.read.format({_READERS.get(kind, 'parquet')!r}).load({folder!r}).write.parquet(COPY)"
    if (format_ := _FORMATS.get(kind)) is not None:
        hint = f'`from {format_} "{folder}"` reads the table'
    else:
        hint = (
            f"a folder of its own for the rows, which a job fills: `{copied}`; or a table of Delta or Iceberg"
        )
    return failure("RQ345", message, span, hint=hint)


def _around(folder: Path) -> Iterable[Path]:
    """Yields the folders whose data or partition a folder may be: `region=n` and `data` are below their table."""
    path = folder.absolute()
    while "=" in path.name or path.name == "data":
        path = path.parent
        yield path


def _is_hidden(path: Path, root: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(root).parts)
