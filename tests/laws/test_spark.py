"""Random queries on random streams through real Spark: the laws of `test_reference`, on fewer cases."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.laws.relational import evaluate_plan
from tests.laws.test_reference import TABLE, accepted, bag, cut, described
from tests.laws.worlds import canonical, stream, world
from tests.pipeline import Run
from tests.stream import complaints, decode


def check(spark: SparkSession, root: Path, seed: int, size: int, length: int) -> None:
    rng = Random(seed)
    made = world(rng, size)
    items = accepted(made.plan, stream(rng, length))
    told = described(made, items)
    (emit,) = made.plan.emits
    run = Run(spark, root, made.text)
    run.write("d", [item for _, item in TABLE])
    for part in cut(rng, items):
        for source in ("r", "s"):
            run.write(source, [item for name, item in part if name == source])
    run.process(files_per_epoch=rng.choice([1, 2]))
    output = run.output(emit.name)
    assert run.quarantine("r") + run.quarantine("s") == [], told
    assert bag(decode(output)) == bag(evaluate_plan(made.plan, canonical(items))[emit.relation]), told
    start = made.plan.start[emit.relation]
    initial = {name for name in start.types if start.may_have(name) is not False}
    assert list(complaints(output, initial)) == [], told


@pytest.mark.parametrize("seed", range(6))
def test_random_plans_keep_the_laws_on_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check(spark, tmp_path, seed, 4, 40)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 160))
def test_more_random_plans_keep_the_laws_on_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check(spark, tmp_path, seed, 1 + seed % 6, 50)
