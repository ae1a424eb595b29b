"""Aggregates of angles: the circle of `avg_angle`, and warnings about functions that ignore it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from attrs import evolve

from cedilla.compiler.expressions.expressions import attributes
from cedilla.compiler.expressions.unit_inference import WithUnit
from cedilla.compiler.expressions.units import units
from cedilla.compiler.expressions.units.conversions import literal_of
from cedilla.compiler.passes.report import is_own_name
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.formatting.expression_formatter import format_expression

_LINEAR = ("avg", "sum", "median", "quantile", "stddev", "stddev_pop", "var", "var_pop")
"""Functions that are wrong for angles that pass a full circle."""


def with_circle(call: syntax.AggregateCall, arguments: Sequence[WithUnit]) -> syntax.AggregateCall:
    """Returns `avg_angle(x, 360)` for `avg_angle(x)` of degrees, and other calls unchanged.

    Raises RQ160 if the argument is not in a unit of angle, or if the circle in the call is not that of its
    unit.
    """
    if call.function != "avg_angle" or not 1 <= len(arguments) <= 2:
        return call
    angle, *circles = arguments
    text = format_expression(angle.expression)
    if angle.unit is None:
        if circles and circles[0].unit is None:
            return call
        hint = f"`{text}: double unit degree` where it is declared, or `avg_angle({text}, 360)`"
        raise failure("RQ160", f"`{text}` has no unit, so its full circle is not known", call.span, hint=hint)
    circle = units.circle(angle.unit)
    if circle is None:
        message = f"`{text}` is in {units.described(angle.unit)}, and avg_angle is of angles"
        raise failure("RQ160", message, call.span, hint=f"`avg({text})` is the mean of other quantities")
    if circles and (circles[0].unit is not None or circles[0].constant != circle):
        message = f"`{text}` is in {angle.unit}, whose full circle is {float(circle):g}"
        raise failure("RQ160", message, call.span, hint=f"`avg_angle({text})`")
    return evolve(call, arguments=(angle.expression, literal_of(Fraction(circle), call.span)))


def doubtful_call(call: syntax.AggregateCall, arguments: Sequence[WithUnit]) -> Iterator[Diagnostic]:
    """Yields RQ159 for a function that treats angles as lengths."""
    if arguments and not any(map(is_own_name, attributes(arguments[0].expression))):
        text = format_expression(call.arguments[0])
        yield from _doubtful(call.function, text, arguments[0].unit, call.span)


def doubtful_attributes(node: syntax.Aggregate, of: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yields RQ159 for each angle that a function over all attributes treats as a length. `of`: their units."""
    if node.function is not None:
        for name in sorted(of.keys() - {*node.by, *(node.excepts or ())}):
            yield from _doubtful(node.function, name, of[name], node.span)


def _doubtful(function: str, argument: str, unit: str | None, span: Span) -> Iterator[Diagnostic]:
    if function not in _LINEAR or unit is None or units.circle(unit) is None:
        return
    yield Diagnostic(
        "RQ159",
        "warning",
        f"{function} of the angle `{argument}`: of 350 and 10 degrees avg is 180, and sum 360",
        span,
        (),
        f"`avg_angle({argument})` is the mean direction; `{function}({argument} / 1 {unit})` of what never passes a "
        "full circle, as a latitude",
    )
