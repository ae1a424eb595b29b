"""A table with a log as a sink: an epoch is staged in the checkpoint, and becomes one version of the table after its
commit.

The table has the epoch's number, so publishing it again after a crash changes nothing. Markers are rows of a second
table, `PATH_markers`. An output that is updated has a column `provisional`, and a row takes the place of the one with
its key.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame

from cedilla.compiler.plan import Emit
from cedilla.compiler.plan.latest import PROVISIONAL_COLUMN, check_names
from cedilla.compiler.plan.places import markers_table
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.formats.sinks.parquet import ParquetSink
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.records.marker_files import MARK, is_provisional_file, is_tuple_file
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.engines.spark.columns import Columns

_MARKERS = pa.schema(
    [("epoch", pa.int64()), ("place", pa.int32()), ("kind", pa.string()), ("text", pa.string())]
)
"""Schema of the table of markers: the epoch, the position among its markers, accent or punctuation, the marker."""


class TableSink(ParquetSink):
    """A tuple is a row; new columns are added, with null in earlier rows."""

    format: ClassVar[str]
    """The name of the format in the language."""
    hides_provisional: ClassVar[bool] = False

    def __init__(
        self, files: Files, path: str, relation: str, table: str, latest: Sequence[str] = ()
    ) -> None:
        """`latest`: the key of rows that are updated."""
        super().__init__(files, path, relation)
        self._latest = latest
        local = local_path(table)
        self._table = (table if local is None else str(local.absolute())).rstrip("/")
        self._markers_table = markers_table(self._table)
        self._types: Mapping[str, object] | None = None  # types of the table's columns, including staged ones

    @classmethod
    def of(cls, files: Files, checkpoint: str, emit: Emit) -> TableSink:
        """Returns the sink of an emit; epochs are staged in a folder of the checkpoint. Raises `DiagnosticError`
        RQ471."""
        cls.check_library()
        return cls(files, f"{checkpoint}/{cls.format}/{emit.name}", emit.relation, emit.path, emit.latest)

    @classmethod
    @abstractmethod
    def check_library(cls) -> None:
        """Raises `DiagnosticError` RQ471 if the library of the tables is not installed."""

    @abstractmethod
    def types_of(self, table: str) -> Mapping[str, object]:
        """Returns the types of a table's columns in the JSON of Spark, without nullability; empty without a
        table."""

    @abstractmethod
    def last_of(self, table: str) -> int | None:
        """Returns the last epoch in a table; `None` for a table without epochs."""

    @abstractmethod
    def append(self, table: str, number: int, rows: Callable[[], pa.RecordBatchReader]) -> None:
        """Appends rows in one version that has the number of their epoch. `rows`: gives them, in each call."""

    def put(self, table: str, number: int, rows: Callable[[], pa.RecordBatchReader]) -> None:
        """Writes the tuples of an epoch in one version. A format with outputs that are updated merges them by key."""
        self.append(table, number, rows)

    def stage(self, number: int, tuples: DataFrame | None, columns: Columns) -> int | None:
        """Stages tuples as `FolderSink.stage` does. Raises `DiagnosticError` RQ470 if the table has a column of another
        type, RQ360 if it has one whose name differs only in case."""
        if tuples is not None:
            self._check(columns)
        return super().stage(number, tuples, columns)

    def stage_provisional(self, number: int, rows: DataFrame, columns: Columns) -> None:
        self._check({name: kind for name, kind in columns.items() if name != MARK})
        super().stage_provisional(number, rows, columns)

    def _check(self, columns: Columns) -> None:
        """Raises RQ470 for a changed type: the table would silently accept a fraction as a whole number. Raises RQ360
        for two names that the table would refuse after the commit, RQ556 for a name that the table of an updated output
        has itself."""
        if self._latest:
            check_names(columns, self._table)
        types = dict(self.types_of(self._table) if self._types is None else self._types)
        new = {name: plain_type(kind.jsonValue()) for name, kind in columns.items()}
        kept = {name.lower(): name for name in types}
        for name, type_ in new.items():
            twin = kept.setdefault(name.lower(), name)
            if twin != name:
                message = (
                    f"`{name}` and `{twin}` differ only in case: the table {self._table} takes one of them"
                )
                hint = "another name in the output, by a projection or `rename` above the output"
                raise failure("RQ360", message, hint=hint)
            before = types.setdefault(name, type_)
            if before != type_:
                was, now = _type_text(before), _type_text(type_)
                message = f"`{name}` is now of type {now}, and of {was} in the table {self._table}"
                hint = f"write to a new table; if accents may alter `{name}`, declare it as double"
                raise failure("RQ470", message, hint=hint)
        self._types = types

    def publish(self, number: int, run: int) -> None:
        """Appends a committed epoch to the tables; a table that contains it already is skipped."""
        files = self.staged_files(number, run)
        rows = {name: file for name, file in files.items() if _has_rows(name)}
        if rows:
            self._once(self.put, self._table, number, partial(self._batches, rows))
        if len(files) > len(rows):
            markers = pa.Table.from_pylist([*self._markers(number, files)], _MARKERS)
            self._once(self.append, self._markers_table, number, markers.to_reader)
        self.forget(number, run, files)

    def _batches(self, files: Mapping[str, FoundFile]) -> pa.RecordBatchReader:
        """Returns the rows of an epoch in batches. `files`: by name."""
        one = next(iter(files.values()))
        with self._files.open(one.path, one.length) as first:
            schema = _moments(parquet.read_schema(first))
        if MARK in schema.names:
            schema = schema.remove(schema.get_field_index(MARK))
        plain, is_provisional = schema, pa.field(PROVISIONAL_COLUMN, pa.bool_())
        if self._latest:
            schema = schema.append(is_provisional)

        def batches() -> Iterator[pa.RecordBatch]:
            for name, file in files.items():
                with self._files.open(file.path, file.length) as stream:
                    for batch in parquet.ParquetFile(stream, coerce_int96_timestamp_unit="us").iter_batches():
                        rows = pa.Table.from_batches([batch]).select(plain.names).cast(plain)
                        if self._latest:
                            marks = pa.repeat(is_provisional_file(name), rows.num_rows)
                            rows = rows.append_column(is_provisional, marks)
                        yield from rows.to_batches()

        return pa.RecordBatchReader.from_batches(schema, batches())

    def _markers(self, number: int, files: Mapping[str, FoundFile]) -> Iterator[dict[str, Any]]:
        index = 0
        for name, file in files.items():
            if _has_rows(name):
                continue
            for row in map(json.loads, filter(None, self._files.read(file.path).split("\n"))):
                for kind, text in row.items():
                    yield {"epoch": number, "place": index, "kind": kind.removeprefix("$"), "text": text}
                    index += 1

    def _once(
        self,
        put: Callable[[str, int, Callable[[], pa.RecordBatchReader]], None],
        table: str,
        number: int,
        rows: Callable[[], pa.RecordBatchReader],
    ) -> None:
        """Writes an epoch into a table, unless it has the epoch already."""
        last = self.last_of(table)
        if last is None or last < number:
            put(table, number, rows)

    def check_fresh(self) -> bool:
        return self.last_epoch() < 0

    def last_epoch(self) -> int:
        epochs = (self.last_of(table) for table in (self._table, self._markers_table))
        return max((last for last in epochs if last is not None), default=-1)


def _has_rows(name: str) -> bool:
    return is_tuple_file(name) or is_provisional_file(name)


def plain_type(type_: Any) -> object:
    """Returns a type in the JSON of Spark and Delta, without nullability."""
    return [plain_type(type_["elementType"])] if isinstance(type_, dict) else type_


def _type_text(type_: object) -> str:
    return f"array of {_type_text(type_[0])}" if isinstance(type_, list) else str(type_)


def _moments(schema: pa.Schema) -> pa.Schema:
    """Returns a schema with timestamps in UTC, as in Delta."""
    moment = pa.timestamp("us", "UTC")
    fields = [f.with_type(moment) if pa.types.is_timestamp(f.type) else f for f in schema]
    return pa.schema([pa.field(f.name, f.type) for f in fields])
