"""Formats whose rows follow each other in text (design, sections 5 and 6).

The position of a row in its file is its first byte. All readers process a file in the same way: blocks of whole rows
are searched for markers, and the other rows become Arrow batches. The driver reads small inputs, tasks of the engine
read large ones.
"""

from __future__ import annotations

from abc import abstractmethod
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import groupby, islice, tee
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import define, evolve, field, frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from cedilla.compiler.regions import POSITION
from cedilla.runtime.connectors.formats.lines.blocks import (
    Block,
    Part,
    Places,
    lines_at,
    place_of_row,
    row_count,
)
from cedilla.runtime.connectors.formats.lines.fields import merged
from cedilla.runtime.connectors.formats.lines.tuple_statistics import members_of, statistics_of
from cedilla.runtime.connectors.formats.lines.written_tuples import (
    Batches,
    Tuples,
    groups_of,
    kept_batch,
    written_batch,
)
from cedilla.runtime.connectors.formats.parts import FewRows
from cedilla.runtime.connectors.formats.source import (
    CORRUPT,
    EVERYWHERE,
    NO_FIELDS,
    Batch,
    Counted,
    FieldKinds,
    Format,
    InputFile,
    MarkerLine,
    Numbered,
    Scan,
    Searched,
    Span,
    Types,
    no_tuples,
)
from cedilla.runtime.connectors.records.lines import LONGEST_LINE, is_compressed
from cedilla.runtime.connectors.records.marker import NEXT_FILE, file_of
from cedilla.runtime.connectors.records.nested import Paths
from cedilla.runtime.connectors.records.record_files import record_of
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.connect import engine_in
from cedilla.runtime.engines.spark.frames import in_one_part, is_local, of_table
from cedilla.runtime.engines.spark.workers import in_workers


@frozen
class FoundMarker:
    """A row that is a marker, or a malformed one: its kind and text as in `MarkerLine`, its start and end in the
    block."""

    kind: str
    text: str
    begin: int
    end: int

    @property
    def is_read(self) -> bool:
        """Returns True for a well-formed marker; other rows are invalid tuples."""
        return self.kind in ("accent", "punctuation")


def tuple_rows(starts: Places, ends: Places, markers: Iterable[FoundMarker]) -> tuple[Places, Places]:
    """Returns the starts and ends of the rows of a block that are tuples, from those of all its rows."""
    begins = [marker.begin for marker in markers if marker.is_read]
    if not begins:
        return starts, ends
    kept = ~np.isin(starts, begins)
    return starts[kept], ends[kept]


class TextFormat(Format):
    """A format where one row is one tuple or marker. The functions of a subclass are sent to tasks. `longest`: the
    greatest number of bytes of a line. `paths`: those of attributes whose values are not read by their names."""

    by_bytes: ClassVar[bool] = True
    markers_in: ClassVar[Callable[[Any], Iterator[FoundMarker]]]
    """Yields the markers of a block in order; a function of a module, which tasks can import."""
    fields_in: ClassVar[Callable[[Any, Span], Mapping[str, FieldKinds]]]
    """Maps each field in the tuples of a block to the common kind of its values; a function of a module, too."""

    def __init__(self, longest: int = LONGEST_LINE, paths: Paths | None = None) -> None:
        self.longest, self._paths = longest, paths or {}

    @property
    def paths(self) -> Paths:
        return self._paths

    def with_paths(self, paths: Paths) -> TextFormat:
        changed = copy(self)
        changed._paths = paths
        return changed

    def parts(self, files: Numbered) -> list[Part]:
        """Splits files into parts that are read separately. Each file is one part if rows cannot be recognized in its
        middle."""
        return [self.whole(file, number) for number, file in files.items()]

    @abstractmethod
    def batches(self, types: Types) -> Batches:
        """Returns the converter from blocks to tuples."""

    def whole(self, file: InputFile, number: int = 0) -> Part:
        """Returns a part with all rows of a file."""
        return Part(file.path, number, longest=self.longest, length=file.length)

    def marker_line(self, kind: str, text: str, position: int, end: int) -> MarkerLine:
        """Returns a marker from `markers_in` at a position of the slice. `end`: the position where its line ends."""
        return MarkerLine(kind, text, position, next=end + 1)

    def tuples(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        if not files:
            return no_tuples(spark, types)
        tuples = self._tuples(files, types)
        return in_one_part(spark, tuples.table()) if _are_few(files) else tuples.frame(spark)

    def read(
        self,
        spark: SparkSession,
        files: Numbered,
        types: Types,
        scratch: str,
        counted: Counted = NO_FIELDS,
        searched: Searched | None = None,
    ) -> Batch:
        """Parses the files once. Few tuples stay in memory; others become Parquet files in `scratch`."""
        tuples = self._tuples(files, types)
        if searched:
            tuples = evolve(tuples, searched=dict(searched))
            searched.clear()
        if _are_few(files):
            table = tuples.table()
            return Batch(
                table, statistics_of(table, files, types), members=partial(members_of, table, counted)
            )
        if engine_in(spark) == "sail" and _size(files) <= costs.KEPT_PARSED:
            return kept_batch(spark, tuples, counted)
        return written_batch(spark, tuples, scratch, counted)

    def _tuples(self, files: Numbered, types: Types) -> Tuples:
        batches = self.batches(types)
        return Tuples(groups_of(self.parts(files), files), batches.schema, batches, dict(types))

    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        """Searches for markers, by tasks only if the input is very large: a pass by the driver costs less than a
        job."""
        parts = [(at, part) for at, files in enumerate(slices) for part in self.parts(files)]
        length = sum(file.length for files in slices for file in files.values())
        by_driver = length <= costs.SEARCHED_BY_DRIVER
        searched: list[Searched] = [{} for _ in slices]
        keeps = by_driver and sum(map(_size, slices)) <= costs.KEPT_SEARCHED and _parses_here(spark)
        search = _Search(
            tuple(part for _, part in parts),
            _FOUND,
            type(self).markers_in,
            [searched[at] for at, _ in parts] if keeps else None,
        )
        results = [_Found(self.marker_line) for _ in slices]
        for number, kind, text, position, end in search.all(spark, by_driver=by_driver):
            at, part = parts[number]
            results[at].add(part.number, kind, text, position, end)
        of_slices = zip(results, slices, searched, strict=True)
        return [evolve(result.scan(files), searched=blocks) for result, files, blocks in of_slices]

    def rows_before(self, spark: SparkSession, file: InputFile, position: int) -> int:
        return row_count(self.whole(file), position)

    def place_of_row(self, spark: SparkSession, file: InputFile, number: int) -> int | None:
        return place_of_row(self.whole(file), number)

    def line_at(self, spark: SparkSession, file: InputFile, position: int) -> int:
        whole = self.whole(file)
        return whole.shown(next(lines_at(whole, [position]))[1])

    def rows_at(
        self, spark: SparkSession, file: InputFile, places: Sequence[int]
    ) -> list[tuple[str | None, int]]:
        whole = self.whole(file)
        return [
            (row.decode("utf-8", "replace"), whole.shown(number)) for row, number in lines_at(whole, places)
        ]

    def located(self, spark: SparkSession, files: Numbered, bad: DataFrame, types: Types) -> DataFrame:
        located = _Located({number: (self.whole(file, number), file.uri) for number, file in files.items()})
        if _are_few(files):  # a worker takes longer to start than the driver needs for all
            rows = (row.asDict() for row in bad.orderBy(POSITION).collect())
            return of_table(spark, pa.Table.from_pylist([*located.rows(rows)], _LOCATED))
        number = F.expr(f"shiftright(`{POSITION}`, 47)")
        ordered = bad.repartition(number).sortWithinPartitions(POSITION)
        return in_workers(ordered, located, from_arrow_schema(_LOCATED))

    def fields(
        self, spark: SparkSession, files: Numbered, between: Span = EVERYWHERE
    ) -> dict[str, FieldKinds]:
        search = _Fields(tuple(self.parts(files)), _FIELDS, self.search_of_fields(), between)
        rows = sorted(
            search.all(spark, by_driver=_are_few(files)), key=itemgetter(0)
        )  # tasks end in any order
        return merged((name, FieldKinds(first, common)) for _, name, first, common in rows)

    def search_of_fields(self) -> Callable[[Any, Span], Mapping[str, FieldKinds]]:
        """Returns the function that maps the fields in a block to their kinds."""
        return type(self).fields_in


def _are_few(files: Numbered) -> bool:
    """Returns True if the driver parses the files."""
    return _size(files) <= costs.PARSED_BY_DRIVER


def _parses_here(spark: SparkSession) -> bool:
    """Returns True if this process parses what tasks elsewhere do not, so that `read` takes what was searched."""
    return engine_in(spark) == "sail" or is_local(spark)


def _size(files: Numbered) -> int:
    """Returns the bytes of files, roughly after unpacking."""
    return sum(f.length * (costs.PACKED if is_compressed(Path(f.path)) else 1) for f in files.values())


# The following classes are sent to tasks.


_FOUND = pa.schema(
    [
        ("part", pa.int32()),
        ("kind", pa.string()),
        ("text", pa.string()),
        ("place", pa.int64()),
        ("end", pa.int64()),
    ]
)
"""The number of a part, the kind of a marker, its text, and the start and end of its line in the file. A row without a
kind gives the number of tuples."""


@frozen
class _Search(FewRows[Part]):
    """The markers in parts of files, and the number of tuples among them. `searched`: takes the blocks of each part, if
    they are kept."""

    markers_in: Callable[[Any], Iterator[FoundMarker]]
    searched: Sequence[Searched] | None = None

    def rows(self, part: Part, number: int) -> Iterator[tuple[Any, ...]]:
        tuples, kept = 0, list[Block]()
        if self.searched is not None:
            self.searched[number][part] = kept
        for block in part.blocks():
            markers = list(self.markers_in(block))
            if self.searched is not None:
                kept.append(evolve(block, markers=markers))
            yield from ((number, m.kind, m.text, block.place + m.begin, block.place + m.end) for m in markers)
            tuples += block.count() - sum(m.is_read for m in markers)
        yield (number, "", "", tuples, 0)


@define
class _Found:
    """Results of the search so far for the files of a slice."""

    marker_line: Callable[[str, str, int, int], MarkerLine]
    markers: list[MarkerLine] = field(factory=list[MarkerLine])
    tuples: Counter[int] = field(factory=Counter[int])

    def add(self, file: int, kind: str, text: str, start: int, end: int) -> None:
        if kind:
            begin = file * NEXT_FILE
            self.markers.append(self.marker_line(kind, text, begin + start, begin + end))
        else:
            self.tuples[file] += start

    def scan(self, files: Numbered) -> Scan:
        markers = tuple(sorted(self.markers, key=lambda marker: marker.position))
        empty = frozenset(number for number in files if not self.tuples[number])
        return Scan(markers, empty, self.tuples.total(), {n: c for n, c in self.tuples.items() if c})


_LOCATED = pa.schema(
    [
        *((name, pa.string()) for name in ("code", "attribute", "fault", "file")),
        ("line", pa.int64()),
        ("raw", pa.string()),
        ("bytes", pa.string()),
    ]
)
_BATCH_SIZE = 1000
"""Number of rows of a batch."""


def _position(row: Mapping[str, Any]) -> int:
    return int(row[POSITION])


@define
class _Run:
    """Splits rows by file, and where positions decrease. Returns the number of the split and the file."""

    number: int = 0
    last: int = -1

    def __call__(self, row: Mapping[str, Any]) -> tuple[int, int]:
        self.number += _position(row) < self.last
        self.last = _position(row)
        return self.number, file_of(self.last)


@frozen
class _Located:
    """Bad tuples with their lines. A file is read once if its rows are adjacent and in order.

    `files`: by their numbers, with their URIs.
    """

    files: Mapping[int, tuple[Part, str]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Not all engines keep the order of rows on the way to a task; at best they keep it within a batch.
        located = self.rows(row for batch in batches for row in sorted(batch.to_pylist(), key=_position))
        while some := list(islice(located, _BATCH_SIZE)):
            yield pa.RecordBatch.from_pylist(some, _LOCATED)

    def rows(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        for (_, number), of_file in groupby(rows, key=_Run()):
            bad, same = tee(of_file)
            part, uri = self.files[number]
            lines = lines_at(part, (row[POSITION] - number * NEXT_FILE for row in same))
            for row, (text, line) in zip(bad, lines, strict=True):
                record = record_of(text)
                raw = record.decode("utf-8", "replace")
                kept = None if raw.encode() == record else b64encode(record).decode()
                reason = {"code": row["code"], "attribute": row["attribute"], "fault": row[CORRUPT]}
                yield {**reason, "file": uri, "line": part.shown(line), "raw": raw, "bytes": kept}


_FIELDS = pa.schema([("part", pa.int32()), *((name, pa.string()) for name in ("name", "first", "common"))])


@frozen
class _Fields(FewRows[Part]):
    """The names and kinds of the fields in parts of files, between two positions."""

    fields_in: Callable[[Any, Span], Mapping[str, FieldKinds]]
    between: Span

    def rows(self, part: Part, number: int) -> Iterator[tuple[Any, ...]]:
        fields: list[tuple[str, FieldKinds]] = []
        for block in part.blocks():
            begin = part.number * NEXT_FILE + block.place
            fields += self.fields_in(block, (self.between[0] - begin, self.between[1] - begin)).items()
        yield from ((number, name, kind.first, kind.common) for name, kind in merged(fields).items())
