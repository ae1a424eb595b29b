"""The increase of a counter that may begin again at zero, and may report a low value for a moment.

A fall says nothing yet: its tuple has increase 0, and the next reading decides. If that reaches the reading before the
fall, the low value was a glitch and does not count. Else the counter began again at zero, and all of it is increase.
"""

from __future__ import annotations

from cedilla.grammar.syntax import Attribute, Binary, BinaryOperator, Branch, Case, Expression, Literal


def increase(
    value: Expression, before: Attribute, earlier: Attribute, temporality: Expression | None = None
) -> Expression:
    """Returns the increase up to a reading, undefined for the first one (theory N14).

    `before`: the reading before; `earlier`: the one before that. `temporality`: that of the tuple; the value of `delta`
    is its increase, and only `cumulative` ones are readings.
    """
    span = value.span

    def is_below(a: Expression, b: Expression) -> Expression:
        return Binary("<", a, b, span=span)

    def both(a: Expression, b: Expression) -> Expression:
        return Binary("and", a, b, span=span)

    def less(a: Expression, b: Expression) -> Expression:
        operator: BinaryOperator = "-"
        return Binary(operator, a, b, span=span)

    fell, falls = is_below(before, earlier), is_below(value, before)
    branches = (
        Branch(both(falls, fell), before, span=span),
        Branch(falls, Literal(0, "0", span=span), span=span),
        Branch(both(fell, is_below(value, earlier)), value, span=span),
        Branch(fell, less(value, earlier), span=span),
    )
    of_readings = Case(branches, less(value, before), span=span)
    if temporality is None:
        return of_readings
    is_delta, is_cumulative = (_is(temporality, name) for name in ("delta", "cumulative"))
    of_each = (Branch(is_delta, value, span=span), Branch(is_cumulative, of_readings, span=span))
    return Case(of_each, span=span)


def when_cumulative(value: Expression, temporality: Expression) -> Expression:
    """Returns a value if it is a reading of a counter."""
    return Case((Branch(_is(temporality, "cumulative"), value, span=value.span),), span=value.span)


def _is(temporality: Expression, name: str) -> Expression:
    return Binary("=", temporality, Literal(name, f'"{name}"', span=temporality.span), span=temporality.span)
