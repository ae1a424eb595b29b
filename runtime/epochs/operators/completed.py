"""Partial results of groups that no tuple came to, so that they pass as any other group does (`Completion`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.codegen.statements import bounds_sql
from cedilla.compiler.expressions.types import column
from cedilla.compiler.operators import Aggregate
from cedilla.compiler.operators.completion import Run
from cedilla.runtime.connectors.records.arrow_types import arrow_type
from cedilla.runtime.engines.spark.columns import Columns
from cedilla.runtime.engines.spark.frames import in_one_part

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch

_FIRST, _LAST = "$first", "$last"


def empty_groups(
    epoch: Epoch, operator: Aggregate, session: SparkSession, columns: Columns, counts: Sequence[str]
) -> DataFrame | None:
    """Returns a row for each group of the completion that this epoch closes, also for those with tuples; `None` without
    any.

    `columns`: those of partial results. Null is the partial result of no tuple, as of an attribute that was added later
    than a group; `counts` are 0.
    """
    completion = operator.completion
    if completion is None:
        return None
    before, after = epoch.before[operator.name], epoch.after[operator.name]
    runs = completion.runs(operator.by, before, after, operator.span)
    if not runs:
        return None
    window, keys = completion.window, completion.keys(operator.by)
    start = epoch.plan.start[operator.name].types
    types = {name: arrow_type(start[name]) for name in keys}
    rows = in_one_part(session, _table(runs, types))
    number = window.names[0]
    rows = rows.withColumn(number, F.explode(F.expr(f"sequence(`{_FIRST}`, `{_LAST}`)")))
    for name in keys:
        rows = rows.withColumn(name, F.explode(F.col(column(name))))
    if bounds := {name: F.expr(text) for name, text in bounds_sql(window).items()}:
        rows = rows.withColumns(bounds)

    def value(name: str) -> Column:
        if name in operator.by:
            return F.col(column(name))
        return F.lit(0 if name in counts else None)

    return rows.select(*(value(name).cast(kind).alias(name) for name, kind in columns.items()))


def _table(runs: Sequence[Run], types: dict[str, pa.DataType]) -> pa.Table:
    """Returns a row for each run: its first and last number, and the values of its keys as lists."""
    numbers = {_FIRST: [run.first for run in runs], _LAST: [run.end - 1 for run in runs]}
    lists = {
        name: pa.array([run.values[name] for run in runs], pa.list_(type_)) for name, type_ in types.items()
    }
    return pa.table({**{name: pa.array(of, pa.int64()) for name, of in numbers.items()}, **lists})
