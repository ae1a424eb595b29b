"""Statistics of parsed tuples, like those in footers of Parquet files. If they prove all tuples valid, no engine needs
to check them (theory 1.1, D0)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from cedilla.compiler.regions import POSITION
from cedilla.runtime.connectors.formats.lines.blocks import Places
from cedilla.runtime.connectors.formats.source import (
    CORRUPT,
    MAX_VALUES,
    Counted,
    FileStatistics,
    Members,
    Types,
)
from cedilla.runtime.connectors.records.foreign import NoValue, python_values
from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.connectors.storage.parquet import ColumnStatistics, merged

pc: Any = pyarrow.compute

AXES = {"int": pa.int32(), "long": pa.int64(), "timestamp": pa.int64(), "date": pa.int32()}
"""The types whose values lie on an axis of whole numbers, as in regions."""


def statistics_of(table: pa.Table, numbers: Iterable[int], types: Types) -> dict[int, FileStatistics] | None:
    """Returns the statistics of each of some files by its number; `None` if a line is not a tuple. `table`: the tuples
    of all files, as returned by `Format.tuples`, in order."""
    if table.column(CORRUPT).null_count < table.num_rows:
        return None
    positions = table.column(POSITION).to_numpy()
    files = positions // NEXT_FILE
    begins = np.flatnonzero(np.diff(files, prepend=-1))
    counts = np.diff(begins, append=len(positions)).tolist()
    ranges = {name: _ranges(table.column(name), type_.name, begins) for name, type_ in types.items()}
    by_file = {number: FileStatistics(0, {name: ColumnStatistics(0) for name in types}) for number in numbers}
    for n, (begin, rows) in enumerate(zip(begins.tolist(), counts, strict=True)):
        between = int(positions[begin]), int(positions[begin + rows - 1]) + 1
        of_file = {name: ranges[name][n] for name in types}
        by_file[int(files[begin])] = FileStatistics(rows, of_file, between)
    return by_file


FIRST = 2 * MAX_VALUES
"""The rows of a column that are counted first. Each later piece has as many rows as all before it."""


def members_of(table: pa.Table, counted: Counted) -> Members:
    """Returns the number of rows of each value of some columns, without undefined values. `table`: with positions, in
    order."""
    if not counted.names:
        return {}
    begin, end = np.searchsorted(table.column(POSITION).to_numpy(), [counted.low, counted.high]).tolist()
    rows = table.slice(begin, end - begin)
    return {name: value_counts(rows.column(name)) for name in counted.names}


def value_counts(column: pa.ChunkedArray | pa.Array) -> dict[Any, int] | None:
    """Returns the number of rows of each value of a column that is not null; `None` once there are very many values,
    whose other rows are not looked at."""
    return summed(map(_value_counts, _pieces(column)))


def _pieces(column: pa.ChunkedArray | pa.Array) -> Iterator[pa.ChunkedArray | pa.Array]:
    begin = 0
    while begin < len(column):
        yield (piece := column.slice(begin, max(begin, FIRST)))
        begin += len(piece)


def _value_counts(piece: pa.ChunkedArray | pa.Array) -> dict[Any, int] | None:
    pairs = pc.value_counts(piece)
    if len(pairs) > MAX_VALUES:
        return None
    values, rows = python_values(pairs.field("values")), pairs.field("counts").to_pylist()
    return {v: n for v, n in zip(values, rows, strict=True) if not (v is None or isinstance(v, NoValue))}


def summed(counts: Iterable[Mapping[Any, int] | None]) -> Counter[Any] | None:
    """Adds numbers of rows by value; `None` once there are very many values, here or in a part."""
    total = Counter[Any]()
    for of_part in counts:
        if of_part is None:
            return None
        total.update(of_part)
        if len(total) > MAX_VALUES:
            return None
    return total


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


def _ranges(column: pa.ChunkedArray, type_: str, begins: Places) -> list[ColumnStatistics]:
    """Returns the statistics of a column in pieces that begin at some rows, and have at least one."""
    if not len(begins):
        return []
    nulls = [0] * len(begins)
    if column.null_count:
        nulls = np.add.reduceat(column.is_null().to_numpy(), begins, dtype=np.int64).tolist()
    axis = AXES.get(type_)
    if axis is None or column.null_count == len(column):
        return [*map(ColumnStatistics, nulls)]
    values, limits = column.cast(axis), np.iinfo(axis.to_pandas_dtype())
    least = np.minimum.reduceat(pc.fill_null(values, limits.max).to_numpy(), begins).tolist()
    greatest = np.maximum.reduceat(pc.fill_null(values, limits.min).to_numpy(), begins).tolist()
    rows = np.diff(begins, append=len(column)).tolist()
    return [
        ColumnStatistics(n) if n == count else ColumnStatistics(n, low, high)
        for n, count, low, high in zip(nulls, rows, least, greatest, strict=True)
    ]
