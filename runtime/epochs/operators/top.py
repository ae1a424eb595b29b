"""Top with Spark: stores the best tuples of each epoch and group; the best of these pass with the group (theory
1.3)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import column
from cedilla.compiler.operators import Operator, Top
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.spark.frames import (
    partition_keys,
    row_number,
    stacked,
    where_inside,
    without_rows,
)
from cedilla.runtime.epochs.operators.base import AttributeState, Dataflow
from cedilla.runtime.epochs.operators.sort import ordering

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch

_RANK = "$rank"


class TopDataflow(Dataflow):
    """Returns the best tuples of the groups that closed in this epoch."""

    def run(self, epoch: Epoch, operator: Top, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        name, columns = operator.name, epoch.input_columns(operator)
        old = epoch.state.read(name, columns)
        closed = epoch.after[name].closed
        stays = epoch.may_enter_state(operator.inputs[0], closed)
        new = (
            epoch.cached(_best(operator, epoch, frame), 1 + stays)
            if epoch.has_rows(operator.inputs[0])
            else None
        )
        epoch.update_state(
            name,
            new if stays else None,
            closed,
            columns,
            partial(_best, operator, epoch),
            in_memory=new if epoch.is_read_from_memory(name) else None,
        )
        rows = stacked(columns, old, new)
        if rows is None:
            return without_rows(frame)
        return _best(operator, epoch, where_inside(rows, epoch.newly_closed(name), columns))

    def has_output(self, epoch: Epoch, operator: Operator) -> bool:
        return epoch.newly_closed(operator.name) is not False

    def output_region(self, epoch: Epoch, operator: Top) -> Tree:
        return epoch.newly_closed(operator.name)

    def attribute_states(self, epoch: Epoch, operator: Top, attribute: str) -> Iterable[AttributeState]:
        closed, columns = epoch.after[operator.name].closed, epoch.input_columns(operator)
        yield AttributeState(operator.name, column(attribute), [attribute], columns, closed)


def _best(operator: Top, epoch: Epoch, rows: DataFrame) -> DataFrame:
    types = epoch.types(operator.name)
    order = [*ordering(operator.keys, types), *epoch.arrived(operator)]
    if not operator.per:
        return rows.orderBy(*order).limit(operator.count)
    ranks = row_number(partition_keys(operator.per, types), order)
    return rows.withColumn(_RANK, ranks).where(F.col(column(_RANK)) <= operator.count).drop(_RANK)
