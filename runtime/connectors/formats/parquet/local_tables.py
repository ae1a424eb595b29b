"""Reads tables with a log on this machine without an engine: for the reference, and for the tools of streams."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from pathlib import Path

from attrs import frozen

from cedilla.compiler.plan.formats import catalogued
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.formats.parquet.table_logs import log_of
from cedilla.runtime.connectors.records.field_names import FieldNames
from cedilla.runtime.connectors.records.lines import Line, local_path
from cedilla.runtime.connectors.records.parquet_lines import parquet_lines
from cedilla.runtime.connectors.records.path_keys import Keys
from cedilla.runtime.connectors.storage.files import Files


@frozen
class LocalTable:
    """The files of a table. `times`: in milliseconds; `keys`: those of each in the log; `names`: those of its fields
    in the stream."""

    times: Mapping[Path, int]
    keys: Mapping[Path, Keys]
    names: FieldNames

    def lines(self, file: Path) -> Generator[Line]:
        """Yields the rows of a file. Raises `DiagnosticError` RQ414."""
        return parquet_lines(file, self.names)


def local_table(
    path: str,
    source: str,
    format_: str,
    *,
    allowed: Iterable[str] | None = None,
    skips: bool = False,
    hidden: Iterable[str] = (),
) -> LocalTable:
    """Returns the files of a table that its present versions have added.

    `allowed`, `skips`: as for `Files` and `TableLog.growth`; `hidden`: as for `FieldNames`. Raises `DiagnosticError`:
    RQ406 for a table that is not on this machine, and as `TableLog` does.
    """
    folder = local_path(path)
    if folder is None and not catalogued(path):
        raise _elsewhere(path)
    files = Files(("/",) if allowed is None else allowed)
    log = log_of(files, source, format_, path if folder is None else str(folder))
    position = log.begin()
    added = [file for of in log.growth(position, skips=skips, tell=lambda note: None) for file in of]
    local = {at: file for file in added if file.length and (at := local_path(file.path)) is not None}
    if not local and added:
        raise _elsewhere(path)
    assert position.fields is not None
    return LocalTable(
        {at: file.modified for at, file in local.items()},
        {at: file.keys or {} for at, file in local.items()},
        position.fields.names.hiding(hidden),
    )


def _elsewhere(path: str) -> DiagnosticError:
    hint = "`cedilla run` reads stores; or a copy of the table on this machine"
    return failure("RQ406", f"{path} is not on this machine, and no engine reads it here", hint=hint)
