"""Sort τ with Spark: one `orderBy` for each epoch orders passable tuples, the rest waits (theory 1.3, E4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import Type, column
from cedilla.compiler.operators import Sort
from cedilla.compiler.operators.shared.orders import Key
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.spark.columns import ORDER
from cedilla.runtime.engines.spark.frames import (
    is_connect,
    order,
    row_number,
    sortable,
    stacked,
    where_inside,
)
from cedilla.runtime.epochs.operators.base import AttributeState, Dataflow
from cedilla.runtime.epochs.operators.vacancies import report_vacant

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch


_PLACE = "$place"


class SortDataflow(Dataflow):
    """Returns the newly passable tuples in order; they follow everything that was written before."""

    def run(self, epoch: Epoch, operator: Sort, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        name, columns = operator.name, epoch.input_columns(operator)
        new = epoch.cached(frame) if epoch.has_rows(operator.inputs[0]) else None
        old = epoch.state.read(name, columns)
        passable = operator.passable(*epoch.inputs(name))
        parts = [
            None if new is None else where_inside(new, passable, columns),
            None if old is None else where_inside(old, _newly_passable(epoch, operator), columns),
        ]
        waiting = epoch.unpurged(passable, columns)
        kept = None if (every := stacked(columns, old, new)) is None else waiting(every)
        report_vacant(epoch, operator, lambda _: kept)
        epoch.update_state(name, new, passable, columns)
        rows = stacked(columns, *parts)
        ready = frame if rows is None else rows
        by = [*ordering(operator.keys, epoch.types(name)), *epoch.arrived(operator)]
        if name not in epoch.plan.placed:
            return _in_order(ready, by).drop(ORDER)
        # After a sort, the order of arrival is the sorted order.
        if is_connect(ready):  # not all engines number rows in their sorted order
            number = row_number([F.lit(0)], by).cast("long")
            placed = _in_order(ready.withColumn(_PLACE, number), [F.col(_PLACE)])
        else:
            placed = ready.orderBy(*by).withColumn(_PLACE, F.monotonically_increasing_id())
        return placed.withColumn(ORDER, F.expr(order(epoch.number, position=column(_PLACE)))).drop(_PLACE)

    def has_output(self, epoch: Epoch, operator: Sort) -> bool:
        return super().has_output(epoch, operator) or _newly_passable(epoch, operator) is not False

    def attribute_states(self, epoch: Epoch, operator: Sort, attribute: str) -> Iterable[AttributeState]:
        passable = operator.passable(*epoch.inputs(operator.name))
        columns = epoch.input_columns(operator)
        yield AttributeState(operator.name, column(attribute), [attribute], columns, passable)


def ordering(keys: Sequence[Key], types: Mapping[str, Type]) -> list[Column]:
    """Returns canonical keys of these types as columns to sort by; ⊥ comes last."""
    columns = [(sortable(name, types), descending) for name, descending in keys]
    return [c.desc_nulls_last() if descending else c.asc_nulls_last() for c, descending in columns]


def _in_order(rows: DataFrame, by: Sequence[Column]) -> DataFrame:
    """Returns the rows sorted. Sail loses the order of written rows unless an offset, even 0, is applied."""
    ordered = rows.orderBy(*by)
    return ordered.offset(0) if is_connect(rows) else ordered


def _newly_passable(epoch: Epoch, operator: Sort) -> Tree:
    return epoch.newly(operator.name, lambda inputs: operator.passable(*inputs))
