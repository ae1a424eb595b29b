"""Streams with recodes and with growing domains, and the same without."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from cedilla.compiler.compile import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.stream import Item

STATES, KINDS = ("A", "B", "C"), (1, 2, 3)
NEW: dict[str, list[Any]] = {"state": ["x", "y", "D"], "k": [4, 10, 20]}
"""The values by which the domains may grow; some are codes at times."""
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
    growths by a value that is another one's code, each with the number of items before it."""

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
        members = [cell for cell in cells if cell[1] in self.members["k"]]
        return [cell for cell in members if self.raw("k", *cell, cell[1]) is not None]

    def grow(self, name: str) -> None:
        value = self.rng.choice(NEW[name])
        if value in self.members[name]:
            return
        item: Item = {"$accent": f"[[grow({name}, {listed([value])})]]"}
        codes_: dict[Any, Any] = self.kinds if name == "k" else self.states
        places = [1, 2] if name == "k" else [cell for cell in self.come(CELLS) if cell[0] in self.there]
        codes = [codes_[position] or {} for position in places]
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
        for position in {cell[0] if name == "k" else cell for cell in cells}:
            old = codes_[position]
            if old is None:
                old = {b: b for b in (self.members[name] if rest else new)}
            codes_[position] = {
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
            values_of_cells = [
                [v for v in (*STATES, *NEW["state"]) if is_met(self.raw("state", *cell, v))] for cell in cells
            ]
            came = self.come(cells)
            described = [
                v for cell, vs in zip(cells, values_of_cells, strict=True) if cell in came for v in vs
            ]
            if not set(described) & set(self.members["state"]):
                return
            parts = [
                f'{part}state = "{v}", ' for part, vs in zip(parts, values_of_cells, strict=True) for v in vs
            ]
        if not parts or not self.come(cells):
            return
        if closes:
            self.recoded.append({"$punctuation": f"[{text}t > 1e9]"})
            self.plain += [{"$punctuation": f"[{part}t > 1e9]"} for part in parts]
        else:
            self.recoded.append({"$accent": f"[[{text}alter(t, y -> y * 2 + 1)]]"})
            self.plain += [{"$accent": f"[[{part}alter(t, y -> y * 2 + 1)]]"} for part in parts]


SCHEMA = 'n: long, s: int in {1, 2}, k: int in {1, 2, 3}, state?: string in {"A", "B", "C"}, t: double'

QUERY = f"""
stream r({SCHEMA}) from json "r";
emit r to json "all";
emit aggregate[avg(t) as t, count() as n by s, k](r) to json "groups";
"""


def outputs_of_recodes(
    items: list[Item],
    size: int,
    *,
    ends: bool = True,
    query: str = QUERY,
    refused: Sequence[tuple[int, str]] = (),
) -> tuple[Reference, dict[str, list[Item]]]:
    """The items in steps of a size, and the outputs of each emit. `refused`: growths, each with the number of items
    before it."""
    reference = Reference(compile_query(query).plan)
    output: dict[str, list[Item]] = {"r": [], "aggregate": []}
    todo = [*items, {"$punctuation": "[]"}] if ends else items
    for start in range(0, len(todo), size):
        for text in (text for at, text in refused if at == start):
            with pytest.raises(DiagnosticError, match="RQ466"):
                reference.step([("r", {"$accent": text})])
        for outputs in reference.step([("r", item) for item in todo[start : start + size]]):
            for emit, output_of_step in outputs.items():
                output[emit] += output_of_step.items()
    return reference, output


def without_rejected(world: World) -> tuple[Reference, list[Item]]:
    """The stream without the tuples that are set aside."""
    one, _ = outputs_of_recodes(world.recoded, 1, ends=False)
    wrong = [id(item) for _, _, item in one.rejected]
    return one, [item for item in world.recoded if id(item) not in wrong]
