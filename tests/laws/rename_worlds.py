"""Streams with renames, and the same without."""

from __future__ import annotations

from collections import Counter
from random import Random

from cedilla.compiler.compile import compile_query
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.stream import Item, nested
from tests.laws.unit_worlds import CELLS, DESCRIPTIONS, matches

NAMES = {"t": ("t", "temp", "temperature", "box.t"), "p": ("p", "press", "box.`p.1`.v")}


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
        present = [cell for cell in cells if cell in self.there.get(name, CELLS)]
        if not present or any(names[cell] == to for cell in cells):
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


SCHEMA = "n: long, s: int in {1, 2, 3}, q: int in {1, 2}, t: double, p?: double"

QUERY = f"""
set drift = quarantine;
stream r({SCHEMA}) from json "r";
emit r to json "all";
emit aggregate[avg(t) as t, max(p) as p by s](r) to json "groups";
"""


def outputs_of_renames(
    items: list[Item], size: int, *, ends: bool = True
) -> tuple[Reference, dict[str, list[Item]]]:
    """The items in steps of a size, and the outputs of each emit."""
    reference = Reference(compile_query(QUERY).plan)
    output: dict[str, list[Item]] = {"r": [], "aggregate": []}
    todo = [*items, {"$punctuation": "[]"}] if ends else items
    for start in range(0, len(todo), size):
        for outputs in reference.step([("r", item) for item in todo[start : start + size]]):
            for emit, output_of_step in outputs.items():
                output[emit] += output_of_step.items()
    return reference, output
