"""A domain that grows by a line of the stream, on Spark (theory N1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from tests.kit.query import Query
from tests.kit.stream import is_tuple
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine

QUERY = """
stream pumps(ts: long, pump: int in {1, 2}, litres: double) from json "in" punctuated on ts;
minutes := window[60 on ts as minute](pumps);
flow := aggregate[avg by minute except ts, pump](minutes);
emit flow to json "out";
"""
NEW = {"ts": 70, "pump": 3, "litres": 140.0}


def test_values_are_taken_from_the_growth_on(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, QUERY)
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
        ("[[pump = 1, grow(pump, {3})]]", "RQ220"),
        ("[[grow(pumps, {3})]]", "RQ207"),
    ],
)
def test_what_cannot_grow_ends_the_query(spark: SparkSession, tmp_path: Path, marker: str, code: str) -> None:
    run = Query(spark, tmp_path, QUERY)
    run.write("pumps", [{"ts": 0, "pump": 1, "litres": 100.0}, {"$accent": marker}])
    with pytest.raises(DiagnosticError) as caught:
        run.process()
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize("files_per_epoch", tiered([1, None]))
def test_growths_where_files_begin_are_taken_with_epochs_in_flight(
    spark: SparkSession, tmp_path: Path, files_per_epoch: int | None
) -> None:
    """Before each third file, at its first line or at the last one of the file before, a pump is new."""
    run = Query(spark, tmp_path, QUERY)
    for number in range(9):
        new = {"$accent": f"[[grow(pump, {{{number // 3 + 2}}})]]"}
        rows = [
            {"ts": number * 60 + pump, "pump": pump, "litres": float(pump)}
            for pump in range(1, number // 3 + 3)
        ]
        first = [new] if number % 3 == 0 and number != 6 else []
        last = [{"$accent": "[[grow(pump, {4})]]"}] if number == 5 else []
        run.write("pumps", [*first, *rows, {"$punctuation": f"[ts < {number * 60 + 60}]"}, *last])
    executor = run.process(files_per_epoch)
    assert executor.last.counters == {}
    assert [i["litres"] for i in run.output("flow") if is_tuple(i)] == [1.5] * 3 + [2.0] * 3 + [2.5] * 3
    assert set(executor.last.sources["pumps"].grown) == {"pump"}


def test_what_came_before_a_growth_that_cannot_be_is_committed(spark: SparkSession, tmp_path: Path) -> None:
    query = """
    stream pumps(ts: long, pump: int in {1, 2}, litres: double) from json "in";
    stream places(pump: int in {1, 2, 3}, place: string) from json "in";
    emit pumps join places on pump to json "out";
    """
    run = Query(spark, tmp_path, query)
    run.write("places", [{"pump": pump, "place": "hall"} for pump in (1, 2, 3)])
    run.write("pumps", [{"ts": 0, "pump": 1, "litres": 1.0}, {"$accent": "[[grow(pump, {3})]]"}, NEW])
    for _ in range(2):  # a restart stands before the same marker
        with pytest.raises(DiagnosticError) as caught:
            run.process()
        (found,) = caught.value.diagnostics
        assert found.code == "RQ222"
        assert "Join `join` cannot go on: it has kept nothing of `places` for the new values" in found.message
        assert [i["ts"] for i in run.output("join") if is_tuple(i)] == [0]
    run.query, run.yes = query.replace("{1, 2}", "{1, 2, 3}"), True
    run.process()
    assert [i["ts"] for i in run.output("join") if is_tuple(i)] == [0]
    run.write("places", [{"pump": 3, "place": "yard"}])
    executor = run.executor()
    executor.process(1, {"places": run.files(executor)["places"][-1:]})
    assert [i["ts"] for i in run.output("join") if is_tuple(i)] == [0, 70]
