"""Operators that compare whole tuples on Spark: random accented-punctuated inputs, cut into epochs at random.

What comes out, decoded, is what plain Python says of the decoded inputs (theory 1.3, G36), in a valid stream.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field
from pyspark.sql import SparkSession

from cedilla.runtime.engines import costs
from cedilla.runtime.pipeline.executor import Executor
from tests.kit.query import Query
from tests.kit.stream import Decoder, Item, complaints, decode
from tests.kit.tiers import rest, tiered

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


@define
class Source:
    """Writes a valid stream. Canonical values are few, so that tuples come again and on both sides."""

    random: random.Random
    items: list[Item] = field(factory=list[Item])
    decoder: Decoder = field(factory=Decoder)
    present: dict[int, str] = field(factory=dict[int, str])  # k -> what became of q there

    def say(self, item: Item) -> None:
        self.items.append(item)
        self.decoder.feed(item)

    def tuple(self) -> None:
        pick = self.random
        row: Item = {"k": pick.choice([1, 2, 3]), "v": pick.choice([0, 1])}
        if pick.random() < 0.3:
            row["p"] = pick.choice([0, 1])
        if self.present.get(row["k"]) == "added" and pick.random() < 0.6:
            row["q"] = pick.choice([0, 1])
        if not self.decoder.closed(row):
            raw = self.decoder.raw_at(row, len(self.decoder.accents))
            self.say({name: int(value) for name, value in raw.items()})

    def accent(self) -> None:
        pick, k = self.random, self.random.choice([1, 2, 3])
        altered = pick.choice(["v", "p"])
        function = pick.choice(["y -> y * 2", "y -> y * 2 + 1", "y -> y + 3"])
        if pick.random() < 0.5:
            self.say({"$accent": f"[[k = {k}, alter({altered}, {function})]]"})
        elif k not in self.present:
            self.present[k] = "added"
            self.say({"$accent": f"[[k = {k}, +(q: int)]]"})
        elif self.present[k] == "added":
            self.present[k] = "dropped"
            self.say({"$accent": f"[[k = {k}, -(q)]]"})

    def punctuation(self) -> None:
        k = self.random.choice([1, 2, 3])
        v = self.decoder.raw_at({"k": k, "v": self.random.choice([0, 1])}, len(self.decoder.accents))["v"]
        self.say({"$punctuation": f"[k = {k}, v = {v}]"})


def stream(seed: int, length: int, *, ends: bool) -> list[Item]:
    source = Source(random.Random(seed))
    while len(source.items) < length:
        source.random.choices([source.tuple, source.accent, source.punctuation], [14, 2, 1])[0]()
    if ends:
        source.say({"$punctuation": "[]"})
    return source.items


def cut(items: list[Item], parts: int, seed: int) -> list[list[Item]]:
    places = sorted(random.Random(seed).choices(range(len(items) + 1), k=parts - 1))
    return [items[i:j] for i, j in zip([0, *places], [*places, len(items)], strict=True)]


# --- running ---


def run_cut(
    spark: SparkSession, root: Path, query: str, parts: int, **inputs: list[Item]
) -> tuple[Query, Executor]:
    run = Query(spark, root, query)
    for number, (name, items) in enumerate(inputs.items()):
        for part in cut(items, parts, parts * 10 + number):
            run.write(name, part)
    executor = run.process(files_per_epoch=1)
    assert [run.quarantine(name) for name in inputs] == [[] for _ in inputs]
    return run, executor


def rows(stream: Iterable[Item]) -> list[Row]:
    return [frozenset(row.items()) for row in decode(stream)]


def check(run: Query, emit: str, expected: Collection[Row], attributes: set[str]) -> None:
    output = run.output(emit)
    assert Counter(rows(output)) == Counter(expected), emit
    assert list(complaints(output, attributes)) == [], emit


def closed(items: list[Item]) -> Callable[[Row], bool]:
    """Whether an input says in the end that a tuple never comes (again)."""
    decoder = Decoder()
    for item in items:
        decoder.feed(item)
    return lambda row: decoder.closed(dict(row))


def first_of(tuples: list[Row], *names: str) -> list[Row]:
    chosen: dict[tuple[Any, ...], Row] = {}
    for row in tuples:
        chosen.setdefault(tuple(dict(row).get(n) for n in names), row)
    return list(chosen.values())


@pytest.mark.parametrize("parts", tiered([3, 1]))
@pytest.mark.parametrize(("seed", "ends", "much"), [(1, True, None), rest(2, False, 0)])
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
    in_a, in_b = Counter(rows(a)), Counter(rows(b))
    decided = closed(b)
    expected: dict[str, Collection[Row]] = {
        "one": set(in_a),
        "either": {*in_a, *in_b},
        "both": set(in_a) & set(in_b),
        "both_all": list((in_a & in_b).elements()),
        "left": {row for row in in_a if row not in in_b and decided(row)},
        "left_all": [row for row in (in_a - in_b).elements() if decided(row)],
    }
    run, executor = run_cut(spark, tmp_path, emitting(SETS), parts, a=a, b=b)
    for name, result in expected.items():
        check(run, name, result, {"k", "v", "p"})
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
    in_a, in_b = rows(a), rows(b)
    expected: dict[str, Collection[Row]] = {
        "first": first_of(in_a, "k", "p"),
        "some": in_a[:7],
        "named": [
            frozenset(({"v": "w", "k": "v"}.get(name, name), value) for name, value in row) for row in in_a
        ],
        "both": set(in_a) & set(in_b),
        "left_all": list((Counter(set(in_a)) - Counter(in_b[:20])).elements()),
    }
    run, executor = run_cut(spark, tmp_path, emitting(ORDERED), parts, a=a, b=b)
    for name, result in expected.items():
        check(run, name, result, {"v", "w", "p"} if name == "named" else {"k", "v", "p"})
    assert executor.last.segments == {}
    assert [i for i in run.output("some") if "$punctuation" in i][-1] == {"$punctuation": "[]"}


def test_a_drop_waits_for_the_tuples_of_a_difference(spark: SparkSession, tmp_path: Path) -> None:
    """A tuple that waits comes out with what it came with, so its Drop comes after it (G13); what the right
    input drops concerns nobody."""
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
