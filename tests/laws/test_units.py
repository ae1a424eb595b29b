"""Unit accents mean the Alters that they stand for, whatever their order and repetition (theory N4). An output with
units of its own has the canonical values in them, and no Alter (N6).

A small oracle knows which unit each pair (s, q) is in, and writes each unit accent as Alters of such pairs; what those
mean, the decoder says, which shares nothing with the engine.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from io import StringIO
from random import Random

import pytest

from cedilla.compiler import regions
from cedilla.compiler.compile import compile_query
from cedilla.compiler.expressions.units.units import conversion
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.tools.stream_tools.canonize import canonize
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from tests.kit.compare import rounded
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item, complaints, decode, is_tuple
from tests.kit.tiers import tiered
from tests.laws.unit_worlds import CELLS, QUERY, SCHEMA, UNITS, World, ran

OF_KINDS = f"""
stream r({SCHEMA}, w: double unit rpm, d: double unit degree) from json "r";
emit r to json "all";
emit aggregate[avg(t) as t, max(p) as p, avg(w) as w, avg_angle(d) as d by s](r) to json "groups";
"""
KINDS = {"w": ("rpm", "Hz", "kHz", "millihertz"), "d": ("degree", "gon", "turn", "arcmin")}
"""Two more, of frequencies and of directions."""


def check_alike(one: dict[str, list[Item]], other: dict[str, list[Item]], context: object) -> None:
    """Outputs of two streams have the same canonical tuples."""
    for emit, lines in one.items():
        assert rounded(decode(lines)) == rounded(decode(other[emit])), context


def check_units(seed: int) -> None:
    world = World(Random(seed), {**UNITS, **KINDS})
    one, first = ran(OF_KINDS, world.units, 1 + seed % 7)
    other, second = ran(OF_KINDS, world.alters, 1 + seed % 5)
    context = [json.dumps(item) for item in world.units]
    assert rounded(decode(first["r"])) == rounded(decode(world.alters)), context
    assert not one.rejected
    check_alike(first, second, context)
    # The functions in force at the end are the same, for each pair.
    for name in world.names:
        for s, q in CELLS:
            actual = [
                regions.contains(run_.states["r"].original.get(name, IDENTITY), {"s": s, "q": q})
                for run_ in (one, other)
            ]
            assert actual == [world.in_force[name][s, q].inverse()] * 2, context


@pytest.mark.parametrize("seed", tiered(range(6), 2))
def test_unit_accents_mean_the_alters_that_they_stand_for(seed: int) -> None:
    check_units(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_unit_accents_in_many_cases(seed: int) -> None:
    check_units(seed)


@pytest.mark.parametrize("seed", range(3))
def test_a_canonical_stream_says_what_its_unit_accents_said(seed: int) -> None:
    world = World(Random(seed))
    canonical_streams = []
    for rules in (False, True):
        out = StringIO()
        lines = [Line(json.dumps(item), f"r:{n}") for n, item in enumerate(world.units)]
        canonize(lines, declared_schema(SCHEMA), out, Counter() if rules else None)
        canonical_streams.append([json.loads(line) for line in out.getvalue().splitlines()])
    for items in canonical_streams:
        assert rounded(decode(items)) == rounded(decode(world.alters))
        assert not any("unit(" in item.get("$accent", "") for item in items)


def test_descriptions_by_an_attribute_in_another_unit() -> None:
    """A description of `p` is in the unit of `p` at its place (G22)."""
    items: list[Item] = [
        {"$accent": "[[s = 1, unit(p, Pa)]]"},
        {"$accent": "[[p > 50000, unit(t, degC)]]"},
        {"n": 1, "s": 1, "q": 1, "t": 20, "p": 60000},
        {"n": 2, "s": 2, "q": 1, "t": 68, "p": 600},
        {"$accent": "[[unit(p, Pa)]]"},
        {"n": 3, "s": 2, "q": 1, "t": 68, "p": 60000},
        {"n": 4, "s": 1, "q": 1, "t": 20, "p": 60000},
        {"$accent": "[[unit(t, degC)]]"},
        {"n": 5, "s": 2, "q": 1, "t": 20, "p": 60000},
    ]
    reference = Reference(compile_query(QUERY).plan)
    rows = [dict(r) for item in items for out in reference.step([("r", item)]) for r in out["r"].canonical]
    assert [(round(float(row["t"]), 6), float(row["p"])) for row in rows] == [(68, 600)] * 5


FIXED = f"""
stream r({SCHEMA}) from json "r";
groups := aggregate[avg(t) as t, max(p) as p by s](r);
emit r to json "all";
emit r to json "all-fixed" with t in degC, p in Pa;
emit groups to json "groups";
emit groups to json "groups-fixed" in original units with t in kelvin;
"""
IN = {"r_2": {"t": ("degF", "degC"), "p": ("hPa", "Pa")}, "groups_2": {"t": ("degF", "kelvin")}}


def check_fixed(seed: int) -> None:
    rng = Random(seed)
    world = World(rng)
    items = list(world.units)
    if rng.random() < 0.7:
        at = rng.randrange(len(items))
        items[at:at] = [{"$accent": "[[s = 3, -(p)]]"}]
        items[at:] = [
            {n: v for n, v in item.items() if n != "p" or item.get("s") != 3}
            for item in items[at:]
            if "$accent" not in item or "(p, " not in item["$accent"]
        ]
    reference, output = ran(FIXED, items)
    context = [json.dumps(item) for item in items]
    assert not reference.rejected, context
    for fixed, units in IN.items():
        usual, lines = output[fixed.removesuffix("_2")], output[fixed]
        accents = [item["$accent"].replace(" unit Pa)", " unit hPa)") for item in lines if "$accent" in item]
        assert not any(f"alter({name}," in text for name in units for text in accents), context
        other = [text for item in usual if "alter(" not in (text := item.get("$accent", "alter("))]
        assert sorted(other) == sorted(accents), context  # Drops and Adds are announced
        wanted = [
            {n: conversion(*units[n])(Fraction(v)) if n in units else v for n, v in row.items()}
            for row in decode(usual)
        ]
        # Unchanged from the first tuple on: nothing is to be decoded.
        assert rounded([item for item in lines if is_tuple(item)]) == rounded(wanted), context
        assert list(complaints(lines, set(reference.plan.start[fixed.removesuffix("_2")].types))) == [], (
            context
        )


@pytest.mark.parametrize("seed", tiered(range(6), 2))
def test_fixed_units_are_the_canonical_values_converted(seed: int) -> None:
    check_fixed(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_fixed_units_in_many_cases(seed: int) -> None:
    check_fixed(seed)


def test_patterns_are_in_the_fixed_unit() -> None:
    reference = Reference(compile_query(FIXED).plan)
    reference.step([("r", {"$accent": "[[s = 1, unit(t, degR)]]"})])
    (outputs,) = reference.step([("r", {"$punctuation": "[s = 2, t < 50]"})])
    assert outputs["r_2"].markers.punctuations == ("[s = 2, t < 10]",)
    (outputs,) = reference.step([("r", {"$punctuation": "[s = 1, t > 671.67]"})])
    assert outputs["r_2"].markers.punctuations == ("[s = 1, t > 100]",)


NAMED = """
stream r(n: long, u: string, s: int in {1, 2, 3}, t: double unit%s) from json "r";
emit r to json "all";
emit project[n, s, t](r) to json "without";
emit aggregate[max(t) as t by s, u](r) to json "groups";
"""


def check_named(seed: int) -> None:
    """The stream means the same as one that begins with an Alter for each unit, of the tuples that name it."""
    rng = Random(seed)
    units = ["degF", "degC", "kelvin", "[degR]"]
    begin: list[Item] = [
        {"$accent": f"[[u = {json.dumps(unit)}, alter(t, y -> {conversion('degF', unit).text('y')})]]"}
        for unit in units[1:]
    ]
    items: list[Item] = []
    bad = 0
    for number in range(30):
        if rng.random() < 0.2:
            description = rng.choice(['u = "degC", ', "s = 2, ", 's = 1, u in {"degF", "kelvin"}, ', ""])
            change = rng.choice(["unit(t, degC)", "alter(t, y -> y * 2)", "unit(t, kelvin)"])
            items.append({"$accent": f"[[{description}{change}]]"})
            continue
        unit = rng.choice([*units, "metre"])
        bad += unit == "metre"
        items.append({"n": number, "u": unit, "s": rng.randint(1, 3), "t": rng.randint(-80, 240) / 2})
    good = [item for item in items if item.get("u") != "metre"]
    named, first = ran(NAMED % f" from u in {{{', '.join(map(json.dumps, units))}}}", items)
    other, second = ran(NAMED % " degF", [*begin, *good])
    context = [json.dumps(item) for item in items]
    assert [code for _, code, _ in named.rejected] == ["RQ311"] * bad, context
    assert other.rejected == [], context
    check_alike(first, second, context)
    for emit, lines in first.items():
        assert list(complaints(lines, set(named.plan.start[emit].types))) == [], context
    for s in (1, 2, 3):
        for unit in units:
            cell = {"s": s, "u": unit}
            a, b = (regions.contains(r.states["r"].original["t"], cell) for r in (named, other))
            assert a == b, context


@pytest.mark.parametrize("seed", tiered(range(6), 2))
def test_units_that_tuples_name_are_alters_at_the_beginning(seed: int) -> None:
    check_named(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_units_that_tuples_name_in_many_cases(seed: int) -> None:
    check_named(seed)


ADDED = """
stream r(n: long, s: int in {1, 2, 3}, q: int in {1, 2}%s) from json "r";
emit r to json "all";
emit aggregate[max by s except n, q](r) to json "groups";
"""


class Births:
    """A stream in which Adds bring `p` in units, of a few tuples at a time, and Drops take it away; and the same with
    plain Adds, and Alters from one unit."""

    def __init__(self, rng: Random, first: str | None) -> None:
        self.units: list[Item] = []
        self.alters: list[Item] = []
        unit_of: dict[int, str] = {}
        for number in range(40):
            s = rng.randint(1, 3)
            if rng.random() < 0.6:
                row: Item = {"n": number, "s": s, "q": rng.randint(1, 2)}
                row |= {"p": rng.randint(1, 4000) / 4} if s in unit_of else {}
                self.units.append(row)
                self.alters.append(row)
            elif s not in unit_of:
                unit_of[s] = rng.choice(UNITS["p"])
                first = first or unit_of[s]
                self.say(
                    f"[[s = {s}, +(p: double unit {unit_text(unit_of[s])})]]", f"[[s = {s}, +(p: double)]]"
                )
                function = conversion(first, unit_of[s])
                if not function.is_identity:
                    self.say("", f"[[s = {s}, alter(p, y -> {function.text('y')})]]")
            elif rng.random() < 0.5:
                del unit_of[s]
                self.say(f"[[s = {s}, -(p)]]", f"[[s = {s}, -(p)]]")
            else:
                unit = rng.choice(UNITS["p"])
                function = conversion(unit_of[s], unit)
                alter = "" if function.is_identity else f"[[s = {s}, alter(p, y -> {function.text('y')})]]"
                self.say(f"[[s = {s}, unit(p, {unit_text(unit)})]]", alter)
                unit_of[s] = unit
        self.first = first

    def say(self, *texts: str) -> None:
        for items, text in zip((self.units, self.alters), texts, strict=True):
            items.extend([{"$accent": text}] * bool(text))


def check_added(seed: int) -> None:
    """An Add in a unit is a plain one, and the Alter to it from the declared unit, or from that of the first Add."""
    rng = Random(seed)
    declared = ", p?: double unit hPa" if seed % 2 else ""
    births = Births(rng, "hPa" if seed % 2 else None)
    one, first = ran(ADDED % declared, births.units, 1 + seed % 7)
    other, second = ran(ADDED % declared, births.alters, 1 + seed % 5)
    context = [json.dumps(item) for item in births.units]
    assert one.rejected == other.rejected == [], context
    check_alike(first, second, context)
    unit = unit_text(births.first or "")
    for lines in first.values():
        adds = [item["$accent"] for item in lines if "+(" in item.get("$accent", "")]
        assert all(f"+(p: double unit {unit})" in text for text in adds), context
    stream = StringIO()
    schema = declared_schema(f"n: long, s: int in {{1, 2, 3}}, q: int in {{1, 2}}{declared}")
    canonize([Line(text, f"r:{n}") for n, text in enumerate(context)], schema, stream)
    canonical = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert rounded(decode(canonical)) == rounded(decode(second["r"])), context


@pytest.mark.parametrize("seed", tiered(range(6), 2))
def test_adds_in_units_are_adds_and_alters(seed: int) -> None:
    check_added(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_adds_in_units_in_many_cases(seed: int) -> None:
    check_added(seed)
