"""Whole numbers and decimals in two units: the relations in which they meet, and what these are by fractions.

The oracle shares nothing with the program but the functions between units. Floors, comparisons and keys are compared
exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor
from random import Random
from typing import Any

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import decimal_notation
from cedilla.compiler.expressions.units.units import conversion
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.stream import Item, is_tuple

END: Item = {"$punctuation": "[]"}
STREAMS = """
stream a(ts: {}, k: int) from json "a" punctuated on ts;
stream b(ts: {}, k: int) from json "b" punctuated on ts;
u := a union b;
"""
RELATIONS = {
    "u": "u",
    "early": "select[ts < 70](u)",
    "windows": "aggregate[count() as n by w](window[60 on ts as w](u))",
    "common": "project[ts](a) intersect project[ts](b)",
    "rest": "project[ts](a) minus project[ts](b)",
    "met": "a join rename[k as j](b) on ts",
    "either": "a left join rename[k as j](b) on ts",
    "both": "a semi join b on ts",
    "alone": "a anti join b on ts",
}
Ends = tuple[str, str]
"""The types of `ts` on both sides, with their units."""


def query(ends: Ends) -> tuple[str, list[str]]:
    """The query over streams of these types, and the names of its outputs: no join compares doubles with others."""
    has_double = any("double" in end for end in ends)
    names = [*RELATIONS][: 5 if has_double else None]
    emits = [f'emit {RELATIONS[name]} to json "{name}";' for name in names]
    return "\n".join([STREAMS.format(*ends), *emits]), names


def expected(ends: Ends, left: Sequence[Any], right: Sequence[Any]) -> dict[str, list[Any]]:
    """The values of each relation, of tuples with these values and their numbers as `k`."""
    ours, theirs = (end.rpartition(" ")[2] for end in ends)
    function = conversion(theirs, ours)
    a = [(Fraction(str(x)), k) for k, x in enumerate(left)]
    b = [(Fraction(function(Fraction(str(x)))), k) for k, x in enumerate(right)]
    matched = {x for x, _ in b}
    windows = [floor(x / 60) for x, _ in (*a, *b)]
    met = [(x, k, j) for x, k in a for y, j in b if x == y]
    return {
        "u": [*a, *b],
        "early": [row for row in (*a, *b) if row[0] < 70],
        "windows": [(w, windows.count(w)) for w in {*windows}],
        "met": met,
        "either": [*met, *((x, k, None) for x, k in a if x not in matched)],
        "both": [(x, k) for x, k in a if x in matched],
        "alone": [(x, k) for x, k in a if x not in matched],
        "common": [(x,) for x in {x for x, _ in a} & matched],
        "rest": [(x,) for x in {x for x, _ in a} - matched],
    }


def _exact(row: Item) -> tuple[Any, ...]:
    """The values of a row: a double stands for its shortest decimal, as a person reads it."""
    names = ("ts", "w", "k", "j", "n") if "w" not in row else ("w", "n")
    values = [row.get(name) for name in names if name in row or (name == "j" and "k" in row and "j" in row)]
    return tuple(Fraction(str(v)) for v in values)


def _as_read(wanted: Sequence[tuple[Any, ...]], *, is_double: bool) -> list[tuple[Any, ...]]:
    def read(value: Any) -> Fraction:
        return Fraction(repr(float(value))) if is_double and value.denominator != 1 else Fraction(value)

    return sorted(tuple(read(Fraction(v)) for v in row if v is not None) for row in wanted)


def simulated(ends: Ends, left: Sequence[Any], right: Sequence[Any], size: int) -> dict[str, list[Item]]:
    """Returns the outputs of the reference, which takes `size` items at a time."""
    text, names = query(ends)
    reference = Reference(compile_query(text).plan)
    items = [(name, {"ts": x, "k": k}) for name, of in (("a", left), ("b", right)) for k, x in enumerate(of)]
    items += [("a", END), ("b", END)]
    result: dict[str, list[Item]] = {name: [] for name in names}
    for start in range(0, len(items), size):
        for outputs in reference.step(items[start : start + size]):
            for name, emit in zip(names, reference.plan.emits, strict=True):
                result[name] += outputs[emit.name].items()
    assert reference.rejected == []
    return result


def check(ends: Ends, left: Sequence[Any], right: Sequence[Any], outputs: dict[str, list[Item]]) -> None:
    """Compare outputs with what they have to be, exactly."""
    types = compile_query(query(ends)[0]).plan.start["u"].types
    wanted = expected(ends, left, right)
    is_double = types["ts"].name == "double"
    for name, output in outputs.items():
        rows = sorted(_exact(row) for row in output if is_tuple(row))
        assert rows == _as_read(wanted[name], is_double=is_double), name


FAMILIES = [
    ("s", "ms", "us", "ns", "minute", "hour", "day"),
    ("m", "cm", "mm", "km", "inch", "foot", "mile"),
    ("degC", "degF", "kelvin"),
    ("byte", "kB", "KiB", "bit"),
]

TYPES = ("long", "long", "int", "decimal(12, 2)", "double")


def random_case(rng: Random) -> tuple[Ends, list[Any], list[Any]]:
    """Types, and values of which some are one quantity, some next to one, and some a round number."""
    units = rng.choice(FAMILIES)
    ours, theirs = rng.choice(units), rng.choice(units)
    types = [rng.choice(TYPES) for _ in range(2)]
    if "double" in types:  # in doubles, of which the last digit is none of the law
        types = [type_ if type_ == "double" else "long" for type_ in types]
    function = conversion(theirs, ours)
    right = [random_value(rng, types[1]) for _ in range(rng.randint(1, 6))]
    left = [random_value(rng, types[0]) for _ in range(rng.randint(0, 3))]
    for value in right:
        near = Fraction(function(Fraction(str(value))))
        step = 100 if types[0].startswith("decimal") else 1
        close_by = Fraction(round(near * step) + rng.choice([0, 0, 0, 1, -1]), step)
        if abs(close_by) < 2**31 and rng.random() < 0.7:
            left.append(int(close_by) if step == 1 else float(close_by))
    return (f"{types[0]} unit {ours}", f"{types[1]} unit {theirs}"), left, right


WIDE = (
    *("decimal(38, 0)", "decimal(38, 18)", "decimal(20, 4)", "decimal(32, 30)", "decimal(25, 16)"),
    *("decimal(32, 32)", "decimal(20, 18)", "decimal(19, 0)", "decimal(30, 19)", "long", "int"),
)


def random_wide_case(rng: Random) -> tuple[Ends, list[Any], list[Any]]:
    """Types of one unit with up to 38 digits, and values of which some differ in the last digit only."""
    types = [rng.choice(WIDE) for _ in range(2)]
    right = [_wide_value(rng, types[1]) for _ in range(rng.randint(1, 5))]
    left = [_wide_value(rng, types[0]) for _ in range(rng.randint(0, 3))]
    before, after = digits(types[0])
    for value in right:
        near = floor(value * 10**after) + rng.choice([0, 0, 1, -1])
        if abs(near) < 10**after * min(10**before, 2**31):
            left.append(Fraction(near, 10**after))
    ours, theirs = ([_as_written(value) for value in values] for values in (left, right))
    return (f"{types[0]} unit s", f"{types[1]} unit s"), ours, theirs


def digits(type_: str) -> tuple[int, int]:
    """The digits before and after the point; those of a whole number under any Alter."""
    if not type_.startswith("decimal"):
        return 19, 0
    precision, scale = map(int, type_[len("decimal(") : -1].split(","))
    return precision - scale, scale


def _wide_value(rng: Random, type_: str) -> Fraction:
    before, after = digits(type_)
    unit = rng.choice([0, 1, 7, rng.randrange(10**after), 10**after - 1]) if after else 0
    most = 10 ** min(before, 9)
    return rng.choice([0, 7 % most, 8 % most, rng.randrange(most)]) + Fraction(unit, 10**after)


def _as_written(value: Fraction) -> Decimal:
    return Decimal(decimal_notation(value) or "")


def random_value(rng: Random, type_: str) -> Any:
    whole = rng.choice(
        [rng.randint(-200, 200), rng.randint(0, 90) * 60, rng.randint(0, 9) * 1000 + rng.randint(-1, 1)]
    )
    return whole + rng.choice([0, 0.5, 0.01, 0.25]) if type_.startswith("decimal") else whole
