"""Random worlds that have broken a law once, by their seeds."""

from __future__ import annotations

from random import Random

import pytest

from tests.laws.reference_runs import check

THEN = (
    *("select", "project", "rename", "union", "intersect", "minus", "distinct", "join", "left join"),
    *("semi join", "anti join", "window", "session", "count window", "sort", "top", "limit", "aggregate"),
)
ORDERED = (
    *("sort", "sort", "limit", "top", "count window", "distinct", "aggregate", "session"),
    *("join", "window", "union"),
)
"""The operators that there were: with others, or in another order, a seed gives another world."""


@pytest.mark.parametrize("seed", [5047, 5097, 5104, 5117])
def test_plans_over_edge_values(seed: int) -> None:
    """An accent on `zflag < false`, which no tuple has (RQ216), and Drops that named their own attribute, because the
    units of others depend on it (RQ201)."""
    rng = Random(seed)
    check(rng, rng.randint(1, 5), 30, rng.choice([THEN, ORDERED]), edges=2)
