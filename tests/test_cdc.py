"""`make demo-cdc`: a database renames a column under load, and no row of queries/cdc.rq has a NULL for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit import ROOT
from tests.kit.command import cedilla
from tests.kit.query import Query

FOLDER, QUERY = ROOT / "queries" / "cdc", (ROOT / "queries" / "cdc.rq").read_text()


def script(name: str, *arguments: Path | str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / f"{name}.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.rest
@pytest.mark.java
def test_a_renamed_column_of_a_real_database_loses_no_value(sail: SparkSession, tmp_path: Path) -> None:
    events = tmp_path / "in" / "orders"
    database = script("database", events)
    assert database.returncode == 0, database.stderr
    run = Query(
        sail, tmp_path, "".join(line for line in QUERY.splitlines(True) if not line.startswith("accent"))
    )
    run.run()
    reason = "the row has no column `total`; no attribute reads `amount`"
    assert [(r.line, r.code, r.reason) for r in run.rejections("orders")] == [
        (line, "RQ541", reason) for line in (78, 79, 80)
    ]
    assert cedilla("replay", tmp_path / "checkpoint", "--code", "RQ541").exit_code == 0
    run.query = QUERY
    run.run(yes=True)
    assert_compared(events, tmp_path / "out" / "orders", 80)


def test_the_shipped_events_give_the_same(tmp_path: Path) -> None:
    """The comparison notices a row that is missing."""
    run = Query.without_engine(tmp_path, QUERY)
    events = FOLDER / "data"
    run.write("orders", (events / "orders.jsonl").read_text().splitlines())
    run.simulate()
    invoices = tmp_path / "out" / "epoch=000000000000" / "1.jsonl"
    invoices.parent.mkdir(parents=True)
    (simulated,) = (tmp_path / "simulated" / "orders").rglob("*tuples*.jsonl")
    invoices.write_text(simulated.read_text())
    assert_compared(events, tmp_path / "out", 8)
    invoices.write_text("".join(invoices.read_text().splitlines(keepends=True)[1:]))
    assert script("compare", events, tmp_path / "out").returncode == 1


def assert_compared(events: Path, invoices: Path, rows: int) -> None:
    compared = script("compare", events, invoices)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert f"a plain script: {rows} rows, 3 of them NULL" in compared.stdout
    assert f"this query: {rows} rows, 0 of them NULL" in compared.stdout
