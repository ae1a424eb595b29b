"""Reads rows of Parquet files with `pyarrow` by row group: markers for the driver, and rows in tasks of engines that do
not give the file and index of a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from attrs import frozen
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from cedilla.compiler.regions import POSITION
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.formats.lines.tuple_statistics import value_counts
from cedilla.runtime.formats.parquet.types import arrow_of
from cedilla.runtime.formats.parts import PartReader
from cedilla.runtime.formats.source import FILE, InputFile
from cedilla.runtime.records.marker import NEXT_FILE
from cedilla.runtime.storage.files import Files
from cedilla.runtime.storage.parquet import UNREADABLE, RowGroup, reason, row_groups_of

pc: Any = pyarrow.compute
UNREADABLE_HINT = (
    "replace the file by a whole one (write elsewhere, then rename) or by one without rows, and run again"
)


@frozen
class Part:
    """Row groups of a file that one task reads: from `begin` to `end`, the latter excluded.

    `number`: the number of the file in its slice; `index`: the number of rows of the file before them.
    """

    file: InputFile
    number: int
    begin: int
    end: int
    index: int


def parts_of(file: InputFile, number: int, groups: Sequence[RowGroup], size: int) -> Iterator[Part]:
    """Splits a file into parts of at least `size` bytes, except for the last one."""
    begin = index = rows = length = 0
    for at, group in enumerate(groups, start=1):
        rows, length = rows + group.rows, length + group.length
        if length >= size or at == len(groups):
            yield Part(file, number, begin, at, index)
            begin, index, rows, length = at, index + rows, 0, 0


def frame_of_parts(spark: SparkSession, parts: Sequence[Part], schema: StructType) -> DataFrame:
    """Returns columns of files, with `$file` and `$position`, one task for each part; in no order."""
    fields = [(field.name, arrow_of(field.dataType)) for field in schema]
    placed = pa.schema([*fields, (FILE, pa.string()), (POSITION, pa.int64())])
    return _Rows(tuple(parts), placed).frame(spark)


@frozen
class _Rows(PartReader[Part]):
    """The rows of parts, with `$file` and `$position`."""

    def of_part(self, part: Part, number: int) -> Iterator[pa.RecordBatch]:
        fields = list(self.schema)[:-2]
        names = [field.name for field in fields]
        position = part.number * NEXT_FILE + part.index
        try:
            for batch in _batches(part.file.path, names, range(part.begin, part.end)):
                if count := batch.num_rows:
                    values = [_as_spark_has_it(batch.column(field.name), field.type) for field in fields]
                    places = pa.array(np.arange(position, position + count))
                    columns = [*values, pa.repeat(part.file.uri, count), places]
                    yield pa.record_batch(columns, schema=self.schema)
                    position += count
        except UNREADABLE as error:
            message = f"{part.file.path} cannot be read as Parquet: {reason(error)}"
            raise failure("RQ414", message, hint=UNREADABLE_HINT) from None


def markers_in(path: str, names: Sequence[str]) -> list[tuple[str, str, int]]:
    """Returns the rows of a file with a value in one of some marker columns: the name of the first such column, the
    value, and the index of the row. Raises `UNREADABLE` of `storage.parquet`."""
    markers: list[tuple[str, str, int]] = []
    index = 0
    for batch in _batches(path, names):
        columns = [(name, _as_spark_has_it(batch.column(name), pa.string())) for name in names]
        for row in _rows_with_values([values for _, values in columns]):
            name, value = next((name, values[row]) for name, values in columns if values[row].is_valid)
            markers.append((name, value.as_py(), index + row))
        index += batch.num_rows
    return markers


def values_in(path: str, names: Sequence[str], first: int, last: int) -> dict[str, Counter[Any]]:
    """Returns the number of rows of each text, whole number or truth value in columns of a file, in the rows from
    `first` on and before `last`. Ends a column of very many values at its first row group. Raises `UNREADABLE`.

    Texts are counted by their numbers in the file's own dictionary, so that a row costs some nanoseconds.
    """
    members = {name: Counter[Any]() for name in names}
    wanted = list(names)
    with Files().open(path) as stream, parquet.ParquetFile(stream, read_dictionary=wanted) as file:
        begin = 0
        for number, group in enumerate(row_groups_of(file.metadata)):
            low, high = max(first - begin, 0), min(last - begin, group.rows)
            begin += group.rows
            if low >= high or not wanted:
                continue
            rows = file.read_row_group(number, columns=wanted, use_threads=False).slice(low, high - low)
            counts = {name: value_counts(rows.column(name)) for name in wanted}
            for name, of_name in counts.items():
                members[name].update({_counted(v): n for v, n in (of_name or {}).items()})
            wanted = [name for name in wanted if counts[name] is not None]
    return {
        name: Counter({v: n for v, n in of_name.items() if v is not None})
        for name, of_name in members.items()
    }


def _counted(value: Any) -> str | int | None:
    """Returns the form in which a value is counted; `None` for another type."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str | int) else None


def beside_markers(path: str, markers: Mapping[int, str]) -> dict[int, list[str]]:
    """Maps each marker row to the other columns with a value in it. `markers`: row -> the column of the marker. Reads
    only row groups with markers, and only columns that statistics do not prove null there. Raises `UNREADABLE`."""
    others_by_row: dict[int, list[str]] = {}
    with Files().open(path) as stream, parquet.ParquetFile(stream) as file:
        first = 0
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            here = [row - first for row in markers if first <= row < first + group.num_rows]
            if here and (columns := _with_values(group, len(here))):
                names = [name for name in file.schema_arrow.names if name in columns]
                table = file.read_row_group(number, columns=names)
                for row in here:
                    filled = [name for name in table.column_names if table.column(name)[row].is_valid]
                    if others := [name for name in filled if name != markers[first + row]]:
                        others_by_row[first + row] = others
            first += group.num_rows
    return others_by_row


def _with_values(group: Any, markers: int) -> set[str]:
    """Returns the columns of a row group that may have values in markers. If a column has as many nulls as there are
    markers, the nulls are taken to be the markers; checking the values would read most of the file again."""
    columns: set[str] = set()
    for column in map(group.column, range(group.num_columns)):
        statistics = column.statistics
        nulls = statistics.null_count if statistics is not None and statistics.has_null_count else None
        if nulls not in (markers, group.num_rows):
            columns.add(column.path_in_schema.partition(".")[0])
    return columns


def _rows_with_values(columns: Sequence[pa.Array]) -> list[int]:
    rows_by_column = (pc.indices_nonzero(values.is_valid()).to_pylist() for values in columns)
    return sorted({row for rows in rows_by_column for row in rows})


def _batches(
    path: str, names: Sequence[str], groups: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields columns of a file, and perhaps others, in the order of its rows."""
    with Files().open(path) as stream, parquet.ParquetFile(stream, coerce_int96_timestamp_unit="us") as file:
        yield from file.iter_batches(row_groups=groups, columns=list(names))


def _as_spark_has_it(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Converts values of a column to the type that Spark has for it, which may differ from the type stored by Arrow."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    if kind == pa.string():
        return _text(values.cast(pa.binary()))
    values = values if values.type == kind else values.cast(kind)
    if pa.types.is_floating(kind):  # NaN has several forms, and only one equals NaN to Sail
        return pc.if_else(pc.is_nan(values), pa.scalar(float("nan"), kind), values)
    return values


def _text(values: pa.Array) -> pa.Array:
    """Decodes bytes as text; invalid bytes become replacement characters, as in Java."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        texts = (None if value is None else value.decode("utf-8", "replace") for value in values.to_pylist())
        return pa.array(texts, pa.string())
