"""Constants with units in markers speak of quantities: each tuple is described by its canonical value (theory G22).

The decoder, which shares no regions with the engine, compares tuple by tuple; what an output says has no such constants
any more, and says the same.
"""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random

import pytest

from cedilla.compiler.compile import compile_query
from cedilla.compiler.expressions.units.units import conversion
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.stream_checker import StreamChecker
from tests.kit.compare import rounded
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Decoder, Item, decode, is_tuple
from tests.laws.quantity_streams import stream
from tests.laws.unit_worlds import SCHEMA

UNITS = {"n": "s", "t": "degF", "p": "hPa"}
STREAM = SCHEMA.replace("n: long", "n: long unit s")
QUERY = f'stream r({STREAM}) from json "r"; emit r to json "out";'


def check_quantities(seed: int) -> int:
    """How many tuples a punctuation had closed."""
    reference, decoder = Reference(compile_query(QUERY).plan), Decoder(units=UNITS)
    checker = StreamChecker(declared_schema(STREAM))
    output_items: list[Item] = []
    rows: list[Item] = []
    late = 0
    for number, item in enumerate(stream(Random(seed))):
        _, diagnostics = checker.take(Line(json.dumps(item), f"r:{number}"))
        codes = {diagnostic.code for diagnostic in diagnostics if diagnostic.severity == "error"}
        if "$accent" in item and codes:
            assert codes <= {"RQ201", "RQ216"}, (
                item,
                diagnostics,
            )  # by a unit that depends on it; no possible tuple
            continue
        row = decoder.feed(item)
        before = len(reference.rejected)
        for outputs in reference.step([("r", item)]):
            output_items += outputs["r"].items()
        assert is_tuple(item) == (row is not None)
        if row is not None:
            closed = decoder.closed(row)
            assert (len(reference.rejected) > before) == closed == ("RQ305" in codes), item
            late += closed
            rows += [] if closed else [row]
    assert rounded(decode(output_items)) == rounded(rows), seed
    return late


@pytest.mark.parametrize("seed", range(6))
def test_constants_with_units_describe_canonical_values(seed: int) -> None:
    check_quantities(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_constants_with_units_in_many_cases(seed: int) -> None:
    check_quantities(seed)


PRODUCTS = """
stream r(k: long, c: boolean, x: long, y: decimal(16, 2)) from json "r" punctuated on k;
emit project[k, {case} as q, x * {a} < y * {b} as less, greatest(x * {a}, y * {b}) = x * {a} as first](r) to json "o";
emit aggregate[sum({case}) as total by c](r) to json "sums";
"""
FAMILIES = [
    ("km", "m", "mile", "foot"),
    ("ms", "us"),
    ("pascal", "hPa", "psi"),
    ("kg", "gram", "lb"),
    ("delta_degF", "delta_degC"),
]


def products(seed: int) -> None:
    """A product of a number and a constant with a unit is a quantity: it is converted, compared and added as one."""
    rng = Random(seed)
    first, second = (rng.choice(units) for units in [rng.choice(FAMILIES)] * 2)
    a, b = (f"{rng.choice(['1', '2', '0.5', '60'])} {unit}" for unit in (first, second))
    case = rng.choice(["if(c, x * {a}, y * {b})", "case when c then {a} * x else y * {b} end"]).format(
        a=a, b=b
    )
    text = PRODUCTS.format(case=case, a=a, b=b)
    sizes = [Fraction(operand.split()[0]) for operand in (a, b)]
    function = conversion(second, first)
    reference = Reference(compile_query(text).plan)
    totals = {True: Fraction(0), False: Fraction(0)}
    for number in range(12):
        x, y = rng.randint(-50, 50), Fraction(rng.randint(-5000, 5000), 100)
        if rng.random() < 0.3:
            y = Fraction(round(function.inverse()(x * sizes[0]) / sizes[1] * 100), 100)
        c = rng.random() < 0.5
        item = {"k": number, "c": c, "x": x, "y": float(y)}
        (outputs,) = reference.step([("r", item)])
        mine, other = x * sizes[0], Fraction(function(y * sizes[1]))
        quantity = mine if c else other
        totals[c] += quantity
        (row,) = outputs["project"].tuples
        assert (row["less"], row["first"]) == (mine < other, mine >= other), (text, item)
        # A side of more than 15 digits is rounded before a division.
        nearly = 2.0**-52 if "psi" in (first, second) else 0
        assert float(row["q"]) == pytest.approx(float(quantity), rel=nearly, abs=0), (text, item)
    (outputs,) = reference.step([("r", {"$punctuation": "[]"})])
    for row in outputs["aggregate"].tuples:
        assert float(row["total"]) == pytest.approx(float(totals[row["c"]]), rel=1e-14, abs=1e-12), text


@pytest.mark.parametrize("seed", range(8))
def test_products_with_unit_constants_are_quantities(seed: int) -> None:
    products(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(1000))
def test_products_with_unit_constants_in_many_cases(seed: int) -> None:
    products(seed)
