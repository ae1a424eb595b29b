"""The footers of Parquet files: columns, rows, the values of columns, and whether there can be markers.

The driver reads them through Parquet's own library, without a Spark job: some kilobytes of each file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache, reduce
from typing import Any

from attrs import frozen
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from cedilla.runtime.formats.source import Range

MARKERS = ("$accent", "$punctuation")
_THREADS = 8
_FEW_BLOCKS = 8
"""Row groups of a file whose statistics are read."""


@frozen
class Footer:
    """What the end of a file says of it.

    `columns`: name -> type, `None` where Spark has none for it. `ranges`: name -> values, where statistics tell.
    `marked`: whether a marker may be in the file. `problem`: why the file cannot be read at all; then the rest says
    nothing.
    """

    rows: int = 0
    columns: Mapping[str, DataType | None] = {}
    ranges: Mapping[str, Range] = {}
    marked: bool = False
    problem: str | None = None


def row_count(spark: SparkSession, path: str) -> int:
    """The rows of a file, by its footer."""
    return _reader(spark).row_count(path)


def read_footers(spark: SparkSession, paths: Sequence[str]) -> list[Footer]:
    """The footer of each file."""
    reader = _reader(spark)
    if len(paths) <= 1:
        return [reader.read(path) for path in paths]
    with ThreadPoolExecutor(_THREADS) as threads:
        return list(threads.map(reader.read, paths))


@lru_cache(maxsize=1)
def _reader(spark: SparkSession) -> _Reader:
    """A session's reader. To find what it calls takes more messages to the JVM than to read a footer."""
    return _Reader(spark)


class _Reader:
    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        java: Any = spark._jsparkSession
        parquet = jvm.org.apache.parquet
        self._conf: Any = spark._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
        self._path: Any = jvm.org.apache.hadoop.fs.Path
        self._input: Any = parquet.hadoop.util.HadoopInputFile
        self._open: Any = parquet.hadoop.ParquetFileReader.open
        self._type: Any = parquet.schema.MessageType
        self._list: Any = jvm.java.util.ArrayList
        self._can_drop: Any = parquet.filter2.statisticslevel.StatisticsFilter.canDrop
        spark_parquet = jvm.org.apache.spark.sql.execution.datasources.parquet
        self._converter: Any = spark_parquet.ParquetToSparkSchemaConverter(java.sessionState().conf())
        api = parquet.filter2.predicate.FilterApi
        self._has_marker: Any = getattr(api, "or")(
            *(api.notEq(api.binaryColumn(name), None) for name in MARKERS)
        )

    def row_count(self, path: str) -> int:
        file = self._opened(path)
        try:
            return int(file.getRecordCount())
        finally:
            file.close()

    def _opened(self, path: str) -> Any:
        return self._open(self._input.fromPath(self._path(path), self._conf))

    def read(self, path: str) -> Footer:
        try:
            file = self._opened(path)
            try:
                return self._footer(file.getFooter())
            finally:
                file.close()
        except (Py4JJavaError, PySparkException) as error:
            return Footer(problem=_reason(error, path))

    def _footer(self, footer: Any) -> Footer:
        blocks = list(footer.getBlocks())
        columns = self._columns(footer.getFileMetaData().getSchema())
        for name in MARKERS:
            if not isinstance(kind := columns.get(name, StringType()), StringType | NullType):
                said = "a type that Spark does not know" if kind is None else kind.simpleString()
                return Footer(problem=f"its column `{name}` is {said}, and has to be string")
        # Row by row nobody looks here: the counts of nulls in the footer tell.
        marked = any(name in columns for name in MARKERS) and any(
            not self._can_drop(self._has_marker, block.getColumns()) for block in blocks
        )
        ranges = _around([_ranges(block, columns) for block in blocks]) if len(blocks) <= _FEW_BLOCKS else {}
        return Footer(sum(block.getRowCount() for block in blocks), columns, ranges, marked)

    def _columns(self, schema: Any) -> dict[str, DataType | None]:
        try:
            return _types(self._converter.convert(schema))
        except (Py4JJavaError, PySparkException):
            return dict(pair for field in schema.getFields() for pair in self._column(field).items())

    def _column(self, field: Any) -> dict[str, DataType | None]:
        alone = self._list()
        alone.add(field)
        try:
            return _types(self._converter.convert(self._type(field.getName(), alone)))
        except (Py4JJavaError, PySparkException):
            return {field.getName(): None}


def _ranges(block: Any, columns: Mapping[str, DataType | None]) -> dict[str, Range]:
    """What the statistics of a row group say of its columns. As texts: each call to the JVM takes its time."""
    if any(isinstance(kind, ArrayType | MapType | StructType) for kind in columns.values()):
        return {}  # then a column of a block is not one of the file's
    chunks = block.getColumns()
    said = {
        name: str(chunks.get(n).getStatistics().toString())
        for n, name in enumerate(columns)
        if name not in MARKERS
    }
    return {name: found for name, text in said.items() if (found := _range(text, columns[name])) is not None}


def _range(text: str, kind: DataType | None) -> Range | None:
    """As Parquet writes statistics: `min: 1, max: 5, num_nulls: 0`."""
    if found := _ONLY_NULLS.fullmatch(text):
        return Range(int(found[1]))
    if (found := _STATISTICS.fullmatch(text)) is None:
        return None
    axis = None if kind is None else _AXES.get(type(kind))
    if axis is None:
        return Range(int(found[3]))
    try:
        return Range(int(found[3]), axis(found[1]), axis(found[2]))
    except ValueError:  # years that Python does not have
        return Range(int(found[3]))


_ONLY_NULLS = re.compile(r"num_nulls: (\d+), min/max not defined")
_STATISTICS = re.compile(r"min: (.*), max: (.*), num_nulls: (\d+)", re.DOTALL)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _microseconds(text: str) -> int:
    return (datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z") - _EPOCH) // timedelta(microseconds=1)


def _days(text: str) -> int:
    return (date.fromisoformat(text) - _EPOCH.date()).days


_AXES: Mapping[type[DataType], Callable[[str], int]] = {
    **dict.fromkeys((ByteType, ShortType, IntegerType, LongType), int),
    TimestampType: _microseconds,
    DateType: _days,
}


def _around(parts: Sequence[Mapping[str, Range]]) -> dict[str, Range]:
    """The ranges of several row groups together; of columns of which all of them tell."""
    common = frozenset(parts[0]).intersection(*parts) if parts else ()
    return {name: reduce(_both, (part[name] for part in parts)) for name in common}


def _both(one: Range, other: Range) -> Range:
    nulls = one.nulls + other.nulls
    if one.least is None or one.greatest is None or other.least is None or other.greatest is None:
        return Range(nulls)  # of one that has only nulls nothing else is known either
    return Range(nulls, min(one.least, other.least), max(one.greatest, other.greatest))


def _types(schema: Any) -> dict[str, DataType | None]:
    return {field.name: field.dataType for field in StructType.fromJson(json.loads(schema.json())).fields}


def _reason(error: Py4JJavaError | PySparkException, path: str) -> str:
    text = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    return text.replace(f"file:{path}", "it").replace(path, "it")
