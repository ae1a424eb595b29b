"""What the processes of the competitors call, for the suite `scale`."""

from __future__ import annotations

import json
import os
import time
from functools import reduce
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler import compile_query
from cedilla.runtime.engines.spark.frames import is_connect
from cedilla.runtime.epochs.pipeline.report import EpochReport
from tests.benchmarks import engines
from tests.benchmarks.contest import INPUTS, outcome
from tests.benchmarks.inputs import Rows, in_order, write_stream

FOLDER = INPUTS / "scale"
TINY_ROWS = 10
WIDE_ROWS = 1_000
WIDE_EPOCHS = 12

TINY = """
stream readings(ts: long, s: int, t: double) from json "readings" punctuated on ts;
windows := window[30 on ts as wid](readings);
result := aggregate[avg(t) as mean, count() as n by s, wid](windows);
emit result to json "result";
"""


# --- epochs --------------------------------------------------------------------------------------------------


def tiny_folder(epochs: int) -> Path:
    return FOLDER / "epochs" / str(epochs)


def write_tiny(epochs: int) -> None:
    """So many files of ten readings and a punctuation each."""
    folder = tiny_folder(epochs)
    if folder.exists():
        return
    with in_order(folder) as unfinished:
        for epoch in range(epochs):
            begin = epoch * TINY_ROWS
            lines: list[dict[str, Any]] = [
                {"ts": ts, "s": ts % 3, "t": (ts * 37 % 400) / 4} for ts in range(begin, begin + TINY_ROWS)
            ]
            lines.append({"$punctuation": f"[ts < {begin + TINY_ROWS}]"})
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (unfinished / f"{epoch:06d}.json").write_text(text)


def epochs(session: SparkSession, folder: str, epochs: int) -> dict[str, Any]:
    """Many tiny epochs; the memory of this process, and of the JVM if there is one, half way and at their end."""
    sources = {"readings": str(tiny_folder(epochs))}
    half_way: list[float] = []

    def watch(report: EpochReport) -> None:
        if report.number == epochs // 2:
            half_way.append(_python_mb())

    laps, start, _ = engines.cedilla_laps(session, folder, TINY, sources, "result", 1, watch)
    figures = {
        **engines.steady(laps, start),
        "total_s": laps[-1].end - start,
        "python_mb": _python_mb(),
        "python_grown_mb": _python_mb() - half_way[0],
        "checkpoint_mb": engines.megabytes(Path(folder, "checkpoint")),
    }
    if not is_connect(session):
        figures["heap_mb"] = _heap_mb(session)
    return outcome(figures, f"{folder}/out")


def _python_mb() -> float:
    return psutil.Process(os.getpid()).memory_info().rss / 2**20


def _heap_mb(session: SparkSession) -> float:
    """What is left after a collection."""
    jvm: Any = session._jvm
    jvm.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return (runtime.totalMemory() - runtime.freeMemory()) / 2**20


# --- sources and operators -----------------------------------------------------------------------------------


def wide_folder() -> Path:
    return FOLDER / "wide"


def write_wide(spark: SparkSession) -> None:
    columns = ("id", "pmod(xxhash64(id, 1), 400) / 4D AS v")
    write_stream(
        spark,
        wide_folder(),
        Rows(columns),
        WIDE_ROWS,
        WIDE_EPOCHS,
        "json",
        lambda epoch: f"[id < {(epoch + 1) * WIDE_ROWS}]",
    )


def union_of(sources: int) -> tuple[str, list[str]]:
    """A query that unites so many sources, and their names."""
    names = [f"r{n}" for n in range(sources)]
    lines = [f'stream {n}(id: long, v: double) from json "{n}" punctuated on id;' for n in names]
    return "\n".join([*lines, f"result := {' union '.join(names)};", 'emit result to json "result";']), names


def chain_of(operators: int) -> tuple[str, list[str]]:
    """A query of so many selections and projections in a row, and the name of its source."""
    lines = ['stream r0(id: long, v: double) from json "r0" punctuated on id;']
    for n in range(1, operators + 1):
        step = f"select[v > {-n}](r{n - 1})" if n % 2 else f"project[id, v + 1 as v](r{n - 1})"
        lines.append(f"r{n} := {step};")
    return "\n".join([*lines, f'emit r{operators} to json "result";']), ["r0"]


def wide(session: SparkSession, folder: str, sources: int = 0, operators: int = 0) -> dict[str, Any]:
    """A query of many sources, all of which read the same files, or of many operators."""
    text, names = union_of(sources) if sources else chain_of(operators)
    start = time.monotonic()
    compiled = compile_query(text, "wide.rq")
    compile_s = time.monotonic() - start
    emit = compiled.plan.emits[0].name
    places = dict.fromkeys(names, str(wide_folder()))
    laps, start, _ = engines.cedilla_laps(session, folder, text, places, emit, 1)
    total = laps[-1].end - start
    figures = {**engines.steady(laps, start), "compile_s": compile_s, "total_s": total}
    return outcome(figures, f"{folder}/out")


def native_sources(session: SparkSession, folder: str, sources: int) -> dict[str, Any]:
    """The union of so many streams by hand."""
    path, schema = str(wide_folder()), "id BIGINT, v DOUBLE"
    streams = (engines.read_native(session, path, schema, "json") for _ in range(sources))
    return engines.run_native(session, folder, reduce(DataFrame.unionAll, streams))
