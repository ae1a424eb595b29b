"""Numbers, and the signs `+`, `-`, `*`, `/` and `%`: exact where both sides are, else with doubles."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from cedilla.compiler.expressions import decimals
from cedilla.compiler.expressions.decimals import DIGITS, Digits
from cedilla.compiler.expressions.types import DOUBLE, LARGEST, Type
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.syntax import Expression

_LONG = 2**63


def number(value: Any) -> Any:
    """A value to compute with: decimals are exact fractions."""
    return Fraction(value) if isinstance(value, Decimal) else value


def is_odd(value: Any) -> bool:
    """Whether a number is infinite, or none (NaN)."""
    return isinstance(value, float) and not math.isfinite(value)


def is_beyond(value: Any) -> bool:
    """Returns True for a number of 2^53 or more: not every whole number is a double there (RQ310)."""
    return not abs(double(value)) < LARGEST


def loses_digits(value: Any) -> bool:
    """Returns True for a number that a double may not keep to the last digit; a decimal counts without its point."""
    return is_beyond(value * 10 ** decimals.places_of(value) if isinstance(value, Fraction) else value)


def in_range(value: Any) -> Any:
    """Whole numbers of more than 64 bits are undefined."""
    return None if isinstance(value, int) and not -_LONG <= value < _LONG else value


def double(value: Any) -> float:
    """A number as a double, infinite where it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def affine(function: Affine, value: Any) -> Any:
    """In one go: exact for exact numbers, rounded once for doubles where their decimals are short."""
    return function.of_double(value) if isinstance(value, float) else function(value)


def arithmetic(sign: str, x: Any, y: Any) -> Any:
    """`x sign y`: doubles where one is, else exact; undefined by zero."""
    if isinstance(x, float) or isinstance(y, float):
        x, y = double(x), double(y)
    match sign:
        case "+" | "-" | "*":
            return in_range({"+": operator.add, "-": operator.sub, "*": operator.mul}[sign](x, y))
        case "/":
            return None if y == 0 else x / y if isinstance(x, float) else Fraction(x) / y
        case "pmod":
            return positive_remainder(x, y)
        case _:
            return remainder(x, y)


Typed = Sequence[tuple[Expression, Type]]
"""Expressions with their types."""


def typed_arithmetic(sign: str, values: Sequence[Any], typed: Typed, type_: Type) -> Any:
    """The same of numbers of known types: decimals have as many digits as there is room for, doubles are rounded.

    `values`: defined, and still exact where an Alter is to make them doubles. `type_`: of the result.
    """
    if any(isinstance(value, float) for value in values) or type_.is_integral:
        return arithmetic(sign, *values)
    digits = [decimals.digits_of(*each) for each in typed]
    if type_ == DOUBLE and sign == "/":
        return _quotient(values, digits)
    if type_ == DOUBLE:
        return arithmetic(sign, *map(double, values))
    if sign != "*":
        after = max(each.after for each in digits)
        if not all(_has_room(value, Digits(DIGITS - after, after)) for value in values):
            return None
    x, y = values  # a product of whole numbers may be a decimal of more than 64 bits
    return fitted(arithmetic(sign, Fraction(x), y), type_)


def _quotient(values: Sequence[Any], digits: Sequence[Digits]) -> float | None:
    x, y = values
    if y == 0:
        return None
    if decimals.is_scaled(digits[0], digits[1]):
        scale = 10 ** max(each.after for each in digits)
        x, y = x * scale, y * scale
    return double(x) / double(y)


def exact_quotient(values: Sequence[Any], typed: Typed) -> Fraction | None:
    """The quotient of two exact numbers of few enough digits, as `floor` and `ceil` take it. `typed`: may be empty."""
    x, y = values
    if not isinstance(x, int | Fraction) or not isinstance(y, int | Fraction) or y == 0:
        return None
    return Fraction(x) / y if not typed or decimals.is_quotient_of_longs(typed) else None


def fitted(value: Any, type_: Type) -> Any:
    """A value as one of a type: an exact number that is to be a double is rounded, one that has more digits than a
    decimal has room for is undefined."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction | Decimal):
        return value
    if type_ == DOUBLE:
        return double(value)
    if type_.name != "decimal":
        return value
    exact = value if isinstance(value, Fraction) else Fraction(value)
    return exact if _has_room(exact, decimals.digits_of_type(type_)) else None


def _has_room(value: Any, digits: Digits) -> bool:
    return abs(value.numerator) < 10**digits.before * value.denominator


def remainder(x: Any, y: Any) -> Any:
    """With the sign of the dividend."""
    if y == 0:
        return None
    if isinstance(x, float) or isinstance(y, float):
        return math.nan if math.isinf(x) else math.fmod(x, y)
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


def positive_remainder(x: Any, y: Any) -> Any:
    """Not negative where the divisor is positive."""
    rest = remainder(x, y)
    if rest is None:
        return None
    rest = remainder(rest + y, y) if rest < 0 < y else rest
    return rest + 0.0 if isinstance(rest, float) else rest
