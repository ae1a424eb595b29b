"""`make demo-otel`: the latencies of queries/otel.rq are those of the fleet, while its services change their unit."""

import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from tests.kit import ROOT
from tests.kit.query import Query

FOLDER = ROOT / "queries" / "otel"


def script(name: str, argument: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / f"{name}.py"), str(argument)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_minute_of_every_service_is_right(sail: SparkSession, tmp_path: Path) -> None:
    prepared = script("prepare", tmp_path / "in" / "latency")
    assert prepared.returncode == 0, prepared.stderr
    Query(sail, tmp_path, (ROOT / "queries" / "otel.rq").read_text()).process(4)
    compared = script("compare", tmp_path / "out" / "averages")
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert "480 minutes of services; ignoring the unit, 268 of them are wrong." in compared.stdout
    first = next((tmp_path / "out" / "averages").glob("epoch=*/*.jsonl"))
    first.write_text("".join(first.read_text().splitlines(keepends=True)[1:]))
    assert script("compare", tmp_path / "out" / "averages").returncode == 1
