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

CELSIUS = "y -> (y - 32) * 5/9"


def reading(ts: int, sensor: int, t: float) -> Item:
    return {"ts": ts, "s": sensor, "t": t}


def accents(items: list[Item]) -> list[str]:
    return [item["$accent"] for item in items if "$accent" in item]


@pytest.mark.parametrize(
    "third",
    [{"$accent": f"[[s = 3, alter(t, {CELSIUS})]]"}, {"$punctuation": "[s = 3]"}],
    ids=["changed", "closed"],
)
def test_one_covering_alter_once_no_sensor_reports_fahrenheit(
    spark: SparkSession, tmp_path: Path, third: Item
) -> None:
    run = Query(spark, tmp_path, QUERY)
    run.write("placement", [*PLACES, {"$punctuation": "[]"}])
    run.write(
        "sensors",
        [
            reading(0, 1, 50.0),
            {"$accent": f"[[s = 1, alter(t, {CELSIUS})]]"},
            reading(1, 1, 20.0),
            {"$accent": f"[[s = 2, alter(t, {CELSIUS})]]"},
            {"$punctuation": "[ts < 10]"},
        ],
    )
    run.write("sensors", [reading(11, 2, 10.0), reading(11, 3, 68.0), third, {"$punctuation": "[ts < 20]"}])
    run.write("sensors", [reading(21, 1, 30.0), {"$punctuation": "[ts < 30]"}])
    run.process(files_per_epoch=1)
    output = run.output("average")
    assert accents(output) == ["[[alter(t, y -> (y * 5 - 160) / 9)]]"]
    place = next(index for index, item in enumerate(output) if "$accent" in item)
    assert [i for i in output[:place] if is_tuple(i)] == [
        {"l": "north", "wid": 0, "t": 59.0},
        {"l": "north", "wid": 1, "t": 50.0},
        {"l": "south", "wid": 1, "t": 68.0},
    ]
    assert [i for i in output[place:] if is_tuple(i)] == [{"l": "north", "wid": 2, "t": 30.0}]


def test_without_the_last_sensor_the_output_stays_in_fahrenheit(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, QUERY)
    run.write("placement", [*PLACES, {"$punctuation": "[]"}])
    alters = [{"$accent": f"[[s = {s}, alter(t, {CELSIUS})]]"} for s in (1, 2)]
    run.write("sensors", [*alters, reading(1, 1, 20.0), {"$punctuation": "[ts < 10]"}])
    run.process()
    assert run.output("average") == [{"l": "north", "wid": 0, "t": 68.0}, {"$punctuation": "[wid < 1]"}]


def test_in_original_units_never_changes_them(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, QUERY.replace('"out/average"', '"out/average" in original units'))
    run.write("placement", [*PLACES, {"$punctuation": "[]"}])
    run.write("sensors", [{"$accent": f"[[alter(t, {CELSIUS})]]"}, {"$punctuation": "[ts < 10]"}])
    run.write("sensors", [reading(11, 1, 20.0), {"$punctuation": "[]"}])
    run.process(files_per_epoch=1)
    output = run.output("average")
    assert accents(output) == []
    assert [i for i in output if is_tuple(i)] == [{"l": "north", "wid": 1, "t": 68.0}]


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


def test_an_alter_is_announced_though_the_predicate_reads_the_attribute(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What the predicate excludes is closed, in terms of the altered attribute; no reader needs to hear of it."""
    run = Query(
        spark, tmp_path, 'stream r(t: double) from json "in"; out := select[t > 9](r); emit out to json "o";'
    )
    run.write(
        "r", [{"t": 50.0}, {"$accent": f"[[alter(t, {CELSIUS})]]"}, {"t": 20.0}, {"$punctuation": "[t > 30]"}]
    )
    run.write("r", [{"t": 25.0}, {"t": -40.0}])
    run.process(files_per_epoch=1)
    assert run.output("out") == [
        {"t": 50.0},
        {"t": 68.0},
        {"$punctuation": "[t <= 9]"},
        {"$punctuation": "[t > 86]"},
        {"$accent": "[[alter(t, y -> (y * 5 - 160) / 9)]]"},
        {"t": 25.0},
    ]


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
