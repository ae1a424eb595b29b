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
    for _ in range(2):  # a restart stops at the same marker
        with pytest.raises(DiagnosticError) as caught:
            run.process()
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "RQ222"
        assert (
            "Join `join` cannot continue: it has kept nothing of `places` for the new values"
            in diagnostic.message
        )
        assert [i["ts"] for i in run.output("join") if is_tuple(i)] == [0]
    run.query, run.yes = query.replace("{1, 2}", "{1, 2, 3}"), True
    run.process()
    assert [i["ts"] for i in run.output("join") if is_tuple(i)] == [0]
    run.write("places", [{"pump": 3, "place": "yard"}])
    executor = run.executor()
    executor.process(1, {"places": run.files(executor)["places"][-1:]})
    assert [i["ts"] for i in run.output("join") if is_tuple(i)] == [0, 70]
