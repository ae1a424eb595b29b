"""What the processes of the competitors call, for the suite `evolution`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cedilla.runtime.epochs.pipeline.report import EpochReport
from tests.benchmarks import engines
from tests.benchmarks.contest import outcome
from tests.benchmarks.core.query import WINDOW, Size, at, window_number
from tests.benchmarks.evolution import inputs

WINDOWS = """
stream readings(ts: long, s: int in [0, {sensors}), t: double{unit}, v: int) from json "readings" punctuated on ts;
some := select[v >= 10](readings);
windows := window[300 on ts as wid](some);
result := aggregate[avg(t) as mean, count() as n by s, wid](windows);
emit result to json "result"{said};
"""
UNIT = {"unit": " unit degF", "said": " with mean in degF"}
NO_UNIT = {"unit": "", "said": ""}

ARRIVAL = {
    "groups": """
stream facts(k: long, t: double) from json "facts" punctuated on k;
result := aggregate[sum(t) as total, count() as n by k](facts);
emit result to json "result" in original units;
""",
    "join": """
stream facts(k: long, t: double) from json "facts" punctuated on k;
stream probes(k: long, u: double) from json "probes" punctuated on k;
result := facts join probes on k;
emit result to json "result" in original units;
""",
}

GAP = """
stream readings(ts: long, s: int, t: double) from json "readings" punctuated on ts;
windows := window[300 on ts as wid](readings);
result := aggregate[avg(t) as mean, count() as n by s, wid](windows);
emit result to json "result" in original units;
"""


def in_force(session: SparkSession, folder: str, accents: int, rows: int, epochs: int) -> dict[str, Any]:
    """Throughput behind so many accents; the epoch that brings them is none of the laps."""
    sources = {"readings": str(inputs.in_force_folder(accents, rows, epochs))}
    return engines.run_cedilla(session, folder, _windows(NO_UNIT), sources, "result", 1)


def by_range(
    session: SparkSession, folder: str, kind: str, accents: int, rows: int, epochs: int
) -> dict[str, Any]:
    """The same behind accents by ranges of times, or of sensors and times."""
    path = inputs.by_range_folder(kind, accents, rows, epochs)
    return engines.run_cedilla(session, folder, _windows(NO_UNIT), {"readings": str(path)}, "result", 1)


def units(session: SparkSession, folder: str, rows: int, epochs: int, declared: bool) -> dict[str, Any]:
    """Throughput of readings without accents, with or without a unit of the stream and of the output."""
    sources = {"readings": str(inputs.in_force_folder(0, rows, epochs))}
    query = _windows(UNIT if declared else NO_UNIT)
    return engines.run_cedilla(session, folder, query, sources, "result", 1)


def _windows(unit: Mapping[str, str]) -> str:
    return WINDOWS.format(sensors=inputs.SENSORS, **unit)


def arrival(session: SparkSession, folder: str, kind: str, state: int, accented: bool) -> dict[str, Any]:
    """`accent_ratio`: an epoch that begins with an accent against the median of the two before and the two after."""
    sources = {"facts": str(inputs.arrival_folder(kind, state, "facts", accented))}
    if kind == "join":
        sources["probes"] = str(inputs.arrival_folder(kind, state, "probes", False))
    state_mb: list[float] = []

    def watch(report: EpochReport) -> None:
        if report.number == inputs.EPOCHS - 2:  # the last epoch closes everything; both are not measured
            state_mb.append(engines.megabytes(Path(folder, "checkpoint", "state")))

    laps, start, reports = engines.cedilla_laps(session, folder, ARRIVAL[kind], sources, "result", 1, watch)
    read = sum(report.accents for report in reports)
    if len(laps) != inputs.EPOCHS or read != (len(inputs.ARRIVALS) if accented else 0):
        raise AssertionError(f"{len(laps)} epochs, {read} accents")
    ends = [start, *(lap.end for lap in laps)]
    took = [after - before for before, after in pairwise(ends)]
    around = {n: median([*took[n - 2 : n], *took[n + 1 : n + 3]]) for n in inputs.ARRIVALS}
    figures = {
        "accent_ratio": median(took[n] / around[n] for n in inputs.ARRIVALS),
        "epoch_ms": 1000 * median(around.values()),
        "total_s": ends[-1] - start,
        "state_mb": state_mb[0],
    }
    return outcome(figures, f"{folder}/out", epochs=[round(seconds, 4) for seconds in took])


def gap_cedilla(session: SparkSession, folder: str, rows: int, history: int) -> dict[str, Any]:
    """The time from the output before the accent to the output of its epoch."""
    sources = {"readings": str(inputs.gap_folder(rows, history))}
    laps, start, _ = engines.cedilla_laps(session, folder, GAP, sources, "result", 1)
    figures = {"gap_s": laps[-1].end - laps[-2].end, "total_s": laps[-1].end - start}
    return outcome(figures, f"{folder}/out")


def gap_native(session: SparkSession, folder: str, rows: int, history: int) -> dict[str, Any]:
    """What is left to a user of Structured Streaming: a changed query on a new checkpoint, over all the files.

    All in one batch, the fastest way; neither stopping, nor editing, nor starting a session counts.
    """
    path = str(inputs.gap_folder(rows, history))
    start = time.monotonic()
    readings = engines.read_native(session, path, "ts BIGINT, s INT, t DOUBLE", "json", None)
    changed = F.col("ts") >= inputs.change_second(rows, history)
    readings = readings.withColumn("t", F.when(changed, F.col("t") / 2).otherwise(F.col("t")))
    readings = readings.withColumn("at", at("ts")).withWatermark("at", "0 seconds")
    means = readings.groupBy("s", F.window("at", f"{WINDOW} seconds"))
    result = means.agg(F.avg("t").alias("mean"), F.count("*").alias("n"))
    ran = engines.run_native(session, folder, result.select("s", window_number().alias("wid"), "mean", "n"))
    seconds = time.monotonic() - start
    return outcome({"gap_s": seconds, "total_s": seconds}, ran["output"])


def closed_windows(rows: int, history: int) -> str:
    """The windows that are closed when the input of `gap_*` ends."""
    return f"(wid + 1) * {WINDOW} <= {inputs.last_second(Size(rows, history + 1), history)}"
