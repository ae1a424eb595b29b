"""Operators that compare whole tuples on Spark: random accented-punctuated inputs, cut into epochs at random.

What comes out, decoded, is what plain Python says of the decoded inputs (theory 1.3, G36), in a valid stream.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.pipeline.executor import Executor
from cedilla.runtime.epochs.state.state_store import StateStore
from tests.kit.compare import bag
from tests.kit.errors import code_of
from tests.kit.query import Query
from tests.kit.stream import Decoder, Item, complaints, decode
from tests.kit.tiers import rest, soak, tiered
from tests.runtime.epochs.operators.set_streams import stream

pytestmark = pytest.mark.either_engine

HEAD = """
stream a(k: int in {1, 2, 3}, v: int, p?: int) from json "in" punctuated on k;
stream b(k: int in {1, 2, 3}, v: int, p?: int) from json "in" punctuated on k;
"""
SETS = """
one := distinct(a);
either := distinct(a union b);
both := a intersect b;
both_all := a intersect all b;
left := a minus b;
left_all := a minus all b;
"""
ORDERED = """
first := distinct[k, p](a);
some := limit[7](a);
named := rename[v as w, k as v](a);
both := a intersect b;
left_all := distinct(a) minus all limit[20](b);
"""

Row = frozenset[tuple[str, Any]]


def emitting(definitions: str) -> str:
    names = [line.split(" ")[0] for line in definitions.strip().splitlines()]
    return HEAD + definitions + "".join(f'emit {name} to json "o/{name}";\n' for name in names)


# --- random inputs ---


# --- running ---


def run_cut(
    spark: SparkSession, root: Path, query: str, parts: int, **inputs: list[Item]
) -> tuple[Query, Executor]:
    run = Query(spark, root, query)
    for number, (name, items) in enumerate(inputs.items()):
        dice = random.Random(parts * 10 + number)
        places = sorted(dice.choices(range(len(items) + 1), k=parts - 1))
        for start, end in pairwise([0, *places, len(items)]):
            run.write(name, items[start:end])
    executor = run.process(files_per_epoch=1)
    assert [run.quarantine(name) for name in inputs] == [[] for _ in inputs]
    return run, executor


def check_output(run: Query, emit: str, expected: Collection[Row], attributes: set[str]) -> None:
    output = run.output(emit)
    assert bag(decode(output)) == Counter(expected), emit
    assert list(complaints(output, attributes)) == [], emit


@pytest.mark.rest
@pytest.mark.parametrize("parts", tiered([3, 1]))
@pytest.mark.parametrize(("seed", "ends", "much"), [(1, True, None), soak(2, False, 0)])
def test_sets_and_bags_are_those_of_the_decoded_inputs(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    much: int | None,
    parts: int,
    *,
    ends: bool,
) -> None:
    """Distinct, Union as a set, Intersect and Difference, as sets and as bags, are their certain answers; also where
    tuples are sent to a state of so many bytes, because it is much."""
    if much is not None:
        monkeypatch.setattr(costs, "LARGE_STATE", much)
    a, b = stream(seed, 45, ends=ends), stream(seed + 100, 45, ends=ends)
    in_a, in_b = bag(decode(a)), bag(decode(b))
    decoder = Decoder()
    for item in b:
        decoder.feed(item)
    expected: dict[str, Collection[Row]] = {
        "one": set(in_a),
        "either": {*in_a, *in_b},
        "both": set(in_a) & set(in_b),
        "both_all": list((in_a & in_b).elements()),
        "left": {row for row in in_a if row not in in_b and decoder.closed(dict(row))},
        "left_all": [row for row in (in_a - in_b).elements() if decoder.closed(dict(row))],
    }
    run, executor = run_cut(spark, tmp_path, emitting(SETS), parts, a=a, b=b)
    for name, result in expected.items():
        check_output(run, name, result, {"k", "v", "p"})
    if ends:
        assert executor.last.segments == {}, "all is closed, so nothing is kept"
        assert list((tmp_path / "checkpoint" / "state").rglob("*.parquet")) == []


@pytest.mark.parametrize("parts", tiered([3, 1]))
def test_the_first_to_arrive_count(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    """distinct[k], limit and rename, and set operators over what has an order of arrival; also where tuples are sent
    to state."""
    monkeypatch.setattr(costs, "LARGE_STATE", 0)
    a, b = stream(7, 45, ends=True), stream(8, 45, ends=True)
    in_a, in_b = ([frozenset(row.items()) for row in decode(items)] for items in (a, b))
    first = {(dict(row).get("k"), dict(row).get("p")): row for row in reversed(in_a)}
    expected: dict[str, Collection[Row]] = {
        "first": first.values(),
        "some": in_a[:7],
        "named": [
            frozenset(({"v": "w", "k": "v"}.get(name, name), value) for name, value in row) for row in in_a
        ],
        "both": set(in_a) & set(in_b),
        "left_all": list((Counter(set(in_a)) - Counter(in_b[:20])).elements()),
    }
    run, executor = run_cut(spark, tmp_path, emitting(ORDERED), parts, a=a, b=b)
    for name, result in expected.items():
        check_output(run, name, result, {"v", "w", "p"} if name == "named" else {"k", "v", "p"})
    assert executor.last.segments == {}
    assert [i for i in run.output("some") if "$punctuation" in i][-1] == {"$punctuation": "[]"}


def test_tuples_that_their_epoch_closes_are_not_written_to_state(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The times of a file show that all of its tuples are closed at its end, below windows and distinct, too."""
    text = """
    stream a(ts: long, k: long) from json "in" punctuated on ts;
    stream b(ts: long, k: long) from json "in" punctuated on ts;
    ones := distinct(project[k, wid](window[10 on ts as wid](a)));
    others := distinct(project[k, wid](window[10 on ts as wid](b)));
    x := ones join others on k, wid;
    emit x to json "o";
    """
    keys: list[str] = []
    append = StateStore.append
    monkeypatch.setattr(
        StateStore, "append", lambda store, key, *of, **by: (keys.append(key), append(store, key, *of, **by))
    )
    run = Query(spark, tmp_path, text)
    for source in ("a", "b"):
        run.write(source, [{"ts": 3, "k": 1}, {"ts": 4, "k": 2}, {"$punctuation": "[ts < 10]"}])
        run.write(source, [{"ts": 11, "k": 1}, {"ts": 21, "k": 2}, {"$punctuation": "[ts < 20]"}])
    executor = run.executor(1)
    files = run.files(executor)
    executor.process(0, {name: listed[:1] for name, listed in files.items()})
    assert keys == []
    executor.process(1, {name: listed[1:] for name, listed in files.items()})
    assert sorted(keys) == ["ones", "others", "x.left", "x.right"], "the window from 20 on is open"
    assert bag(decode(run.output("x"))) == bag(
        [{"k": k, "wid": wid} for k, wid in ((1, 0), (2, 0), (1, 1), (2, 2))]
    )


def test_a_drop_waits_for_the_tuples_of_a_difference(spark: SparkSession, tmp_path: Path) -> None:
    """A tuple that waits comes out with what it came with, so its Drop comes after it (G13); a Drop of
    the right input has no effect."""
    text = """
    stream a(k: int, p: int) from json "in" punctuated on k;
    stream b(k: int, p: int) from json "in" punctuated on k;
    x := a minus b;
    emit x to json "o";
    """
    run = Query(spark, tmp_path, text)
    run.write("a", [{"k": 1, "p": 5}, {"k": 2, "p": 6}, {"$accent": "[[-(p)]]"}, {"k": 1}])
    run.write("b", [{"k": 2, "p": 6}, {"$accent": "[[-(p)]]"}])
    run.write("b", [{"$punctuation": "[k = 1]"}])
    run.write("b", [{"k": 3}, {"$punctuation": "[]"}])
    run.write("a", [{"k": 3}, {"k": 4}, {"$punctuation": "[]"}])
    executor = run.executor(1)
    files = run.files(executor)
    executor.process(0, {"a": files["a"][:1], "b": files["b"]})
    assert [report.held for report in run.reports] == [("-(p) in x: state still has it",)] * 2 + [()]
    executor.process(1, {"a": files["a"][1:]})
    assert executor.last.segments == {}
    output = run.output("x")
    drop = output.index({"$accent": "[[-(p)]]"})
    assert sorted(map(str, output[:drop])) == ["{'k': 1, 'p': 5}", "{'k': 1}"]
    assert output[drop + 1 :] == [{"k": 4}, {"$punctuation": "[]"}]


@pytest.mark.parametrize(
    ("kind", "value"), [("long", "9007199254740993"), rest("decimal(24, 20)", "0.12345678901234567891")]
)
def test_a_difference_from_doubles_keeps_all_digits_or_ends(
    spark: SparkSession, tmp_path: Path, kind: str, value: str
) -> None:
    """The output has the left's exact type, but values are compared as doubles: one that doubles do not keep never
    comes out as its neighbour."""
    text = f"""
    stream a(k: int, v: {kind}) from json "in/a" punctuated on k;
    stream b(k: int, v: double) from json "in/b" punctuated on k;
    emit a minus b to json "o";
    """
    run = Query(spark, tmp_path, text)
    run.write("a", [f'{{"k": 1, "v": {value}}}', {"$punctuation": "[]"}])
    run.write("b", [{"$punctuation": "[]"}])
    assert code_of(run.process) == "RQ310"
    assert code_of(run.simulate) == "RQ310"
