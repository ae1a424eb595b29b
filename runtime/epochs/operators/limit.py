"""Limit with Spark: the first tuples in the order of arrival, and a count of passed ones (theory 1.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import LONG
from cedilla.compiler.operators import Limit, Operator
from cedilla.runtime.engines.spark.columns import data_type
from cedilla.runtime.engines.spark.frames import without_rows
from cedilla.runtime.epochs.operators.base import AttributeState, Dataflow

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch


_COUNT = "$count"


class LimitDataflow(Dataflow):
    """Returns the tuples that are missing to the limit; the last one closes everything."""

    def run(self, epoch: Epoch, operator: Limit, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        name = operator.name
        if not self.has_output(epoch, operator):
            return without_rows(frame)
        columns = {_COUNT: data_type(LONG)}
        old = epoch.state.read(name, columns)
        row = None if old is None else old.first()
        missing = operator.count - (0 if row is None else row[0])
        passed = epoch.cached(frame.orderBy(*epoch.arrived(operator)).limit(missing))
        count = passed.count()
        if count == missing:
            epoch.report_closed(name, True)
            epoch.state.clear(name)
        else:
            so_far = F.lit(operator.count - missing + count).cast("long").alias(_COUNT)
            epoch.state.replace(name, frame.sparkSession.range(1).select(so_far), columns, epoch.number)
        return passed

    def has_output(self, epoch: Epoch, operator: Operator) -> bool:
        return epoch.before[operator.name].closed is not True and epoch.has_rows(operator.inputs[0])

    def attribute_states(self, epoch: Epoch, operator: Limit, attribute: str) -> Iterable[AttributeState]:
        return ()  # the state is only a count
