"""All joins through Spark: random streams on both inputs, against plain Python joins of the canonical tuples."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field
from pyspark.sql import SparkSession

from cedilla.runtime.engines import costs
from tests.kit.query import Query
from tests.kit.stream import Decoder, Item, complaints, decode, read_output
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine

Bag = Counter[tuple[tuple[str, Any], ...]]
SENDERS = (0, 1)


@define
class Writer:
    """Writes one input: its key `key`, the sender `by` (in {0, 1}) that changes at its own time, a payload
    `value` in changing units, and an attribute `extra` that senders drop and add again. Keys grow with time."""

    key: str
    by: str
    value: str
    extra: str
    seed: int
    lag: int = 0
    most: int = 20
    files: list[list[Item]] = field(factory=list[list[Item]])
    decoder: Decoder = field(factory=Decoder)
    _without: set[int] = field(factory=set[int])
    _random: random.Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def write(self, files: int) -> Writer:
        for _ in range(files - 1):
            dropped: set[int] = set()
            items = [
                item
                for _ in range(self._random.randrange(self.most // 2, self.most))
                for item in self._items(dropped)
            ]
            self.files.append(items)
        self.files.append([{"$punctuation": "[]"}])
        return self

    @property
    def _keys(self) -> range:
        first = len(self.files) - self.lag
        return range(first, first + 6)

    def _items(self, dropped: set[int]) -> Iterator[Item]:
        sender = self._random.choice(SENDERS)
        match self._random.randrange(10):
            case 0:
                slope, shift = self._random.choice([(2, 1), (4, -3), (1, 5)])
                name = self._random.choice([self.key, self.value])
                described = self._random.choice(["", f"{self.by} = {sender}, "])
                yield self._fed({"$accent": f"[[{described}alter({name}, y -> y * {slope} + {shift})]]"})
            case 1 | 2:
                key = self._random.choice(self._keys[:4])
                for each in self._random.choice([SENDERS, SENDERS, (sender,)]):
                    yield from self._closing(each, key)
            case 3 if sender not in self._without:
                self._without.add(sender)
                dropped.add(sender)
                yield self._fed({"$accent": f"[[{self.by} = {sender}, -({self.extra})]]"})
            case 3 if sender not in dropped:
                self._without.discard(sender)
                yield self._fed({"$accent": f"[[{self.by} = {sender}, +({self.extra}: long)]]"})
            case _:
                yield from self._row(sender)

    def _closing(self, sender: int, key: int) -> Iterator[Item]:
        raw = self.decoder.raw_at({self.key: key, self.by: sender}, len(self.decoder.accents))
        yield self._fed({"$punctuation": f"[{self.by} = {sender}, {self.key} = {raw[self.key]}]"})

    def _row(self, sender: int) -> Iterator[Item]:
        row: Item = {self.by: sender, self.value: self._random.randrange(4)}
        if (key := self._random.choice([*self._keys, *self._keys, None])) is not None:
            row[self.key] = key
        if sender not in self._without and self._random.random() < 0.7:
            row[self.extra] = self._random.randrange(3)
        if not self.decoder.closed(row):
            raw = self.decoder.raw_at(row, len(self.decoder.accents))
            yield {name: int(value) for name, value in raw.items()}

    def _fed(self, marker: Item) -> Item:
        self.decoder.feed(marker)
        return marker

    def after(self, epochs: int) -> tuple[list[Item], Callable[[Any], bool]]:
        """The canonical tuples of the first files, and whether they close a key."""
        decoder = Decoder()
        items = [item for file in self.files[:epochs] for item in file]
        rows = [row for item in items if (row := decoder.feed(item)) is not None]
        return rows, lambda key: all(decoder.closed({self.key: key, self.by: sender}) for sender in SENDERS)


def bag(rows: list[Item]) -> Bag:
    return Counter(tuple(sorted((n, Fraction(v)) for n, v in row.items() if v is not None)) for row in rows)


def joins(
    left: list[Item], right: list[Item], a: str, b: str, closed: Callable[[Any], bool]
) -> dict[str, Bag]:
    """What every join has certainly got after some epochs; `closed`: whether the right has closed a key."""
    pairs, semi, anti = [], [], []
    for row in left:
        key = row.get(a)
        met = [other for other in right if key is not None and other.get(b) == key]
        pairs += [{**other, **row} for other in met]
        if met:
            semi.append(row)
        elif key is None or closed(key):
            anti.append(row)
    return {"inner": bag(pairs), "semi": bag(semi), "anti": bag(anti), "outer": bag(pairs + anti)}


def epochs_of(folder: Path, count: int) -> Iterator[list[Item]]:
    """The output as it was after each epoch."""
    stream: list[Item] = []
    whole = read_output(folder)
    for number in range(count):
        for file in sorted((folder / f"epoch={number:012d}").glob("*")):
            stream += whole[len(stream) : len(stream) + len(file.read_text().splitlines())]
        yield stream


SAME = """
stream l(k?: double, s: int in {0, 1}, v: double, p?: long) from json "in" punctuated on k, s;
stream r(k?: double, u: int in {0, 1}, w: double, q?: long) from json "in" punctuated on k, u;
inner := l join r on k;
semi := l semi join r on k;
anti := l anti join r on k;
outer := l left join r on k;
emit inner to json "1"; emit semi to json "2"; emit anti to json "3"; emit outer to json "4";
"""
DIFFERENT = """
stream l(order?: double, s: int in {0, 1}, v: double, p?: long) from json "in" punctuated on order, s;
stream r(key?: double, u: int in {0, 1}, w: double, q?: long) from json "in" punctuated on key, u;
semi := l ⋉ r on order = key;
anti := l ▷ r on r.key = l.order;
outer := l ⟕ r on order = key;
itself := l semi join l on order;
lonely := l anti join l on order;
first := distinct(project[s](semi));
emit semi to json "1"; emit anti to json "2"; emit outer to json "3";
emit itself to json "4"; emit lonely to json "5"; emit first to json "6";
"""
EPOCHS = 4


def run_joins(spark: SparkSession, root: Path, text: str, left: Writer, right: Writer) -> Query:
    """Two micro-batches of some epochs each, by two executors."""
    run = Query(spark, root, text)
    for name, writer in (("l", left), ("r", right)):
        for items in writer.files:
            run.write(name, items)
    executor = run.executor(files_per_epoch=1)
    found = run.files(executor)
    executor.process(0, {name: files[:2] for name, files in found.items()})
    executor = run.executor(files_per_epoch=1)
    executor.process(1, {name: files[2:] for name, files in found.items()})
    assert [run.quarantine(name) for name in ("l", "r")] == [[], []]
    assert executor.last.segments == {}, "everything is closed on both sides"
    assert len(run.reports) == EPOCHS
    return run


def check(run: Query, left: Writer, right: Writer, *names_of_joins: str) -> None:
    """Every join has passed exactly what is certain, after every epoch, as a valid stream."""
    for join in names_of_joins:
        names = {left.key, left.by, left.value, left.extra}
        if join in ("inner", "outer"):
            names |= {right.key, right.by, right.value, right.extra}
        folder = run.root / "out" / join
        assert list(complaints(read_output(folder), names)) == []
        for epoch, stream in enumerate(epochs_of(folder, EPOCHS)):
            closed = right.after(epoch + 1)[1]
            rows = [writer.after(epoch + 1)[0] for writer in (left, right)]
            expected = joins(rows[0], rows[1], left.key, right.key, closed)[join]
            assert bag(decode(stream)) == expected, (join, epoch)


@pytest.mark.parametrize("seed", tiered([2, 12, 14, 23]))
def test_joins_on_one_name_pass_exactly_what_is_certain(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    left = Writer("k", "s", "v", "p", seed).write(EPOCHS)
    right = Writer("k", "u", "w", "q", seed + 100, lag=1, most=12).write(EPOCHS)
    run = run_joins(spark, tmp_path, SAME, left, right)
    check(run, left, right, "inner", "semi", "anti", "outer")


@pytest.fixture
def all_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every state is treated as a large one, and rewritten when it has three segments."""
    monkeypatch.setattr(costs, "LARGE_STATE", 0)
    monkeypatch.setattr(costs, "MATCHED_AT_ONCE", -1)
    monkeypatch.setattr(costs, "SEGMENTS", 3)


@pytest.mark.rest
@pytest.mark.usefixtures("all_is_large")
@pytest.mark.parametrize("seed", [3, 13, 15, 24])
def test_large_states_give_what_small_ones_give(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    left = Writer("k", "s", "v", "p", seed).write(EPOCHS)
    right = Writer("k", "u", "w", "q", seed + 100, lag=1, most=12).write(EPOCHS)
    run = run_joins(spark, tmp_path, SAME, left, right)
    check(run, left, right, "inner", "semi", "anti", "outer")


@pytest.mark.rest
@pytest.mark.usefixtures("all_is_large")
def test_joins_on_two_names_and_with_itself(spark: SparkSession, tmp_path: Path) -> None:
    left = Writer("order", "s", "v", "p", 17).write(EPOCHS)
    right = Writer("key", "u", "w", "q", 117, lag=1, most=12).write(EPOCHS)
    run = run_joins(spark, tmp_path, DIFFERENT, left, right)
    check(run, left, right, "semi", "anti", "outer")
    rows, _ = left.after(EPOCHS)
    keyed = [row for row in rows if row.get("order") is not None]
    assert bag(decode(run.output("itself"))) == bag(keyed), "every tuple meets itself"
    assert len(decode(run.output("first"))) == len({row["s"] for row in decode(run.output("semi"))})
    assert bag(decode(run.output("lonely"))) == bag([row for row in rows if row.get("order") is None])


@pytest.mark.parametrize("large", tiered([True, False]))
def test_a_drop_waits_for_tuples_without_a_match(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, *, large: bool
) -> None:
    """Tuples that wait, or may meet more, still have the attribute (G13); it is gone when they are."""
    if large:
        request.getfixturevalue("all_is_large")
    text = """
    stream l(k: long, p: long) from json "in" punctuated on k;
    stream r(k: long) from json "in" punctuated on k;
    semi := l semi join r on k;
    anti := l anti join r on k;
    outer := l left join r on k;
    emit semi to json "1"; emit anti to json "2"; emit outer to json "3";
    """
    run = Query(spark, tmp_path, text)
    drop = {"$accent": "[[-(p)]]"}
    run.write("l", [{"k": 1, "p": 5}, {"k": 2, "p": 6}, {"k": 4, "p": 7}, drop])
    run.write("r", [{"k": 2}])
    run.write("l", [{"k": 3}])
    run.write("r", [{"k": 4}, {"$punctuation": "[k in {1, 2}]"}])
    run.write("l", [{"$punctuation": "[k < 0]"}])
    run.write("r", [{"k": 4}, {"$punctuation": "[k < 5]"}])
    run.process(files_per_epoch=1)
    closed = {"$punctuation": "[k < 0]"}
    assert run.output("semi") == [{"k": 2, "p": 6}, {"k": 4, "p": 7}, drop, closed]
    assert run.output("anti") == [{"k": 1, "p": 5}, drop, {"k": 3}, closed]
    *outer, last, gone = run.output("outer")
    once, late, again, alone = {"k": 2, "p": 6}, {"k": 4, "p": 7}, {"k": 4, "p": 7}, {"k": 1, "p": 5}
    assert bag(outer) == bag([once, late, alone, again, {"k": 3}])
    assert (outer[0], last, gone) == (once, closed, drop), "what has met one may meet more"
    assert [len(report.held) for report in run.reports] == [3, 1, 0]
