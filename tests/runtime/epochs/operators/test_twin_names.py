"""Names that differ only in case are names of different attributes, in every operator, sink and state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.kit.lines import write_lines
from tests.kit.query import Query
from tests.kit.stream import Item
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine

TWINS = [("t", "T"), ("ß", "ẞ"), ("İ", "i"), ("k_", "\u212a_"), ("ſ", "S"), ("Σ", "ς"), ("ab", "aB")]
"""Pairs that some rule of comparing without case takes for one name; with signs that no lower case has in common."""

STREAMS = """
stream r(ts: int, k: int, {t}: double) from json "r" punctuated on ts;
stream s(ts: int, k: int, {t}: double, {T}: double) from json "s" punctuated on ts;
"""
TAXIS = """
stream y(k: int, fee?: double, v: double) from parquet "y" markers "m";
o := aggregate[sum(fee) as fee, sum(v) as v by k](y);
emit o to json "o";
"""
_FORMAT = ("json", "parquet")
OPERATORS = {
    "select": "select[{T} > 3](s)",
    "project": "project[ts, k, {T} as {t}, {t} as {T}](r)",
    "extend": "extend[{t} + 1 as {T}_, {T} + 1 as {t}_](s)",
    "except": "project[* except {t}](r)",
    "absorb": "project[ts, {T}, {t}](s)",
    "rename": "rename[{t} as {T}, {T} as {t}](s)",
    "rename_one": "rename[{t} as {T}](project[ts, {t}](s))",
    "union": "r union s",
    "join": "s join rename[ts as at, {t} as {t}_](project[ts, k, {t}](r)) on k",
    "join_on": "project[ts, {t}](s) join project[ts as at, {t}, {T}](r) on {t}",
    "join_two": "project[ts, {t}](s) join project[ts as at, {T}](s) on {t} = {T}",
    "left_join": "s left join rename[ts as at, {t} as {t}_](project[ts, k, {t}](r)) on k",
    "semi_join": "s semi join project[k, {T}](s) on {T}",
    "anti_join": "s anti join select[k = 1](s) on {T}",
    "intersect": "project[{t}, {T}](s) intersect project[{t}, {T}](r)",
    "minus": "project[{t}, {T}](s) minus project[{t}, {T}](r)",
    "minus_all": "project[{t}, {T}](s) minus all project[{t}, {T}](r)",
    "distinct": "distinct(project[{t}, {T}](s))",
    "distinct_on": "distinct[{T}](s)",
    "sort": "sort[ts, {T} desc, {t}](s)",
    "top": "top[1 by {T} per {t}](s)",
    "limit": "limit[3](s)",
    "sample": "sample[1 in 2 by {T}](s)",
    "window": "window[2 on ts as {t}_](r)",
    "window_bounds": "window[2 on ts as [{t}_, {T}_]](r)",
    "session": "session[1 on ts per {t}, {T} as w](s)",
    "session_alias": "session[1 on ts as {T}](project[ts, {t}](s))",
    "count_window": "window[2 rows per {T} as {t}_](s)",
    "aggregate": "aggregate[sum({t}) as {T}, max({T}) as {t}, count() as n by k, w](window[2 on ts as w](s))",
    "aggregate_all": "aggregate[avg by k, w except ts](window[2 on ts as w](r))",
    "aggregate_by": "aggregate[min(ts) as first by {t}, {T}](s)",
    "aggregate_slide": "aggregate[sum({t}) as {t}, sum({T}) as {T} by w](window[2 every 1 on ts as w](s))",
    "first": "aggregate[first({t}) as {T}, first({T}) as {t} by k, w](window[2 on ts as w](s))",
    "running": "running[sum({t}) as {T}_, max({T}) as {t}_ per k on ts](s)",
    "running_lag": "running[increase({t}) as {t}_, increase({T}) as {T}_ on ts](s)",
}


def stream(twin: str, other: str, is_added: bool) -> list[Item]:
    """Tuples of twins, whose values differ; `is_added`: an Add brings the other one."""
    first: list[Item] = [{"ts": 0, "k": 1, twin: 1.0}, {"ts": 0, "k": 2, twin: 8.0}]
    accent: list[Item] = [{"$accent": f"[[+({other}: double)]]"}] if is_added else []
    if not is_added:
        first = [item | {other: 9.0 - item["k"]} for item in first]
    later: list[Item] = [{"ts": n, "k": n % 2 + 1, twin: float(n), other: n / 2 + 1} for n in range(1, 8)]
    return [*first, *accent, *later[:3], {"$punctuation": "[ts < 3]"}, *later[3:], {"$punctuation": "[]"}]


FEW = ("except", "union", "join_on")
EVERY = (*OPERATORS,)
CASES = tiered([("t", "T", FEW), ("t", "T", EVERY), *((*twins, FEW) for twins in TWINS[1:])], most=1)


@pytest.mark.parametrize(("twin", "other", "operators"), CASES)
def test_twins_are_apart_in_every_operator_state_and_sink(
    spark: SparkSession, tmp_path: Path, twin: str, other: str, operators: Sequence[str]
) -> None:
    """An Add brings one of them, file by file; a fresh process goes on."""
    names = {"t": twin, "T": other}
    emits = [
        f'q_{name} := {OPERATORS[name].format(**names)}; emit q_{name} to {_FORMAT[number % 2]} "{name}";'
        for number, name in enumerate(operators)
    ]
    query = Query(spark, tmp_path, STREAMS.format(**names) + "\n".join(emits))
    query.write_parts("r", stream(twin, other, is_added=True), 3)
    query.write_parts("s", stream(twin, other, is_added=False), 3)
    query.process(files_per_epoch=2)
    query.go_on(query.executor(), 1)
    simulated = query.simulate()
    for name in operators:
        assert query.rows(f"q_{name}") == simulated.rows(f"q_{name}") != [], name


@pytest.mark.rest
@pytest.mark.parametrize(("twin", "other"), TWINS)
def test_twins_are_apart_on_the_embedded_engine(
    sail: SparkSession, tmp_path: Path, twin: str, other: str
) -> None:
    test_twins_are_apart_in_every_operator_state_and_sink(sail, tmp_path, twin, other, EVERY)


def test_a_column_that_changes_its_case_is_renamed(spark: SparkSession, tmp_path: Path) -> None:
    """The taxi files of New York have `airport_fee` until January 2023, and `Airport_fee` after it."""
    query = Query(spark, tmp_path, TAXIS)
    query.write_table("y", pa.table({"k": [1], "v": [1.0], "fee": [2.5]}), 1)
    write_lines(tmp_path / "in" / "y.markers" / "1.jsonl", ['{"$accent": "[[rename(\\"Fee\\", fee)]]"}'], 2)
    query.write_table("y", pa.table({"k": [1], "v": [10.0], "Fee": [20.5]}), 3)
    write_lines(tmp_path / "in" / "y.markers" / "2.jsonl", ['{"$punctuation": "[]"}'], 4)
    query.run()
    assert query.rows("o") == [{"k": 1, "fee": 23.0, "v": 11.0}]
