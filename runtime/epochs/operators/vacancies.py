"""Vacant regions with Spark: asks state for the points that are kept of a closed region (theory 1.3; E5, J1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import evolve
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler import regions
from cedilla.compiler.explain.analysis.safety import vacancies
from cedilla.compiler.expressions.types import column
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.shared.vacancies import MOST, Point, Vacancy
from cedilla.compiler.plan import Plan, changed_by_state
from cedilla.runtime.engines.spark.columns import axis_value, columns_of
from cedilla.runtime.engines.spark.frames import sortable, stacked, where_inside

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch

Kept = Callable[[Vacancy], DataFrame | None]
"""The rows of an input, at the end of the epoch, that may still come out; `None` without such rows."""


def report_vacant(epoch: Epoch, operator: Operator, kept: Kept) -> None:
    """Reports the output tuples that never come again, because an input has closed them and state keeps nothing of
    them.

    Runs one Spark job, in epochs where the result may be new to a reader of the output.
    """
    name, inputs = operator.name, epoch.inputs(operator.name)
    vacant = epoch.state_facts.get(name, NO_STATE).closed
    if asked := _asked(epoch, operator):
        points = _points(asked, [_first(epoch, operator, vacancy, kept(vacancy)) for vacancy in asked])
        vacant = regions.union(vacant, *(operator.vacant(v, inputs, points[v]) for v in asked))
        epoch.report_closed(name, vacant)


def _asked(epoch: Epoch, operator: Operator) -> Sequence[Vacancy]:
    """Returns the vacancies to look up now: those that may close something for a reader, and that no earlier epoch has
    looked up of the same closed inputs."""
    useful = _useful(epoch.plan, operator, epoch.after, epoch.closed_by_state)
    if not useful or any(epoch.newly_closed(name) is not False for name in operator.inputs):
        return useful
    if operator.decided_by_tuples and any(map(epoch.has_rows, operator.inputs)):
        return useful
    before = _useful(epoch.plan, operator, epoch.before, epoch.state_facts)
    return [vacancy for vacancy in useful if vacancy not in before]


def _useful(
    plan: Plan, operator: Operator, facts: Mapping[str, Facts], state: Mapping[str, StateFacts]
) -> Sequence[Vacancy]:
    """Returns the vacancies that would close something for a reader if state kept nothing. `facts`: those of all
    relations, with those of `state`."""
    inputs, mine = tuple(facts[name] for name in operator.inputs), facts[operator.name]
    most = {v: operator.vacant(v, inputs, ()) for v in vacancies(plan)[operator.name]}
    more = [v for v in most if regions.possible_difference(most[v], mine.closed, mine.universe) is not False]
    was = state.get(operator.name, NO_STATE)

    def heard(of: Iterable[Vacancy]) -> Mapping[str, Facts]:
        would = evolve(was, closed=regions.union(was.closed, *(most[v] for v in of)))
        changed = changed_by_state(plan, facts, operator.name, {**state, operator.name: would})
        return {name: changed[name] for name in _readers(plan, operator) & changed.keys()}

    every = heard(more)
    if len(more) < 2 or not every:
        return more if every else ()
    return [v for v in more if heard([v]) or heard(other for other in more if other != v) != every]


def _readers(plan: Plan, operator: Operator) -> frozenset[str]:
    """Returns the relations whose closed regions have an effect: of outputs, and inputs of operators with state.

    The input of an aggregate over windows, for example, has none before it closes a window.
    """
    acting = (o for o in plan.operators if o.stateful and not o.acts_on_output and o is not operator)
    return frozenset(emit.relation for emit in plan.emits).union(*(o.inputs for o in acting))


def _first(epoch: Epoch, operator: Operator, vacancy: Vacancy, rows: DataFrame | None) -> DataFrame | None:
    """Returns the first points that are kept of what is closed: no more than decide what is vacant."""
    if rows is None:
        return None
    types = epoch.types(operator.name)
    closable = operator.closable(vacancy, epoch.inputs(operator.name))
    named = {name: types[name] for name in vacancy.names}
    inside = where_inside(rows, closable, columns_of(named)).select(*map(column, named)).distinct()
    first = inside.orderBy(*(sortable(name, types).asc_nulls_last() for name in named)).limit(MOST + 1)
    return first.select(*(F.expr(type_.axis(column(name))).alias(name) for name, type_ in named.items()))


def _points(
    asked: Sequence[Vacancy], frames: Sequence[DataFrame | None]
) -> Mapping[Vacancy, Sequence[Point]]:
    """Collects the points of all vacancies in one job: as rows with their number, and null for what others have."""
    points: dict[Vacancy, list[Point]] = {vacancy: [] for vacancy in asked}
    places = [(number, name) for number, vacancy in enumerate(asked) for name in vacancy.names]

    def numbered(mine: int, frame: DataFrame) -> DataFrame:
        values = (F.col(column(name)) if number == mine else F.lit(None) for number, name in places)
        points = zip(names, (F.lit(mine), *values), strict=True)
        return frame.select(*(value.alias(name) for name, value in points))

    names = ["$way", *(f"${number}" for number in range(len(places)))]
    every = stacked(names, *(numbered(n, frame) for n, frame in enumerate(frames) if frame is not None))
    for mine, *values in [] if every is None else every.collect():
        point = (value for (number, _), value in zip(places, values, strict=True) if number == mine)
        points[asked[mine]].append(tuple(map(axis_value, point)))
    return points
