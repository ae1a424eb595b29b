"""How Cedilla and hand-written Structured Streaming run a query to its end, and what is measured of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from attrs import evolve, frozen
from pyspark.sql import DataFrame, SparkSession

from cedilla.runtime import run
from cedilla.runtime.engines.spark.sail import sail_session
from cedilla.runtime.engines.spark.session import local_session
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.report import EpochReport
from tests.benchmarks.contest import outcome
from tests.benchmarks.inputs import DATA_GLOB

STATE_STORES: dict[str, dict[str, str]] = {
    "spark": {},
    "spark-rocksdb": {
        "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
        "RocksDBStateStoreProvider",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",  # with it each write is a read
    },
}
"""Competitor -> its settings: the state store that keeps state on the heap and writes deltas, and RocksDB."""

JOIN_FORMAT_3 = {
    "spark.sql.streaming.join.stateFormatVersion": "3",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
}
"""Settings for the newest state of joins in RocksDB, one store in place of four. It fails with the file system without
checksums, which Cedilla's session has."""


def spark_session(cores: int, conf: Mapping[str, str]) -> SparkSession:
    """The session that Cedilla's command line makes, also for hand-written queries: engines differ in nothing else."""
    memory = {"spark.driver.memory": conf["memory"], "spark.sql.shuffle.partitions": str(cores)}
    rest = {name: value for name, value in conf.items() if name != "memory"}
    return local_session("benchmark", f"local[{cores}]", {**memory, **rest})


_OPENED = ExitStack()
"""Sessions that end with the process."""


def embedded_session(cores: int, conf: Mapping[str, str]) -> SparkSession:
    """A session of Sail inside this process, with so many partitions."""
    os.environ["SAIL_EXECUTION__DEFAULT_PARALLELISM"] = str(cores)
    rest = {name: value for name, value in conf.items() if name != "memory"}
    return _OPENED.enter_context(sail_session(rest))


@frozen
class Lap:
    """An epoch with data: its tuples, when its results were there (seconds, any origin), how long it took itself."""

    rows: int
    end: float
    seconds: float


def steady(laps: Sequence[Lap], start: float) -> dict[str, float]:
    """Figures of a run's epochs after the first few: `rows_per_s`, `epoch_ms` (from one epoch's results to the
    next's), `latency_ms` (inside an epoch); and `first_epoch_s`."""
    skipped = min(3, len(laps) // 4)
    begin = laps[skipped - 1].end if skipped else start
    kept = laps[skipped:]
    return {
        "rows_per_s": sum(lap.rows for lap in kept) / (kept[-1].end - begin),
        "epoch_ms": 1000 * median(intervals(kept, begin)),
        "latency_ms": 1000 * median(lap.seconds for lap in kept),
        "first_epoch_s": laps[0].end - start,
    }


def intervals(laps: Sequence[Lap], start: float) -> list[float]:
    """Seconds from the results of one epoch to those of the next."""
    ends = [start, *(lap.end for lap in laps)]
    return [round(after - before, 4) for before, after in pairwise(ends)]


# --- Cedilla -----------------------------------------------------------------------------------------------


def run_cedilla(
    session: SparkSession,
    folder: str,
    query: str,
    sources: Mapping[str, str],
    output: str,
    files_per_epoch: int | None = None,
    format: str = "json",
    rows: int | None = None,
    records_per_epoch: int | None = None,
) -> dict[str, Any]:
    """A query over all its input; `output` names the emit. Every epoch with tuples is a lap, of so many rows."""
    laps, start, _ = cedilla_laps(
        session, folder, query, sources, output, files_per_epoch, records_per_epoch=records_per_epoch
    )
    total = time.monotonic() - start
    data = [evolve(lap, rows=rows or lap.rows) for lap in laps if lap.rows]
    figures = {
        **steady(data, start),
        "total_s": total,
        "checkpoint_mb": megabytes(Path(folder, "checkpoint")),
    }
    return outcome(figures, f"{folder}/out", format, epochs=intervals(data, start))


def cedilla_laps(
    session: SparkSession,
    folder: str,
    query: str,
    sources: Mapping[str, str],
    output: str,
    files_per_epoch: int | None,
    watch: Callable[[EpochReport], None] = lambda report: None,
    records_per_epoch: int | None = None,
    *,
    is_watched: bool = True,
) -> tuple[list[Lap], float, list[EpochReport]]:
    """All epochs of a run, when it started, and its reports; `watch` looks at each, and its time counts. `is_watched`:
    others may look at it, too."""
    laps: list[Lap] = []
    reports: list[EpochReport] = []

    def note(report: EpochReport) -> None:
        laps.append(Lap(report.tuples, time.monotonic(), report.seconds))
        reports.append(report)
        watch(report)

    options = Options(
        once=True,
        checkpoint=f"{folder}/checkpoint",
        sources=sources,
        sinks={output: f"{folder}/out"},
        files_per_epoch=files_per_epoch,
        records_per_epoch=records_per_epoch,
    )
    start = time.monotonic()
    run(query, options, spark=session, on_report=note, is_watched=is_watched)
    if any(report.quarantined for report in reports):
        raise AssertionError(f"tuples were rejected: {next(r for r in reports if r.quarantined)}")
    return laps, start, reports


# --- Structured Streaming ----------------------------------------------------------------------------------


def read_native(
    session: SparkSession, path: str, schema: str, format: str, files_per_epoch: int | None = 1
) -> DataFrame:
    """A stream of data files, without what only Cedilla reads."""
    reader = session.readStream.schema(schema).option("pathGlobFilter", DATA_GLOB[format])
    if files_per_epoch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_epoch)
    stream = reader.format(format).load(path)
    if format == "json":  # a punctuation at a file's end is a row of nulls here
        stream = stream.where(f"`{stream.columns[0]}` IS NOT NULL")
    return stream


def run_native(
    session: SparkSession, folder: str, result: DataFrame, format: str = "json", rows: int | None = None
) -> dict[str, Any]:
    """A streaming frame over all its input, into a folder of files. Every batch with rows is a lap, of so many rows:
    what Spark says of them leaves out those that a filter has kept the parser from giving."""
    session.conf.set("spark.sql.streaming.numRecentProgressUpdates", "100000")
    start = time.time()
    query = (
        result.writeStream.format(format)
        .option("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")  # JSON's own has milliseconds
        .option("path", f"{folder}/out")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    total = time.time() - start
    laps = [evolve(lap, rows=rows or lap.rows) for lap in native_laps(query)]
    figures = {
        **steady(laps, start),
        "total_s": total,
        "checkpoint_mb": megabytes(Path(folder, "checkpoint")),
    }
    return outcome(figures, f"{folder}/out", format, epochs=intervals(laps, start))


def native_laps(query: Any) -> list[Lap]:
    """The batches of a query that had rows, by wall clock."""
    laps: list[Lap] = []
    for progress in query.recentProgress:
        if progress["numInputRows"]:
            begun = datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00")).timestamp()
            seconds = progress["durationMs"]["triggerExecution"] / 1000
            laps.append(Lap(progress["numInputRows"], begun + seconds, seconds))
    return laps


def megabytes(folder: Path) -> float:
    """What the files below a folder take."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
