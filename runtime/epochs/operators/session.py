"""Session with Spark: window functions find the sessions among stored and new tuples (theory 1.3)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cedilla.compiler.codegen import sql
from cedilla.compiler.expressions.types import LONG, Type, column
from cedilla.compiler.expressions.types.rounding import sum_sql
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Operator, Session
from cedilla.compiler.regions import ANYTHING, Value
from cedilla.compiler.regions.affine import Affine, exact
from cedilla.compiler.regions.spans import Span
from cedilla.runtime.engines.spark.frames import partition_keys, stacked
from cedilla.runtime.epochs.operators.base import AttributeState, Dataflow
from cedilla.runtime.epochs.operators.vacancies import report_vacant

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch

_CLOSED = "$closed"
_BEYOND = 2**63
_TIME, _FIRST, _LAST = "$time", "$first", "$last"


class SessionDataflow(Dataflow):
    """Returns the tuples of the sessions that closed in this epoch. State contains exactly those of open sessions."""

    def run(self, epoch: Epoch, operator: Session, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        name, (source,) = operator.name, epoch.inputs(operator.name)
        busy, columns = epoch.has_rows(operator.inputs[0]), epoch.input_columns(operator)
        if not self.has_output(epoch, operator):
            if busy:
                epoch.state.append(name, frame, columns, epoch.number)
                epoch.state.compact(name, columns, epoch.number, lambda rows: rows, merges=False)
            report_vacant(epoch, operator, lambda _: None)
            return frame.where("false").withColumn(operator.alias, F.col(column(operator.on)))
        rows = stacked(columns, epoch.state.read(name, columns), frame if busy else None)
        tagged = epoch.cached(_sessions(operator, source, frame if rows is None else rows))
        still_open = None if rows is None else tagged.where(f"NOT `{_CLOSED}`")
        if still_open is not None:
            epoch.state.replace(name, still_open.select(*map(column, columns)), columns, epoch.number)
        report_vacant(epoch, operator, lambda _: still_open)
        return tagged.where(column(_CLOSED)).drop(_CLOSED)

    def has_output(self, epoch: Epoch, operator: Operator) -> bool:
        return epoch.newly_closed(operator.inputs[0]) is not False

    def attribute_states(self, epoch: Epoch, operator: Session, attribute: str) -> Iterable[AttributeState]:
        yield AttributeState(operator.name, column(attribute), [attribute], epoch.input_columns(operator))


def _axis(name: str, type_: Type) -> str:
    """Returns SQL for a time as a number."""
    if type_.name == "timestamp":
        return f"unix_micros({column(name)})"
    return f"bigint({column(name)})" if type_.is_integral else column(name)


def _number(type_: Type) -> Type:
    return LONG if type_.is_integral else type_


def _sessions(operator: Session, source: Facts, rows: DataFrame) -> DataFrame:
    """Returns the rows with the start of their session, and whether it is closed."""
    type_ = source.types[operator.on]
    number, gap = _number(type_), exact(operator.gap)
    keys = partition_keys(operator.per, source.types)
    in_order = Window.partitionBy(*keys).orderBy(column(_TIME))
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # A sum of more than 64 bits is null, and counts as later than every time.
    later = sum_sql("`$before`", number, gap)
    begins = F.expr(f"IF(`$before` IS NULL OR `{_TIME}` >= ({later}), {column(operator.on)}, NULL)")
    begun = (
        rows.withColumn(_TIME, F.expr(_axis(operator.on, type_)))
        .withColumn("$before", F.lag(column(_TIME)).over(in_order))
        .withColumn(operator.alias, F.last(begins, ignorenulls=True).over(so_far))
    )
    whole = Window.partitionBy(*keys, *partition_keys([operator.alias], {operator.alias: type_}))
    return (
        begun.withColumn(_FIRST, F.expr(_axis(operator.alias, type_)))
        .withColumn(_LAST, F.max(column(_TIME)).over(whole))
        .withColumn(_CLOSED, F.expr(_is_closed(operator, source)))
        .drop(_TIME, "$before", _FIRST, _LAST)
    )


def _is_closed(operator: Session, source: Facts) -> str:
    """Returns SQL over a session's first and last time that is true if no later tuple can join it.

    That holds if all times above first - gap and below last + gap are in one closed run. The expressions compare only
    sums, in the same way as the start of a session, so that rounding cannot make the two differ.
    """
    number, gap = _number(source.types[operator.on]), exact(operator.gap)
    later = sum_sql(f"`{_LAST}`", number, gap)
    # For whole numbers, the least time above first - gap may be the run's own first.
    below = 1 if source.universe.get(operator.on, ANYTHING).integral else 0

    def inside(runs: tuple[Span, ...]) -> str:
        return f"coalesce({' OR '.join(map(within, runs))}, false)" if runs else "false"

    def within(run: Span) -> str:
        low, high = run
        tests = [] if low is None else [f"`{_FIRST}` >= {_sum(number, low[0] - below, gap)}"]
        tests += [] if high is None else [f"({later}) <= {number.sql(high[0])}"]
        return f"({' AND '.join(tests) or 'true'})"

    return sql.expression(operator.closed_times(source), source.types, inside)


def _sum(type_: Type, first: Value, second: Value) -> str:
    """Returns the sum of two constants, as `sum_sql` computes it; NULL if it is too large."""
    if type_.name == "double":
        return f"({Affine(1, second).sql(type_.sql(first))})"  # type: ignore[arg-type]
    if not type_.is_integral:
        return f"({type_.sql(first)} + {type_.sql(second)})"
    total = exact(Fraction(first) + Fraction(second))
    return type_.sql(total) if abs(total) < _BEYOND else "NULL"
