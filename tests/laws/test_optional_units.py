"""An optional value with its unit next to it is the value in the declared unit: no value needs no unit (theory N6)."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest

from cedilla.compiler.expressions.units.units import conversion
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item
from tests.kit.tiers import tiered
from tests.laws.random_schemas import OPTIONAL_UNITS, tuples_and_errors, valid_stream

IN_DEGF = OPTIONAL_UNITS.replace("unit from u in {degF, degC}", "unit degF")


def in_degf(item: Item) -> Item:
    """A line with its value in degF; markers stay."""
    if item.get("u") != "degC" or "t" not in item:
        return item
    return item | {"t": float(conversion("degC", "degF")(int(item["t"]) * 5))}


def written(item: Item) -> Item:
    """A line whose value is whole in both units."""
    return item | {"t": item["t"] * 5} if item.get("u") == "degC" and "t" in item else item


def check(seed: int) -> Counter[tuple[str | None, bool]]:
    """A stream that names units and one in degF have the same tuples. Which forms of tuples there were: their unit, and
    whether they have the value.

    Markers of `t` are left out, because they speak of values in the units of their tuples.
    """
    rng = Random(seed)
    schema = declared_schema(OPTIONAL_UNITS)
    stream = [item for item in valid_stream(rng, schema, rng.randrange(2, 6)) if not _is_of_value(item)]
    for _ in range(8):
        stream.insert(rng.randint(0, len(stream)), _drawn_tuple(rng))
    rows, wrong = tuples_and_errors([written(item) for item in stream], schema)
    plain, also_wrong = tuples_and_errors([in_degf(item) for item in stream], declared_schema(IN_DEGF))
    assert plain == rows, stream
    assert [error.code for error in also_wrong] == [error.code for error in wrong], stream
    return Counter(
        (item.get("u"), "t" in item) for item in stream if not any(n.startswith("$") for n in item)
    )


def _drawn_tuple(rng: Random) -> Item:
    """A tuple, of which each part may be missing; a value has its unit."""
    unit = rng.choice([None, "degC", "degF"])
    row: Item = {"s": rng.choice([1, 2])} | ({"u": unit} if unit else {})
    return row | {"t": float(rng.randrange(-40, 60))} if unit and rng.random() < 0.6 else row


def _is_of_value(item: Item) -> bool:
    return any(name.startswith("$") and re.search(r"\bt\b", text) for name, text in item.items())


@pytest.mark.parametrize("seeds", tiered([range(6), range(6, 300)]), ids=str)
def test_an_optional_value_with_its_unit_is_the_value_without(seeds: range) -> None:
    forms = sum(map(check, seeds), Counter[tuple[str | None, bool]]())
    assert forms.keys() >= {(unit, has) for unit in ("degC", "degF") for has in (True, False)}


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_optional_values_with_units_in_many_cases(seed: int) -> None:
    check(seed)
