"""What the processes of the competitors call, for the suite `nexmark`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from tests.benchmarks import engines
from tests.benchmarks.contest import ROOT
from tests.benchmarks.nexmark import spark_twins
from tests.benchmarks.nexmark_contest.data import Size

FILES_PER_EPOCH = 2  # tuples, and the markers behind them


def query_text(query: str, format: str) -> str:
    """The query over files of another format than JSON, and into them."""
    text = (ROOT / "queries" / "nexmark" / f"{query}.rq").read_text()
    return text.replace(' json "', f' {format} "')


def run_cedilla(
    session: SparkSession, folder: str, query: str, events: int, per_file: int, format: str, cores: int
) -> dict[str, Any]:
    text, data = query_text(query, format), Size(events, per_file).folder(format)
    plan = compile_query(text, f"{query}.rq").plan
    sources = {source.name: str(data / Path(source.path).name) for source in plan.sources}
    ran = engines.run_cedilla(session, folder, text, sources, plan.emits[0].name, FILES_PER_EPOCH, format)
    return _per_core(ran, cores, events, per_file)


def run_native(
    session: SparkSession, folder: str, query: str, events: int, per_file: int, format: str, cores: int
) -> dict[str, Any]:
    data = Size(events, per_file).folder(format)
    result = spark_twins.TWINS[query](session, data, format, 1)
    return _per_core(engines.run_native(session, folder, result, format), cores, events, per_file)


def _per_core(ran: dict[str, Any], cores: int, events: int, per_file: int) -> dict[str, Any]:
    """Events per second and core. An epoch is a file's worth of events, of which a query may not read all."""
    epoch_s = _mean(ran["epochs"][: events // per_file])
    del ran["figures"]["rows_per_s"]
    ran["figures"] = {"events_per_s_core": per_file / epoch_s / cores, **ran["figures"]}
    return ran


def _mean(seconds: Sequence[float]) -> float:
    """Of all but the first few."""
    kept = seconds[min(3, len(seconds) // 4) :]
    return sum(kept) / len(kept)
