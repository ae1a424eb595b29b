"""The files that a job of the engine has written: read again by the engine, and listed by this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from cedilla.compiler.expressions.types import column
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.storage.stores import is_pattern
from cedilla.runtime.engines.spark.frames import is_connect

_AS_IT_IS = "__globPaths__", "false"
"""The option that stops Spark from treating a path as a pattern. With several paths in one read, Spark would read each
one again for each path that looks like a pattern."""

_OF_TASKS = "_temporary/0/_temporary"
"""The folder of Hadoop's committer, in the folder of a job, where tasks write. The end of the job removes it."""


def read_parquet(spark: SparkSession, schema: str | StructType, paths: Sequence[str]) -> Iterator[DataFrame]:
    """Yields frames with the rows of Parquet folders or files; paths are not patterns.

    Types are given as text: those of a `StructType` come with metadata, for which Sail refuses some plans.
    """
    if isinstance(schema, StructType):
        schema = ", ".join(f"{column(field.name)} {field.dataType.simpleString()}" for field in schema.fields)
    if plain := [path for path in paths if not is_pattern(path)]:
        yield spark.read.schema(schema).parquet(*plain)
    for path in paths:
        if is_pattern(path):
            yield spark.read.schema(schema).option(*_AS_IT_IS).parquet(path)


def folders_made(spark: SparkSession, files: Files, path: str) -> bool:
    """Makes an empty folder for a job to append to, with those of its tasks. Returns False if the engine makes them.

    On a disk, Spark starts a process of `chmod` for each folder that it makes (tests/benchmarks/tuning-notes.md).
    """
    if is_connect(spark) or local_path(path) is None:
        return False
    files.delete(path)
    files.make(f"{path}/{_OF_TASKS}")
    return True


def written(spark: SparkSession, files: Files, path: str) -> list[FoundFile]:
    """Returns the files of a written folder, by name. Without rows, Spark writes a file, and other engines write
    nothing.

    Raises `DiagnosticError` RQ432 if the engine writes to a place that this process does not see. Examples are a path
    without a scheme while another file system is the default, and disks of other machines.
    """
    files_found = files.list(path)
    is_local = local_path(path) is not None  # a folder of a store is there if it has files
    if not files_found and ((is_local and files.exists(path)) or _has_files(spark, files.for_engine(path))):
        hint = "a folder that all machines share, or the scheme of its store, as in hdfs:, s3a:"
        raise failure("RQ432", f"the engine has written {path}, but the files are not there", hint=hint)
    return files_found


def _has_files(spark: SparkSession, path: str) -> bool:
    """Returns True if an engine sees files in a folder."""
    try:
        return (
            spark.read.format("binaryFile").option(*_AS_IT_IS).load(path).select("path").limit(1).count() > 0
        )
    except PySparkException:  # the folder does not exist
        return False


def missing(path: str) -> DiagnosticError:
    """Returns RQ451: a file or folder of a checkpoint that its last commit needs is missing."""
    message = f"{path} is missing, and the checkpoint needs it to continue"
    hint = "restore the checkpoint, and the next run continues; else begin a new one, with other outputs"
    return failure("RQ451", message, hint=hint)


def unreadable(checkpoint: str, reason: str) -> DiagnosticError:
    """Returns RQ411: another version of Cedilla wrote a checkpoint."""
    hint = "another version of Cedilla may have written it: that one reads it; or a new checkpoint and a new output"
    return failure("RQ411", f"the checkpoint {checkpoint} cannot be read: {reason}", hint=hint)


def damaged(path: str, why: str) -> DiagnosticError:
    """Returns RQ478: a file or folder of a checkpoint is not what was written."""
    hint = (
        "the checkpoint from a backup, with the outputs of that time; else a new one, with other outputs; "
        "`cedilla doctor CHECKPOINT` shows what else is damaged"
    )
    return failure("RQ478", f"{path} is damaged: {why}", hint=hint)


def older(what: str, other: str) -> DiagnosticError:
    """Returns RQ479: files of one checkpoint, or a checkpoint and its output, are of different times."""
    hint = "both from a backup of one moment; else a new checkpoint, with other outputs"
    return failure("RQ479", f"{what}; it is older than {other}, so rows would be lost or doubled", hint=hint)
