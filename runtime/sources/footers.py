"""The footers of Parquet files: columns, rows, and whether there can be markers.

The driver reads them through Parquet's own library, without a Spark job: some kilobytes of each file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from attrs import frozen
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, NullType, StringType, StructType

MARKERS = ("$accent", "$punctuation")
_THREADS = 8


@frozen
class Footer:
    """What the end of a file says of it.

    `columns`: name -> type, `None` where Spark has none for it. `marked`: whether a marker may be in the file.
    `problem`: why the file cannot be read at all; then the rest says nothing.
    """

    rows: int = 0
    columns: Mapping[str, DataType | None] = {}
    marked: bool = False
    problem: str | None = None


def read_footers(spark: SparkSession, paths: Sequence[str]) -> list[Footer]:
    """The footer of each file."""
    reader = _Reader(spark)
    if len(paths) <= 1:
        return [reader.read(path) for path in paths]
    with ThreadPoolExecutor(_THREADS) as threads:
        return list(threads.map(reader.read, paths))


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

    def read(self, path: str) -> Footer:
        try:
            file = self._open(self._input.fromPath(self._path(path), self._conf))
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
        return Footer(sum(block.getRowCount() for block in blocks), columns, marked)

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


def _types(schema: Any) -> dict[str, DataType | None]:
    return {field.name: field.dataType for field in StructType.fromJson(json.loads(schema.json())).fields}


def _reason(error: Py4JJavaError | PySparkException, path: str) -> str:
    text = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    return text.replace(f"file:{path}", "it").replace(path, "it")
