"""Reads Delta tables on this machine without an engine: for the reference, and for the tools of streams."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.formats.parquet.delta_log import DeltaLog
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import Files


def table_files(
    path: str, source: str, *, allowed: Iterable[str] | None = None, skips: bool = False
) -> dict[Path, int]:
    """Returns the files of a table that its present versions have added, each with its time in milliseconds.

    `allowed`, `skips`: as for `Files` and `DeltaLog.growth`. Raises `DiagnosticError`: RQ406 for a table that is not on
    this machine, and as `DeltaLog` does.
    """
    folder = local_path(path)
    if folder is None:
        hint = "`cedilla run` reads stores; or a copy of the table on this machine"
        raise failure("RQ406", f"{path} is not on this machine, and no engine reads it here", hint=hint)
    files = Files(("/",) if allowed is None else allowed)
    log = DeltaLog(files, source, str(folder))
    files_of_log = ((local_path(file.path), file) for file in log.growth(skips=skips))
    return {local: file.modified for local, file in files_of_log if local is not None and file.length}
