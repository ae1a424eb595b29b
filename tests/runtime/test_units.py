"""Queries with units run: by files and epochs, and without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.runtime import simulate
from cedilla.runtime.terminal.options import Options
from tests.pipeline import Run
from tests.stream import Item, decode, read_output

QUERY = """
stream inland(ts: long unit s, s: int in {1, 2}, t: double unit degF) from json "in/inland" punctuated on ts;
stream coast(ts: long unit ms, s: int in {3}, t?: double unit degC, p?: double unit hPa)
  from json "in/coast" punctuated on ts;
all := inland union coast;
minutes := window[1 minute on ts as minute](select[t > 20 degC](all));
emit aggregate[max(t) as t, count() as n by minute](minutes) to json "out/aggregate";
emit all to json "out/all";
"""
INLAND: list[list[Item]] = [
    [{"ts": 0, "s": 1, "t": 77.0}, {"ts": 30, "s": 2, "t": 50.0}],
    [
        {"$accent": "[[alter(t, y -> (y - 32) * 5/9)]]"},
        {"ts": 61, "s": 1, "t": 30.0},
        {"$punctuation": "[]"},
    ],
]
COAST: list[list[Item]] = [
    [{"ts": 500, "s": 3, "t": 35.0}, {"$accent": "[[+(u: double)]]"}, {"ts": 600, "s": 3, "u": 1.0}],
    [
        {"$accent": "[[alter(t, y -> y + 273.15)]]"},
        {"ts": 61500, "s": 3, "t": 313.15, "p": 1000.0},
        {"$accent": "[[-(p)]]"},
        {"ts": 61600, "s": 3},
        {"$punctuation": "[]"},
    ],
]


def canonical(folder: Path) -> list[Item]:
    rows = [
        {name: round(float(value), 6) for name, value in row.items()} for row in decode(read_output(folder))
    ]
    return sorted(rows, key=lambda row: sorted(row.items()))


def check(root: Path) -> None:
    assert canonical(root / "out" / "aggregate") == [
        {"minute": 0, "t": 95, "n": 2},
        {"minute": 1, "t": 104, "n": 2},
    ]
    assert [row.get("t") for row in canonical(root / "out" / "all") if row["s"] == 3] == [104, 95, None, None]
    assert {row["ts"] for row in canonical(root / "out" / "all")} == {0, 500, 600, 30000, 61000, 61500, 61600}


def test_units_are_converted_on_an_engine(sail: SparkSession, tmp_path: Path) -> None:
    run = Run(sail, tmp_path, QUERY)
    for parts in zip(INLAND, COAST, strict=True):
        for source, items in zip(("inland", "coast"), parts, strict=True):
            run.write(source, items)
    run.process(1)
    check(tmp_path)


def test_units_are_converted_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = Run(None, tmp_path, QUERY)  # type: ignore[arg-type]
    for parts in zip(INLAND, COAST, strict=True):
        for source, items in zip(("inland", "coast"), parts, strict=True):
            run.write(source, items)
    simulate(QUERY, Options(sinks={name: f"out/{name}" for name in ("all", "aggregate")}))
    check(tmp_path)
