"""Reads rows of Parquet files with `pyarrow` by row group: markers for the driver, and rows in tasks of engines that do
not give the file and index of a row."""

from __future__ import annotations

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
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.formats.lines.tuple_statistics import FIRST, summed, value_counts
from cedilla.runtime.connectors.formats.parquet.footers import MARKERS
from cedilla.runtime.connectors.formats.parquet.types import arrow_of
from cedilla.runtime.connectors.formats.parts import PartReader
from cedilla.runtime.connectors.formats.source import FILE, InputFile, Members
from cedilla.runtime.connectors.records.foreign import (
    NoValue,
    Unreadable,
    damage_told,
    decoded,
    not_utf8,
    python_values,
    unreadable_parquet,
)
from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.connectors.storage.engine_failures import refusal
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.parquet import RowGroup, row_groups_of

pc: Any = pyarrow.compute

BAD = "$bad"
"""A column: the reason for the first text of a row that is not UTF-8; null if all are."""
NOT_UTF8 = "RQ321"
"""The code of a text that is not UTF-8, where no test has set its row aside."""
_NOT_UTF8_HINT = "replace the file by one whose texts are UTF-8, and run again"


def not_utf8_text(message: str) -> DiagnosticError:
    """Returns RQ321 for a text of a file."""
    return failure(NOT_UTF8, message, hint=_NOT_UTF8_HINT)


def is_of_texts(problem: Exception) -> bool:
    """Returns True for RQ321, also in a job that has failed."""
    diagnostic = problem if isinstance(problem, DiagnosticError) else refusal(problem)
    return diagnostic is not None and diagnostic.diagnostics[0].code == NOT_UTF8


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


def frame_of_parts(
    spark: SparkSession,
    parts: Sequence[Part],
    schema: StructType,
    stored: Mapping[str, str],
    *,
    is_tested: bool,
) -> DataFrame:
    """Returns columns of files, with `$file`, `$position` and `$bad`, one task for each part; in no order. `stored`:
    columns with another name in the files. Unless it `is_tested`, a text that is not UTF-8 fails the task with
    RQ321."""
    fields = [(field.name, arrow_of(field.dataType)) for field in schema]
    placed = pa.schema([*fields, (FILE, pa.string()), (POSITION, pa.int64()), (BAD, pa.string())])
    return _Rows(tuple(parts), placed, stored, is_tested).frame(spark)


@frozen
class _Rows(PartReader[Part]):
    """The rows of parts, with `$file`, `$position` and `$bad`. `stored`: that of `Footer`."""

    stored: Mapping[str, str]
    is_tested: bool

    def of_part(self, part: Part, number: int) -> Iterator[pa.RecordBatch]:
        fields = list(self.schema)[:-3]
        names = [field.name for field in fields]
        own = [self.stored.get(name, name) for name in names]
        position = part.number * NEXT_FILE + part.index
        try:
            for batch in _batches(part.file.path, own, range(part.begin, part.end)):
                if count := batch.num_rows:
                    columns = [
                        _as_spark_has_it(batch.column(name), field.type)
                        for name, field in zip(own, fields, strict=True)
                    ]
                    bad = [_Bad(name, column.bad) for name, column in zip(names, columns, strict=True)]
                    places = pa.array(np.arange(position, position + count))
                    placed = [pa.repeat(part.file.uri, count), places, self._reasons(part, bad, count)]
                    values = [column.values for column in columns]
                    yield pa.record_batch([*values, *placed], schema=self.schema)
                    position += count
        except Unreadable as error:
            raise unreadable_parquet(part.file.path, error) from None

    def _reasons(self, part: Part, columns: Sequence[_Bad], rows: int) -> pa.Array:
        """Returns the reasons of rows with texts that are not UTF-8. Raises `DiagnosticError` RQ321 for one that is not
        tested."""
        reasons: dict[int, str] = {}
        for column in (
            column for column in columns if column.name not in MARKERS
        ):  # those are markers of the driver
            for row, why in column.rows.items():
                reasons.setdefault(row, f"`{column.name}` has {why}")
        if not reasons:
            return pa.nulls(rows, pa.string())
        if not self.is_tested:
            raise not_utf8_text(f"{part.file.path}: {next(iter(reasons.values()))}")
        return pa.array([reasons.get(row) for row in range(rows)], pa.string())


@frozen
class _Bad:
    """The rows of a column with texts that are not UTF-8, each with the reason."""

    name: str
    rows: Mapping[int, str]


@frozen
class FoundRow:
    """A row with a value in a marker column: the column, the value, the index of the row in its file. `problem`: the
    value is not UTF-8."""

    column: str
    text: str
    row: int
    problem: str | None = None


def markers_in(path: str, names: Mapping[str, str]) -> list[FoundRow]:
    """Returns the rows of a file with a value in one of some marker columns, of the first such column. `names`: each
    with its name in the file. Raises `Unreadable`."""
    markers: list[FoundRow] = []
    index = 0
    for batch in _batches(path, [*names.values()]):
        columns = {name: _as_spark_has_it(batch.column(own), pa.string()) for name, own in names.items()}
        for row in _rows_with_values([column.values for column in columns.values()]):
            name, column = next((n, column) for n, column in columns.items() if column.values[row].is_valid)
            markers.append(FoundRow(name, column.values[row].as_py(), index + row, column.bad.get(row)))
        index += batch.num_rows
    return markers


def values_in(path: str, names: Mapping[str, str], first: int, last: int) -> Members:
    """Returns the number of rows of each text, whole number or truth value in columns of a file, in the rows from
    `first` on and before `last`. `names`: each with its name in the file. Reads no more of a column with very many
    values. Raises `Unreadable`.

    Texts are counted by their numbers in the file's own dictionary, so that a row costs some nanoseconds.
    """
    members: dict[str, Mapping[Any, int] | None] = {name: {} for name in names}
    with (
        damage_told(),
        Files().open(path) as stream,
        parquet.ParquetFile(stream, read_dictionary=[*names.values()]) as file,
    ):
        begin = 0
        for number, group in enumerate(row_groups_of(file.metadata)):
            low, high = max(first - begin, 0), min(last - begin, group.rows)
            begin += group.rows
            own = [names[name] for name, counts in members.items() if counts is not None]
            if low >= high or not own:
                continue
            if group.rows > 2 * FIRST:  # a dictionary of all rows costs much where they differ
                head: pa.RecordBatch = next(
                    file.iter_batches(FIRST, [number], columns=own, use_threads=False)
                )
                own = [column for column in own if value_counts(head.column(column)) is not None]
            rows = file.read_row_group(number, columns=own, use_threads=False).slice(low, high - low)
            for name, column in names.items():
                counts = value_counts(rows.column(column)) if column in own else None
                members[name] = summed((members[name], _of_kinds(counts)))
    return members


def _of_kinds(counts: Mapping[Any, int] | None) -> Mapping[Any, int] | None:
    """Returns counts of values in their counted form, without values of other types."""
    if counts is None:
        return None
    forms = ((decoded(value) if isinstance(value, bytes) else value, n) for value, n in counts.items())
    return {value: n for value, n in forms if isinstance(value, str | int)}


def beside_markers(path: str, markers: Mapping[int, str]) -> dict[int, list[str]]:
    """Maps each marker row to the other columns with a value in it. `markers`: row -> the column of the marker. Reads
    only row groups with markers, and only columns that statistics do not prove null there. Raises `Unreadable`."""
    others_by_row: dict[int, list[str]] = {}
    with damage_told(), Files().open(path) as stream, parquet.ParquetFile(stream) as file:
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
    """Yields columns of a file, and perhaps others, in the order of its rows. Raises `Unreadable`."""
    with (
        damage_told(),
        Files().open(path) as stream,
        parquet.ParquetFile(stream, coerce_int96_timestamp_unit="us") as file,
    ):
        yield from file.iter_batches(row_groups=groups, columns=list(names))


@frozen
class _Column:
    """The values of a column, and the rows with texts that are not UTF-8, each with the reason."""

    values: pa.Array
    bad: Mapping[int, str] = {}


def _as_spark_has_it(values: pa.Array, kind: pa.DataType) -> _Column:
    """Converts values of a column to the type that Spark has for it, which may differ from the type stored by Arrow."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    if kind == pa.string():
        has_bytes = not (pa.types.is_time(values.type) or pa.types.is_decimal256(values.type))
        return _texts(values.cast(pa.binary()) if has_bytes else values)
    column = _Column(values) if values.type == kind else _cast(values, kind)
    if pa.types.is_floating(kind):  # NaN has several forms, and only one equals NaN to Sail
        nan = pa.scalar(float("nan"), kind)
        return _Column(pc.if_else(pc.is_nan(column.values), nan, column.values), column.bad)
    return _nested(column) if pa.types.is_nested(kind) else column


def _cast(values: pa.Array, kind: pa.DataType) -> _Column:
    """Converts values to a type. A value that does not fit, such as a moment after the year 292278, becomes null."""
    try:
        return _Column(values.cast(kind))
    except pa.ArrowInvalid:
        fitting: list[pa.Array] = []
        bad: dict[int, str] = {}
        for row in range(len(values)):
            try:
                fitting.append(values.slice(row, 1).cast(kind))
            except pa.ArrowInvalid:
                fitting.append(pa.nulls(1, kind))
                bad[row] = "a value beyond all bounds"
        return _Column(pa.concat_arrays(fitting), bad)


def _texts(values: pa.Array) -> _Column:
    """Decodes bytes as text; bytes that are not UTF-8 become replacement characters, as in Java."""
    try:
        return _Column(values.cast(pa.string()))
    except pa.ArrowInvalid:
        texts = values.to_pylist()
        bad = {
            row: not_utf8(text) for row, text in enumerate(texts) if text is not None and not _is_utf8(text)
        }
        return _Column(
            pa.array((None if text is None else decoded(text) for text in texts), pa.string()), bad
        )


def _nested(column: _Column) -> _Column:
    """Decodes the texts inside of lists, maps and structures in the same way."""
    values, bad = column.values, dict(column.bad)
    if _is_valid(values):
        return column
    rows = [values.slice(row, 1) for row in range(len(values))]
    for row, value in enumerate(rows):
        if not _is_valid(pa.concat_arrays([value])):
            (python,) = python_values(value.cast(_with_bytes(value.type)))
            texts: list[bytes] = []
            rows[row] = pa.array([_with_texts(python, texts)], value.type)
            bad[row] = not_utf8(texts[0]) if texts else "a value that cannot be read"
    return _Column(pa.concat_arrays(rows), bad)


def _is_valid(values: pa.Array) -> bool:
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _with_bytes(kind: pa.DataType) -> pa.DataType:
    """Returns a type with bytes in the place of texts."""
    if isinstance(kind, pa.StructType):
        return pa.struct([(field.name, _with_bytes(field.type)) for field in kind])
    if isinstance(kind, pa.MapType):
        return pa.map_(_with_bytes(kind.key_type), _with_bytes(kind.item_type))
    if isinstance(kind, pa.ListType):
        return pa.list_(_with_bytes(kind.value_type))
    return pa.binary() if kind == pa.string() else kind


def _with_texts(value: Any, bad: list[bytes]) -> Any:
    """Returns a value with texts in the place of bytes; `bad` takes those that are not UTF-8."""
    match value:
        case bytes():
            bad += [] if _is_utf8(value) else [value]
            return decoded(value)
        case dict():
            return {name: _with_texts(inner, bad) for name, inner in value.items()}  # type: ignore[reportUnknownVariableType]
        case list() | tuple():
            return type(value)(_with_texts(inner, bad) for inner in value)  # type: ignore[reportUnknownVariableType]
        case NoValue():
            return None
        case _:
            return value


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
