"""Statistics of parsed tuples, like those in footers of Parquet files. If they prove all tuples valid, no engine needs
to check them (theory 1.1, D0)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from cedilla.compiler.regions import POSITION
from cedilla.runtime.formats.source import CORRUPT, MAX_VALUES, Counted, FileStatistics, Types
from cedilla.runtime.records.marker import NEXT_FILE
from cedilla.runtime.storage.parquet import ColumnStatistics, merged

pc: Any = pyarrow.compute

_AXES = {"int": pa.int32(), "long": pa.int64(), "timestamp": pa.int64(), "date": pa.int32()}
"""The types whose values lie on an axis of whole numbers, as in regions."""


def statistics_of(table: pa.Table, numbers: Iterable[int], types: Types) -> dict[int, FileStatistics] | None:
    """Returns the statistics of each of some files by its number; `None` if a line is not a tuple. `table`: the tuples
    of all files, as returned by `Format.tuples`, in order."""
    if table.column(CORRUPT).null_count < table.num_rows:
        return None
    places = table.column(POSITION).to_numpy()
    rows_of_all = table.combine_chunks()  # a slice of many chunks looks at each of them
    by_file: dict[int, FileStatistics] = {}
    for number in numbers:
        begin, end = np.searchsorted(places, [number * NEXT_FILE, (number + 1) * NEXT_FILE]).tolist()
        rows = rows_of_all.slice(begin, end - begin)
        ranges = {name: _range(rows.column(name), types[name].name) for name in types}
        between = (int(places[begin]), int(places[end - 1]) + 1) if end > begin else None
        by_file[number] = FileStatistics(end - begin, ranges, between)
    return by_file


def members_of(table: pa.Table, counted: Counted) -> dict[str, dict[Any, int]]:
    """Returns the number of rows of each value of some columns, without undefined values and without columns of very
    many values. `table`: with positions, in order."""
    if not counted.names:
        return {}
    begin, end = np.searchsorted(table.column(POSITION).to_numpy(), [counted.low, counted.high]).tolist()
    rows = table.slice(begin, end - begin)
    members = {name: value_counts(rows.column(name)) for name in counted.names}
    return {name: counts for name, counts in members.items() if counts is not None}


def value_counts(column: pa.ChunkedArray) -> dict[Any, int] | None:
    """Returns the number of rows of each value of a column that is not null; `None` for very many values."""
    pairs = pc.value_counts(column)
    if len(pairs) > MAX_VALUES:
        return None
    values, rows = pairs.field("values").to_pylist(), pairs.field("counts").to_pylist()
    return {value: n for value, n in zip(values, rows, strict=True) if value is not None}


def merge(first: FileStatistics, second: FileStatistics) -> FileStatistics:
    """Merges two statistics of tuples of one file."""
    if not (first.rows and second.rows):
        return first if first.rows else second
    places = [statistics.places for statistics in (first, second) if statistics.places is not None]
    return FileStatistics(
        first.rows + second.rows,
        {name: merged([(of.ranges[name], of.rows) for of in (first, second)]) for name in first.ranges},
        (min(span[0] for span in places), max(span[1] for span in places)),
    )


def _range(values: pa.ChunkedArray, type_: str) -> ColumnStatistics:
    axis = _AXES.get(type_)
    if axis is None or values.null_count == len(values):
        return ColumnStatistics(values.null_count)
    ends = pc.min_max(values.cast(axis)).as_py()
    return ColumnStatistics(values.null_count, ends["min"], ends["max"])
