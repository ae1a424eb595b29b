"""What the processes of the competitors call, for the suite `otlp`."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from tests.benchmarks import engines
from tests.benchmarks.contest import ROOT
from tests.benchmarks.otlp.inputs import Size

COLUMNS = "service STRING, minute TIMESTAMP, latency DOUBLE, n BIGINT"


def run_query(session: SparkSession, folder: str, rows: int, epochs: int) -> dict[str, Any]:
    """The averages of `make demo-otel` over files of requests."""
    text = (ROOT / "tests" / "benchmarks" / "otlp" / "latency.rq").read_text()
    sources = {"latency": str(Size(rows, epochs).folder)}
    return engines.run_cedilla(session, folder, text, sources, "averages", files_per_epoch=1)
