"""Streams whose tuples come in several units, and the same streams without units."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from random import Random

from cedilla.compiler.compile import compile_query
from cedilla.compiler.expressions.units.units import conversion
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.stream import Item

SCHEMA = "n: long, s: int in {1, 2, 3}, q: int in {1, 2}, t: double unit degF, p: double unit hPa"


QUERY = f"""
stream r({SCHEMA}) from json "r";
emit r to json "all";
emit aggregate[avg(t) as t, max(p) as p by s](r) to json "groups";
"""


COLUMN = "[column=3*hectopascal/7]"
"""A unit that some query defines, by its full name."""
UNITS = {"t": ("degF", "degC", "kelvin", "Cel", "[degF]", "degR"), "p": ("hPa", "mbar", "Pa", "inHg", COLUMN)}


CELLS = [(s, q) for s in (1, 2, 3) for q in (1, 2)]


DESCRIPTIONS = ["s = 1", "s = 2", "s != 3", "q = 1", "s = 1, q = 2", "s in {2, 3}, q = 1", ""]


def matches(description: str, s: int, q: int) -> bool:
    test = description.replace("in {2, 3}", "> 1").replace(" = ", " == ").replace(", ", " and ")
    return not test or bool(eval(test, {"s": s, "q": q}))


class World:
    """A stream with unit accents, and the same with Alters in their place."""

    def __init__(self, rng: Random, names: Mapping[str, tuple[str, ...]] = UNITS) -> None:
        self.rng = rng
        self.names = names
        self.units: list[Item] = []
        self.alters: list[Item] = []
        self.in_force = {name: dict.fromkeys(CELLS, IDENTITY) for name in names}
        for number in range(30):
            self.add(number)

    def add(self, number: int) -> None:
        rng = self.rng
        if number % 3 == 2:
            name = rng.choice([*self.names])
            description = rng.choice(DESCRIPTIONS)
            if rng.random() < 0.2:
                self.alter(name, description)
            else:
                self.to_unit(name, description, rng.choice(self.names[name]))
            return
        s, q = rng.choice(CELLS)
        row = {"n": number, "s": s, "q": q, "t": rng.randint(-40, 120) / 2, "p": rng.randint(950, 1050) / 1.0}
        if "w" in self.names:
            row |= {"w": rng.randint(0, 6000) / 4, "d": rng.choice([350.0, 10.0, 0.0, 90.5, 180.0, 359.75])}
        self.units.append(row)
        self.alters.append(row)

    def alter(self, name: str, description: str) -> None:
        text = f"[[{description}{', ' if description else ''}alter({name}, y -> y * 2 + 1)]]"
        self.units.append({"$accent": text})
        self.alters.append({"$accent": text})
        for cell in CELLS:
            if matches(description, *cell):
                self.in_force[name][cell] = Affine(Fraction(2), Fraction(1)).after(self.in_force[name][cell])

    def to_unit(self, name: str, description: str, unit: str) -> None:
        quoted = json.dumps(unit)
        text = f"[[{description}{', ' if description else ''}unit({name}, {quoted})]]"
        again = self.rng.randint(1, 2)
        self.units += [{"$accent": text}] * again
        wanted = conversion(self.names[name][0], unit)
        for s, q in CELLS:
            before = self.in_force[name][s, q]
            change = wanted.after(before.inverse())
            if matches(description, s, q) and not change.is_identity:
                function = change.text("y")
                self.alters.append({"$accent": f"[[s = {s}, q = {q}, alter({name}, y -> {function})]]"})
            if matches(description, s, q):
                self.in_force[name][s, q] = wanted


def ran(query: str, items: list[Item], size: int = 1) -> tuple[Reference, dict[str, list[Item]]]:
    """The items, and the end of the stream, in steps of a size; and the outputs of each emit."""
    reference = Reference(compile_query(query).plan)
    output: dict[str, list[Item]] = {emit.name: [] for emit in reference.plan.emits}
    todo = [*items, {"$punctuation": "[]"}]
    for start in range(0, len(todo), size):
        for outputs in reference.step([("r", item) for item in todo[start : start + size]]):
            for emit, output_of_step in outputs.items():
                output[emit] += output_of_step.items()
    return reference, output


def with_punctuations(items: list[Item], rng: Random) -> list[Item]:
    """A stream with some of its tuples closed."""
    patterns = ["[n < 10]", "[n < 20]", "[s = 3]", "[q = 2, n < 25]", "[t < -30]"]
    for text in rng.sample(patterns, rng.randint(0, 3)):
        at = rng.randrange(len(items) // 2, len(items) + 1)
        items = [*items[:at], {"$punctuation": text}, *items[at:]]
    return items


def random_claims(rng: Random, world: World) -> list[Item]:
    """The Alters of a world, of which some say a unit, right or wrong, and some punctuations."""
    items = with_punctuations(world.alters, rng)
    for at, item in enumerate(items):
        if "$accent" not in item or rng.random() < 0.3:
            continue
        name = "t" if "alter(t," in item["$accent"] else "p"
        unit = rng.choice(UNITS[name][:3])
        items[at] = {"$accent": item["$accent"].replace(")]]", f", unit {unit})]]")}
    return items
