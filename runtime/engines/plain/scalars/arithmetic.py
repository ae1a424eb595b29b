"""Numbers, and the signs `+`, `-`, `*`, `/` and `%`: exact if both sides are, else with doubles."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from cedilla.compiler.expressions.types import DOUBLE, LARGEST, Type, decimals
from cedilla.compiler.expressions.types.decimals import DIGITS, Digits
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.syntax import Expression

_LONG = 2**63


def number(value: Any) -> Any:
    """Returns a value to compute with: decimals are exact fractions."""
    return Fraction(value) if isinstance(value, Decimal) else value


def is_odd(value: Any) -> bool:
    """Returns True if a number is infinite or NaN."""
    return isinstance(value, float) and not math.isfinite(value)


def is_beyond(value: Any) -> bool:
    """Returns True for a number of 2^53 or more: not every whole number is a double there (RQ310)."""
    return not abs(double(value)) < LARGEST


def loses_digits(value: Any) -> bool:
    """Returns True for a number that a double may not keep to the last digit; a decimal counts without its point."""
    return is_beyond(value * 10 ** decimals.places_of(value) if isinstance(value, Fraction) else value)


def in_range(value: Any) -> Any:
    """Returns `None` for whole numbers of more than 64 bits."""
    return None if isinstance(value, int) and not -_LONG <= value < _LONG else value


def double(value: Any) -> float:
    """Returns a number as a double, infinite if it is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def affine(function: Affine, value: Any) -> Any:
    """Applies a function in one step: exact for exact numbers, rounded once for doubles with short decimals."""
    return function.of_double(value) if isinstance(value, float) else function(value)


def arithmetic(sign: str, x: Any, y: Any) -> Any:
    """Computes `x sign y`: with doubles if one is, else exact; undefined for a division by zero."""
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
    """Computes with numbers of known types: decimals have the digits of their types, doubles are rounded.

    `values`: defined, and still exact if an Alter turns them into doubles. `type_`: of the result.
    """
    if any(isinstance(value, float) for value in values) or type_.is_integral:
        return arithmetic(sign, *values)
    digits = [decimals.digits_of(*digit_counts) for digit_counts in typed]
    if type_ == DOUBLE and sign == "/":
        return _quotient(values, digits)
    if type_ == DOUBLE:
        return arithmetic(sign, *map(double, values))
    if sign != "*":
        after = max(digit_counts.after for digit_counts in digits)
        if not all(_has_room(value, Digits(DIGITS - after, after)) for value in values):
            return None
    x, y = values  # a product of whole numbers may be a decimal of more than 64 bits
    return fitted(arithmetic(sign, Fraction(x), y), type_)


def _quotient(values: Sequence[Any], digits: Sequence[Digits]) -> float | None:
    x, y = values
    if y == 0:
        return None
    if decimals.is_scaled(digits[0], digits[1]):
        scale = 10 ** max(digit_counts.after for digit_counts in digits)
        x, y = x * scale, y * scale
    return double(x) / double(y)


def exact_quotient(values: Sequence[Any], typed: Typed) -> Fraction | None:
    """Returns the exact quotient of two numbers of few digits, for `floor` and `ceil`.

    `typed`: may be empty.
    """
    x, y = values
    if not isinstance(x, int | Fraction) or not isinstance(y, int | Fraction) or y == 0:
        return None
    return Fraction(x) / y if not typed or decimals.is_quotient_of_longs(typed) else None


def fitted(value: Any, type_: Type) -> Any:
    """Fits a value to a type: rounds an exact number to a double; a number too long for a decimal is
    undefined.
    """
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
    """Returns the remainder with the sign of the dividend."""
    if y == 0:
        return None
    if isinstance(x, float) or isinstance(y, float):
        return math.nan if math.isinf(x) else math.fmod(x, y)
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


def positive_remainder(x: Any, y: Any) -> Any:
    """Returns a remainder that is not negative for a positive divisor."""
    rest = remainder(x, y)
    if rest is None:
        return None
    rest = remainder(rest + y, y) if rest < 0 < y else rest
    return rest + 0.0 if isinstance(rest, float) else rest
