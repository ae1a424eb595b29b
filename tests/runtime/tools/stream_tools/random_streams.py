"""Random valid streams, and their meaning tuple by tuple."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from hypothesis import strategies as st

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, Drop
from cedilla.compiler.regions import Tree
from cedilla.grammar import syntax
from cedilla.runtime.tools.stream_tools import replacements as rules
from cedilla.runtime.tools.stream_tools.replacements import (
    Closing,
    Described,
    Tuple,
)
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.stream_checker import StreamChecker
from tests.kit.lines import as_lines
from tests.kit.stream import Decoder, Item, function_of, matches

VALUES = (None, 0, 1, 2, 4)
NAMES = ("a", "x", "y")
PROBES = [
    {n: v for n, v in zip(NAMES, row, strict=True) if v is not None} for row in product(VALUES, repeat=3)
]


def content(stream: Iterable[rules.Item], probe: dict[str, Any], has: frozenset[str]) -> Any:
    """Returns the meaning of items for one canonical tuple: its possible attributes at the end, its values, and True if
    it is closed. `None` if an attribute is added that exists or dropped that does not."""
    raw, present, closed = dict(probe), set(has), False
    for item in stream:
        match item:
            case Closing(pattern):
                closed = closed or regions.contains(pattern, raw)
            case Described(d, primitive) if regions.contains(d, raw):
                name = primitive.attribute
                match primitive:
                    case Alter(_, function) if name in raw:
                        raw[name] = function(raw[name])
                    case Add() if name not in present:
                        present.add(name)
                    case Drop() if name in present:
                        present.remove(name)
                    case Alter():
                        pass
                    case _:
                        return None
            case _:
                pass
    return raw, present, closed


def decoded(stream: Sequence[rules.Item]) -> list[dict[str, Any]]:
    """The tuples of a stream, every Alter before them undone."""
    result: list[dict[str, Any]] = []
    for position, item in enumerate(stream):
        if isinstance(item, Tuple):
            row = dict(item.values)
            for earlier in reversed(stream[:position]):
                match earlier:
                    case Described(d, Alter(name, function)) if name in row and regions.contains(d, row):
                        row[name] = function.inverse()(row[name])  # type: ignore[arg-type]
                    case _:
                        pass
            result.append(row)
    return result


def equivalent(before: Sequence[rules.Item], after: Sequence[rules.Item]) -> bool:
    """Content equivalence (paper, section 5): the same tuples, and the same said of every other."""
    if decoded(before) != decoded(after):
        return False
    for probe in PROBES:
        for has in ((), ("x",), ("y",), ("x", "y")):
            meaning = content(before, probe, frozenset(has))
            if meaning is not None and meaning != content(after, probe, frozenset(has)):
                return False
    return True


def sets(name: str) -> st.SearchStrategy[Tree]:
    value = st.sampled_from([0, 1, 2, 3, 4])
    return st.one_of(
        value.map(lambda v: regions.values(name, [v])),
        value.map(lambda v: regions.interval(name, None, (v, 0))),
        value.map(lambda v: regions.interval(name, (v, 0), None)),
        st.just(regions.defined(name)),
    )


def described(*names: str) -> st.SearchStrategy[Tree]:
    """Conjunctions over some attributes, as descriptions are."""
    parts = [st.just(True) | sets(name) for name in names]
    return st.tuples(*parts).map(lambda trees: regions.intersection(*trees))


def legal(first: rules.Item, second: rules.Item) -> bool:
    """Returns True if two items may follow each other: the part of validity in theory 2.4."""
    match first, second:
        case Tuple(values), Described(d, Add(x)):
            return not (regions.contains(d, values) and x in values)
        case Described(d, Drop(x)), Tuple(values):
            return not (regions.contains(d, values) and x in values)
        case Closing(p), Tuple(values):
            return not regions.contains(p, values)
        case Described(d, a), Described(e, b):
            overlap = regions.intersection(d, e) is not False
            same = a.attribute == b.attribute
            if isinstance(a, Drop) and isinstance(b, Alter) and same:
                return not overlap
            if isinstance(a, Alter) and isinstance(b, Add) and same:
                return not overlap
            if isinstance(a, Drop) and not same:  # a description of what was dropped
                return not (overlap and a.attribute in regions.attributes(e))
            if isinstance(b, Add) and not same:  # a description of what is only added
                return not (overlap and b.attribute in regions.attributes(d))
    return True


SCHEMA = declared_schema("ts: long, s: int in {1, 2, 3}, t: double")
FUNCTIONS = ["y -> y * 2", "y -> y / 2", "y -> y + 8", "y -> y * 4 - 16"]


def random_stream(rng: random.Random, length: int, *, by_added: bool) -> list[Item]:
    """A valid stream over ts, s, t and the added p and q, with any marker at any place.

    `by_added`: descriptions may tell by p and q, but what was altered is not added again; else it may be.
    """
    follower = StreamChecker(SCHEMA)
    stream: list[Item] = []
    altered: set[str] = set()
    now = 0
    while len(stream) < length:
        now += rng.randrange(0, 3)
        name = rng.choice("pqpqt")
        others = [n for n in ("s", "s", "s", "ts", "t", *("pq" if by_added else "")) if n != name]
        conditions = [condition(rng, rng.choice(others), now) for _ in range(rng.choice([0, 1, 1, 2]))]
        roll = rng.random()
        item: Item
        if roll < 0.16 and not (by_added and name in altered):
            item = {"$accent": f"[[{', '.join([*conditions, f'+({name}: double)'])}]]"}
        elif roll < 0.32:
            item = {"$accent": f"[[{', '.join([*conditions, f'-({name})'])}]]"}
        elif roll < 0.45:
            item = {"$accent": f"[[{', '.join([*conditions, f'alter({name}, {rng.choice(FUNCTIONS)})'])}]]"}
        elif roll < 0.55:
            item = {"$punctuation": f"[{', '.join(conditions) or f'ts < {now - 20}'}]"}
            if rng.random() < 0.7:
                item = {"$punctuation": f"[ts < {now - 5}, s = {rng.choice([1, 2, 3])}]"}
        else:
            item = {"ts": now, "s": rng.choice([1, 2, 3]), "t": rng.randrange(-40, 160) / 4}
            item.update({n: float(rng.randrange(0, 40)) for n in "pq" if rng.random() < 0.5})
        if name == "t" and "alter" not in item.get("$accent", "alter"):
            continue  # t stays, so that it can be described by
        before = follower.state
        diagnostics = follower.take(as_lines([item])[0])[1]
        if diagnostics:
            follower.state = before
            continue
        if "alter(" in str(item.get("$accent", "")):
            altered.add(name)
        stream.append(item)
    return stream


def condition(rng: random.Random, name: str, now: int) -> str:
    if name == "s":
        return rng.choice(["s = 1", "s = 2", "s != 3", "s in {1, 3}"])
    value = now if name == "ts" else rng.randrange(0, 40)
    return f"{name} {rng.choice(['<', '>=', '<=', '>'])} {value}"


class Incarnations(Decoder):
    """A decoder for which an attribute that is added again has values of its own (theory 2.5, G32)."""

    def canonical(self, row: Item) -> Item:
        row = dict(row)
        settled: set[str] = set()
        for accent in reversed(self.accents):
            change = accent.primitive
            if change.name in settled or not matches(row, accent.description):
                continue
            if isinstance(change, syntax.AddAttribute):
                settled.add(change.name)
            elif isinstance(change, syntax.AlterAttribute) and row.get(change.name) is not None:
                row[change.name] = function_of(change)[1](row[change.name])
        return row

    def raw_at(self, canonical: Item, accents: int) -> Item:
        row = dict(canonical)
        for _ in self._through(canonical, row, accents):
            pass
        return row

    def _through(self, canonical: Item, row: Item, accents: int) -> Iterator[syntax.Primitive]:
        """The changes of a canonical tuple by the first so many accents, where `row` is it as it is before each."""
        for accent in self.accents[:accents]:
            change = accent.primitive
            if not matches(row, accent.description):
                continue
            yield change
            if row.get(change.name) is None:
                continue
            if isinstance(change, syntax.AddAttribute):
                row[change.name] = canonical[change.name]
            elif isinstance(change, syntax.AlterAttribute):
                row[change.name] = function_of(change)[0](row[change.name])

    def present(self, canonical: Item) -> set[str]:
        """The attributes that a canonical tuple may have at the end."""
        result = {"ts", "s", "t"}
        for change in self._through(canonical, dict(canonical), len(self.accents)):
            if isinstance(change, syntax.AddAttribute):
                result.add(change.name)
            elif isinstance(change, syntax.DropAttribute):
                result.discard(change.name)
        return result


STREAM_PROBES: list[Item] = [
    {n: v for n, v in zip(("ts", "s", "t", "p", "q"), values, strict=True) if v is not None}
    for values in product((0, 9, 30), (1, 2, 3), (Fraction(33, 2),), (None, 3, 21), (None, 12))
]


def said(stream: Iterable[Item]) -> tuple[list[Item], list[Any]]:
    """The canonical tuples of a stream; for every probe what it may have, the values of that, whether it is closed."""
    decoder = Incarnations()
    rows = [row for item in stream if (row := decoder.feed(item)) is not None]
    probes = [(p, decoder.present(p), decoder.raw_at(p, len(decoder.accents))) for p in STREAM_PROBES]
    return [{n: Fraction(v) for n, v in row.items()} for row in rows], [
        (present, {n: Fraction(v) for n, v in raw.items() if n in present}, decoder.closed(p))
        for p, present, raw in probes
    ]
