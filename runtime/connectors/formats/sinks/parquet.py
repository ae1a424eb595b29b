"""Parquet as a sink: tuples with the columns that exist in their epoch, markers in files that table readers ignore."""

from __future__ import annotations

from typing import ClassVar

from pyspark.sql import DataFrame

from cedilla.runtime.connectors.formats.parquet.footers import row_count
from cedilla.runtime.connectors.formats.sinks.sink import FolderSink
from cedilla.runtime.connectors.records.marker_files import marker_file
from cedilla.runtime.connectors.storage.files import FoundFile
from cedilla.runtime.engines.spark.columns import Columns


class ParquetSink(FolderSink):
    """A tuple is a row; a marker is a line of a separate file (`records.marker_files`)."""

    extension: ClassVar[str] = "parquet"

    def write(self, tuples: DataFrame, columns: Columns, folder: str) -> None:
        # Few other programs know the codec of the state.
        tuples.write.option("compression", "snappy").parquet(folder)

    def count(self, file: FoundFile) -> int:
        return row_count(self._files, file)

    def marker_file(self, name: str) -> str:
        return marker_file(name)
