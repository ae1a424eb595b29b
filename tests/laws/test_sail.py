"""Random plans on an engine, the embedded one first: their data flow, epoch by epoch, is that of plain relations
(Figure 3), and every relation closes what it closes in the reference, whatever the cut (theory 2.9)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit.seeds import soak_seeds
from tests.kit.tiers import tiered
from tests.laws.engine_runs import check_random_plan
from tests.laws.worlds import COMPLETED


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", tiered(range(10), 4, 7))
def test_random_plans_keep_the_laws_epoch_by_epoch(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_random_plan(spark, tmp_path, seed)


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", tiered(range(12), 0, 6))
def test_random_plans_with_groups_that_no_tuple_came_to_keep_the_laws(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    check_random_plan(spark, tmp_path, seed, COMPLETED)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(200))
def test_more_random_plans_keep_the_laws_on_sail(sail: SparkSession, tmp_path: Path, seed: int) -> None:
    check_random_plan(sail, tmp_path, seed)
