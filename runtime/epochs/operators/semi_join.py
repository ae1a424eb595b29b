"""Semi join ⋉ with Spark: left tuples pass at their first match (theory 1.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from cedilla.compiler.operators import SemiJoin
from cedilla.runtime.engines.spark.frames import stacked, without_rows
from cedilla.runtime.epochs.operators.join import FilteringDataflow

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch


class SemiJoinDataflow(FilteringDataflow):
    """Returns new left tuples whose key the right has or had, and pending ones whose key is new."""

    def run(self, epoch: Epoch, operator: SemiJoin, left: DataFrame, right: DataFrame) -> DataFrame:  # type: ignore[override]
        tuples = self.split_left(epoch, operator, left, right)
        passed = stacked(epoch.input_columns(operator), tuples.matched, tuples.newly_matched)
        return without_rows(left) if passed is None else passed
