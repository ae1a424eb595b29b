"""JSON Lines: a tuple is an object, a marker an object with one key (design, section 6).

A row's place in its file is the byte that its line begins with. The bytes of a file go one way, whoever reads them:
blocks of lines (`lines.blocks`) are searched for markers (`markers`), the others become Arrow batches
(`batches`). The driver does so where there is little to read; else tasks of the engine do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, tee
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from attrs import define, field, frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.regions import POSITION
from cedilla.runtime.engines import costs
from cedilla.runtime.engines.frames import of_table
from cedilla.runtime.engines.workers import in_workers
from cedilla.runtime.formats.jsonl import fields as json_fields
from cedilla.runtime.formats.jsonl.batches import JsonBatches
from cedilla.runtime.formats.jsonl.markers import markers_in
from cedilla.runtime.formats.lines.blocks import Part, lines_at, parts_of, place_of_row, row_count
from cedilla.runtime.formats.lines.table_contents import contents_of
from cedilla.runtime.formats.source import (
    CORRUPT,
    Content,
    Format,
    InputFile,
    MarkerLine,
    Numbered,
    Scan,
    Types,
    no_tuples,
)
from cedilla.runtime.items.lines import is_compressed
from cedilla.runtime.items.marker import NEXT_FILE, file_of


class JsonLines(Format):
    """One line is one tuple or marker; large files are read by several tasks."""

    by_bytes: ClassVar[bool] = True
    malformed: ClassVar[str] = "the line is no JSON object, or a value is not of its attribute's type"

    def tuples(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        if not files:
            return no_tuples(spark, types)
        batches = _tuples_of(files, types)
        if not _are_few(files):
            return _by_tasks(spark, batches, len(batches.parts), batches.of.ddl)
        return _frame(spark, batches.table())

    def tuples_with_contents(
        self, spark: SparkSession, files: Numbered, types: Types
    ) -> tuple[DataFrame, dict[int, Content] | None]:
        """Contents of files that the driver parses."""
        if not files or not _are_few(files):
            return self.tuples(spark, files, types), None if files else {}
        table = _tuples_of(files, types).table()
        return _frame(spark, table), contents_of(table, files, types)

    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        """By tasks where there is very much to search: a pass by the driver costs less than a job."""
        parts = [(at, part) for at, files in enumerate(slices) for part in _parts(files)]
        search = _Search(tuple(part for _, part in parts))
        length = sum(file.length for files in slices for file in files.values())
        if length > costs.SEARCHED_BY_DRIVER:
            rows = [tuple(row) for row in _by_tasks(spark, search, len(parts), _FOUND_DDL).collect()]
        else:
            rows = [row for number in range(len(parts)) for row in search.rows(number)]
        found = [_Found() for _ in slices]
        for number, kind, text, place in rows:
            at, part = parts[number]
            found[at].add(part.number, kind, text, place)
        return [each.scan(files) for each, files in zip(found, slices, strict=True)]

    def rows_before(self, spark: SparkSession, file: InputFile, place: int) -> int:
        return row_count(Part(file.path, 0), place)

    def place_of_row(self, spark: SparkSession, file: InputFile, number: int) -> int | None:
        return place_of_row(Part(file.path, 0), number)

    def line_at(self, spark: SparkSession, file: InputFile, place: int) -> int:
        return next(lines_at(Part(file.path, 0), [place]))[1]

    def located(self, spark: SparkSession, files: Numbered, bad: DataFrame, types: Types) -> DataFrame:
        located = _Located(dict(files))
        if _are_few(files):  # a worker takes longer to start than the driver to look at them all
            rows = (row.asDict() for row in bad.orderBy(POSITION).collect())
            return of_table(spark, pa.Table.from_pylist([*located.rows(rows)], _LOCATED))
        number = F.expr(f"shiftright(`{POSITION}`, 47)")
        ordered = bad.repartition(number).sortWithinPartitions(POSITION)
        return in_workers(ordered, located, _LOCATED_DDL)

    def fields(self, spark: SparkSession, files: Numbered) -> dict[str, str]:
        parts = _parts(files)
        search = _Fields(tuple(parts))
        if not _are_few(files):
            rows = [
                tuple(row)
                for row in _by_tasks(spark, search, len(parts), "name STRING, kind STRING").collect()
            ]
        else:
            rows = [row for number in range(len(parts)) for row in search.rows(number)]
        return {name: _TEXTS.get(kind, kind) for name, kind in json_fields.merged(rows).items()}


def stray_lines(files: Numbered) -> Iterator[tuple[str, int]]:
    """The lines that are not meant as markers, with their places."""
    for part in (Part(file.path, number) for number, file in files.items()):
        for block in part.blocks():
            markers = {marker.begin for marker in markers_in(block)}
            starts, ends = block.lines()
            for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
                if begin not in markers:
                    text = block.text[begin:end].removesuffix(b"\r").decode("utf-8", "replace")
                    yield text, part.number * NEXT_FILE + block.place + begin


_TEXTS = {"void": "string"}
"""What is always null may become a text."""


def _parts(files: Numbered) -> list[Part]:
    return parts_of([(n, file.path, file.length) for n, file in files.items()], costs.PART)


def _tuples_of(files: Numbered, types: Types) -> _Tuples:
    return _Tuples(JsonBatches(dict(types)), tuple(_parts(files)))


def _frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    return of_table(spark, table).coalesce(1)  # a task for each core would leave a file for each


def _are_few(files: Numbered) -> bool:
    """Whether the driver parses files."""
    lengths = (f.length * (costs.PACKED if is_compressed(Path(f.path)) else 1) for f in files.values())
    return sum(lengths) <= costs.PARSED_BY_DRIVER


def _by_tasks(spark: SparkSession, of_parts: Any, count: int, schema: str) -> DataFrame:
    """What is made of so many parts, a task each."""
    return in_workers(spark.range(0, count, 1, count), of_parts, schema)


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    return (number for batch in batches for number in batch.column(0).to_pylist())


# What follows is sent to tasks: each is called with batches of the numbers of parts.


@frozen
class _Tuples:
    """The tuples of parts of files."""

    of: JsonBatches
    parts: tuple[Part, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.of_parts(_numbers(batches))

    def table(self) -> pa.Table:
        """All of them."""
        return pa.Table.from_batches(self.of_parts(range(len(self.parts))), self.of.schema)

    def of_parts(self, numbers: Iterable[int]) -> Iterator[pa.RecordBatch]:
        for part in (self.parts[number] for number in numbers):
            for block in part.blocks():
                # Spark takes an empty batch for the last one, and leaves out what comes behind it.
                if (batch := self.of.batch(block, part.number * NEXT_FILE)).num_rows:
                    yield batch


_Row = tuple[int, str, str, int]
"""The number of a part, the kind of a marker, its text, its place in the file; or `""`, and so many tuples."""
_FOUND_DDL = "part INT, kind STRING, text STRING, place BIGINT"
_FOUND = pa.schema(
    [("part", pa.int32()), ("kind", pa.string()), ("text", pa.string()), ("place", pa.int64())]
)


@frozen
class _Search:
    """The markers in parts of files, and how many tuples there are beside them."""

    parts: tuple[Part, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            columns = zip(*self.rows(number), strict=True)
            yield pa.record_batch(
                [pa.array(c, f.type) for c, f in zip(columns, _FOUND, strict=True)], schema=_FOUND
            )

    def rows(self, number: int) -> list[_Row]:
        rows: list[_Row] = []
        tuples = 0
        for block in self.parts[number].blocks():
            markers = list(markers_in(block))
            rows += ((number, m.kind, m.text, block.place + m.begin) for m in markers)
            tuples += len(block.lines()[0]) - sum(m.is_read for m in markers)
        return [*rows, (number, "", "", tuples)]


@define
class _Found:
    """What was found in the files of a slice so far."""

    markers: list[MarkerLine] = field(factory=list[MarkerLine])
    tuples: Counter[int] = field(factory=Counter[int])

    def add(self, file: int, kind: str, text: str, place: int) -> None:
        if kind:
            self.markers.append(MarkerLine(kind, text, file * NEXT_FILE + place))
        else:
            self.tuples[file] += place

    def scan(self, files: Numbered) -> Scan:
        markers = tuple(sorted(self.markers, key=lambda marker: marker.position))
        empty = frozenset(number for number in files if not self.tuples[number])
        return Scan(markers, empty, self.tuples.total())


_LOCATED_DDL = "code STRING, attribute STRING, fault STRING, file STRING, line BIGINT, raw STRING"
_TEXT = pa.string()
_LOCATED = pa.schema(
    [
        ("code", _TEXT),
        ("attribute", _TEXT),
        ("fault", _TEXT),
        ("file", _TEXT),
        ("line", pa.int64()),
        ("raw", _TEXT),
    ]
)
_TOGETHER = 1000
"""Rows of a batch."""


@frozen
class _Located:
    """Bad tuples, those of a file together and in order, with the lines that they are."""

    files: Mapping[int, InputFile]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        located = self.rows(row for batch in batches for row in batch.to_pylist())
        while some := list(islice(located, _TOGETHER)):
            yield pa.RecordBatch.from_pylist(some, _LOCATED)

    def rows(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        for number, of_file in groupby(rows, key=lambda row: file_of(row[POSITION])):
            bad, same = tee(of_file)
            file = self.files[number]
            lines = lines_at(Part(file.path, number), (row[POSITION] - number * NEXT_FILE for row in same))
            for row, (text, line) in zip(bad, lines, strict=True):
                raw = text.decode("utf-8", "replace")
                said = {"code": row["code"], "attribute": row["attribute"], "fault": row[CORRUPT]}
                yield {**said, "file": file.uri, "line": line, "raw": raw}


@frozen
class _Fields:
    """The names and kinds of the fields in parts of files."""

    parts: tuple[Part, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in _numbers(batches):
            rows = [{"name": name, "kind": kind} for name, kind in self.rows(number)]
            if not rows:
                continue
            yield pa.RecordBatch.from_pylist(rows, pa.schema([("name", pa.string()), ("kind", pa.string())]))

    def rows(self, number: int) -> Iterator[tuple[str, str]]:
        for block in self.parts[number].blocks():
            yield from json_fields.of_block(block).items()
