"""Results that jump are those of the numbers that people write: no tolerance.

`floor`, `%`, `=`, `<`, windows and groups over attributes that come in several units, against exact fractions.
"""

from __future__ import annotations

import json
from random import Random

import pytest

from cedilla.compiler.compile import compile_query
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.paper import JUMPS, Readings, as_rows
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item, is_tuple
from tests.kit.tiers import tiered


def check_jumps(seed: int, count: int = 60) -> None:
    readings = Readings(Random(seed), count)
    reference = Reference(compile_query(JUMPS).plan)
    tuples: dict[str, list[Item]] = {}
    for item in readings.items:
        for outputs in reference.step([("r", item)]):
            for name, output in outputs.items():
                tuples.setdefault(name, []).extend(filter(is_tuple, output.items()))
    context = [json.dumps(item) for item in readings.items]
    assert not reference.rejected, context
    for name, rows in readings.expected().items():
        (emit,) = (emit.name for emit in reference.plan.emits if emit.path.endswith(f"/{name}"))
        assert as_rows(tuples[emit]) == rows, (seed, name)


@pytest.mark.parametrize("seed", tiered(range(8), 3))
def test_results_jump_where_the_numbers_on_paper_do(seed: int) -> None:
    check_jumps(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_results_jump_there_in_many_cases(seed: int) -> None:
    check_jumps(seed)
