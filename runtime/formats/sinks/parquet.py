"""Parquet: tuples with the columns that exist in their epoch, markers in columns of their own (design, section 6)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import ClassVar

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame

from cedilla.runtime.formats.parquet.footers import row_count
from cedilla.runtime.formats.sinks.sink import FolderSink
from cedilla.runtime.storage.files import FoundFile


class ParquetSink(FolderSink):
    """A tuple is a row; a marker is a row of a file with the one column `$accent` or `$punctuation`."""

    extension: ClassVar[str] = "parquet"

    def write(self, tuples: DataFrame, folder: str) -> None:
        # The codec of the state is one that few other programs know.
        tuples.write.option("compression", "snappy").parquet(folder)

    def count(self, file: FoundFile) -> int:
        return row_count(self._files, file.path)

    def write_markers(self, path: str, kind: str, texts: Sequence[str]) -> None:
        written = io.BytesIO()
        rows = pa.table({f"${kind}": pa.array(texts, pa.string())})
        parquet.write_table(rows, written, compression="snappy", store_schema=False)
        self._files.write(path, written.getvalue())
