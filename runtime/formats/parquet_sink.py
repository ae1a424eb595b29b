"""Parquet: tuples with the columns that exist in their epoch, markers in columns of their own (design, section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession

from cedilla.runtime.engines import costs
from cedilla.runtime.engines.files import FoundFile, name_of
from cedilla.runtime.formats.footers import row_count
from cedilla.runtime.formats.sink import FolderSink

_FIRST_TASK = "part-00000"


class ParquetSink(FolderSink):
    """A tuple is a row; a marker is a row of a file with the one column `$accent` or `$punctuation`."""

    extension: ClassVar[str] = "parquet"

    def write(self, tuples: DataFrame, folder: str) -> None:
        # The codec of the state is one that few other programs know.
        tuples.write.option("compression", "snappy").parquet(folder)

    def holds_rows(self, file: FoundFile) -> bool:
        """Of the tasks of a write only the first leaves a file if it has no rows."""
        if not name_of(file.path).startswith(_FIRST_TASK):
            return True
        return row_count(SparkSession.active(), file.path) > 0

    def write_markers(self, path: str, kind: str, texts: Sequence[str]) -> None:
        spark = SparkSession.active()
        if len(texts) <= costs.FEW_MARKERS:
            _write_few(spark, path, f"${kind}", texts)
            return
        aside = f"{path}.writing"
        rows = spark.createDataFrame([(text,) for text in texts], f"`${kind}` STRING").coalesce(1)
        rows.write.mode("overwrite").option("compression", "snappy").parquet(aside)
        (file,) = self._files.list(aside)
        self._files.rename(file.path, path)
        self._files.delete(aside)


def _write_few(spark: SparkSession, path: str, column: str, texts: Sequence[str]) -> None:
    """Write a file of one column of strings by Parquet's own writer."""
    jvm: Any = spark._jvm
    parquet = jvm.org.apache.parquet
    text = f"message markers {{ optional binary {column} (STRING); }}"
    schema = parquet.schema.MessageTypeParser.parseMessageType(text)
    rows = parquet.example.data.simple.SimpleGroupFactory(schema)
    builder = parquet.hadoop.example.ExampleParquetWriter.builder(jvm.org.apache.hadoop.fs.Path(path))
    conf: Any = spark._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
    writer = builder.withConf(conf).withType(schema).build()
    try:
        for text in texts:
            writer.write(rows.newGroup().append(column, text))
    finally:
        writer.close()
