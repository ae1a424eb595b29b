"""Values at the edges of their types: no value ends a query, and Spark and the reference give the same for each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.runtime import simulate
from cedilla.runtime.epochs.options.options import Options
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple
from tests.kit.tiers import rest, soak
from tests.runtime.engines.plain.edge_streams import (
    END,
    ENDS,
    STREAM,
    compare,
    edges,
    of_each_operator,
    on_sail,
    relations,
    simulated,
)

MINUTE = 60_000_000_000
TIMES = (1700000039999999999, 1700000040000000000, 2**53 + 1, -(2**53) - 1, -3, -1, 0, 7, *ENDS)


@pytest.mark.either_engine
def test_whole_numbers_are_divided_as_whole_numbers(spark: SparkSession, tmp_path: Path) -> None:
    """Beyond 2^53 a double has no odd numbers: nanoseconds would fall into the window after theirs, which is still open
    when theirs is closed."""
    query = f"""
    stream r(ts: long, d: int) from json "in" punctuated on ts;
    tumbling := window[{MINUTE} on ts as w](r);
    counted := aggregate[count() as n by w](tumbling);
    sliding := window[25 every 10 on ts as w](r);
    single := window[3 every 1 on ts as w](r);
    halves := window[2.5 on ts as w](r);
    sessions := session[{MINUTE} on ts as w](r);
    rounded := project[ts, d, floor(ts / {MINUTE}) as a, ceil(ts / {MINUTE}) as b, floor((ts * 3 - 1) / 7) as c,
                       ceil((1 - ts * 3) / 7) as e, ceil(ts * 0.1 + 2) as f, floor(ts / d) as g, ceil(ts / d) as h](r);
    emit tumbling to json "a"; emit counted to json "b"; emit sliding to json "c"; emit single to json "d";
    emit halves to json "e"; emit sessions to json "f"; emit rounded to json "g";
    """
    items: list[Item] = [
        {"ts": ts, "d": d} for ts, d in zip(TIMES, (7, -1, 3, -3, 2, 0, 1, -7, -1, 5), strict=True)
    ]
    closing: Item = {"$punctuation": "[ts < 1700000040000000000]"}
    outputs = compare(spark, tmp_path, query, {"r": [*items, closing, END]})
    minutes = {row["ts"]: row["w"] for row in outputs["tumbling"]}
    assert minutes[1700000039999999999] == 28333333
    assert all(minutes[ts] == ts // MINUTE for ts in TIMES)
    assert {row["w"]: row["n"] for row in outputs["counted"]} == Counter(ts // MINUTE for ts in TIMES)
    assert {row["ts"]: row["a"] for row in outputs["rounded"]} == {ts: ts // MINUTE for ts in TIMES}


@pytest.mark.either_engine
def test_tuples_without_a_computed_time_are_in_no_window(spark: SparkSession, tmp_path: Path) -> None:
    query = """
    stream r(k: int, v: double) from json "in" punctuated on v;
    timed := project[k, v, v / (k - 1) as m](r);
    numbered := window[4 every 2 on m as w](timed);
    bounded := window[4 on m as [x, y]](timed);
    together := session[4 on m as w](timed);
    apart := session[4 on m per k as w](timed);
    emit numbered to json "a"; emit bounded to json "b"; emit together to json "c"; emit apart to json "d";
    """
    items: list[Item] = [
        {"k": 1, "v": 1.0},
        {"k": 2, "v": 5.0},
        {"k": 1, "v": 3.0},
        {"$punctuation": "[v < 4]"},
    ]
    outputs = compare(spark, tmp_path, query, {"r": [*items, END]})
    assert all(sum("m" not in row for row in rows) == 2 for rows in outputs.values())


def simulate_text(folder: Path, query: str, *lines: str) -> list[str]:
    """The lines of tuples that `simulate` writes for the lines of source `r`."""
    (folder / "in").mkdir()
    (folder / "in" / "1.jsonl").write_text("".join(f"{line}\n" for line in lines))
    options = Options(sources={"r": str(folder / "in")}, sinks={"out": str(folder / "out")})
    simulate(query, options)
    files = sorted((folder / "out").glob("epoch=*/1-tuples*"))
    return [line for file in files for line in file.read_text().splitlines()]


def test_decimals_have_all_their_digits_in_the_reference(tmp_path: Path) -> None:
    query = """
    stream r(s: int, m: decimal(38,10), t: decimal(5,2)) from json "in" punctuated on s;
    out := aggregate[sum(m) as m, max(m) as most, sum(t) as t by s](r);
    emit out to json "out";
    """
    digits = "1234567890123456789012345678.0123456789"
    actual = simulate_text(
        tmp_path,
        query,
        f'{{"s": 1, "m": {digits}, "t": 1.01}}',
        '{"s": 1, "m": 0.0000000001, "t": 999.99}',
        '{"$punctuation": "[s = 1]"}',
    )
    total = digits[:-4] + "6790"
    assert actual == [f'{{"s": 1, "m": {total}, "most": {digits}, "t": 1001.00}}']


def test_a_decimal_that_was_altered_is_summed(tmp_path: Path) -> None:
    query = """
    stream r(s: int, t: decimal(5,2)) from json "in" punctuated on s;
    out := aggregate[sum(t) as t, avg(t) as mean, median(t) as middle, product(t) as p, var(t) as v by s](r);
    emit out to json "out";
    """
    actual = simulate_text(
        tmp_path,
        query,
        '{"s": 1, "t": 1.25}',
        '{"$accent": "[[alter(t, y -> y * 3)]]"}',
        '{"s": 1, "t": 5.25}',
        '{"$punctuation": "[s = 1]"}',
    )
    assert actual == ['{"s": 1, "t": 9.0, "mean": 4.5, "middle": 4.5, "p": 2.1875, "v": 1.125}']


# --- every operator -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", relations())
def test_no_value_ends_a_query_in_the_reference(name: str) -> None:
    query = f"{STREAM} out := {relations()[name]}; emit out to json 'out';"
    simulated(query, {"r": edges()})


@pytest.mark.rest
@pytest.mark.parametrize(
    "names",
    [
        of_each_operator()[::2],
        soak(of_each_operator()[1::2]),
        soak([name for name in relations() if name not in of_each_operator()]),
    ],
    ids=["some", "more", "others"],
)
def test_spark_gives_what_the_reference_gives_for_every_value(
    spark: SparkSession, tmp_path: Path, names: list[str]
) -> None:
    named = {f"q_{name}": text for name, text in relations().items() if name in names}
    defined = "".join(f"{name} := {text};" for name, text in named.items())
    emits = "".join(f"emit {name} to json '{name}';" for name in named)
    compare(spark, tmp_path, f"{STREAM} {defined} {emits}", {"r": edges()})


@pytest.mark.parametrize(
    "names",
    [
        of_each_operator()[::6],
        rest([name for n, name in enumerate(of_each_operator()) if n % 6]),
        soak([name for name in relations() if name not in of_each_operator()]),
    ],
    ids=["some", "more", "others"],
)
def test_sail_gives_what_the_reference_gives_for_every_value(
    sail: SparkSession, tmp_path: Path, names: list[str]
) -> None:
    for name in names:
        query = f"{STREAM} out := {relations()[name]}; emit out to json 'out';"
        compare(sail, tmp_path / name, query, {"r": edges()}, on_sail)


@pytest.mark.either_engine
def test_both_zeros_lie_in_a_region_that_lists_many_numbers(spark: SparkSession, tmp_path: Path) -> None:
    """Sail hashes the constants of a list of four or more, where -0.0 is not 0."""
    query = 'stream r(ts: long, x: double) from json "in" punctuated on x; emit r to json "out";'
    run = Query(spark, tmp_path, query)
    run.write("r", [{"ts": 1, "x": -0.0}, {"$punctuation": "[x in {0, 1, 2, 3}]"}])
    run.write("r", ['{"ts": 2, "x": -0.0}', '{"ts": 3, "x": 0}', {"ts": 4, "x": 5.0}])
    run.process(files_per_epoch=1)
    assert [item["code"] for item in run.quarantine("r")] == ["RQ305", "RQ305"]
    assert [item["ts"] for item in run.output("r") if is_tuple(item)] == [1, 4]
