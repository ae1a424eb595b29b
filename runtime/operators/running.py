"""Running functions with Spark: windows over the last tuple of each key and the tuples that pass (theory N14)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial, reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from cedilla.compiler import regions
from cedilla.compiler.expressions import expression_sql, expressions
from cedilla.compiler.expressions.types import DOUBLE, Type, column
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.running import LAST, Running
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.frames import (
    partition_keys,
    row_number,
    sortable,
    stacked,
    types_of,
    where_inside,
    without_rows,
)
from cedilla.runtime.operators.base import AttributeState, Dataflow

if TYPE_CHECKING:
    from cedilla.runtime.operators.epoch import Epoch

_IS_NEW = "$new"
_IS_LAST = "$last"


class RunningDataflow(Dataflow):
    """Returns the tuples before which no other can come, with their results.

    State: the tuples that wait, and under a key of its own the last tuple of each key with its partial results. That
    tuple comes first in the windows, so that results do not depend on how the input is cut into epochs.
    """

    def run(self, epoch: Epoch, operator: Running, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        name, (source,) = operator.name, epoch.inputs(operator.name)
        new = epoch.cached(frame) if epoch.has_rows(operator.inputs[0]) else None
        old = epoch.state.read(name)
        passable = operator.passable(source)
        parts = [] if new is None else [where_inside(new, passable)]
        if old is not None:
            parts.append(where_inside(old, _newly_passable(epoch, operator)))
        epoch.update_state(name, new, passable)
        last, latest = epoch.state.read(_last(name)), partial(_latest, operator)
        purged = operator.closed_keys(source)
        ready = reduce(stacked, parts) if parts else without_rows(frame)
        rows = _with_partials(operator, ready, source.types)
        if last is not None and parts:
            rows = stacked(rows, latest(last).withColumn(_IS_NEW, F.lit(0)))
        types = types_of(rows)
        partials = _partials(operator, types)
        computed = _computed(operator, rows, types, epoch.arrived(operator, ready))
        computed = computed.where(f"`{_IS_NEW}` = 1")
        if parts and purged is not True:
            computed = epoch.cached(computed)
        ends = computed.where(f"`{_IS_LAST}`").select(
            *(F.col(column(kept)) for kept in (*operator.per, operator.on, *partials))
        )
        epoch.update_state(_last(name), ends if parts else None, purged, latest)
        results = [F.expr(_finished(operator, call, types)).alias(call) for call in operator.calls]
        return computed.select(*(F.col(column(kept)) for kept in ready.columns), *results)

    def has_output(self, epoch: Epoch, operator: Operator) -> bool:
        assert isinstance(operator, Running)
        return epoch.has_rows(operator.inputs[0]) or _newly_passable(epoch, operator) is not False

    def attribute_states(self, epoch: Epoch, operator: Running, attribute: str) -> Iterable[AttributeState]:
        name, (source,) = operator.name, epoch.inputs(operator.name)
        passable = operator.passable(source)
        if attribute not in operator.calls:
            yield AttributeState(name, column(attribute), passable)
            return
        # A value of a tuple or of a key counts for all later parts of the order.
        call, waiting, last = operator.calls[attribute], epoch.state.read(name), epoch.state.read(_last(name))
        if waiting is not None and call.computed_from <= set(waiting.columns):
            value = expression_sql.sql(call.arguments[0], types_of(waiting))
            rows = epoch.unpurged(passable)(waiting).drop(operator.on)
            yield AttributeState(name, f"({value})", rows=lambda: rows)
        if last is not None and f"{attribute}$x" in last.columns:
            part = column(f"{attribute}$n") if call.function == "avg" else ""
            value = f"nullif({part}, 0)" if part else column(f"{attribute}$x")
            latest = _latest(operator, last).drop(operator.on)
            yield AttributeState(_last(name), value, operator.closed_keys(source), lambda: latest)


def _last(name: str) -> str:
    """Returns the key of the state with the last tuples."""
    return f"{name}.last"


def _newly_passable(epoch: Epoch, operator: Running) -> Tree:
    (name,) = operator.inputs
    before, after = epoch.before[name], epoch.after[name]
    return regions.possible_difference(operator.passable(after), operator.passable(before), after.universe)


def _latest(operator: Running, rows: DataFrame) -> DataFrame:
    """Returns the last of the tuples of each key: epochs add one each, of later parts of the order."""
    types = types_of(rows)
    rank = row_number(partition_keys(operator.per, types), [sortable(operator.on, types).desc()])
    return rows.withColumn(_IS_LAST, rank == 1).where(f"`{_IS_LAST}`").drop(_IS_LAST)


def _partials(operator: Running, types: Mapping[str, Type]) -> dict[str, str]:
    """Returns partial result -> SQL over one tuple."""
    partials: dict[str, str] = {}
    for name, call in operator.calls.items():
        if not call.arguments:
            partials[f"{name}$x"] = "1L"
            continue
        value, type_ = (
            expression_sql.sql(call.arguments[0], types),
            expressions.type_of(call.arguments[0], types),
        )
        match call.function:
            case "count":
                value = f"IF(({value}) IS NULL, 0L, 1L)"
            case "avg":
                partials[f"{name}$n"] = f"IF(({value}) IS NULL, 0L, 1L)"
                value = f"CAST(({value}) AS DOUBLE)"
            case "sum" if type_ != DOUBLE:
                scale = type_.parameters[1] if type_.name == "decimal" else 0
                value = f"CAST(({value}) AS DECIMAL(38, {scale}))"
            case _:
                pass
        partials[f"{name}$x"] = value
    return partials


def _with_partials(operator: Running, rows: DataFrame, known: Mapping[str, Type]) -> DataFrame:
    """Returns the rows with their partial results. A missing attribute is undefined: a key keeps its results
    after a Drop."""
    reads = frozenset[str]().union(*(call.computed_from for call in operator.calls.values()))
    missing = {name: F.lit(None).cast(known[name].spark) for name in sorted(reads.difference(rows.columns))}
    rows = rows.withColumns(missing) if missing else rows
    partials = {name: F.expr(text) for name, text in _partials(operator, types_of(rows)).items()}
    return rows.withColumns({**partials, _IS_NEW: F.lit(1)})


def _computed(
    operator: Running, rows: DataFrame, types: Mapping[str, Type], arrived: Iterable[Column]
) -> DataFrame:
    """Returns the rows with the partial results up to each, the values before, and whether a row is the last."""
    by = [F.col(_IS_NEW), sortable(operator.on, types), *arrived]
    in_order = Window.partitionBy(*partition_keys(operator.per, types)).orderBy(*by)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    made: dict[str, Column] = {_IS_LAST: F.lead(F.lit(1)).over(in_order).isNull()}
    for name in _partials(operator, types):
        result, _, _ = name.partition("$")
        function, part = operator.calls[result].function, F.col(column(name))
        if function in LAST:
            made[operator.before(result)] = F.lag(part).over(in_order)
        elif function not in ("min", "max"):
            made[name] = F.sum(part).over(so_far)
        else:
            made[name] = _end(function, part, so_far, dict(rows.dtypes)[name] == "double")
    return rows.withColumns(made)


def _end(function: str, value: Column, window: WindowSpec, is_double: bool) -> Column:
    """Returns the running `min` or `max`. Sail begins one of doubles with the largest finite number."""
    if not is_double:
        return F.min(value).over(window) if function == "min" else F.max(value).over(window)
    infinity = F.lit(float("inf"))
    some = F.count(value).over(window) > 0
    if function == "max":
        return F.coalesce(F.max(F.when(value > -infinity, value)).over(window), F.when(some, -infinity))
    reached = F.max(F.when(value == infinity, 1)).over(window) == 1
    rest = F.when(reached, infinity).when(some, F.lit(float("nan")))
    return F.coalesce(F.min(F.when(value < infinity, value)).over(window), rest)


def _finished(operator: Running, name: str, types: Mapping[str, Type]) -> str:
    """Returns SQL for a result over its partial results."""
    call, partial_ = operator.calls[name], column(f"{name}$x")
    type_ = operator.type_of(name, types)
    match call.function:
        case "lag":
            return column(operator.before(name))
        case "delta" | "delta resets":
            before = {operator.before(name): expressions.type_of(call.arguments[0], types)}
            return expression_sql.sql(operator.difference(name), {**types, **before})
        case "avg":
            return f"nanvl({partial_}, double('NaN')) / nullif({column(f'{name}$n')}, 0)"
        case "sum" if type_ != DOUBLE:
            return f"try_cast({partial_} AS {type_.spark})"
        case _:
            return partial_
