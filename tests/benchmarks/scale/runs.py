"""What the processes of the competitors call, for the suite `scale`."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from contextlib import suppress
from functools import reduce
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler import compile_query
from cedilla.runtime import run
from cedilla.runtime.engines.spark.frames import is_connect
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.report import EpochReport
from tests.benchmarks import engines
from tests.benchmarks.contest import INPUTS, outcome
from tests.benchmarks.core import runs as core
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


# --- joins by depth ------------------------------------------------------------------------------------------


def joins_of(joins: int) -> tuple[str, list[str]]:
    """A stream that is joined with others, one after the other; and the names of all."""
    names = [f"r{n}" for n in range(joins + 1)]
    lines = [f'stream {n}(id: long, v: double) from json "{n}" punctuated on id;' for n in names]
    lines += [
        f"j{n} := {f'j{n - 1}' if n > 1 else 'r0'} join project[id](r{n}) on id;" for n in range(1, joins + 1)
    ]
    return "\n".join([*lines, f'emit j{joins} to json "result";']), names


def joins(session: SparkSession, folder: str, joins: int) -> dict[str, Any]:
    """A chain of so many joins, all sources of which read the same files."""
    text, names = joins_of(joins)
    return engines.run_cedilla(
        session, folder, text, dict.fromkeys(names, str(wide_folder())), f"j{joins}", 1, rows=WIDE_ROWS
    )


# --- a folder with old files ---------------------------------------------------------------------------------

LATENCY_FILES, EVERY = 12, 1.0
"""New files, and the seconds between two."""


def history_folder(files: int) -> Path:
    return FOLDER / "history" / str(files)


def write_history(files: int) -> None:
    """So many old files of one reading each."""
    folder = history_folder(files)
    if folder.exists():
        return
    with in_order(folder) as unfinished:
        for number in range(files):
            (unfinished / f"{number:06d}.json").write_text(f'{{"ts": {number}, "s": 1, "t": 1.0}}\n')


def latency(session: SparkSession, folder: str, files: int) -> dict[str, Any]:
    """The time from a new file to the commit of its epoch, in a run that does not end, over a folder with old files."""
    source = Path(folder, "readings")
    shutil.copytree(history_folder(files), source, copy_function=os.link)
    sent: list[float] = []
    taken: list[float] = []
    cpu: list[float] = []
    read: list[int] = []
    is_caught_up = threading.Event()

    def note(report: EpochReport) -> None:
        # A reading is a file. The old ones take several epochs, and an epoch may have several new ones.
        read.append(sum(read[-1:]) + report.tuples)
        if read[-1] >= files:
            is_caught_up.set()
        taken.extend(time.monotonic() - sent[n] for n in range(len(taken), read[-1] - files))

    def write() -> None:
        is_caught_up.wait()
        time.sleep(EVERY)
        cpu.append(time.process_time())
        for number in range(LATENCY_FILES):
            file = source / f"_{number}"
            file.write_text(f'{{"ts": {files + number}, "s": 1, "t": 1.0}}\n')
            sent.append(time.monotonic())
            file.rename(source / f"{files + number:06d}.json")
            time.sleep(EVERY)
        cpu.append(time.process_time())

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    options = Options(
        checkpoint=f"{folder}/checkpoint",
        sources={"readings": str(source)},
        sinks={"result": f"{folder}/out"},
    )
    ends = lambda: len(cpu) > 1 and len(taken) == LATENCY_FILES  # noqa: E731
    with suppress(KeyboardInterrupt):
        run(TINY, options, spark=session, on_report=note, ended=ends)
    figures = {"commit_ms": 1000 * median(taken), "file_cpu_ms": 1000 * (cpu[1] - cpu[0]) / LATENCY_FILES}
    return outcome(figures)


# --- observers -----------------------------------------------------------------------------------------------


def observed(session: SparkSession, folder: str, rows: int, epochs: int, is_watched: bool) -> dict[str, Any]:
    """The selection of the suite `core`, which anybody can look at, or nobody."""
    select = core.query_of("select")
    sources = {"bids": str(core.folder_of("select", "bids", rows, epochs, "json"))}
    text = select.cedilla.replace("{format}", "json")
    laps, start, _ = engines.cedilla_laps(
        session, folder, text, sources, select.output, 1, is_watched=is_watched
    )
    figures = {**engines.steady(laps, start), "total_s": laps[-1].end - start}
    return outcome(figures, f"{folder}/out")
