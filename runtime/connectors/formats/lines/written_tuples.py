"""Tuples that are parsed once for all jobs of an epoch, and stay in memory or become Parquet files (design, section 5).

Engines keep nothing of what one job parses for the next one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4
from weakref import WeakValueDictionary

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import astuple, evolve, field, frozen
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from cedilla.runtime.connectors.formats.lines.blocks import Part
from cedilla.runtime.connectors.formats.lines.joined_blocks import joined_blocks
from cedilla.runtime.connectors.formats.lines.tuple_statistics import members_of, merge, statistics_of, summed
from cedilla.runtime.connectors.formats.parts import FewRows, PartReader
from cedilla.runtime.connectors.formats.source import (
    NO_FIELDS,
    Batch,
    Counted,
    FileStatistics,
    InputFile,
    Members,
    Numbered,
    Searched,
    Types,
    no_tuples,
)
from cedilla.runtime.connectors.records.lines import is_compressed
from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.parquet import ColumnStatistics
from cedilla.runtime.connectors.storage.written import read_parquet
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.frames import is_local, union_by_name


class Batches(Protocol):
    """Makes batches of the tuples in blocks, like `batches.TextBatches`."""

    @property
    def schema(self) -> pa.Schema: ...

    def batch(self, block: Any, start: int) -> pa.RecordBatch:
        """Returns the tuples of a block. `start`: the position in the slice where its file begins."""
        ...


@frozen(eq=False)
class Kept:
    """The batches of groups of parts by their numbers, for tasks in this process; others parse the parts."""

    batches: Sequence[Sequence[pa.RecordBatch]]
    name: str = field(factory=lambda: uuid4().hex)


_KEPT: WeakValueDictionary[str, Kept] = WeakValueDictionary()
"""The kept tuples by names, because tasks have copies of all other objects."""


def kept_batch(spark: SparkSession, tuples: Tuples, counted: Counted = NO_FIELDS) -> Batch:
    """Parses tuples, and keeps them in memory as long as the result exists."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        kept = Kept([*threads.map(lambda group: [*tuples.parsed(group)], tuples.parts)])
    _KEPT[kept.name] = kept
    table = pa.Table.from_batches(chain.from_iterable(kept.batches), tuples.schema)
    numbers = {part.number: None for group in tuples.parts for part in group}
    rows = evolve(tuples, kept=kept.name, searched={}).frame(spark)
    return Batch(rows, statistics_of(table, numbers, tuples.types), kept, partial(members_of, table, counted))


def written_batch(spark: SparkSession, tuples: Tuples, folder: str, counted: Counted = NO_FIELDS) -> Batch:
    """Parses tuples, and writes them as Parquet files into a folder."""
    return WrittenTuples(tuples.parts, _WRITTEN, tuples, folder, counted).batch(spark)


# The following classes are sent to tasks.


Group = tuple[Part, ...]
"""Adjacent parts of files, which are read together."""


def groups_of(parts: Sequence[Part], files: Numbered) -> tuple[Group, ...]:
    """Groups parts by size, so that many small files become few groups, and every core has some."""
    sizes = [_size(part, files[part.number]) for part in parts]
    largest = min(costs.PART, 1 + sum(sizes) // (os.cpu_count() or 1))
    groups, size = list[list[Part]](), 0
    for part, length in zip(parts, sizes, strict=True):
        if not groups or size + length > largest:
            groups.append([])
            size = 0
        groups[-1].append(part)
        size += length
    return tuple(map(tuple, groups))


@frozen
class Tuples(PartReader[Group]):
    """The tuples of groups of parts."""

    of: Batches
    types: Types
    kept: str = ""
    searched: Searched = field(factory=dict[Any, Sequence[Any]], eq=False)
    """The blocks of parts that were read before, in this process only."""

    def of_part(self, part: Group, number: int) -> Iterator[pa.RecordBatch]:
        kept = _KEPT.get(self.kept)
        return self.parsed(part) if kept is None else iter(kept.batches[number])

    def parsed(self, parts: Iterable[Part]) -> Iterator[pa.RecordBatch]:
        """Yields the tuples of adjacent parts."""
        for block, start in joined_blocks(self._blocks(parts)):
            if (batch := self.of.batch(block, start)).num_rows:
                yield batch

    def _blocks(self, parts: Iterable[Part]) -> Iterator[tuple[Any, int]]:
        for part in parts:
            for block in self.searched.pop(part, None) or part.blocks():
                yield block, part.number * NEXT_FILE

    def table(self) -> pa.Table:
        """Returns all of them as a table."""
        return pa.Table.from_batches(self.parsed(chain.from_iterable(self.parts)), self.schema)


_WRITTEN = pa.schema([("path", pa.string()), ("statistics", pa.string()), ("members", pa.string())])


@frozen
class WrittenTuples(FewRows[Group]):
    """Writes the tuples of adjacent parts into files of a folder. The rows are their paths, with statistics of each
    part as JSON, or null if some line is not a tuple, and the numbers of values of the columns that are `counted`."""

    tuples: Tuples
    folder: str
    counted: Counted = NO_FIELDS

    def rows(self, part: Group, number: int) -> Iterator[tuple[Any, ...]]:
        for table in self._tables(part):
            path = f"{self.folder}/{uuid4().hex}.parquet"  # a task may run twice
            Files().write(path, _parquet(table), durable=False)
            by_file = statistics_of(table, {piece.number: None for piece in part}, self.tuples.types)
            members = {
                name: None if counts is None else [*counts.items()]
                for name, counts in members_of(table, self.counted).items()
            }
            yield (
                path,
                None if by_file is None else json.dumps([*map(_to_json, by_file.items())]),
                json.dumps(members),
            )

    def _tables(self, parts: Group) -> Iterator[pa.Table]:
        """Yields the tuples of parts in tables of a limited size."""
        batches, size = list[pa.RecordBatch](), 0
        for batch in self.tuples.parsed(parts):
            batches.append(batch)
            size += batch.nbytes
            if size > costs.PART:
                yield pa.Table.from_batches(batches)
                batches, size = [], 0
        if batches:
            yield pa.Table.from_batches(batches)

    def batch(self, spark: SparkSession) -> Batch:
        """Writes all tuples: in threads here if the engine is on this machine, else in its tasks."""
        if is_local(spark):
            with ThreadPoolExecutor(os.cpu_count()) as threads:
                of_groups = threads.map(lambda group: [*self.rows(group, 0)], self.parts)
                rows_written = [row for rows in of_groups for row in rows]
        else:
            rows_written = self.all(spark, by_driver=False)
        if not rows_written:
            return Batch(no_tuples(spark, self.tuples.types))
        paths = [Files().for_engine(path) for path, *_ in rows_written]
        frames = read_parquet(spark, from_arrow_schema(self.tuples.schema), paths)
        rows, texts = union_by_name(self.tuples.schema.names, *frames), [text for _, text, _ in rows_written]
        return Batch(
            rows,
            self._statistics(texts),
            members=partial(_members, self.counted.names, [text for *_, text in rows_written]),
            is_parsed=True,
        )

    def _statistics(self, texts: Sequence[str | None]) -> dict[int, FileStatistics] | None:
        by_file = {part.number: FileStatistics(0, {}) for group in self.parts for part in group}
        for text in texts:
            if text is None:
                return None
            for number, of_file in map(_of_json, json.loads(text)):
                by_file[number] = merge(by_file[number], of_file)
        return by_file


def _size(part: Part, file: InputFile) -> int:
    size = (file.length if part.end is None else part.end) - part.begin
    return size * (costs.PACKED if is_compressed(Path(part.path)) else 1)


def _members(names: Sequence[str], texts: Sequence[str]) -> Members:
    of_tables = [*map(json.loads, texts)]
    return {name: summed(None if of[name] is None else dict(of[name]) for of in of_tables) for name in names}


def _parquet(table: pa.Table) -> bytes:
    """Returns a table as Parquet that is cheap to write. It has no statistics, because those of doubles leave out
    NaN."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none", use_dictionary=False, write_statistics=False)
    return sink.getvalue().to_pybytes()


def _to_json(numbered: tuple[int, FileStatistics]) -> list[Any]:
    number, of = numbered
    return [number, of.rows, of.places, {name: astuple(values) for name, values in of.ranges.items()}]


def _of_json(texts: list[Any]) -> tuple[int, FileStatistics]:
    number, rows, places, ranges = texts
    columns = {name: ColumnStatistics(*values) for name, values in ranges.items()}
    return number, FileStatistics(rows, columns, places and (places[0], places[1]))
