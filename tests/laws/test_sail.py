"""Random plans on the embedded engine: their data flow, epoch by epoch, is that of plain relations (Figure 3)."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.kit.epochs import outputs
from tests.kit.stream import Item
from tests.kit.tiers import tiered
from tests.laws.relational import evaluate_plan
from tests.laws.test_reference import TABLE, accepted, bag, cut, decoded, described
from tests.laws.test_spark import number
from tests.laws.worlds import ALL, ORDERED, canonical, stream, world

KINDS = ((ALL, 0), (ORDERED, 0), (ALL, 2))


@pytest.mark.parametrize("seed", tiered(range(30), 6))
def test_random_plans_keep_the_laws_on_sail(sail: SparkSession, tmp_path: Path, seed: int) -> None:
    check_random_plan(sail, tmp_path, seed)


def check_random_plan(session: SparkSession, root: Path, seed: int) -> None:
    """A random plan computed by a session, on a random stream."""
    rng = Random(seed)
    kinds, edges = KINDS[seed % 3]
    made = world(rng, 4, kinds, edges)
    items = accepted(made.plan, stream(rng, 40, made.extra, accents=False))
    told = described(made, items)
    (emit,) = made.plan.emits
    epochs: list[dict[str, list[Item]]] = []
    for part in cut(rng, items):
        epochs.append({s: [item for name, item in part if name == s] for s in ("r", "s")})
    epochs[0]["d"] = [item for _, item in TABLE]
    found = [
        json.loads(line, parse_float=number) for line in outputs(session, root, made.text, epochs)[emit.name]
    ]
    assert bag(decoded(found)) == bag(evaluate_plan(made.plan, canonical(items))[emit.relation]), told
