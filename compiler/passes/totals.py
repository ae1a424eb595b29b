"""Checks sums and increases over data points of OpenTelemetry: cumulative points are totals, which must not be added;
delta points are increases already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from cedilla.compiler import regions
from cedilla.compiler.expressions.expressions import attributes, parts
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Operator
from cedilla.compiler.plan.plan import Plan
from cedilla.compiler.plan.sources import Source
from cedilla.compiler.plan.telemetry import keys_in_point
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.syntax import Expression, Scalar

_TOTALS = ("value", "count", "sum", "buckets")
"""The fields that cumulative points count from their start on, and delta points from the point before."""
_Points = Mapping[str, tuple[str, ...]]
"""Field -> its values in points that may be of a temporality."""
_CUMULATIVE: _Points = {
    "temporality": ("cumulative",),
    "kind": ("sum", "histogram", "exponentialHistogram", "summary"),
}
_DELTA: _Points = {"temporality": ("delta",), "kind": ("sum", "histogram", "exponentialHistogram")}

_Names = dict[str, set[str]]
"""Relation -> its names of a field."""


def check_totals(plan: Plan) -> Iterator[Diagnostic]:
    """Yields warnings (RQ177). Raises RQ161 if a sum may add cumulative points of a source, or if an increase may take
    delta points for readings of a counter.

    A sum over the result of an aggregate or `top` of each series is right. So is one over differences of totals, and
    over points whose temporality or kind is restricted by a domain or a condition.
    """
    for source in plan.sources:
        if not source.format_kind.has_requests:
            continue
        restricting = {field: _names(plan, source, field) for field in _CUMULATIVE}

        def has_none(points: _Points, relation: str, names: Mapping[str, _Names] = restricting) -> bool:
            return _excludes(points, plan.start[relation], relation, False, names)

        for field in _TOTALS:
            names = _names(plan, source, field, partial(has_none, _CUMULATIVE))
            _check_sums(plan, field, names, restricting)
            _check_increases(plan, field, _names(plan, source, field, partial(has_none, _DELTA)))

        def is_of_one(relation: str, has_none: Callable[[_Points, str], bool] = has_none) -> bool:
            return has_none(_CUMULATIVE, relation) or has_none(_DELTA, relation)

        yield from _of_start(plan, _names(plan, source, "buckets", is_of_one))


def _check_sums(plan: Plan, field: str, names: _Names, restricting: Mapping[str, _Names]) -> None:
    for operator in plan.operators:
        relation = operator.inputs[0]
        facts = plan.start[relation]
        for name, excluded, span in operator.sums(facts):
            if name in names.get(relation, ()) and not _excludes(
                _CUMULATIVE, facts, relation, excluded, restricting
            ):
                raise failure(
                    "RQ161",
                    f"sum of `{name}`: `{field}` of a cumulative data point is a total since its start",
                    span or operator.span,
                    hint='`temporality: string in {"delta"}` in the declaration sets cumulative points aside, '
                    '`kind: string in {"gauge"}` all but gauges; or `select` or `where` leave them out',
                )


def _check_increases(plan: Plan, field: str, names: _Names) -> None:
    for operator in plan.operators:
        for name, span in operator.readings():
            if name in names.get(operator.inputs[0], ()):
                raise failure(
                    "RQ161",
                    f"increase of `{name}`: `{field}` of a delta data point is an increase already",
                    span or operator.span,
                    hint=f"`increase({name}, temporality since start)` takes both; `temporality: string in "
                    '{"cumulative"}` in the declaration sets delta points aside, and `select` leaves them out',
                )


def _excludes(
    points: _Points, facts: Facts, relation: str, excluded: Tree, restricting: Mapping[str, _Names]
) -> bool:
    """Returns True if a field excludes some points. `excluded`: the region of tuples that an operator leaves out."""
    never = regions.union(facts.closed, excluded)
    return any(
        regions.is_empty(regions.difference(regions.values(name, values), never), facts.universe)
        for field, values in points.items()
        for name in restricting[field].get(relation, ())
    )


def _names(
    plan: Plan, source: Source, field: str, ends: Callable[[str], bool] = lambda relation: False
) -> _Names:
    """Follows a field of a source through the plan, up to operators that choose or compute, and where it `ends`."""
    declared = {a.name for a in source.attributes if keys_in_point(a.name, a.keys) == (field,)}
    names: _Names = {source.name: set() if ends(source.name) else declared}
    for operator in plan.operators:
        passed = {
            out for side, name in _arriving(operator, names) for out in _passes(plan, operator, side, name)
        }
        names[operator.name] = set() if ends(operator.name) else passed
    return names


def _arriving(operator: Operator, names: _Names) -> Iterator[tuple[int, str]]:
    for side, relation in enumerate(operator.inputs):
        for name in names.get(relation, ()):
            yield side, name


def _passes(plan: Plan, operator: Operator, side: int, name: str) -> tuple[str, ...]:
    if not operator.is_in_each(name):
        return ()
    passed = plan.reaction(operator.name, "alter", name, frozenset(), side).passes
    chosen = (out for out in operator.choices_of(name) if out not in passed)
    return (*(out for out in passed if not operator.combines_values(out)), *chosen)


def _of_start(plan: Plan, names: _Names) -> Iterator[Diagnostic]:
    """Yields a warning (RQ177) for each quantile of a single histogram. `names`: those of buckets that may be of either
    temporality."""
    for operator in plan.operators:
        buckets = names.get(operator.inputs[0], ())
        for call in _quantiles(operator.expressions):
            for name in sorted(attributes(call.arguments[0]).intersection(buckets)):
                yield Diagnostic(
                    "RQ177",
                    "warning",
                    f"the quantile of `{name}` of a cumulative data point is that of all values since its start",
                    call.span,
                    help='`temporality: string in {"delta"}` in the declaration sets cumulative points aside, and '
                    '`string in {"cumulative"}` confirms it',
                )


def _quantiles(expressions: Iterable[Expression]) -> Iterator[Scalar]:
    for expression in expressions:
        if isinstance(expression, Scalar) and expression.name == "histogram_quantile":
            yield expression
        yield from _quantiles(parts(expression))
