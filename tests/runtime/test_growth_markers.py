"""A domain that grows by a line of the stream, on Spark (theory N1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from tests.pipeline import Run
from tests.stream import is_tuple

QUERY = """
stream pumps(ts: long, pump: int in {1, 2}, litres: double) from json "in" punctuated on ts;
minutes := window[60 on ts as minute](pumps);
flow := aggregate[avg by minute except ts, pump](minutes);
emit flow to json "out";
"""
NEW = {"ts": 70, "pump": 3, "litres": 140.0}


def test_values_are_taken_from_the_growth_on(spark: SparkSession, tmp_path: Path) -> None:
    run = Run(spark, tmp_path, QUERY)
    run.write(
        "pumps",
        [
            {"ts": 0, "pump": 1, "litres": 100.0},
            {**NEW, "ts": 1},
            {"$accent": "[[pump in {1, 2}, alter(litres, y -> y / 1000)]]"},
            {"$punctuation": "[ts < 60]"},
            {"$accent": "[[grow(pump, {3})]]"},
            {"$accent": "[[grow(pump, {2, 3})]]"},
            {"ts": 60, "pump": 1, "litres": 0.1},
            NEW,
            {"$punctuation": "[ts < 120]"},
        ],
    )
    executor = run.process()
    assert executor.last.counters == {"RQ303": 1}
    assert [i["minute"] for i in run.output("flow") if is_tuple(i)] == [0, 1]
    run.write("pumps", [{**NEW, "ts": 130}, {"$punctuation": "[ts < 180]"}])
    executor = run.process()  # the checkpoint knows the new value
    assert executor.last.counters == {"RQ303": 1}


@pytest.mark.parametrize(
    ("marker", "code"),
    [
        ("[[grow(ts, {3})]]", "RQ220"),
        ("[[pump = 1, grow(pump, {3})]]", "RQ220"),
        ("[[grow(pumps, {3})]]", "RQ207"),
    ],
)
def test_what_cannot_grow_ends_the_query(spark: SparkSession, tmp_path: Path, marker: str, code: str) -> None:
    run = Run(spark, tmp_path, QUERY)
    run.write("pumps", [{"ts": 0, "pump": 1, "litres": 100.0}, {"$accent": marker}])
    with pytest.raises(DiagnosticError) as caught:
        run.process()
    assert caught.value.diagnostics[0].code == code
