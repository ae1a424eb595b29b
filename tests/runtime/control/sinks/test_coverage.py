"""When every sensor of the declared domain has changed, or is closed, the output changes with one accent."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from tests.kit.query import Query
from tests.kit.sensor_streams import PLACES, QUERY
from tests.kit.stream import Item, is_tuple

pytestmark = pytest.mark.either_engine


def reading(ts: int, sensor: int, t: float) -> Item:
    return {"ts": ts, "s": sensor, "t": t}


@pytest.mark.parametrize(("drop", "announced"), [("exact", 2), ("eager", 1)])
def test_a_drop_waits_for_the_state_unless_it_is_eager(
    spark: SparkSession, tmp_path: Path, drop: str, announced: int
) -> None:
    run = Query(spark, tmp_path, QUERY)
    run.write("placement", [*PLACES, {"$punctuation": "[]"}])
    run.write("sensors", [{"$accent": "[[+(p: double)]]"}, {**reading(1, 1, 50.0), "p": 7.0}])
    run.write("sensors", [{"$accent": "[[-(p)]]"}, reading(2, 1, 60.0)])
    run.write("sensors", [reading(11, 1, 50.0), {"$punctuation": "[ts < 10]"}])
    run.process(files_per_epoch=1, settings={"drop": drop})
    epochs = {e.name: e for e in (tmp_path / "out" / "average").iterdir()}
    dropping = [name for name, epoch in epochs.items() if (epoch / "4-drops.jsonl").exists()]
    assert dropping == [f"epoch={announced:012d}"]
    rows = [i for i in run.output("average") if is_tuple(i)]
    expected = {"l": "north", "wid": 0, "t": 55.0}
    assert rows == [expected if drop == "eager" else {**expected, "p": 7.0}]
    assert bool(run.reports[1].held) == (drop == "exact")


HELD = """
stream r(ts: long, v: double, q?: double) from json "in/r" punctuated on ts;
q := sort[ts](r);
emit q to json "out/q";
"""


def test_values_are_written_by_what_is_left_of_a_tuple(spark: SparkSession, tmp_path: Path) -> None:
    """Readers do not know a value that an eager Drop leaves out: its conditions hold for no tuple without it."""
    run = Query(spark, tmp_path, HELD)
    run.write("r", [{"$accent": "[[+(q: double)]]"}, {"$accent": "[[q <= 1, alter(v, y -> y * 100)]]"}])
    run.write("r", [{"$accent": "[[q <= 1, +(z: double)]]"}])
    run.write("r", [{"ts": 1, "v": 500.0, "q": 0.5, "z": 3.0}, {"ts": 2, "v": 5.0, "q": 2.0}])
    run.write("r", [{"$accent": "[[-(q)]]"}, {"ts": 3, "v": 5.0}])
    run.write("r", [{"$punctuation": "[]"}])
    run.process(files_per_epoch=1, settings={"drop": "eager"})
    assert [i for i in run.output("q") if is_tuple(i)] == [{"ts": t, "v": 5.0} for t in (1, 2, 3)]


def test_an_added_attribute_that_has_no_average_is_left_out_and_said(
    spark: SparkSession, tmp_path: Path
) -> None:
    """G37; under `set accents = strict` it ends the query."""
    for setting in ("accumulate", "strict"):
        run = Query(spark, tmp_path / setting, QUERY)
        run.write("placement", [*PLACES, {"$punctuation": "[]"}])
        added = {"$accent": "[[+(firmware: string)]]"}
        run.write(
            "sensors", [added, {**reading(1, 1, 50.0), "firmware": "2.1"}, {"$punctuation": "[ts < 10]"}]
        )
        if setting == "strict":
            with pytest.raises(DiagnosticError) as caught:
                run.process(settings={"accents": setting})
            assert caught.value.diagnostics[0].code == "RQ211"
            continue
        run.process(settings={"accents": setting})
        assert run.output("average") == [{"l": "north", "wid": 0, "t": 50.0}, {"$punctuation": "[wid < 1]"}]
        assert run.reports[0].notes == ("average leaves out firmware: avg requires numbers",)
