"""Rows of an epoch in Parquet files for its jobs, on an engine that keeps no rows in memory (design, section 5)."""

from __future__ import annotations

from contextlib import ExitStack

from pyspark.sql import DataFrame

from cedilla.runtime.connectors.storage.engine_failures import writing
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.written import read_parquet, written
from cedilla.runtime.engines.spark.columns import Columns, struct_of


def materialized(rows: DataFrame, columns: Columns, path: str, until: ExitStack) -> DataFrame:
    """Computes rows now, and returns a frame that reads them from a folder, which is deleted with `until`.

    `columns`: of the rows. Without rows the result is the given frame, because engines write no file then.
    """
    files, spark = Files(), rows.sparkSession
    target = files.for_engine(path)
    until.callback(files.delete, path)
    with writing(path):
        rows.write.mode("overwrite").parquet(target)  # an epoch that was given up may have left some
    if not written(spark, files, path):
        return rows
    (stored,) = read_parquet(spark, struct_of(columns), [target])
    return stored
