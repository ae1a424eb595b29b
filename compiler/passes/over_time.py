"""Sugar over windows: increases and rates of counters, and means that are weighted by duration.

All need the reading before a window, so a running function over the window's input computes it first (theory N14).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TypeGuard

from attrs import evolve, field, frozen

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.counters import INCREASE, INCREASE_SINCE, INCREASES, RATE, RATE_SINCE
from cedilla.compiler.expressions.expressions import written
from cedilla.compiler.passes.calendar_windows import is_calendar
from cedilla.compiler.passes.report import fresh, own_name
from cedilla.compiler.regions.affine import exact
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Span, failure
from cedilla.grammar.syntax import AggregateCall, Attribute, Binary, Expression, ProjectItem, Scalar

MEAN = f"avg {syntax.WEIGHTED}"

_COUNTED = (*INCREASES, RATE, RATE_SINCE)


def functions_over_time(node: syntax.Aggregate) -> set[str]:
    """Returns the functions of an aggregate that need the reading before a window."""
    used = {part.name for call in node.calls for part in _parts(call.expression) if isinstance(part, Scalar)}
    return used & {*_COUNTED, MEAN}


def over_window(node: syntax.Aggregate, functions: set[str], input: syntax.Relation | None) -> syntax.Window:
    """Returns the window below an aggregate. Raises RQ155 if its input is not one."""
    if isinstance(input, syntax.Window):
        return input
    function = "avg(x) weighted by duration" if MEAN in functions else _called(min(functions))
    hint = f"`aggregate[{function} as y by k, w](window[1 hour on at as w](R))`; tuples are selected below"
    message = f"`{function}` needs a window as its input, because it reads the value before each window"
    raise failure("RQ155", message, node.span, hint=hint)


def _called(function: str) -> str:
    name, _, word = function.partition(" ")
    return f"{name}(x {word} begin)" if word else f"{name}(x)"


@frozen
class OverTime:
    """An aggregate over a window, `base`, of a relation, and the names that are `taken`."""

    name: str
    node: syntax.Aggregate
    base: syntax.Window
    taken: set[str]
    added: list[syntax.Definition] = field(factory=list[syntax.Definition])

    @property
    def keys(self) -> tuple[str, ...]:
        """The groups without those of the window: they name the counter."""
        alias = self.base.alias
        of_window = (alias,) if isinstance(alias, str) else alias
        return tuple(name for name in self.node.by if name not in of_window)

    def replaced(self) -> tuple[list[syntax.Definition], syntax.Aggregate]:
        """Returns definitions to put before the aggregate, and the aggregate over them.

        Raises RQ109, RQ156, RQ157.
        """
        is_mean = MEAN in functions_over_time(self.node)
        node = self._means() if is_mean else self._increases()
        return self.added, node

    def _define(self, kind: str, relation: syntax.Relation) -> syntax.Reference:
        name = fresh(f"{self.name}_{kind}", self.taken)
        self.added.append(syntax.Definition(name, relation, span=self.node.span))
        return syntax.Reference(name, span=self.node.span)

    def _readings(self, calls: list[AggregateCall], input: syntax.Relation) -> syntax.Reference:
        order = (syntax.SortKey(self.base.on, span=self.base.span),)
        running = syntax.Running(tuple(calls), self.keys, order, None, input, span=self.node.span)
        return self._define("readings", running)

    # --- increases ---

    def _increases(self) -> syntax.Aggregate:
        """Sums the increases of readings, which are computed before windows separate a reading from the one before.

        >>> from cedilla.compiler.passes import desugar, resolve
        >>> from cedilla.compiler.passes.report import Report
        >>> from cedilla.grammar.formatting.formatter import format_query
        >>> from cedilla.grammar.parser import parse_query
        >>> query = parse_query('''
        ...   stream r(ts: timestamp, s: int, litres: double) from json "r";
        ...   flow := aggregate[rate(litres) as rate by s, w](window[5 minutes on ts as w](r));
        ...   emit flow to json "flow";
        ... ''')
        >>> report = Report(query, "query", "", {})
        >>> print(format_query(desugar(resolve(query, report), report)), end="")
        stream r(ts: timestamp, s: int, litres: double) from json "r";
        flow_readings := running[increase(litres) as flow·increase per s on ts](r);
        flow_windows := window[5 minutes on ts as w](flow_readings);
        flow_groups := aggregate[sum(flow·increase) as rate_1 by s, w](flow_windows);
        flow := project[s, w, rate_1 / 300 seconds as rate](flow_groups);
        emit flow to json "flow";
        """
        calls: dict[tuple[str, tuple[Expression, ...]], AggregateCall] = {}

        def replaced(expression: Expression) -> Expression:
            if not isinstance(expression, Scalar) or expression.name not in _COUNTED:
                return expressions.rebuilt(expression, replaced)
            span = expression.span
            if expression.distinct or expression.where is not None:
                hint = "tuples are selected before the window: `window[...](select[t > 90](R))`"
                raise failure(
                    "RQ109", f"`{expression.name}` has no condition and no `distinct`", span, hint=hint
                )
            name = own_name(self.name, f"increase{len(calls) or ''}")
            function = INCREASE if expression.name in (INCREASE, RATE) else INCREASE_SINCE
            key = function, expression.arguments
            call = calls.setdefault(key, AggregateCall(*key, name, span=span))
            total = Scalar("sum", (Attribute(call.alias, span=span),), span=span)
            return (
                total if expression.name in INCREASES else Binary("/", total, self._seconds(span), span=span)
            )

        results = tuple(_with(call, replaced(call.expression)) for call in self.node.calls)
        readings = self._readings([*calls.values()], self.base.input)
        return evolve(
            self.node, calls=results, input=self._define("windows", evolve(self.base, input=readings))
        )

    def _seconds(self, span: Span) -> syntax.Literal:
        """Returns the window's length in seconds. Raises RQ156 for one without a unit of time."""
        length = self.base.length
        if length.unit is None:
            hint = f"`window[5 minutes on {self.base.on} as w](R)`; without a unit, `increase(x) / 300`"
            raise failure(
                "RQ156", "a rate is per second, and the window's length has no unit", span, hint=hint
            )
        if is_calendar(self.base):
            hint = "`increase(x)` for each window, or `rate` in windows without a zone"
            message = "a rate is per second, and the windows of a calendar differ in length"
            raise failure("RQ156", message, span, hint=hint)
        seconds = exact(length.value * Fraction(syntax.MICROSECONDS[length.unit], 10**6))
        return syntax.Literal(seconds, f"{float(seconds):g} seconds", syntax.SECOND, span=span)

    # --- means ---

    def _means(self) -> syntax.Aggregate:
        """Each reading holds until the end of its window; the next one takes back what it did not hold."""
        span, calls = self.node.span, self.node.calls
        if self.node.begin is not None:
            message = "`weighted by duration` has no rows of windows without readings, so `complete` cannot add them"
            hint = (
                "`last(x) carried as x` in an aggregate of its own has the reading that holds in each window"
            )
            raise failure("RQ157", message, span, hint=hint)
        values = {call.arguments[0] for call in calls if _is_mean(call)}
        if self.base.every is not None or len(values) != 1 or not all(map(_is_mean, calls)):
            message = (
                "`weighted by duration` cannot be combined with other results, or with windows that overlap"
            )
            raise failure(
                "RQ157", message, span, hint="compute the other results in an aggregate of their own"
            )
        (value,) = values
        names = ("before", "since", "begin", "end", "area", "less", "held", "lacking")
        before, since, begin, end, *parts = (
            Attribute(own_name(self.name, name), span=span) for name in names
        )
        at = Attribute(self.base.on, span=span)
        lags = [
            AggregateCall("lag", (weighted_part,), name.name, span=span)
            for weighted_part, name in ((value, before), (at, since))
        ]
        defined = syntax.Select(Scalar("isnotnull", (value,), span=span), self.base.input, span=span)
        input = self._define("defined", defined)
        readings = self._readings(lags, input)
        numbered = self._define("windows", evolve(self.base, input=readings))
        bounds = self._define("bounds", evolve(self.base, alias=(begin.name, end.name), input=numbered))
        held = written("until - at", span, until=end, at=at)
        lacking = (
            "case when since >= start then at - until when since < start then at - start else at - at end"
        )
        lacking = written(lacking, span, since=since, start=begin, until=end, at=at)
        earlier = written("coalesce(before, value)", span, before=before, value=value)
        weighted = (
            *(written("x * y", span, x=x, y=y) for x, y in ((value, held), (earlier, lacking))),
            *(held, lacking),
        )
        items = [
            ProjectItem(weighted_part, name.name, span=span)
            for weighted_part, name in zip(weighted, parts, strict=True)
        ]
        sums = dict(zip("abcd", parts, strict=True))
        mean = written("(sum(a) + sum(b)) / (sum(c) + sum(d))", span, **sums)
        wholes = [AggregateCall("avg", (value,), call.alias or "", span=call.span) for call in calls]
        results = tuple(
            ProjectItem(mean, call.alias, call=(call, input.name), span=call.span) for call in wholes
        )
        extended = self._define("held", syntax.Project(tuple(items), bounds, True, span=span))
        return evolve(self.node, calls=results, input=extended)


def _is_mean(call: AggregateCall | ProjectItem) -> TypeGuard[AggregateCall]:
    return (
        isinstance(call, AggregateCall)
        and call.function == MEAN
        and len(call.arguments) == 1
        and not call.distinct
        and call.where is None
    )


def _with(call: AggregateCall | ProjectItem, expression: Expression) -> AggregateCall | ProjectItem:
    """Returns a result that is computed by another expression."""
    if isinstance(expression, Scalar):
        return AggregateCall.of(expression, call.alias or "", call.span)
    return ProjectItem(expression, call.alias, span=call.span)


def _parts(expression: Expression) -> Iterator[Expression]:
    yield expression
    for part in expressions.parts(expression):
        yield from _parts(part)
