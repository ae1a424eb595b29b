"""Random plans on the embedded engine: their data flow, epoch by epoch, is that of plain relations (Figure 3)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit.tiers import tiered
from tests.laws.engine_runs import check_random_plan


@pytest.mark.parametrize("seed", tiered(range(16), 4))
def test_random_plans_keep_the_laws_on_sail(sail: SparkSession, tmp_path: Path, seed: int) -> None:
    check_random_plan(sail, tmp_path, seed)
