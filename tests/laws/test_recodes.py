"""A stream that recodes means the same as without recodes: the source undoes codes (theory N3).

A small oracle knows the codes of `state` for each pair (s, k) and those of `k` for each s, and writes the same stream
in its first codes: what a marker says by raw values, it says for the canonical ones of each pair, one by one. Where the
domains of both grow (N1), that stream has the wide ones from its start.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from io import StringIO
from random import Random
from typing import Any

import pytest

from cedilla.compiler import regions
from cedilla.compiler.compile import compile_query
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.reference.decoder import Decoder
from cedilla.runtime.reference.reference import Reference
from cedilla.runtime.stream_tools.canonize import canonize
from cedilla.runtime.stream_tools.schema import declared_schema
from tests.kit.compare import rounded
from tests.kit.lines import as_lines
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item, decode
from tests.kit.tiers import tiered

STATES, KINDS = ("A", "B", "C"), (1, 2, 3)
SCHEMA = 'n: long, s: int in {1, 2}, k: int in {1, 2, 3}, state?: string in {"A", "B", "C"}, t: double'
QUERY = f"""
stream r({SCHEMA}) from json "r";
emit r to json "all";
emit aggregate[avg(t) as t, count() as n by s, k](r) to json "groups";
"""
NEW: dict[str, list[Any]] = {"state": ["x", "y", "D"], "k": [4, 10, 20]}
"""What the domains may grow by: some of it is a code at times."""
WIDE = QUERY.replace("{1, 2, 3}, state", "{1, 2, 3, 4, 10, 20}, state").replace('"C"}', '"C", "x", "y", "D"}')
POOL: dict[str, list[Any]] = {"state": ["A", "B", "C", "x", "y", "z"], "k": [1, 2, 3, 10, 20]}
CELLS = [(s, k) for s in (1, 2) for k in (*KINDS, *NEW["k"])]
CONDITIONS: list[tuple[str, Callable[[Any, Any, Any], bool]]] = [
    ("= {}", lambda raw, one, _: raw == one),
    ("!= {}", lambda raw, one, _: raw != one),
    ("in {{{}, {}}}", lambda raw, one, other: raw in (one, other)),
    ("< {}", lambda raw, high, _: raw < high),
    (">= {}", lambda raw, low, _: raw >= low),
    ("in ({}, {}]", lambda raw, low, high: low < raw <= high),
    ("in [{}, {})", lambda raw, low, high: low <= raw < high),
]
"""Patterns with up to two values, the lower one first, and what meets them."""
Code = dict[Any, Any]


def listed(values: list[Any]) -> str:
    return f"{{{', '.join(map(json.dumps, values))}}}"


class World:
    """A stream with recodes, and the same in its first codes. `wrong`: how many tuples have a value without a code.
    `kinds`: s -> code of k; `states`: (s, canonical k) -> code of state; `None`: none has come.
    `nested`: codes of `state` are told by raw values of k, too. `grows`: domains grow; `members`: so far. `refused`:
    growths by a value that is another one's code, each behind how many items."""

    def __init__(self, rng: Random, length: int = 45, *, nested: bool = True, grows: bool = False) -> None:
        self.rng, self.nested, self.grows = rng, nested, grows
        self.members: dict[str, list[Any]] = {"state": list(STATES), "k": list(KINDS)}
        self.refused: list[tuple[int, str]] = []
        self.recoded: list[Item] = []
        self.plain: list[Item] = []
        self.kinds: dict[int, Code | None] = {1: None, 2: None}
        self.states: dict[tuple[int, int], Code | None] = dict.fromkeys(CELLS)
        self.there = {1, 2}
        self.tells = False
        self.wrong = 0
        for number in range(length):
            self.add(number)

    def raw(self, name: str, s: int, k: int, value: Any) -> Any:
        """The raw value of a canonical one, `None` where it has no code; one that is no member yet would be written as
        it is."""
        code = self.kinds[s] if name == "k" else self.states[s, k]
        if code is None or value in code:
            return value if code is None else code[value]
        return None if value in self.members[name] or value in code.values() else value

    def add(self, number: int) -> None:
        if number % 3 < 2:
            self.tuple(number)
            return
        what = self.rng.choice(
            ["state", "state", "k", "alter", "alter", "drop", "close", *["grow"] * self.grows]
        )
        if what == "grow":
            self.grow(self.rng.choice(["state", "k"]))
        elif what in ("state", "k"):
            self.recode(what)
        elif what == "drop":
            self.drop_or_add()
        else:
            self.marker(closes=what == "close")

    def tuple(self, number: int) -> None:
        rng = self.rng
        s, k = rng.choice([cell for cell in CELLS if cell[1] in self.members["k"]])
        row: Item = {"n": number, "s": s, "k": k, "t": rng.randint(-40, 120) / 2}
        if s in self.there and rng.random() < 0.8:
            row["state"] = rng.choice(self.members["state"])
        raw = {n: self.raw(n, s, k, v) if n in POOL else v for n, v in row.items()}
        if None in raw.values():
            return
        code = self.states[s, k]
        if "state" in row and code is not None and rng.random() < 0.15:
            raw["state"] = rng.choice([v for v in (*POOL["state"], "?") if v not in code.values()])
            self.wrong += 1
        else:
            self.plain.append(row)
        self.recoded.append(raw)

    def described(self, name: str) -> tuple[str, list[tuple[int, int]]]:
        """A description by s, and for `state` by raw values of k, too; and its pairs."""
        rng = self.rng
        where, text = rng.choice([({1}, "s = 1, "), ({2}, "s = 2, "), ({1, 2}, "")])
        cells = [cell for cell in CELLS if cell[0] in where]
        if name == "state" and self.nested and rng.random() < 0.5:
            condition, is_met = self.condition("k")
            text += condition
            cells = [cell for cell in cells if is_met(self.raw("k", *cell, cell[1]))]
        return text, cells

    def condition(self, name: str) -> tuple[str, Callable[[Any], bool]]:
        """A condition on raw values, and which meet it; `None` is none."""
        first, last = sorted(self.rng.sample(self.possible(name), 2))
        low, high = json.dumps(first), json.dumps(last)
        text, is_met = self.rng.choice(CONDITIONS)
        return f"{name} {text.format(low, high)}, ", lambda raw: raw is not None and is_met(raw, first, last)

    def possible(self, name: str) -> list[Any]:
        """Raw values that markers name: codes, and members of now and of later."""
        return list(dict.fromkeys([*POOL[name], *(NEW[name] if self.grows else [])]))

    def come(self, cells: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those of which tuples come."""
        known = [cell for cell in cells if cell[1] in self.members["k"]]
        return [cell for cell in known if self.raw("k", *cell, cell[1]) is not None]

    def grow(self, name: str) -> None:
        value = self.rng.choice(NEW[name])
        if value in self.members[name]:
            return
        item: Item = {"$accent": f"[[grow({name}, {listed([value])})]]"}
        codes_: dict[Any, Any] = self.kinds if name == "k" else self.states
        places = [1, 2] if name == "k" else [cell for cell in self.come(CELLS) if cell[0] in self.there]
        codes = [codes_[place] or {} for place in places]
        if any(value in code.values() and value not in code for code in codes):
            self.refused.append((len(self.recoded), item["$accent"]))
            return
        for code in codes_.values():
            if code is not None and value not in code and value not in code.values():
                code[value] = value
        self.members[name].append(value)
        self.recoded.append(item)

    def recode(self, name: str) -> None:
        rng = self.rng
        text, cells = self.described(name)
        everywhere = {s for s in (1, 2) if f"s = {3 - s}, " not in text}
        if not self.come(cells) or (name == "state" and not everywhere <= self.there):
            return
        codes = [self.kinds[s] if name == "k" else self.states[s, k] for s, k in self.come(cells)]
        images = [set(self.members[name]) if c is None else set(c.values()) for c in codes]
        common = sorted(set.intersection(*images))
        if not common:
            return
        before = rng.sample(common, len(common) if rng.random() < 0.8 else max(1, len(common) - 1))
        new = dict(zip(before, rng.sample(self.possible(name), len(before)), strict=True))
        pairs = ", ".join(f"{json.dumps(a)}: {json.dumps(b)}" for a, b in new.items())
        rest = rng.random() < 0.3 and self.nested
        self.recoded.append(
            {"$accent": f"[[{text}recode({name}, {{{pairs}}}{', else same' if rest else ''})]]"}
        )
        taken = {*new.values()} - new.keys()
        codes_: dict[Any, Any] = self.kinds if name == "k" else self.states
        for place in {cell[0] if name == "k" else cell for cell in cells}:
            old = codes_[place]
            if old is None:
                old = {b: b for b in (self.members[name] if rest else new)}
            codes_[place] = {
                a: new.get(b, b) for a, b in old.items() if b in new or (rest and b not in taken)
            }

    def drop_or_add(self) -> None:
        """Not once `state` has told units: those of tuples with another incarnation are told by its raw values."""
        if self.tells and len(self.there) == 2:
            return
        s = self.rng.choice([1, 2])
        if s in self.there:
            self.there.remove(s)
            text = f"[[s = {s}, -(state)]]"
        else:
            self.there.add(s)
            text = f"[[s = {s}, +(state: string)]]"
            self.states |= {cell: None for cell in CELLS if cell[0] == s}
        self.recoded.append({"$accent": text})
        self.plain.append({"$accent": text})

    def marker(self, *, closes: bool) -> None:
        """An Alter of t, or a punctuation that closes nothing that comes, by raw values of state or k."""
        rng = self.rng
        text, cells = self.described("state")
        parts = [f"s = {s}, k = {k}, " for s, k in cells]
        if rng.random() < 0.6:
            if self.there != {1, 2}:
                return
            self.tells = True
            condition, is_met = self.condition("state")
            text += condition
            found = [
                [v for v in (*STATES, *NEW["state"]) if is_met(self.raw("state", *cell, v))] for cell in cells
            ]
            came = self.come(cells)
            told = [v for cell, vs in zip(cells, found, strict=True) if cell in came for v in vs]
            if not set(told) & set(self.members["state"]):
                return
            parts = [f'{part}state = "{v}", ' for part, vs in zip(parts, found, strict=True) for v in vs]
        if not parts or not self.come(cells):
            return
        if closes:
            self.recoded.append({"$punctuation": f"[{text}t > 1e9]"})
            self.plain += [{"$punctuation": f"[{part}t > 1e9]"} for part in parts]
        else:
            self.recoded.append({"$accent": f"[[{text}alter(t, y -> y * 2 + 1)]]"})
            self.plain += [{"$accent": f"[[{part}alter(t, y -> y * 2 + 1)]]"} for part in parts]


def ran(
    items: list[Item],
    size: int,
    *,
    ends: bool = True,
    query: str = QUERY,
    refused: Sequence[tuple[int, str]] = (),
) -> tuple[Reference, dict[str, list[Item]]]:
    """The items in steps of a size, and the outputs of each emit. `refused`: growths, behind so many items."""
    reference = Reference(compile_query(query).plan)
    output: dict[str, list[Item]] = {"r": [], "aggregate": []}
    todo = [*items, {"$punctuation": "[]"}] if ends else items
    for start in range(0, len(todo), size):
        for text in (text for at, text in refused if at == start):
            with pytest.raises(DiagnosticError, match="RQ466"):
                reference.step([("r", {"$accent": text})])
        for outputs in reference.step([("r", item) for item in todo[start : start + size]]):
            for emit, each in outputs.items():
                output[emit] += each.items()
    return reference, output


def check(seed: int, *, grows: bool = False) -> World:
    world = World(Random(seed), 70 if grows else 45, grows=grows)
    one, first = ran(world.recoded, 1, ends=False, refused=world.refused)
    in_force = one.states["r"]
    for outputs in one.step([("r", {"$punctuation": "[]"})]):
        for emit, each in outputs.items():
            first[emit] += each.items()
    other, second = ran(world.plain, 1 + seed % 5, query=WIDE)
    told = [json.dumps(item) for item in world.recoded]
    # After `else same` a strange value is itself, which the domain does not have.
    assert len(one.rejected) == world.wrong, told
    assert {code for _, code, _ in one.rejected} <= {"RQ314", "RQ303"}, told
    assert not other.rejected
    for emit in first:
        assert rounded(decode(first[emit])) == rounded(decode(second[emit])), told
    # What is in force in the end is the same, and so is what is closed, but for codes.
    mine, theirs = in_force, ran(world.plain, 1, ends=False, query=WIDE)[0].states["r"]
    for s, k in world.come(CELLS):
        for state in world.members["state"]:
            row = {"s": s, "k": k, "state": state, "t": 10**10}
            if world.raw("state", s, k, state) is None:
                continue  # none has come since
            for trees in ("units", "present"):
                found = [getattr(each, trees).get("t") for each in (mine, theirs)]
                at = [None if tree is None else regions.contains(tree, row) for tree in found]
                assert None in at or at[0] == at[1], (told, trees)
            codes = [("k", world.kinds[s], k)]
            codes += [("state", world.states[s, k], state)] if s in world.there else []
            for name, code, value in codes:
                there = regions.contains(mine.codes[name], row) if name in mine.codes else None
                image = there.of(value) if isinstance(there, ValueMapping) else value
                assert image == (value if code is None else code.get(value)), told
    return world


@pytest.mark.parametrize("seed", range(12))
def test_a_stream_that_recodes_says_what_it_says_without(seed: int) -> None:
    check(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_recodes_in_many_cases(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seeds", tiered([range(8), range(8, 16)]), ids=str)
def test_what_is_new_where_codes_are_in_force_is_written_as_it_is(seeds: range) -> None:
    """The domains of both grow between recodes; a growth by what is another value's code is refused, and some are."""
    worlds = [check(seed, grows=True) for seed in seeds]
    assert sum(len(world.refused) for world in worlds) > 1
    assert sum("grow" in str(item) for world in worlds for item in world.recoded) > 10


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_growths_among_recodes_in_many_cases(seed: int) -> None:
    check(seed, grows=True)


def right(world: World) -> tuple[Reference, list[Item]]:
    """The stream without the tuples that are set aside."""
    one, _ = ran(world.recoded, 1, ends=False)
    wrong = [id(item) for _, _, item in one.rejected]
    return one, [item for item in world.recoded if id(item) not in wrong]


@pytest.mark.parametrize("seed", range(12))
def test_the_decoder_undoes_recodes(seed: int) -> None:
    """The oracle that shares nothing with the engine."""
    world = World(Random(seed))
    decoder, plain = Decoder(), Decoder()
    rows = [decoder.feed(item) for item in right(world)[1]]
    wanted = [plain.feed(item) for item in world.plain]
    assert rounded([r for r in rows if r is not None]) == rounded([r for r in wanted if r is not None])


@pytest.mark.parametrize("seed", range(8))
def test_a_canonical_stream_recodes_at_its_end(seed: int) -> None:
    """So that tuples which come behind it are read as they would have been."""
    world = World(Random(seed), nested=False)
    one, items = right(world)
    for rules in (False, True):
        out = StringIO()
        lines = as_lines(items, "r")
        canonize(lines, declared_schema(SCHEMA), out, Counter() if rules else None)
        written = [json.loads(line) for line in out.getvalue().splitlines()]
        tuples = [item for item in written if "n" in item]
        assert rounded([{**row, "t": 0} for row in tuples]) == rounded(
            [{**row, "t": 0} for row in world.plain if "n" in row]
        )
        assert rounded(decode(written)) == rounded(decode(world.plain))
        again, _ = ran(written, 1, ends=False)
        assert not again.rejected
        for s, k in CELLS:
            if world.raw("k", s, k, k) is None:
                continue  # none has come since
            for state in STATES:
                row = {"s": s, "k": k, "state": state, "t": 1}
                for name in ["k", *(["state"] if s in world.there else [])]:
                    codes = [each.states["r"].codes.get(name) for each in (one, again)]
                    found = [None if tree is None else regions.contains(tree, row) for tree in codes]
                    assert getattr(found[0], "map", None) == getattr(found[1], "map", None)
