"""The circular mean on the engines and in the reference: alike to the last digit, in whatever epochs tuples come."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.runtime import simulate
from cedilla.runtime.epochs.options.options import Options
from tests.kit.compare import texts
from tests.kit.query import Query
from tests.kit.stream import Item, decode, is_tuple
from tests.kit.tiers import rest
from tests.runtime.epochs.operators.streams import DIRECTIONS, directions

QUERY = """
stream wind(ts: long, k: int, h?: double unit degree) from json "in/wind" punctuated on ts;
means := aggregate[avg_angle(h) as h by k](wind);
emit means to json "out/means";
emit select[h < 90](means) to json "out/easterly";
"""


def check_directions(output: list[Item], easterly: list[Item]) -> None:
    actual = {row["k"]: row.get("h") for row in output if is_tuple(row)}
    assert actual == {k: mean for k, (_, mean) in DIRECTIONS.items()}
    assert all(str(value) != "-0.0" for value in actual.values())
    east = {k for k, (_, mean) in DIRECTIONS.items() if mean is not None and mean < 90}
    assert {row["k"] for row in easterly if is_tuple(row)} == east


@pytest.mark.either_engine
@pytest.mark.parametrize("parts", [rest(1), 3, rest(7)])
def test_a_mean_direction_is_exact_where_people_write_it(
    spark: SparkSession, tmp_path: Path, parts: int
) -> None:
    run = Query(spark, tmp_path, QUERY)
    rows = directions()
    size = -(-len(rows) // parts)
    for batch in range(parts):
        run.write("wind", rows[batch * size : (batch + 1) * size])
        run.go_on(run.executor(1), batch)  # a new process
    run.write("wind", [{"$punctuation": "[]"}])
    run.go_on(run.executor(), parts)
    check_directions(run.output("means"), run.output("select"))


def test_a_mean_direction_in_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = Query.without_engine(tmp_path, QUERY)
    run.write("wind", [*directions(), {"$punctuation": "[]"}])
    simulate(QUERY, Options(sinks={"means": "out/means", "select": "out/select"}))
    check_directions(run.output("means"), run.output("select"))


@pytest.mark.either_engine
def test_engines_and_the_reference_agree_to_the_last_digit(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On values of one to three decimals, in degrees, and on any in radians."""
    monkeypatch.chdir(tmp_path)
    dice = random.Random(34)
    text = """
    stream r(ts: long, k: int, h: double unit degree, a: double unit rad) from json "in/r" punctuated on ts;
    q := aggregate[avg_angle(h) as h, avg_angle(a) as a by k](r);
    emit q to json "out/q";
    """
    rows: list[Item] = [
        {
            "ts": n,
            "k": n % 60,
            "h": round(dice.uniform(-400, 800), dice.randint(0, 3)),
            "a": dice.uniform(-9, 9),
        }
        for n in range(300)
    ]
    run = Query(spark, tmp_path, text)
    run.process_parts(5, r=[*rows, {"$punctuation": "[]"}])
    both = [texts(filter(is_tuple, output)) for output in (run.output("q"), run.simulate().output("q"))]
    assert both[0] == both[1]
    assert len(both[0]) == 60


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", [rest(None), 1])
def test_a_mean_direction_goes_on_in_another_unit(
    spark: SparkSession, tmp_path: Path, per_epoch: int | None
) -> None:
    run = Query(spark, tmp_path, QUERY)
    run.write("wind", [{"ts": 1, "k": 1, "h": 350.0}, {"$accent": "[[unit(h, gon)]]"}])
    run.write(
        "wind", [{"ts": 2, "k": 1, "h": 100 / 9}, {"ts": 2, "k": 2, "h": 399.0}, {"ts": 2, "k": 2, "h": 2.0}]
    )
    run.write("wind", [{"$punctuation": "[]"}])
    run.process(per_epoch)
    output = run.output("means")
    assert {row["k"]: row["h"] for row in decode(output)} == {1: 0.0, 2: pytest.approx(0.45, abs=1e-9)}
    if per_epoch == 1:
        assert any("alter(h, y -> (y * 10) / 9, unit gon)" in item.get("$accent", "") for item in output)


@pytest.mark.either_engine
def test_what_is_not_finite_has_no_direction(spark: SparkSession, tmp_path: Path) -> None:
    text = """
    stream r(ts: long, k: int, x: double, y: double) from json "in/r" punctuated on ts;
    q := aggregate[avg_angle(x / y, 360) as d, count() as n by k](r);
    emit project[k, n, string(d) as d](q) to json "out/q";
    """
    run = Query(spark, tmp_path, text)
    huge = {"x": 1e308, "y": 1e-308}
    run.write(
        "r",
        [
            {"ts": 1, "k": 1, **huge},
            {"ts": 1, "k": 1, "x": 3.0, "y": 1.0},
            {"ts": 1, "k": 2, "x": 0.0, "y": 0.0},
        ],
    )
    run.write("r", [{"$punctuation": "[]"}])
    run.process(1)
    simulated = run.simulate().output("project")
    actual = sorted((row for row in run.output("project") if is_tuple(row)), key=lambda row: row["k"])
    assert actual == sorted((row for row in simulated if is_tuple(row)), key=lambda row: row["k"])
    assert [row.get("d") for row in actual] == ["NaN", None]


@pytest.mark.either_engine
def test_directions_of_whole_numbers_and_decimals_beside_other_means(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Sail casts decimals beyond 2^53 to a neighbour of the nearest double, and names equal counts alike."""
    text = """
    stream r(ts: long, n: int, d: decimal(20, 2)) from json "in/r" punctuated on ts;
    q := aggregate[avg(n) as a, count(n) as c, avg_angle(n, 360) as n, avg_angle(d, 360) as d by ts](r);
    emit q to json "out/q";
    """
    run = Query(spark, tmp_path, text)
    run.write(
        "r", ['{"ts": 1, "n": 350, "d": 9007199254740993}', '{"ts": 1, "n": 10, "d": 9007199254740993.00}']
    )
    run.write("r", ['{"ts": 2, "n": 7, "d": -12.25}', {"$punctuation": "[]"}])
    run.process(1)
    expected, actual = (
        sorted((row for row in output if is_tuple(row)), key=lambda row: row["ts"])
        for output in (run.simulate().output("q"), run.output("q"))
    )
    assert actual == expected
    assert [row["d"] for row in expected] == [32.0, 347.75]
