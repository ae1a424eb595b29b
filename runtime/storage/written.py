"""The files that a job of the engine has left, as this process sees them."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.storage.files import Files, FoundFile


def written(spark: SparkSession, files: Files, path: str) -> list[FoundFile]:
    """The files of a folder that was written, by name. Of no rows Spark leaves a file, other engines nothing.

    Raises `DiagnosticError` RQ432 where the engine writes into another place than the one that is seen from here: a
    path without a scheme where another file system is the default, or disks of other machines.
    """
    found = files.list(path)
    if not found and (files.exists(path) or _has_files(spark, files.for_engine(path))):
        hint = "a folder that all machines share, or the scheme of its store, as in hdfs:, s3a:"
        raise failure("RQ432", f"the engine has written {path}, but the files are not there", hint=hint)
    return found


def _has_files(spark: SparkSession, path: str) -> bool:
    """Whether an engine sees files in a folder."""
    try:
        return spark.read.format("binaryFile").load(path).select("path").limit(1).count() > 0
    except PySparkException:  # there is no such folder
        return False
