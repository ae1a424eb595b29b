"""Unions, sets and joins of numbers in two units are those of quantities, in the unit of the left (theory N12)."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler.units.units import conversion
from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.tiers import tiered
from tests.kit.two_units import END, Ends, check, lines, query, simulated

FAMILIES = [
    ("s", "ms", "us", "ns", "minute", "hour", "day"),
    ("m", "cm", "mm", "km", "inch", "foot", "mile"),
    ("degC", "degF", "kelvin"),
    ("byte", "kB", "KiB", "bit"),
]
TYPES = ("long", "long", "int", "decimal(12, 2)", "double")


def case(rng: Random) -> tuple[Ends, list[Any], list[Any]]:
    """Types, and values of which some are one quantity, some next to one, and some a round number."""
    units = rng.choice(FAMILIES)
    ours, theirs = rng.choice(units), rng.choice(units)
    types = [rng.choice(TYPES) for _ in range(2)]
    if "double" in types:  # in doubles, of which the last digit is none of the law
        types = [each if each == "double" else "long" for each in types]
    function = conversion(theirs, ours)
    right = [random_value(rng, types[1]) for _ in range(rng.randint(1, 6))]
    left = [random_value(rng, types[0]) for _ in range(rng.randint(0, 3))]
    for each in right:
        near = Fraction(function(Fraction(str(each))))
        step = 100 if types[0].startswith("decimal") else 1
        found = Fraction(round(near * step) + rng.choice([0, 0, 0, 1, -1]), step)
        if abs(found) < 2**31 and rng.random() < 0.7:
            left.append(int(found) if step == 1 else float(found))
    return (f"{types[0]} unit {ours}", f"{types[1]} unit {theirs}"), left, right


def random_value(rng: Random, type_: str) -> Any:
    whole = rng.choice(
        [rng.randint(-200, 200), rng.randint(0, 90) * 60, rng.randint(0, 9) * 1000 + rng.randint(-1, 1)]
    )
    return whole + rng.choice([0, 0.5, 0.01, 0.25]) if type_.startswith("decimal") else whole


@pytest.mark.parametrize("seed", range(12))
def test_two_units_meet_as_quantities(seed: int) -> None:
    rng = Random(seed)
    ends, left, right = case(rng)
    check(ends, left, right, simulated(ends, left, right, rng.choice([1, 3, 100])))


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_two_units_meet_as_quantities_in_many_cases(seed: int) -> None:
    test_two_units_meet_as_quantities(seed)


@pytest.mark.either_engine
@pytest.mark.parametrize(
    "seed", [*tiered(range(6), 3), *(pytest.param(n, marks=pytest.mark.soak) for n in range(6, 20))]
)
def test_two_units_meet_as_quantities_on_an_engine(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    ends, left, right = case(rng)
    text, names = query(ends)
    run = Query(spark, tmp_path, text)
    for name, values in (("a", left), ("b", right)):
        for k, x in enumerate(values):
            run.write(name, [{"ts": x, "k": k}])
        run.write(name, [END])
    plan = run.process(rng.choice([None, 2])).plan
    found = {n: lines(run.root / "out" / emit.name) for n, emit in zip(names, plan.emits, strict=True)}
    check(ends, left, right, found)


@pytest.mark.parametrize("seed", [20262659, 20263001])
def test_decimals_that_become_doubles_on_both_sides_meet(seed: int) -> None:
    """Kelvin beside degF: the left value stayed a fraction in the reference, and equalled no double."""
    test_two_units_meet_as_quantities(seed)
