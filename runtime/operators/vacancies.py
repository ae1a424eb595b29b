"""Vacant regions with Spark: asks state for the points that are kept of a closed region (theory 1.3; E5, J1)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler import regions
from cedilla.compiler.analysis.safety import vacancies
from cedilla.compiler.expressions.types import column, finite
from cedilla.compiler.facts.facts import NO_STATE
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.shared.vacancies import MOST, Point, Vacancy
from cedilla.compiler.regions import UNDEFINED
from cedilla.compiler.regions.affine import exact
from cedilla.runtime.engines.columns import columns_of
from cedilla.runtime.engines.frames import sortable, where_inside

if TYPE_CHECKING:
    from cedilla.runtime.operators.epoch import Epoch

Kept = Callable[[Vacancy], DataFrame | None]
"""The rows of an input, at the end of the epoch, that may still come out; `None` if there are none."""


def report_vacant(epoch: Epoch, operator: Operator, kept: Kept) -> None:
    """Reports the output tuples that never come again, because an input has closed them and state keeps nothing of
    them.

    Runs a Spark job for each vacancy that may grow: in epochs that close something, while a closed region is not
    closed in the output.
    """
    name, inputs = operator.name, epoch.inputs(operator.name)
    state = epoch.state_facts.get(name, NO_STATE)
    vacant = state.closed
    if any(epoch.newly_closed(input_name) is not False for input_name in operator.inputs):
        known = operator.facts(inputs, state)
        for vacancy in vacancies(epoch.plan)[name]:
            most = operator.vacant(vacancy, inputs, ())
            if regions.possible_difference(most, known.closed, known.universe) is not False:
                points = _points(epoch, operator, vacancy, kept(vacancy))
                vacant = regions.union(vacant, operator.vacant(vacancy, inputs, points))
    if vacant is not False:
        epoch.report_closed(name, vacant)


def _points(epoch: Epoch, operator: Operator, vacancy: Vacancy, rows: DataFrame | None) -> list[Point]:
    """Returns the first points that are kept of what is closed: no more than decide what is vacant."""
    if rows is None:
        return []
    types = epoch.types(operator.name)
    closable = operator.closable(vacancy, epoch.inputs(operator.name))
    named = {name: types[name] for name in vacancy.names}
    inside = where_inside(rows, closable, columns_of(named)).select(*map(column, named)).distinct()
    first = inside.orderBy(*(sortable(name, types).asc_nulls_last() for name in named)).limit(MOST + 1)
    values = first.select(*(F.expr(type_.axis(column(name))) for name, type_ in named.items()))
    return [tuple(map(_value, row)) for row in values.collect()]


def _value(value: Any) -> Any:
    """Returns a value as regions have it."""
    match value:
        case None:
            return UNDEFINED
        case float():
            return exact(Fraction(repr(value) if isfinite(value) else finite(value)))
        case Decimal():
            return exact(Fraction(value))
        case _:
            return value
