"""Parquet as a sink: tuples with the columns that exist in their epoch, markers in files that table readers ignore."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from pyspark.sql import DataFrame, SparkSession

from cedilla.runtime.connectors.formats.parquet.footers import row_count
from cedilla.runtime.connectors.formats.sinks.sink import FolderSink
from cedilla.runtime.connectors.records.marker_files import marker_file
from cedilla.runtime.connectors.storage.files import FoundFile, for_each
from cedilla.runtime.engines.spark.columns import Columns


class ParquetSink(FolderSink):
    """A tuple is a row; a marker is a line of a separate file (`records.marker_files`)."""

    extension: ClassVar[str] = "parquet"

    def write(self, tuples: DataFrame, columns: Columns, folder: str) -> None:
        # Few other programs know the codec of the state.
        tuples.write.mode("append").option("compression", "snappy").parquet(folder)

    def counts(self, spark: SparkSession, files: Sequence[FoundFile]) -> list[int]:
        return for_each(files, partial(row_count, self._files), self._path)

    def marker_file(self, name: str) -> str:
        return marker_file(name)
