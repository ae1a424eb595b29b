"""Count window with Spark: numbers tuples in order of arrival, and stores counts for each key (theory 1.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import LONG, column
from cedilla.compiler.operators import CountWindow
from cedilla.runtime.engines.spark.columns import data_type
from cedilla.runtime.engines.spark.frames import partition_keys, row_number
from cedilla.runtime.epochs.operators.base import AttributeState, Dataflow

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch

_COUNT = "$count"


class CountWindowDataflow(Dataflow):
    """Returns every new tuple with its window. State: segments of keys with counts to be added up."""

    def run(self, epoch: Epoch, operator: CountWindow, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        name = operator.name
        arriving = epoch.input_columns(operator)
        columns = {**{name: arriving[name] for name in operator.per}, _COUNT: data_type(LONG)}
        counts = epoch.state.read(name, columns)
        before = None if counts is None else _added_up(counts, operator.per)
        purged = operator.purge(epoch.inputs(name))
        new = None
        if purged is not True and epoch.has_rows(operator.inputs[0]):
            frame = epoch.cached(frame)
            new = _added_up(frame.withColumn(_COUNT, F.lit(1)), operator.per)
        epoch.update_state(name, new, purged, columns, partial(_added_up, per=operator.per))
        keys = partition_keys(operator.per, epoch.types(operator.inputs[0]))
        numbered = _numbered(operator, frame, before, keys, epoch.arrived(operator))
        return numbered.select(*map(column, (*arriving, operator.alias)))

    def attribute_states(
        self, epoch: Epoch, operator: CountWindow, attribute: str
    ) -> Iterable[AttributeState]:
        return ()  # only of its keys, which are never dropped


def _added_up(rows: DataFrame, per: Sequence[str]) -> DataFrame:
    return rows.groupBy(*(column(name) for name in per)).agg(F.sum(_COUNT).alias(_COUNT))


def _numbered(
    operator: CountWindow,
    frame: DataFrame,
    before: DataFrame | None,
    keys: Sequence[Column],
    arrived: Sequence[Column],
) -> DataFrame:
    """Returns the tuples with their windows. `before`: the number of earlier tuples of each key; `arrived`: their
    order."""
    number = row_number(keys, arrived) - 1
    numbered = frame.withColumn(_COUNT, number)
    if before is not None:
        renamed = (F.col(column(name)).alias(f"$key_{name}") for name in operator.per)
        earlier = before.select(*renamed, F.col(_COUNT).alias("$earlier"))
        same = [f"{column(name)} <=> {column(f'$key_{name}')}" for name in operator.per]
        numbered = numbered.join(earlier, F.expr(" AND ".join(same) or "true"), "left")
        numbered = numbered.withColumn(_COUNT, F.expr(f"`{_COUNT}` + coalesce(`$earlier`, 0L)"))
    alias = F.expr(f"CAST(`{_COUNT}` DIV {operator.size} AS BIGINT)")
    return numbered.withColumn(operator.alias, alias)
