"""Running functions with Spark: windows over the last tuple of each key and the tuples that pass (theory N14)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from cedilla.compiler.expressions import expression_sql, expressions
from cedilla.compiler.expressions.counters import INCREASES
from cedilla.compiler.expressions.types import DOUBLE, LONG, Type, column
from cedilla.compiler.operators.running import Running
from cedilla.compiler.operators.shared.running_calls import RANKS
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.spark.columns import Columns, columns_of, conformed
from cedilla.runtime.engines.spark.frames import (
    is_connect,
    partition_keys,
    row_number,
    sortable,
    stacked,
    union_by_name,
    where_inside,
    without_rows,
)
from cedilla.runtime.epochs.operators.base import AttributeState, Dataflow

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch

_IS_NEW = "$new"
_IS_LAST = "$last"
_IS_TIE = "$tie"
_AT = "$at"
_ROW = "$row"
"""The place of a row of the state: the epoch, and the row's number in it."""
_PLACE = "$place"
"""The place of a row of the state from the end, from 1."""
_ROWS = 32
"""The bits of a row's number in its epoch."""


class RunningDataflow(Dataflow):
    """Returns the tuples before which no other can come, with their results.

    State: the tuples that wait, and under a key of its own the last tuple of each key with its partial results. A `lag`
    or a frame keeps as many tuples as it looks back. They come first in the windows, so that results do not depend on
    how the input is cut into epochs.
    """

    def run(self, epoch: Epoch, operator: Running, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        name, (source,) = operator.name, epoch.inputs(operator.name)
        new = epoch.cached(frame) if epoch.has_rows(operator.inputs[0]) else None
        columns, kept = epoch.input_columns(operator), _last_columns(operator, source.types)
        old = epoch.state.read(name, columns)
        passable = operator.passable(source)
        ready = stacked(
            columns,
            None if new is None else where_inside(new, passable, columns),
            None if old is None else where_inside(old, _newly_passable(epoch, operator), columns),
        )
        epoch.update_state(name, new, passable, columns)
        last, latest = epoch.state.read(_last(name), kept), partial(_latest, operator, source.types)
        purged = operator.outlived(source)
        rows = _with_partials(
            operator, without_rows(frame) if ready is None else ready, source.types, epoch.number
        )
        if last is not None and ready is not None:
            both = {**columns, **kept}
            before = conformed(_before(operator, source.types, last), kept, both)
            before = before.withColumn(_IS_NEW, F.lit(0))
            rows = union_by_name((*both, _IS_NEW), rows, before)
        computed = _computed(operator, rows, source.types, epoch.arrived(operator), epoch.number)
        computed = computed.where(f"`{_IS_NEW}` = 1")
        if ready is not None and purged is not True:
            computed = epoch.cached(computed)
        ends = computed.where(f"`{_IS_LAST}`").select(*map(column, kept))
        epoch.update_state(_last(name), None if ready is None else ends, purged, kept, latest)
        results = {name: F.expr(_finished(operator, name, source.types)) for name in operator.calls}
        if operator.length is not None:  # a tuple without a time is in no frame of a length
            results = {name: F.when(F.col(_AT).isNotNull(), result) for name, result in results.items()}
        return computed.select(
            *(F.col(column(name)) for name in columns),
            *(result.alias(name) for name, result in results.items()),
        )

    def has_output(self, epoch: Epoch, operator: Running) -> bool:
        return super().has_output(epoch, operator) or _newly_passable(epoch, operator) is not False

    def attribute_states(self, epoch: Epoch, operator: Running, attribute: str) -> Iterable[AttributeState]:
        name, (source,) = operator.name, epoch.inputs(operator.name)
        passable, columns = operator.passable(source), epoch.input_columns(operator)
        if attribute not in operator.calls:
            yield AttributeState(name, column(attribute), [attribute], columns, passable)
            return
        # A value of a tuple or of a key counts for all later parts of the order.
        call, kept = operator.calls[attribute], _last_columns(operator, source.types)
        waiting, last = epoch.state.read(name, columns), epoch.state.read(_last(name), kept)
        if waiting is not None:
            value = f"({expression_sql.sql(call.arguments[0], source.types)})"
            rows, others = epoch.unpurged(passable, columns)(waiting), _without(columns, operator.ordered_by)
            yield AttributeState(name, value, call.computed_from, others, rows=lambda: rows)
        if last is not None:
            part = f"{attribute}$n" if call.function == "avg" else f"{attribute}$x"
            value = f"nullif({column(part)}, 0)" if call.function == "avg" else column(part)
            live = epoch.unpurged(operator.outlived(source), kept)(last)
            latest = _latest(operator, source.types, live, operator.kept(attribute))
            others = _without(kept, operator.ordered_by)
            yield AttributeState(_last(name), value, [part], others, rows=lambda: latest)


def _last(name: str) -> str:
    """Returns the key of the state with the last tuples."""
    return f"{name}.last"


def _newly_passable(epoch: Epoch, operator: Running) -> Tree:
    return epoch.newly(operator.name, lambda inputs: operator.passable(*inputs))


def _last_columns(operator: Running, types: Mapping[str, Type]) -> Columns:
    """Returns the columns of that state. `types`: of the input."""
    partials = {name: type_ for name, (_, type_) in _partials(operator, types).items()}
    return columns_of({**{name: types[name] for name in operator.named(0)}, _ROW: LONG, **partials})


def _without(columns: Columns, names: Collection[str]) -> Columns:
    return {name: kind for name, kind in columns.items() if name not in names}


def _latest(
    operator: Running, types: Mapping[str, Type], rows: DataFrame, count: int | None = None
) -> DataFrame:
    """Returns the last tuples of each key that state needs, or `count` of them: epochs add some each. The times of a
    frame of a length say which ones are needed."""
    if operator.length is not None:
        return rows
    last = operator.depth if count is None else count
    return _placed(operator, types, rows).where(f"`{_PLACE}` <= {last}").drop(_PLACE)


def _placed(operator: Running, types: Mapping[str, Type], rows: DataFrame) -> DataFrame:
    """Returns the rows of the state with their places from the end of their key."""
    # States of earlier versions have one row an epoch, and lack `$row`.
    by = [F.col(_ROW).desc_nulls_last(), *(sortable(name, types).desc() for name in operator.ordered_by)]
    return rows.withColumn(_PLACE, row_number(partition_keys(operator.per, types), by))


def _before(operator: Running, types: Mapping[str, Type], rows: DataFrame) -> DataFrame:
    """Returns the rows of the state that precede new ones. Partial results are those of the last one."""
    if operator.depth == 1 or operator.frame is not None:
        return _latest(operator, types, rows)
    placed, looking_back = (
        _placed(operator, types, rows).where(f"`{_PLACE}` <= {operator.depth}"),
        F.col(_PLACE),
    )
    only_last = {
        name: F.when(looking_back <= operator.kept(name.partition("$")[0]), F.col(column(name)))
        for name in _partials(operator, types)
    }
    return placed.withColumns(only_last)


def _partials(operator: Running, types: Mapping[str, Type]) -> dict[str, tuple[str, Type]]:
    """Returns partial result -> SQL over one tuple, and the type of the result over all tuples."""
    partials: dict[str, tuple[str, Type]] = {}
    for name, call in operator.calls.items():
        if call.function in RANKS:
            partials |= {f"{name}$n": ("1L", LONG), f"{name}$x": ("CAST(NULL AS BIGINT)", LONG)}
            continue
        if not call.arguments:
            partials[f"{name}$x"] = "1L", LONG
            continue
        value, type_ = (
            expression_sql.sql(call.arguments[0], types),
            expressions.type_of(call.arguments[0], types),
        )
        match call.function:
            case "nth":
                partials[f"{name}$n"] = f"IF(({value}) IS NULL, 0L, 1L)", LONG
                value = f"CAST(({value}) AS {type_.spark})"
            case "increase" | "increase since":
                counter = operator.counter(name)
                value = f"CAST({expression_sql.sql(counter.reading, types)} AS {type_.spark})"
                partials[f"{name}$y"] = f"CAST(NULL AS {type_.spark})", type_
                if (started := counter.started) is not None:
                    start = expression_sql.sql(started, types), expressions.type_of(started, types)
                    partials[f"{name}$z"] = start
            case "count":
                value, type_ = f"IF(({value}) IS NULL, 0L, 1L)", LONG
            case "avg":
                partials[f"{name}$n"] = f"IF(({value}) IS NULL, 0L, 1L)", LONG
                value, type_ = f"CAST(({value}) AS DOUBLE)", DOUBLE
            case "sum" if type_ != DOUBLE:
                type_ = Type("decimal", (38, type_.parameters[1] if type_.name == "decimal" else 0))
                value = f"CAST(({value}) AS {type_.spark})"
            case _:
                pass
        partials[f"{name}$x"] = value, type_
    return partials


def _with_partials(operator: Running, rows: DataFrame, types: Mapping[str, Type], epoch: int) -> DataFrame:
    """Returns the rows of an epoch with their partial results."""
    partials = {name: F.expr(text) for name, (text, _) in _partials(operator, types).items()}
    return rows.withColumns({**partials, _IS_NEW: F.lit(1), _ROW: F.lit(epoch << _ROWS).cast("long")})


def _computed(
    operator: Running, rows: DataFrame, types: Mapping[str, Type], arrived: Iterable[Column], epoch: int
) -> DataFrame:
    """Returns the rows with the partial results up to each, the values before, and whether a row is one of the last."""
    depth = operator.depth
    places = [F.col(_ROW)] if depth > 1 else []
    by = [F.col(_IS_NEW), *places, *_in_order(operator, types), *arrived]
    in_order = Window.partitionBy(*partition_keys(operator.per, types)).orderBy(*by)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    frame = so_far
    if operator.frame is not None and not operator.frame.begins:
        with_ties = Window.partitionBy(*partition_keys(operator.per, types))
        with_ties = with_ties.orderBy(F.col(_IS_NEW), *_in_order(operator, types))
        frame = with_ties.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    if operator.frame is None:
        rows = _with_readings(operator, rows, types, in_order, so_far)
        rows = _with_places(operator, rows, types, in_order, so_far)
    elif operator.frame.rows is not None:
        frame = in_order.rowsBetween(1 - operator.frame.rows, Window.currentRow)
    elif operator.length is not None:
        rows, frame = _over_length(operator, operator.length, rows, types)
    made: dict[str, Column] = {_IS_LAST: F.lead(F.lit(1), depth).over(in_order).isNull()}
    if operator.length is not None:
        made[_IS_LAST] = F.col(_AT).isNotNull()
    if depth > 1:
        made[_ROW] = (F.lit(epoch << _ROWS) + F.row_number().over(so_far)).cast("long")
    for name, (_, type_) in _partials(operator, types).items():
        result, _, _ = name.partition("$")
        function, part = operator.calls[result].function, F.col(column(name))
        match function:
            case "increase" | "increase since" | "nth" | "rank" | "dense_rank":
                pass
            case "lag" | "delta" | "delta resets":
                made[operator.before(result)] = F.lag(part, operator.place(result)).over(in_order)
            case "min" | "max":
                made[_of_frame(operator, name)] = _end(function, part, frame, type_ == DOUBLE)
            case "first":
                made[_of_frame(operator, name)] = F.first(part, ignorenulls=True).over(frame)
            case "last":
                made[_of_frame(operator, name)] = F.last(part, ignorenulls=True).over(frame)
            case _ if type_ == DOUBLE and _leaves_out(operator) and is_connect(rows):
                made[_of_frame(operator, name)] = _added_up(part, frame)
            case _:
                made[_of_frame(operator, name)] = F.sum(part).over(frame)
    return rows.withColumns(made)


def _over_length(
    operator: Running, length: int, rows: DataFrame, types: Mapping[str, Type]
) -> tuple[DataFrame, WindowSpec]:
    """Returns the rows with their times, and the frame of a length. Times are decimals, because a time less the length
    may have more than 64 bits."""
    at = f"CAST({types[operator.axis].axis(column(operator.axis))} AS DECIMAL(20, 0))"
    by_time = Window.partitionBy(*partition_keys(operator.per, types)).orderBy(_AT)
    return rows.withColumn(_AT, F.expr(at)), by_time.rangeBetween(-length, Window.currentRow)


def _added_up(value: Column, frame: WindowSpec) -> Column:
    """Returns the sum of the doubles of a frame. Sail subtracts what leaves a frame, which loses the digits of small
    numbers next to great ones, and never gets rid of NaN and infinities."""
    values = F.filter(F.collect_list(value).over(frame), F.isnotnull)
    return F.when(F.count(value).over(frame) > 0, F.aggregate(values, F.lit(0.0), lambda total, x: total + x))


def _of_frame(operator: Running, name: str) -> str:
    """Returns the column of a partial result over the tuples of a frame; state keeps that of each tuple, if some leave
    the frame."""
    return f"{name}$frame" if _leaves_out(operator) else name


def _leaves_out(operator: Running) -> bool:
    return operator.frame is not None and operator.frame.begins


def _in_order(operator: Running, types: Mapping[str, Type]) -> list[Column]:
    """Returns the columns of the order; undefined values come first."""
    columns = [(sortable(name, types), descending) for name, descending in operator.on]
    return [c.desc_nulls_first() if descending else c.asc_nulls_first() for c, descending in columns]


def _with_places(
    operator: Running, rows: DataFrame, types: Mapping[str, Type], in_order: WindowSpec, so_far: WindowSpec
) -> DataFrame:
    """Returns the rows with ranks up to each, and the values at places."""
    placed = {name: call for name, call in operator.calls.items() if call.function in ("nth", *RANKS)}
    if not placed:
        return rows
    counted = {f"{name}$n": F.sum(F.col(column(f"{name}$n"))).over(so_far) for name in placed}
    if any(call.function in RANKS for call in placed.values()):
        counted[_IS_TIE] = F.lag(F.lit(1)).over(in_order).isNotNull()
        for name in operator.ordered_by:
            value = sortable(name, types)
            counted[_IS_TIE] &= value.eqNullSafe(F.lag(value).over(in_order))
    made: dict[str, Column] = {}
    for name, call in placed.items():
        number, value = F.col(column(f"{name}$n")), F.col(column(f"{name}$x"))
        reached = F.when(F.col(_IS_NEW) == 0, value)
        match call.function:
            case "rank":
                reached = reached.when(~F.col(_IS_TIE), number)
                made[f"{name}$x"] = F.last(reached, ignorenulls=True).over(so_far)
            case "dense_rank":
                steps = reached.when(F.col(_IS_TIE), 0).otherwise(1)
                made[f"{name}$x"] = F.sum(steps).over(so_far)
            case _:
                reached = reached.when(number == operator.place(name), value)
                made[f"{name}$x"] = F.first(reached, ignorenulls=True).over(so_far)
    return rows.withColumns(counted).withColumns(made)


def _with_readings(
    operator: Running, rows: DataFrame, types: Mapping[str, Type], in_order: WindowSpec, so_far: WindowSpec
) -> DataFrame:
    """Returns the rows with the last two different readings of counters before each, and up to each in `$x` and `$y`;
    and with the latest start, up to each in `$z`.

    Tuples without a reading change none, and a reading equal to the one before does not change `$y`. A reading of a
    later start is in both, so that no fall before it waits.
    """
    kinds = _partials(operator, types)
    for name in (name for name, call in operator.calls.items() if call.function in INCREASES):
        x, y = column(f"{name}$x"), column(f"{name}$y")
        before = column(operator.before(name))
        has_reading = F.col(x).isNotNull()
        last = F.last(F.col(x), ignorenulls=True).over(so_far)
        rows = rows.withColumns({f"{name}$read": has_reading, f"{name}$x": last})
        rows = rows.withColumn(operator.before(name), F.lag(F.col(x)).over(in_order))
        compared = dict.fromkeys((f"{name}$x", operator.before(name)), kinds[f"{name}$x"][1])
        differs = F.expr(expression_sql.sql(operator.differs(*compared), compared))
        is_read = F.col(column(f"{name}$read")) & (F.col(_IS_NEW) == 1) & differs
        reading = F.when(F.col(_IS_NEW) == 0, F.col(y))
        if f"{name}$z" in kinds:
            latest, since = F.col(column(f"{name}$z")), column(operator.since(name))
            rows = rows.withColumn(f"{name}$z", F.max(latest).over(so_far))
            rows = rows.withColumn(operator.since(name), F.lag(latest).over(in_order))
            reading = reading.when((F.col(_IS_NEW) == 1) & (latest > F.col(since)), F.col(x))
        reading = reading.when(is_read, F.col(before))
        rows = rows.withColumn(f"{name}$y", F.last(reading, ignorenulls=True).over(so_far))
        rows = rows.withColumn(operator.earlier(name), F.lag(F.col(y)).over(in_order))
    return rows


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
    call, partial_ = operator.calls[name], column(_of_frame(operator, f"{name}$x"))
    type_ = operator.type_of(name, types)
    match call.function:
        case "lag":
            return column(operator.before(name))
        case "delta" | "delta resets" | "increase" | "increase since":
            read = operator.columns(name, types)
            return expression_sql.sql(operator.difference(name), {**types, **read})
        case "avg":
            return f"nanvl({partial_}, double('NaN')) / nullif({column(_of_frame(operator, f'{name}$n'))}, 0)"
        case "sum":
            # Infinity less infinity is a NaN with a sign, which Sail sorts before all numbers.
            is_double = type_ == DOUBLE
            return (
                f"nanvl({partial_}, double('NaN'))" if is_double else f"try_cast({partial_} AS {type_.spark})"
            )
        case _:
            return partial_
