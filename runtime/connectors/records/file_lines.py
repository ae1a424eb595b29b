"""Reads a local file in any format of files as lines of a stream: for the reference, and for the tools of streams."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Set
from pathlib import Path

from cedilla.runtime.connectors.records.csv_lines import csv_lines
from cedilla.runtime.connectors.records.lines import LONGEST_LINE, Line, is_compressed, lines_of
from cedilla.runtime.connectors.records.marker_files import is_marker_file
from cedilla.runtime.connectors.records.otlp_proto import request_lines
from cedilla.runtime.connectors.records.parquet_lines import MAGIC, parquet_lines
from cedilla.runtime.connectors.records.xml_lines import xml_lines

LINES: Mapping[str, Callable[[Path, Set[str], int], Generator[Line]]] = {
    "csv": csv_lines,
    "delta": lambda file, columns, limit: _typed(file, limit),
    "iceberg": lambda file, columns, limit: _typed(file, limit),
    "json": lambda file, columns, limit: lines_of(file, limit),
    "otlp": lambda file, columns, limit: request_lines(file, limit),
    "parquet": lambda file, columns, limit: _typed(file, limit),
    "xml": lambda file, columns, limit: xml_lines(file),
}
"""Readers of files by format; they share nothing with the fast readers of `connectors.formats`."""


def lines_in(
    file: Path,
    format_: str | None = None,
    columns: Set[str] = frozenset(),
    limit: int = LONGEST_LINE,
) -> Generator[Line]:
    """Yields the lines of a file by its format, else by its name and its first bytes. `columns`: the known columns of
    CSV. `limit`: the longest line, in bytes. Raises `DiagnosticError` as the reader of the format does."""
    return LINES[format_ or format_of(file)](file, columns, limit)


def format_of(file: Path) -> str:
    """Returns the format of a file: Parquet by its first bytes, CSV and XML by its name, else JSON Lines."""
    if str(file) == "-":
        return "json"
    with file.open("rb") as stream:
        if stream.read(len(MAGIC)) == MAGIC:
            return "parquet"
    suffix = (file.with_suffix("") if is_compressed(file) else file).suffix.lower()
    return suffix[1:] if suffix in (".csv", ".xml") else "json"


def _typed(file: Path, limit: int) -> Generator[Line]:
    """Yields the rows of a Parquet file, or the lines of a file of markers among them."""
    return lines_of(file, limit) if is_marker_file(str(file)) else parquet_lines(file)
