"""Aggregates over overlapping windows by panes: each tuple is counted once, not once a window.

Panes are the parts that the bounds of windows cut an axis into. Partial results of panes are merged into those of
windows (Li, Maier, Tufte, Papadimos, Tucker, *No pane, no gain*, SIGMOD Record 34(1), 2005).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from attrs import frozen
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler.codegen.statements import bounds_sql, pane_sql, windows_of_pane_sql
from cedilla.compiler.expressions.types import Type, column
from cedilla.compiler.operators import Aggregate, Window
from cedilla.compiler.plan import Plan

NUMBER = "$pane"
"""The column with the number of a tuple's pane."""
_MAX_PANES = 16
"""Shorter panes, more than this in a step, would hardly have two tuples of a group."""


def with_windows(window: Window, numbers: str, rows: DataFrame) -> DataFrame:
    """Returns rows with the number of their window, or with its bounds where they have names.

    `numbers`: the SQL of the number, or of a row for each number.
    """
    number = window.names[0]
    numbered = rows.withColumn(number, F.expr(numbers))
    if window.calendar is not None:
        moved = window.calendar.number_sql(column(window.on), column(number))
        numbered = numbered.withColumn(number, F.expr(moved))
    bounds = {name: F.expr(text) for name, text in bounds_sql(window).items()}
    return numbered.withColumns(bounds) if bounds else numbered


@frozen
class Panes:
    """The panes of a window. `length`: that of a pane in units of the axis (microseconds for timestamps)."""

    window: Window
    length: int

    def numbered(self, rows: DataFrame, types: Mapping[str, Type]) -> DataFrame:
        """Returns rows with the number of their pane. `types`: of their attributes."""
        return rows.withColumn(NUMBER, F.expr(pane_sql(self.window, self.length, types)))

    def in_windows(self, results: DataFrame) -> DataFrame:
        """Returns a copy of the results of each pane for each window that contains it."""
        numbers = windows_of_pane_sql(self.window, self.length, column(NUMBER))
        return with_windows(self.window, numbers, results).drop(NUMBER)


def panes_of(
    plan: Plan, operator: Aggregate, reads: frozenset[str], types: Mapping[str, Type]
) -> Panes | None:
    """Returns the panes that give the results of an aggregate; `None` if it needs whole windows.

    `reads`: the attributes that its functions read. `types`: of the aggregate's input in this epoch. Only whole numbers
    and timestamps have panes. A double, as an Alter makes of a whole number, may be rounded into a window that does not
    contain its pane, and its pane may have no number of 64 bits.

    For example, windows of 12 that begin every 8 have panes of 4: a tuple at 9 is in pane 2, of windows 0 and 1.

    >>> from cedilla.compiler.compile import compile_query
    >>> plan = compile_query('''
    ...   stream r(ts: long, t: double) from json "r" punctuated on ts;
    ...   means := aggregate[avg(t) as mean by wid](window[12 every 8 on ts as wid](r));
    ...   emit means to json "means";
    ... ''').plan
    >>> means = plan.operator_of["means"]
    >>> panes_of(plan, means, frozenset({"t"}), plan.start["r"].types).length
    4
    >>> panes_of(plan, means, frozenset({"wid"}), plan.start["r"].types) is None  # a function reads the window
    True
    """
    window = plan.operator_of.get(operator.inputs[0])
    if not isinstance(window, Window) or window.step == window.length or window.name in plan.shared:
        return None
    if not (types[window.on].is_integral or types[window.on].name == "timestamp"):
        return None
    if window.length.denominator != 1 or window.step.denominator != 1:
        return None
    if window.on in operator.by or reads.intersection(window.names):
        return None
    length = gcd(int(window.length), int(window.step))
    return Panes(window, length) if window.step <= length * _MAX_PANES else None
