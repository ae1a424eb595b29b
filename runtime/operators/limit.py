"""Limit with Spark: the first tuples in the order of arrival, and a count of what has passed (theory 1.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler.operators import Limit, Operator
from cedilla.compiler.operators.limit import OPEN
from cedilla.runtime.operators.base import Dataflow, Kept

if TYPE_CHECKING:
    from cedilla.runtime.operators.epoch import Epoch


class LimitDataflow(Dataflow):
    """What is missing to the limit; with the last of it everything is closed."""

    def run(self, e: Epoch, operator: Limit, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        name = operator.name
        if e.before[name].closed is True:
            e.keep_open(name, {OPEN: False})
        if not self.busy(e, operator):
            return frame.limit(0)
        old = e.state.read(name)
        row = None if old is None else old.first()
        missing = operator.count - (0 if row is None else row[0])
        passed = e.reused(frame.orderBy(*e.arrived(operator, frame)).limit(missing))
        count = passed.count()
        if count == missing:
            e.keep_open(name, {OPEN: False})
            e.state.clear(name)
        else:
            so_far = F.lit(operator.count - missing + count).alias("$count")
            e.state.replace(name, frame.sparkSession.range(1).select(so_far), e.number)
        return passed

    def busy(self, e: Epoch, operator: Operator) -> bool:
        return e.before[operator.name].closed is not True and e.is_busy(operator.inputs[0])

    def keeps(self, e: Epoch, operator: Limit, attribute: str) -> Iterable[Kept]:
        return ()  # only a count is kept
