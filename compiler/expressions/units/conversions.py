"""Units in a query: their names, conversions written out as arithmetic, units of aggregate functions.

This module does not look into expressions: `unit_inference` does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from attrs import evolve

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.units import units
from cedilla.compiler.expressions.units.own import short
from cedilla.compiler.regions.affine import Affine, exact
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.formatting.expression_formatter import decimal_text, unit_text
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
from cedilla.grammar.syntax.connectives import connected

_SAME = {
    *("avg", "avg_angle", "min", "max", "first", "last", "arg_max"),
    *("arg_min", "mode", "median", "quantile", "collect", "largest", "smallest"),
}
"""Aggregate functions whose result has the unit of their argument."""


def known_unit(unit: str, span: Span | None, hint: str | None = None) -> str:
    """Returns a unit's name. Raises RQ143 for an unknown unit; `hint`: a likely correction, if there is one."""
    try:
        units.check(unit)
    except units.UnknownUnit as problem:
        if problem.instead is not None:
            message = f"`{unit}` has several meanings, and is not taken for any"
            help = f"write {problem.instead}" if hint is None else f"write {problem.instead}; {hint}"
            raise failure("RQ143", message, span, hint=help) from None
        if unit.lower() in _CURRENCIES:
            help = "a query defines its currencies: `unit EUR; unit ct = EUR / 100;`"
            raise failure("RQ143", f"unknown unit `{unit}`", span, hint=help) from None
        if unit.strip().lower() in _NO_UNITS:
            help = 'a number without a unit has no `unit`; a ratio that is also given in `percent` has the unit `"1"`'
            raise failure("RQ143", f"unknown unit `{unit}`", span, hint=help) from None
        names = hint or "names are pint's (`degF`, `hPa`, `m/s`) or UCUM codes (`Cel`, `{request}` of counts)"
        guess = " or ".join(f"`{unit_text(name)}`" for name in _alike(unit))
        text = f"did you mean {guess}? {names[0].upper()}{names[1:]}" if guess else names
        raise failure("RQ143", f"unknown unit `{unit}`", span, hint=text) from None
    return unit


def _alike(unit: str) -> list[str]:
    """Returns the units that an unknown name may mean: symbols in other letters, else a misspelt name."""
    symbols = (f"{prefix}{symbol}" for prefix in _PREFIXES for symbol in _SYMBOLS)
    same_letters = [symbol for symbol in symbols if symbol.lower() == unit.lower()]
    guess = suggest(unit, (*UNITS, *(f"{singular}s" for singular in UNITS), *_COMMON))
    return same_letters or ([] if guess is None else [guess])


def is_unit(name: str) -> bool:
    """Returns True for the name of a unit, also for one that has several meanings."""
    try:
        units.check(name)
    except units.UnknownUnit as problem:
        return problem.instead is not None
    return True


_COMMON = (
    *("degC", "degF", "celsius", "fahrenheit", "kelvin", "percent", "degree", "radian"),
    *("metre", "millimetre", "kilometre", "inch", "foot", "yard"),
    *("mile", "km/h", "m/s", "knot", "litre", "gallon"),
    *("pascal", "hPa", "mbar", "bar", "psi", "gram", "kilogram", "tonne", "pound", "ounce", "newton"),
    *("byte", "bit", "watt", "kilowatt", "joule", "volt", "ampere", "ohm", "hertz", "lux", "decibel"),
    *("dBm", "dBW", "dBV", "dBSPL", "pH_value"),
)
"""Candidates for misspelt names; `known_unit` accepts all names of pint and UCUM."""

_PREFIXES = ("", "m", "k", "h", "M", "G", "T")
_SYMBOLS = ("W", "Wh", "VA", "V", "A", "Ah", "Hz", "Pa", "J", "N", "L", "g")
_NO_UNITS = {"", "-", "n/a", "none", "unitless", "ratio", "fraction"}
_CURRENCIES = {
    *("eur", "euro", "euros", "usd", "dollar", "dollars"),
    *("gbp", "chf", "jpy", "cent", "cents"),
}

_UNITS = {"unit", "units", "convert", *(each.lower() for each in _COMMON)}
_SCALES = re.compile(r"[cfk](?:_?to_?|2)[cfk]")


def names_conversion(function: str) -> bool:
    """Returns True for names of conversions elsewhere: `degc`, `to_unit`, `f_to_c`."""
    parts = re.split("_|to|2", function)
    if re.search("zone|tz|time", function):
        return False
    is_conversion = (
        len(parts) == 1 or parts[0] in ("unit", "units", "convert") or re.search("^to|_to_|2", function)
    )
    return bool(_SCALES.fullmatch(function) or (is_conversion and _UNITS.intersection(parts)))


def check_is_number(name: str, type_: Type, span: Span, hint: str) -> None:
    """Raises RQ144 if a value with a unit, or one that meets it, is not a number; `name`: its text."""
    if not type_.is_numeric:
        message = f"`{name}` is of type {type_}, and only numbers have units"
        raise failure("RQ144", message, span, hint=hint)


def converted(source: str, target: str, span: Span | None) -> Affine:
    """Returns the function from one unit to another. Raises RQ142 if they do not convert, RQ143."""
    try:
        return units.conversion(known_unit(source, span), known_unit(target, span))
    except units.Mismatch as problem:
        message = f"{short(source)} cannot be converted to {short(target)}"
        raise failure("RQ142", message, span, hint=str(problem)) from None


def applied(function: Affine, expression: Expression, types: Mapping[str, Type]) -> Expression:
    """Writes a function's values as an expression.

    This is `affine(x, p, q, r)` for an attribute with decimal places, else `(x * p + q) / r`.
    """
    match expression:
        case Attribute(name) if not function.is_identity and not (name in types and types[name].is_integral):
            pass
        case _:
            return written_out(function, expression)
    span = expression.span
    numbers = (number_of(Fraction(n), span) for n in function.integers())
    return Scalar("affine", (expression, *numbers), span=span)


def called(call: Scalar) -> tuple[Expression, Affine]:
    """Returns the argument and the function of a call of `affine` that has been checked."""
    argument, *numbers = call.arguments
    p, q, r = (Fraction(whole_constant(number) or 0) for number in numbers)
    return argument, Affine(p / r, q / r)


def whole_constant(expression: Expression) -> int | None:
    """Returns the value of a whole constant, which may have a sign; `None` for other expressions."""
    match expression:
        case Literal(int(value)) if not isinstance(value, bool):
            return value
        case Unary("-", operand) if (value := whole_constant(operand)) is not None:
            return -value
        case _:
            return None


def written_out(function: Affine, expression: Expression) -> Expression:
    """Writes the values of a function as arithmetic: `(x * p + q) / r`."""
    p, q, r = function.integers()
    result, span = expression, expression.span
    if p != 1:
        result = Binary("*", result, number_of(Fraction(p), span), span=span)
    if q:
        result = Binary("+" if q > 0 else "-", result, number_of(Fraction(abs(q)), span), span=span)
    return result if r == 1 else Binary("/", result, number_of(Fraction(r), span), span=span)


def constant_in(literal: Literal, unit: str | None) -> Literal:
    """Converts a constant of a declaration to the unit of its attribute. Raises RQ142, RQ143."""
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


def in_declared_unit(
    domain: SetPattern | RangePattern | TableColumn, unit: str | None
) -> SetPattern | RangePattern | TableColumn:
    """Converts the constants of a declared domain to the unit of its attribute. Raises RQ142, RQ143."""
    match domain:
        case SetPattern(values):
            return evolve(domain, values=tuple(constant_in(value, unit) for value in values))
        case RangePattern(low, high):
            return evolve(domain, low=low and constant_in(low, unit), high=high and constant_in(high, unit))
        case TableColumn():
            return domain


def unit_of_call(function: str, arguments: Sequence[str | None]) -> str | None:
    """Returns the unit of an aggregate function's result, from those of its arguments."""
    if function == "histogram_quantile" and len(arguments) > 1:
        return arguments[1]
    unit = next(iter(arguments), None)
    if unit is None:
        return None
    match function:
        case "sum":  # the sum of points of a scale, as degC, contains the scale's zero many times
            return unit if unit == SECOND or not units.is_scale(unit) else None
        case "stddev" | "stddev_pop":
            return unit if unit == SECOND else units.difference(unit)
        case "covar" | "covar_pop":
            return _of_products(*arguments)
        case "var" | "var_pop":
            difference = units.difference(unit)
            return None if difference is None or unit == SECOND else units.power(difference, Fraction(2))
        case _:
            return unit if function in _SAME else None


def _of_products(left: str | None, right: str | None) -> str | None:
    """Returns the unit of products of differences of values in two units."""
    if left is None or right is None or SECOND in (left, right):
        return None
    one, other = units.difference(left), units.difference(right)
    return None if one is None or other is None else units.product("*", one, other)


def is_of_differences(unit: str | None, of: str | None) -> bool:
    """Returns True if values in `unit`, computed from one attribute in `of`, are differences of points of a
    scale.
    """
    if unit is None or of is None or unit == of:
        return False
    return units.is_scale(of) and not units.is_scale(unit)


def number_of(value: Fraction, span: Span) -> Expression:
    """Writes a number as a constant, or as a quotient if it has no decimal notation."""
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
    """Returns True if a number has a decimal notation."""
    rest = value.denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    return rest == 1


def literal_of(value: Fraction, span: Span) -> Literal:
    """Writes a number with a decimal notation as a constant."""
    return Literal(exact(value), decimal_text(value) if value >= 0 else f"-{decimal_text(-value)}", span=span)


def with_values(node: InSet | InRange, operand: Expression, numbers: Sequence[Fraction | None]) -> Expression:
    """Replaces the numbers of a set or range by those in the unit of its operand."""
    literals = [None if number is None else literal_of(number, node.span) for number in numbers]
    if isinstance(node, InSet):
        return evolve(
            node, operand=operand, values=tuple(literal for literal in literals if literal is not None)
        )
    return evolve(node, operand=operand, range=evolve(node.range, low=literals[0], high=literals[1]))


def spelt_out(node: InSet | InRange, operand: Expression, numbers: Sequence[Fraction | None]) -> Expression:
    """Writes a set or range as comparisons, for numbers without a decimal notation."""
    span = node.span

    def test(operator: BinaryOperator, number: Fraction) -> Expression:
        return Binary(operator, operand, number_of(number, span), span=span)

    if isinstance(node, InSet):
        tests = [test("=", number) for number in numbers if number is not None]
    else:
        low, high = numbers
        tests = [] if low is None else [test(">=" if node.range.low_closed else ">", low)]
        tests += [] if high is None else [test("<=" if node.range.high_closed else "<", high)]
    result = connected("or" if isinstance(node, InSet) else "and", tests)
    return Unary("not", result, span=span) if node.negated else result


def taken_to_be_in(unit: str, what: str, span: Span | None) -> Diagnostic:
    """Returns warning RQ162: a number without a unit, called `what`, is taken to be in another one's unit."""
    message = f"{what} has no unit, so it is taken to be in {unit}"
    hint = "declare its unit, `x: double unit ...`, or state it in a projection, `x * 2 as y unit ...`"
    return Diagnostic("RQ162", "warning", message, span, help=hint)
