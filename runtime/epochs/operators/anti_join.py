"""Anti join ▷ with Spark: left tuples pass when they cannot match a right tuple any more (theory 1.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from cedilla.compiler.operators import AntiJoin
from cedilla.runtime.engines.spark.frames import without_rows
from cedilla.runtime.epochs.operators.join import FilteringDataflow, expired_left, newly_purged

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch


class AntiJoinDataflow(FilteringDataflow):
    """Returns left tuples without a match after their key is closed on the right, at once if it is closed already."""

    def run(self, epoch: Epoch, operator: AntiJoin, left: DataFrame, right: DataFrame) -> DataFrame:  # type: ignore[override]
        tuples = self.split_left(epoch, operator, left, right)
        passed = expired_left(epoch, operator, tuples)
        return without_rows(left) if passed is None else passed

    def has_output(self, epoch: Epoch, operator: AntiJoin) -> bool:
        return epoch.has_rows(operator.inputs[0]) or newly_purged(epoch, operator) is not False
