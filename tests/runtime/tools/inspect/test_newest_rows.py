"""The rows that the live page shows have all digits, in every unit."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

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
