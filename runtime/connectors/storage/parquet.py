"""Reads the footer of a Parquet file: rows, and for a column its nulls, its least and its greatest value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from attrs import frozen
from pyarrow import parquet

from cedilla.runtime.connectors.records.foreign import Unreadable, damage_told
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.storage.written import damaged

Metadata = Any
"""A `pyarrow.parquet.FileMetaData`."""


@frozen
class ColumnStatistics:
    """The values of a column in a file. `nulls`: the number of rows without a value. `least`, `greatest`: bounds of the
    other values as in regions (days, microseconds), if known."""

    nulls: int
    least: int | None = None
    greatest: int | None = None


@frozen
class RowGroup:
    """Rows of a file that are read separately: their number, and their unpacked length in bytes."""

    rows: int
    length: int


def row_groups_of(metadata: Metadata) -> tuple[RowGroup, ...]:
    """Returns the row groups of a file, in the order of its rows."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return tuple(RowGroup(group.num_rows, group.total_byte_size) for group in groups)


def read_metadata(files: Files, path: str, length: int | None = None) -> Metadata:
    """Returns the footer of a file. `length`: as for `Files.open`. Raises `DiagnosticError` RQ431 if the file cannot be
    opened, and `Unreadable` if it is not Parquet."""
    with damage_told(), files.open(path, length) as file:
        return parquet.read_metadata(file)


def own_metadata(files: Files, file: FoundFile) -> Metadata:
    """Returns the footer of a file that a job of the engine has written. Raises `DiagnosticError` RQ478 for a damaged
    one."""
    try:
        return read_metadata(files, file.path, file.length)
    except Unreadable as problem:
        raise damaged(file.path, str(problem)) from None


def leaf_of(metadata: Metadata, name: str) -> int | None:
    """Returns the number of a column that is not a list, map or structure."""
    schema = metadata.schema
    numbers = (number for number in range(len(schema)) if schema.column(number).path == name)
    return next(numbers, None)


def values_of(metadata: Metadata, leaf: int) -> ColumnStatistics | None:
    """Returns the statistics of a column; `None` if some of its row groups have none."""
    scale = _scale(metadata.schema.column(leaf))
    nulls, ends = 0, list[int]()
    for number in range(metadata.num_row_groups):
        chunk = metadata.row_group(number).column(leaf)
        statistics = chunk.statistics
        if statistics is None or not statistics.has_null_count:
            return None
        nulls += statistics.null_count
        if statistics.null_count == chunk.num_values:
            continue
        if scale is None or not statistics.has_min_max:
            scale = None
            continue
        ends += (statistics.min_raw * scale, statistics.max_raw * scale)
    if scale is None or not ends:
        return ColumnStatistics(nulls)
    return ColumnStatistics(nulls, min(ends), max(ends))


def merged(columns: Sequence[tuple[ColumnStatistics, int]]) -> ColumnStatistics:
    """Merges the values of a column in some files or pieces, each with its number of rows."""
    nulls = sum(values.nulls for values, _ in columns)
    some = [(values.least, values.greatest) for values, rows in columns if values.nulls < rows]
    least = [low for low, _ in some if low is not None]
    greatest = [high for _, high in some if high is not None]
    is_known = some and len(least) == len(greatest) == len(some)
    return ColumnStatistics(nulls, min(least), max(greatest)) if is_known else ColumnStatistics(nulls)


def _scale(column: Any) -> int | None:
    """Returns the factor from stored values to those of regions; `None` if regions cannot represent them."""
    if column.physical_type not in ("INT32", "INT64"):
        return None
    logical = json.loads(column.logical_type.to_json())
    match logical["Type"]:
        case "None" | "Date":
            return 1
        case "Int":
            return 1 if logical["isSigned"] else None
        case "Timestamp":
            return {"milliseconds": 1000, "microseconds": 1}.get(logical["timeUnit"])
        case _:
            return None
