"""The rows that the live page shows have all digits, in every unit."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, run
from cedilla.runtime.tools.inspect.newest_rows import Units, newest_rows
from cedilla.runtime.tools.inspect.run_model import RunModel
from tests.kit.lines import write_lines

QUERY = """
stream r(ts: long unit ms, n: long unit s, cost: decimal(24, 3) unit litre, t: double unit degF)
  from json "r" punctuated on ts;
w := window[10 milliseconds on ts as w](r);
sums := aggregate[sum(n) as n, max(cost) as cost, avg(t) as t, largest(t, 2) as all by w](w);
copies := select[w >= 0](sums);
emit sums to json "sums";
emit copies to parquet "copies";
"""
ROWS = [
    {"ts": 1, "n": 2, "cost": 1.5, "t": 50.0},
    '{"ts": 2, "n": 9007199254740993, "cost": 123456789012345678.125, "t": 68.0}',
    {"$accent": "[[unit(cost, m3)]]"},
    {"$accent": "[[unit(t, degC)]]"},
    {"$punctuation": "[ts < 10]"},
]
LAST = ['{"ts": 11, "n": 3, "cost": 123456789012345.678125, "t": 10.005}', {"$punctuation": "[ts < 20]"}]


EXPECTED: list[tuple[Units, dict[str, Any]]] = [
    ("as written", {"n": 3, "cost": "123456789012345.678125", "t": 10.005, "all": [10.005]}),
    ("canonical", {"n": 3, "cost": "123456789012345678.125", "t": 50.009, "all": [50.009]}),
    (
        {"n": "ms", "cost": "cm3", "all": "degC"},
        {"n": 3000, "cost": "123456789012345678125", "all": [10.005]},
    ),
    ({"n": "min", "t": "degC"}, {"n": 0.05, "t": 10.005}),
]


def test_rows_have_all_digits_in_every_unit(sail: SparkSession, tmp_path: Path) -> None:
    for time, lines in enumerate((ROWS, LAST)):
        write_lines(tmp_path / "in" / f"{time}.jsonl", lines, time)
    places: dict[str, Any] = {
        "sources": {"r": tmp_path / "in"},
        "sinks": {"sums": tmp_path / "out", "copies": tmp_path / "lake"},
    }
    run(QUERY, Options(once=True, checkpoint=str(tmp_path / "ck"), files_per_epoch=1, **places), spark=sail)
    model = RunModel(str(tmp_path / "ck"))
    model.read()
    assert model.folder is not None
    for output, (units, expected) in product(("sums", "copies"), EXPECTED):
        row = newest_rows(model.folder, output, units)["rows"][-1]
        assert {name: row[name] for name in expected} == expected


def test_rows_of_delta_end_where_units_changed_and_where_the_table_was_compacted(
    sail: SparkSession, tmp_path: Path
) -> None:
    """The same epochs in a folder and in a table: an Alter in the second of three."""
    deltalake = pytest.importorskip("deltalake")
    text = """
    stream r(n: long, t: double unit degC) from json "r";
    s := select[n >= 0](r);
    emit r to json "out";
    emit s to delta "table";
    """
    altered = {"$accent": "[[unit(t, K)]]"}
    files = [[{"n": 1, "t": 1.0}], [{"n": 2, "t": 2.0}, altered], [{"n": 3, "t": 276.15}]]
    for time, lines in enumerate(files):
        write_lines(tmp_path / "in" / f"{time}.jsonl", lines, time)
    sinks = {"r": str(tmp_path / "out"), "s": str(tmp_path / "table")}
    options = Options(
        once=True,
        checkpoint=str(tmp_path / "ck"),
        files_per_epoch=1,
        sources={"r": str(tmp_path / "in")},
        sinks=sinks,
    )
    run(text, options, spark=sail)
    model = RunModel(str(tmp_path / "ck"))
    model.read()
    folder = model.folder
    assert folder is not None
    for units in ("as written", "canonical", "latest"):
        assert newest_rows(folder, "s", units) == newest_rows(folder, "r", units)
    assert [row["n"] for row in newest_rows(folder, "s", "as written")["rows"]] == [1, 2, 3]
    assert newest_rows(folder, "s", "canonical")["rows"] == [{"n": 3, "t": pytest.approx(3.0)}]
    table = deltalake.DeltaTable(str(tmp_path / "table"))
    table.optimize.compact()
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert newest_rows(folder, "s", "as written")["rows"] == []
