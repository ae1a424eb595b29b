"""Unions, sets and joins of numbers in two units are those of quantities, in the unit of the left (theory N12)."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.stream import read_output
from tests.kit.tiers import tiered
from tests.kit.two_units import END, check, query, random_case, simulated


@pytest.mark.parametrize("seed", tiered(range(12), 2))
def test_two_units_meet_as_quantities(seed: int) -> None:
    rng = Random(seed)
    ends, left, right = random_case(rng)
    check(ends, left, right, simulated(ends, left, right, rng.choice([1, 3, 100])))


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_two_units_meet_as_quantities_in_many_cases(seed: int) -> None:
    test_two_units_meet_as_quantities(seed)


@pytest.mark.either_engine
@pytest.mark.parametrize(
    "seed", [*tiered(range(6), 2), *(pytest.param(n, marks=pytest.mark.soak) for n in range(6, 20))]
)
def test_two_units_meet_as_quantities_on_an_engine(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    ends, left, right = random_case(rng)
    text, names = query(ends)
    run = Query(spark, tmp_path, text)
    for name, values in (("a", left), ("b", right)):
        for k, x in enumerate(values):
            run.write(name, [{"ts": x, "k": k}])
        run.write(name, [END])
    plan = run.process(rng.choice([None, 2])).plan
    outputs = {
        n: read_output(run.root / "out" / emit.name, Decimal)
        for n, emit in zip(names, plan.emits, strict=True)
    }
    check(ends, left, right, outputs)


@pytest.mark.parametrize("seed", [20262659, 20263001])
def test_decimals_that_become_doubles_on_both_sides_meet(seed: int) -> None:
    """Kelvin beside degF: the left value stayed a fraction in the reference, and equalled no double."""
    test_two_units_meet_as_quantities(seed)
