"""What only Spark itself can do, not Spark Connect: the one place where its own objects are asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import quote
from cedilla.runtime.storage.files import Files, FoundFile

_POLL_SECONDS = 0.5
_LISTING = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


def set_log_level(session: SparkSession, *, verbose: bool) -> None:
    """Spark's warnings and remarks, or only its errors."""
    session.sparkContext.setLogLevel("WARN" if verbose else "ERROR")


def observed(
    frame: DataFrame, counts: Mapping[str, str]
) -> tuple[DataFrame, Callable[[], Mapping[str, int] | None]]:
    """The same rows, counted by the job that reads them. `counts`: name -> SQL of an aggregate.

    The function gives what was counted, `None` where no job has read all rows.
    """
    observation = Observation()
    watched = frame.observe(observation, *(F.expr(text).alias(name) for name, text in counts.items()))

    def seen() -> Mapping[str, int] | None:
        java: Any = observation._jo  # type: ignore[attr-defined]
        # `get` would wait for ever.
        if not java.future().isCompleted() or not java.getRow().length():
            return None
        return observation.get

    return watched, seen


def stream_files(
    session: SparkSession,
    folders: Sequence[tuple[str, str]],
    record: str,
    interval: float | None,
    take: Callable[[Mapping[str, list[FoundFile]]], None],
    wait: Callable[[bool], None],
) -> None:
    """Run a Structured Streaming query over the files that appear in folders, until it is done or `wait` raises.

    `folders`: name -> path; `record`: where Spark keeps what it has seen; `interval`: seconds between looks, `None` for
    one look; `take` gets what a micro-batch brings by the names of the folders, and may get it again; `wait` is called
    now and then, and told whether no files are there. Raises what `take` raises.
    """
    failure: list[BaseException] = []

    def batch(listed: DataFrame, number: int) -> None:
        try:
            found: dict[str, list[FoundFile]] = {name: [] for name, _ in folders}
            for row in listed.collect():  # names of files, no data
                found[row["folder"]].append(FoundFile(row["path"], row["modified"], row["length"]))
            take(found)
        except BaseException as problem:
            failure.append(problem)
            raise

    arriving = [
        _arriving(session, path).selectExpr("*", f"{quote(name)} AS folder") for name, path in folders
    ]
    writer = reduce(DataFrame.union, arriving).writeStream.foreachBatch(batch)
    writer = writer.option("checkpointLocation", record)
    trigger = {"availableNow": True} if interval is None else {"processingTime": f"{interval} seconds"}
    query = writer.trigger(**trigger).start()  # type: ignore[arg-type]
    try:
        while not query.awaitTermination(_POLL_SECONDS):
            status = query.status
            is_busy = status["isTriggerActive"] or status["isDataAvailable"]
            wait(not is_busy and str(status["message"]).startswith("Waiting"))
    except StreamingQueryException:
        if failure:
            raise failure[0] from None
        raise
    finally:
        query.stop()


def _arriving(session: SparkSession, path: str) -> DataFrame:
    """A streaming DataFrame of the files that appear in a folder or below it: path, modified, length.

    However old they are: a file that is moved into place keeps its modification time, and by default Spark passes over
    what is a week older than the newest file.
    """
    reader = session.readStream.schema(_LISTING).format("binaryFile").option("maxFileAge", "36500d")
    found = reader.option("recursiveFileLookup", "true").load(path)
    # No part of a file's name below the folder is hidden. Spark itself shows `_a=b` and `_metadata`.
    below = f"substr(path, {len(Files().absolute(path)) + 1})"
    return found.where(f"NOT {below} RLIKE '/[._]'").selectExpr(
        "path", "unix_millis(modificationTime) AS modified", "length"
    )
