"""The functions that all feeders of a cell have gone through (theory D1): the longest common subsequence."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from cedilla.compiler.facts.facts import COMMON_HISTORY, History
from cedilla.compiler.regions.affine import IDENTITY, Affine
from tests.kit.tiers import tiered
from tests.kit.work import calls

FUNCTIONS = [IDENTITY, *(Affine(slope, shift) for slope in (1, 2) for shift in (1, 2))]


def _parts(history: History) -> set[History]:
    return {part for length in range(len(history) + 1) for part in combinations(history, length)}


def _order(history: History) -> tuple[object, ...]:
    return len(history), [(f.slope, f.shift) for f in history]


@pytest.mark.parametrize("seed", tiered(range(5)))
def test_it_is_the_greatest_of_the_longest(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        a, b = ((IDENTITY, *rng.choices(FUNCTIONS, k=rng.randrange(7))) for _ in range(2))
        assert COMMON_HISTORY.leaf(a, b) == max(_parts(a) & _parts(b), key=_order)
        assert COMMON_HISTORY.leaf(a, b) == COMMON_HISTORY.leaf(b, a)


def test_long_histories_in_other_orders_take_few_calls() -> None:
    """Each pair of functions is compared once, as numbers."""
    functions = [Affine(1, shift) for shift in range(200)]
    a = (IDENTITY, *functions)
    b = (IDENTITY, *random.Random(1).sample(functions, 200))
    assert calls(lambda: COMMON_HISTORY.leaf(a, b)) < 20_000
