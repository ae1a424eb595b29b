"""A stream that renames attributes means the same as without renames: the source undoes them (theory N2).

A small oracle knows by which name each pair (s, q) brings `t` and `p`, and writes the same stream by the names of the
query: what a marker says by another name, it says for the pairs that have this name, one by one.
"""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO
from random import Random

import pytest

from cedilla.compiler import regions
from cedilla.compiler.compile import compile_query
from cedilla.grammar.expression_formatter import unit_text
from cedilla.runtime.reference.decoder import Decoder
from cedilla.runtime.reference.reference import Reference
from cedilla.runtime.stream_tools.canonize import canonize
from cedilla.runtime.stream_tools.schema import declared_schema
from tests.kit.compare import rounded
from tests.kit.lines import as_lines
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item, decode, flat, nested

SCHEMA = "n: long, s: int in {1, 2, 3}, q: int in {1, 2}, t: double, p?: double"
QUERY = f"""
set drift = quarantine;
stream r({SCHEMA}) from json "r";
emit r to json "all";
emit aggregate[avg(t) as t, max(p) as p by s](r) to json "groups";
"""
NAMES = {"t": ("t", "temp", "temperature", "box.t"), "p": ("p", "press", "box.`p.1`.v")}
CELLS = [(s, q) for s in (1, 2, 3) for q in (1, 2)]
DESCRIPTIONS = ["s = 1", "s = 2", "s != 3", "q = 1", "s = 1, q = 2", "s in {2, 3}, q = 1", ""]


def matches(description: str, s: int, q: int) -> bool:
    test = description.replace("in {2, 3}", "> 1").replace(" = ", " == ").replace(", ", " and ")
    return not test or bool(eval(test, {"s": s, "q": q}))


class World:
    """A stream with renames, and the same by the names of the query. `wrong`: how many tuples have wrong names."""

    def __init__(self, rng: Random, length: int = 40) -> None:
        self.rng = rng
        self.renamed: list[Item] = []
        self.plain: list[Item] = []
        self.names = {name: dict.fromkeys(CELLS, name) for name in NAMES}
        self.there = {"p": set(CELLS)}
        self.closed: set[tuple[int, int]] = set()
        self.known = {"t": {"t"}, "p": {"p"}}
        self.wrong = Counter[str]()
        for number in range(length):
            self.add(number)

    def both(self, kind: str, renamed: str, plain: list[str]) -> None:
        self.renamed.append({kind: renamed})
        self.plain += [{kind: text} for text in plain]

    def add(self, number: int) -> None:
        rng = self.rng
        if number % 3 < 2:
            self.tuple(number)
            return
        name, description = rng.choice("tp"), rng.choice(DESCRIPTIONS)
        cells = [cell for cell in CELLS if matches(description, *cell)]
        what = rng.choice(["rename", "rename", "rename", "alter", "alter by name", "drop", "close"])
        if what == "rename":
            self.rename(name, description, cells)
        elif what.startswith("alter"):
            self.marker(name, description, cells, by_name=what != "alter")
        elif what == "drop":
            self.drop_or_add(description, cells)
        elif number > 20:
            self.close(name, description, cells)

    def tuple(self, number: int) -> None:
        rng = self.rng
        s, q = cell = rng.choice(CELLS)
        row: Item = {"n": number, "s": s, "q": q, "t": rng.randint(-40, 120) / 2}
        if cell in self.there["p"] and rng.random() < 0.7:
            row["p"] = rng.randint(0, 90) / 2
        renamed = {self.names[n][cell] if n in NAMES else n: value for n, value in row.items()}
        if rng.random() < 0.1:  # one that is set aside: both names, or a wrong one
            name = rng.choice([n for n in NAMES if n in row])
            if others := sorted(self.known[name] - {self.names[name][cell]}):
                code = rng.choice(["RQ312", "RQ313", ""])
                if code == "RQ313":
                    del renamed[self.names[name][cell]]
                renamed[rng.choice(others)] = row[name] + (code == "RQ312")
                if code:
                    self.wrong[code] += 1
                    self.renamed.append(nested(renamed))
                    return
        self.renamed.append(nested(renamed))
        self.plain.append(row)

    def rename(self, name: str, description: str, cells: list[tuple[int, int]]) -> None:
        """Sometimes said of the attribute by the name that it has by now, which leaves out the others."""
        rng, names = self.rng, self.names[name]
        to = rng.choice(NAMES[name])
        of = rng.choice([name, *sorted(filter(str.isidentifier, self.known[name]))])
        cells = [cell for cell in cells if of in (name, names[cell])]
        there = [cell for cell in cells if cell in self.there.get(name, CELLS)]
        if not there or any(names[cell] == to for cell in cells):
            return
        self.both(
            "$accent", f"[[{description}{', ' if description else ''}rename({unit_text(to)}, {of})]]", []
        )
        self.known[name].add(to)
        for cell in cells:
            names[cell] = to

    def marker(self, name: str, description: str, cells: list[tuple[int, int]], *, by_name: bool) -> None:
        others = sorted(filter(str.isidentifier, self.known[name] - {name}))
        of = self.rng.choice(others or [name]) if by_name else name
        cells = [cell for cell in cells if of in (name, self.names[name][cell])]
        if not any(cell in self.there.get(name, CELLS) for cell in cells):
            return
        change = "y -> y * 2 + 1"
        plain = [f"[[s = {s}, q = {q}, alter({name}, {change})]]" for s, q in cells]
        plain = [text for text, cell in zip(plain, cells, strict=True) if cell in self.there.get(name, CELLS)]
        self.both("$accent", f"[[{description}{', ' if description else ''}alter({of}, {change})]]", plain)

    def drop_or_add(self, description: str, cells: list[tuple[int, int]]) -> None:
        """An Add begins with the name that it has."""
        missing = [cell for cell in cells if cell not in self.there["p"]]
        if not missing:
            self.there["p"] -= set(cells)
            change = "-(p)"
        elif len(missing) == len(cells):
            self.there["p"] |= set(cells)
            change = "+(p: double)"
            for cell in cells:
                self.names["p"][cell] = "p"
        else:
            return
        text = f"[[{description}{', ' if description else ''}{change}]]"
        self.both("$accent", text, [text])

    def close(self, name: str, description: str, cells: list[tuple[int, int]]) -> None:
        """No tuple is late: the values are higher than any."""
        of = self.rng.choice(sorted(filter(str.isidentifier, self.known[name])))
        cells = [cell for cell in cells if of in (name, self.names[name][cell])]
        if any(cell not in self.there.get(name, CELLS) for cell in cells):
            return  # where it is not there, the Alters that it has not been through would tell
        text = f"[{description}{', ' if description else ''}{of} > 1e9]"
        self.both("$punctuation", text, [f"[s = {s}, q = {q}, {name} > 1e9]" for s, q in cells])


def ran(items: list[Item], size: int, *, ends: bool = True) -> tuple[Reference, dict[str, list[Item]]]:
    """The items in steps of a size, and the outputs of each emit."""
    reference = Reference(compile_query(QUERY).plan)
    output: dict[str, list[Item]] = {"r": [], "aggregate": []}
    todo = [*items, {"$punctuation": "[]"}] if ends else items
    for start in range(0, len(todo), size):
        for outputs in reference.step([("r", item) for item in todo[start : start + size]]):
            for emit, each in outputs.items():
                output[emit] += each.items()
    return reference, output


def check(seed: int) -> None:
    world = World(Random(seed))
    one, first = ran(world.renamed, 1)
    other, second = ran(world.plain, 1 + seed % 5)
    told = [json.dumps(item) for item in world.renamed]
    assert Counter(code for _, code, _ in one.rejected) == world.wrong, told
    assert not other.rejected
    for emit in first:
        assert rounded(decode(first[emit])) == rounded(decode(second[emit])), told
    # What is in force in the end is the same, and so is what is closed, but for names.
    one, other = ran(world.renamed, 1, ends=False)[0], ran(world.plain, 1, ends=False)[0]
    mine, theirs = (each.states["r"] for each in (one, other))
    possible = regions.union(regions.complement(regions.defined("p")), mine.facts().may_have("p"))
    closed = [regions.intersection(state.closed, possible) for state in (mine, theirs)]
    for this, that in (closed, closed[::-1]):
        assert regions.is_empty(regions.difference(this, that), mine.universe), told
    for s, q in CELLS:
        for name, names in world.names.items():
            for trees in ("units", "present", "original"):
                found = [getattr(state, trees).get(name) for state in (mine, theirs)]
                at = [None if tree is None else regions.contains(tree, {"s": s, "q": q}) for tree in found]
                if trees == "present" or (None not in at and (s, q) in world.there.get(name, CELLS)):
                    assert at[0] == at[1], (told, trees, name)
            here = mine.names.here.get(name, name)
            assert regions.contains(here, {"s": s, "q": q}) == names[s, q], told


@pytest.mark.parametrize("seed", range(12))
def test_a_stream_that_renames_says_what_it_says_without(seed: int) -> None:
    check(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_renames_in_many_cases(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", range(12))
def test_the_decoder_undoes_renames(seed: int) -> None:
    """The oracle that shares nothing with the engine; of tuples with right names."""
    world = World(Random(seed))
    one, _ = ran(world.renamed, 1)
    wrong = [id(item) for _, _, item in one.rejected]
    decoder, plain = Decoder(), Decoder()
    rows = [decoder.feed(flat(item)) for item in world.renamed if id(item) not in wrong]
    wanted = [plain.feed(item) for item in world.plain]
    assert rounded([r for r in rows if r is not None]) == rounded([r for r in wanted if r is not None])


@pytest.mark.parametrize("seed", range(8))
def test_a_canonical_stream_renames_at_its_end(seed: int) -> None:
    """So that tuples which come behind it are read as they would have been."""
    world = World(Random(seed))
    one, _ = ran(world.renamed, 1, ends=False)
    wrong = [id(item) for _, _, item in one.rejected]
    right = [item for item in world.renamed if id(item) not in wrong]
    for rules in (False, True):
        out = StringIO()
        lines = as_lines(right, "r")
        canonize(lines, declared_schema(SCHEMA), out, Counter() if rules else None)
        items = [json.loads(line) for line in out.getvalue().splitlines()]
        assert rounded(decode(items)) == rounded(decode(world.plain))
        assert all(item.keys() <= {"n", "s", "q", "t", "p"} for item in items if "s" in item)
        again, _ = ran(items, 1, ends=False)
        assert not again.rejected
        for s, q in CELLS:
            for name in NAMES:
                trees = [each.states["r"].names.here.get(name, name) for each in (one, again)]
                found = {regions.contains(tree, {"s": s, "q": q}) for tree in trees}
                assert len(found) == 1 or (s, q) not in world.there.get(name, CELLS)
