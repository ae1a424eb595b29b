"""Outputs as a data source of PySpark: `spark.read.format("cedilla").load("flow")`, `spark.readStream` alike.

Spark finds it by the module `pyspark_cedilla`. It runs in Python workers, without a session. A row is in one unit for
each attribute (theory D0); accents are read from the files of markers, not from the tuples before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
from attrs import frozen
from pyspark.sql.datasource import (
    DataSource as PySparkDataSource,
)
from pyspark.sql.datasource import (
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.runtime.tools.reading.columns import arrow_table
from cedilla.runtime.tools.reading.epochs import last_epoch, rows_between
from cedilla.runtime.tools.reading.named_units import functions_of, in_named_units, named_types
from cedilla.runtime.tools.reading.reading import Reading, read

_OPTIONS = ("path", "query", "schema", "units", "with")


class DataSource(PySparkDataSource):
    """The data source `cedilla`. Options: the `path` of an output (a folder), `units` as for `cedilla.read`, `with`,
    "litres in m3, t in degC" (needs `query`), `query` or `schema` for types."""

    @classmethod
    def name(cls) -> str:
        return "cedilla"

    def schema(self) -> StructType:
        """Returns the attributes of the output; those without a declared type are inferred from all values."""
        reading = self._reading()
        return from_arrow_schema(named_types(reading.arrow().schema, self._functions(reading)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Returns a reader of the committed epochs."""
        reading = self._reading()
        return _Reader(reading, self._functions(reading), to_arrow_schema(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Returns a reader of one epoch after the other. Raises `DiagnosticError` RQ490 for `latest`."""
        reading = self._reading()
        if reading.units == "latest":
            hint = '`canonical`, or `.option("with", "litres in m3")` with the query'
            raise failure("RQ490", "a stream has no latest units: its rows are final", hint=hint)
        return _StreamReader(reading, self._functions(reading), to_arrow_schema(schema))

    def _functions(self, reading: Reading) -> Mapping[str, Affine]:
        return functions_of(reading, self.options.get("query"), self.options.get("with"))

    def _reading(self) -> Reading:
        for name in self.options:
            if name not in _OPTIONS:
                hint = did_you_mean(name, _OPTIONS, "options")
                raise failure("RQ490", f"the format `cedilla` has no option `{name}`", hint=hint)
        if "path" not in self.options:
            raise failure("RQ490", "the format `cedilla` reads a folder", hint='`.load("flow")`')
        units: Any = self.options.get("units", "canonical")
        return read(
            self.options["path"], units, query=self.options.get("query"), schema=self.options.get("schema")
        )


@frozen
class _Reader(DataSourceReader):
    reading: Reading
    functions: Mapping[str, Affine]
    wanted: pa.Schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        table = in_named_units(self.reading.arrow(), self.functions)
        yield from _fitted(table, self.wanted).to_batches()


class _Epochs(InputPartition):
    """The epochs after one up to another one."""

    def __init__(self, after: int, last: int) -> None:
        super().__init__((after, last))
        self.after, self.last = after, last


@frozen
class _StreamReader(DataSourceStreamReader):
    reading: Reading
    functions: Mapping[str, Affine]
    wanted: pa.Schema

    def initialOffset(self) -> dict[str, int]:
        return {"epoch": -1}

    def latestOffset(self, start: object = None, limit: object = None) -> dict[str, int]:
        """Returns the last committed epoch. PySpark 4.1 gives no arguments."""
        return {"epoch": last_epoch(self.reading.folder)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [_Epochs(start["epoch"], end["epoch"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Epochs)
        rows, units = rows_between(self.reading, partition.after, partition.last, self.wanted)
        table = in_named_units(arrow_table(rows, units), self.functions)
        yield from _fitted(table, self.wanted).to_batches()

    def commit(self, end: dict[str, int]) -> None:
        """Does nothing: an output is never shortened."""


def _fitted(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Returns the wanted columns of a table; one that no tuple has is null. Raises `DiagnosticError` RQ423 for a value
    that its wanted type does not hold."""
    count = table.num_rows
    columns = (
        _cast(table.column(field.name), field)
        if field.name in table.column_names
        else pa.nulls(count, field.type)
        for field in wanted
    )
    return pa.Table.from_arrays([*columns], schema=wanted) if len(wanted) else table.select([])


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    is_rounded = pa.types.is_decimal(field.type) and pa.types.is_floating(column.type)
    with suppress(pa.ArrowInvalid):
        cast = column.cast(field.type)
        if not is_rounded or cast.cast(column.type).equals(column):
            return cast
    message = f"`{field.name}` has values of type {column.type} that {field.type} of the schema does not hold"
    raise failure("RQ423", message, hint="the schema that the format gives now, or a wider type")
