"""Units in a query: their names, conversions written out as arithmetic, what an aggregate function gives.

Nothing here looks into expressions: that is `measured`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce

from attrs import evolve

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.regions.affine import Affine, exact
from cedilla.compiler.units import units
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.expression_formatter import decimal_text, unit_text
from cedilla.grammar.slips import closest
from cedilla.grammar.syntax import (
    SECOND,
    UNITS,
    Attribute,
    Binary,
    BinaryOperator,
    Expression,
    InRange,
    InSet,
    Literal,
    RangePattern,
    Scalar,
    SetPattern,
    TableColumn,
    Unary,
)

_SAME = {
    "avg",
    "avg_angle",
    "min",
    "max",
    "first",
    "last",
    "median",
    "quantile",
    "collect",
    "largest",
    "smallest",
}
"""Aggregate functions whose result has the unit of what they aggregate."""


def known(unit: str, span: Span | None, hint: str | None = None) -> str:
    """A unit's name. Raises RQ143 where there is no such unit; `hint`: what was likely meant, where that is known."""
    try:
        units.check(unit)
    except units.UnknownUnit as problem:
        if problem.instead is not None:
            message = f"`{unit}` has several meanings, and is not taken for any"
            help = f"write {problem.instead}" if hint is None else f"write {problem.instead}; {hint}"
            raise failure("RQ143", message, span, hint=help) from None
        guess = closest(unit, (*UNITS, *(f"{each}s" for each in UNITS), *_COMMON))
        names = hint or "names are pint's (`degF`, `hPa`, `m/s`) or UCUM codes (`Cel`, `{request}` of counts)"
        help = f"did you mean `{unit_text(guess)}`? {names[0].upper()}{names[1:]}" if guess else names
        raise failure("RQ143", f"unknown unit `{unit}`", span, hint=help) from None
    return unit


_COMMON = (
    *("degC", "degF", "celsius", "fahrenheit", "kelvin", "percent", "degree", "radian"),
    *(
        "metre",
        "millimetre",
        "kilometre",
        "inch",
        "foot",
        "yard",
        "mile",
        "km/h",
        "m/s",
        "knot",
        "litre",
        "gallon",
    ),
    *("pascal", "hPa", "mbar", "bar", "psi", "gram", "kilogram", "tonne", "pound", "ounce", "newton"),
    *("byte", "bit", "watt", "kilowatt", "joule", "volt", "ampere", "ohm", "hertz", "lux", "decibel"),
)
"""What a misspelt name may mean; `known` takes all that pint and UCUM have."""


_UNITS = {"unit", "units", "convert", *(each.lower() for each in _COMMON)}
_SCALES = re.compile(r"[cfk](?:_?to_?|2)[cfk]")


def names_conversion(function: str) -> bool:
    """Whether a function is called as what brings values to a unit elsewhere: `degc`, `to_unit`, `f_to_c`."""
    return bool(_SCALES.fullmatch(function) or _UNITS.intersection(re.split("_|to|2", function)))


def check_is_number(name: str, type_: Type, span: Span, hint: str) -> None:
    """Raise RQ144 where something that has, or meets, a unit is no number; `name`: as it is written."""
    if not type_.is_numeric:
        message = f"`{name}` is of type {type_}, and only numbers have units"
        raise failure("RQ144", message, span, hint=hint)


def converted(source: str, target: str, span: Span | None) -> Affine:
    """The function from one unit to another. Raises RQ142 where there is none, RQ143."""
    try:
        return units.conversion(known(source, span), known(target, span))
    except units.Mismatch as problem:
        raise failure("RQ142", f"{source} cannot be converted to {target}", span, hint=str(problem)) from None


def applied(function: Affine, expression: Expression, types: Mapping[str, Type]) -> Expression:
    """The expression of a function's values: `affine(x, p, q, r)` of an attribute with places behind the point, else
    `(x * p + q) / r`."""
    match expression:
        case Attribute(name) if not function.is_identity and not (name in types and types[name].is_integral):
            pass
        case _:
            return written_out(function, expression)
    span = expression.span
    numbers = (number_of(Fraction(n), span) for n in function.integers())
    return Scalar("affine", (expression, *numbers), span=span)


def called(call: Scalar) -> tuple[Expression, Affine]:
    """The argument and the function of a call of `affine` that has been checked."""
    argument, *numbers = call.arguments
    p, q, r = (Fraction(whole_constant(number) or 0) for number in numbers)
    return argument, Affine(p / r, q / r)


def whole_constant(expression: Expression) -> int | None:
    """The number that a whole constant is, perhaps with a sign; `None` for other expressions."""
    match expression:
        case Literal(int(value)) if not isinstance(value, bool):
            return value
        case Unary("-", operand) if (value := whole_constant(operand)) is not None:
            return -value
        case _:
            return None


def written_out(function: Affine, expression: Expression) -> Expression:
    """The values of a function as arithmetic: `(x * p + q) / r`."""
    p, q, r = function.integers()
    result, span = expression, expression.span
    if p != 1:
        result = Binary("*", result, number_of(Fraction(p), span), span=span)
    if q:
        result = Binary("+" if q > 0 else "-", result, number_of(Fraction(abs(q)), span), span=span)
    return result if r == 1 else Binary("/", result, number_of(Fraction(r), span), span=span)


def in_declared_unit(
    domain: SetPattern | RangePattern | TableColumn, unit: str | None
) -> SetPattern | RangePattern | TableColumn:
    """A declared domain with its constants in the unit of its attribute. Raises RQ142, RQ143."""

    def value(literal: Literal) -> Literal:
        if literal.unit is None:
            return literal
        if unit is None:
            message = f"{literal.text} has a unit, and its attribute has none"
            raise failure("RQ142", message, literal.span, hint="`unit` is written between type and domain")
        number = converted(literal.unit, unit, literal.span)(exact(Fraction(literal.value)))
        if not is_decimal(Fraction(number)):
            message = f"{literal.text} has no decimal notation in {unit}"
            raise failure("RQ142", message, literal.span, hint=f"a constant in {unit}")
        return literal_of(Fraction(number), literal.span)

    match domain:
        case SetPattern(values):
            return evolve(domain, values=tuple(map(value, values)))
        case RangePattern(low, high):
            return evolve(domain, low=low and value(low), high=high and value(high))
        case TableColumn():
            return domain


def unit_of_call(function: str, arguments: Sequence[str | None]) -> str | None:
    """The unit of what an aggregate function gives, from those of its arguments."""
    unit = next(iter(arguments), None)
    if unit is None:
        return None
    match function:
        case "sum":  # of points of a scale, as degC, whose zero it has many times
            return unit if unit == SECOND or not units.is_scale(unit) else None
        case "stddev":
            return unit if unit == SECOND else units.difference(unit)
        case "var":
            apart = units.difference(unit)
            return None if apart is None or unit == SECOND else units.power(apart, Fraction(2))
        case _:
            return unit if function in _SAME else None


def is_of_differences(unit: str | None, of: str | None) -> bool:
    """Whether values in a unit, made of one attribute in another, are differences of points of a scale."""
    if unit is None or of is None or unit == of:
        return False
    return units.is_scale(of) and not units.is_scale(unit)


def number_of(value: Fraction, span: Span) -> Expression:
    """A number as a constant; one that has no decimal notation as a quotient."""
    if value < 0:
        return Unary("-", number_of(-value, span), span=span)
    if is_decimal(value):
        return literal_of(value, span)
    return Binary(
        "/",
        literal_of(Fraction(value.numerator), span),
        literal_of(Fraction(value.denominator), span),
        span=span,
    )


def is_decimal(value: Fraction) -> bool:
    """Whether a number has a decimal notation."""
    rest = value.denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    return rest == 1


def literal_of(value: Fraction, span: Span) -> Literal:
    """A number with a decimal notation as a constant."""
    return Literal(exact(value), decimal_text(value) if value >= 0 else f"-{decimal_text(-value)}", span=span)


def with_values(node: InSet | InRange, operand: Expression, numbers: Sequence[Fraction | None]) -> Expression:
    """A set or range with its numbers in the unit of its operand."""
    literals = [None if number is None else literal_of(number, node.span) for number in numbers]
    if isinstance(node, InSet):
        return evolve(node, operand=operand, values=tuple(each for each in literals if each is not None))
    return evolve(node, operand=operand, range=evolve(node.range, low=literals[0], high=literals[1]))


def spelt_out(node: InSet | InRange, operand: Expression, numbers: Sequence[Fraction | None]) -> Expression:
    """The same in comparisons, for numbers that have no decimal notation."""
    span = node.span

    def test(operator: BinaryOperator, number: Fraction) -> Expression:
        return Binary(operator, operand, number_of(number, span), span=span)

    if isinstance(node, InSet):
        tests = [test("=", number) for number in numbers if number is not None]
    else:
        low, high = numbers
        tests = [] if low is None else [test(">=" if node.range.low_closed else ">", low)]
        tests += [] if high is None else [test("<=" if node.range.high_closed else "<", high)]
    joined: BinaryOperator = "or" if isinstance(node, InSet) else "and"
    result = reduce(lambda one, other: Binary(joined, one, other, span=other.span), tests)
    return Unary("not", result, span=span) if node.negated else result


def taken_to_be_in(unit: str, what: str, span: Span | None) -> Diagnostic:
    """Warning RQ162: a number without a unit, called `what`, takes the unit of what it meets."""
    message = f"{what} has no unit, and is taken to be in {unit}"
    hint = "a declaration gives it one, `x: double unit ...`, or a projection, `x * 2 as y unit ...`"
    return Diagnostic("RQ162", "warning", message, span, help=hint)
