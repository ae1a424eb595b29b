"""Scans of Parquet files by Sail, the embedded engine: which files it reads like the tasks that read others.

Sail reads only the columns that a job uses, but gives no positions. It takes a missing file for an empty
one, so the caller asks after a scan whether the files have stayed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from attrs import frozen
from pyspark.sql.types import DataType, DoubleType, FloatType

from cedilla.runtime.connectors.formats.parquet.footers import Footer
from cedilla.runtime.connectors.formats.parquet.scan_columns import is_beyond
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.records.foreign import unreadable_parquet
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.stores import is_pattern, is_utf8


def local_paths(
    files: Mapping[int, InputFile], footers: Mapping[int, Footer], names: Iterable[str]
) -> dict[int, str] | None:
    """Returns the paths under which Sail reads columns of files, of which all rows are valid tuples; `None` if it reads
    one of them in another way than tasks, or not at all."""
    wanted = {*names}
    paths = {number: _path(files[number], footer, wanted) for number, footer in footers.items()}
    readable = {number: path for number, path in paths.items() if path is not None}
    return readable if len(readable) == len(paths) else None


def _path(file: InputFile, footer: Footer, names: set[str]) -> str | None:
    path = local_path(file.path)
    if path is None or footer.marked or is_beyond(footer):
        return None
    text, is_hidden = str(path), path.name.startswith(("_", "."))  # Sail passes over such a file
    is_named = is_utf8(text) and text.isprintable() and not (is_hidden or is_pattern(text))
    return text if is_named and footer.plain.issuperset(footer.columns.keys() & names) else None


def of_one_nan(name: str, kind: DataType) -> str:
    """Returns SQL for a value of such a scan. NaN has several forms, and only one equals NaN to Sail."""
    match kind:
        case FloatType() | DoubleType():
            return f"IF(isnan({name}), CAST('NaN' AS {kind.simpleString()}), {name})"
        case _:
            return name


@frozen
class Stays:
    """Compares files with what they were before a scan. `files`: path -> inode, length and time."""

    files: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, paths: Iterable[str]) -> Stays:
        return cls({path: _state(path) for path in paths})

    def check(self) -> None:
        """Raises `DiagnosticError` RQ414, which `is_of_sail` knows, if a file may have been away in the meantime."""
        for path, state in self.files.items():
            if _state(path) != state:
                raise unreadable_parquet(path, _CHANGED)


def _state(path: str) -> tuple[int, ...]:
    try:
        status = Path(path).stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


_CHANGED = "it has changed while it was read"
_OF_SAIL = re.compile(
    rf"Parquet argument error: |PARQUET_COLUMN_DATA_TYPE_MISMATCH|Error parsing Path |: {_CHANGED}"
)


def is_of_sail(problem: Exception) -> bool:
    """Returns True for an error of such a scan, which names no value and mostly no file."""
    return _OF_SAIL.search(str(problem)) is not None
