"""Whole numbers and decimals in another unit: exact if a decimal holds the result, else doubles (theory N12).

A conversion without a quotient is exact: its values are whole numbers or decimals. One that ends in a
quotient gives doubles, of numbers that a double keeps to the last digit. Values beyond end the query (RQ310).
"""

from __future__ import annotations

from fractions import Fraction

from cedilla.compiler.expressions.types import (
    DOUBLE,
    LARGEST,
    LONG,
    MAX_DIGITS,
    Type,
    column,
    decimal_notation,
    decimals,
    quote,
)
from cedilla.compiler.expressions.types.decimals import digits_of_type, is_exact, places_of
from cedilla.compiler.expressions.units.conversions import is_decimal, number_of, written_out
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.syntax import Attribute, Binary, Expression

BEYOND = "RQ310 in another unit "
"""The start of a job's message about a value that is too large for its new unit; its attribute follows."""

_LONGS = 2**63


def exact_type(type_: Type, function: Affine) -> Type | None:
    """Returns the type that holds all values of a type in another unit exactly, or `None`."""
    if not is_exact(type_) or not is_decimal(function.slope) or not is_decimal(function.shift):
        return None
    if type_.is_integral and function.is_whole:
        return LONG
    digits = digits_of_type(type_)
    most = function.slope * 10**digits.before + abs(function.shift)
    places = max(digits.after + places_of(function.slope), places_of(function.shift))
    # Engines compute the product before its cast, in the digits of both sides and two more.
    if digits.total + len(str(function.slope * 10 ** places_of(function.slope))) + 2 > MAX_DIGITS:
        return None
    return _decimal(len(str(int(most))), places)


def have_common_type(a: Type, b: Type) -> bool:
    """Returns True if a decimal holds the numbers of two exact types, whatever an Alter makes of whole numbers."""
    one, other = (digits_of_type(LONG if type_.is_integral else type_) for type_ in (a, b))
    return _decimal(max(one.before, other.before), max(one.after, other.after)) is not None


def common_type(a: Type, b: Type) -> Type:
    """Returns the type that holds the numbers of two exact types: a double only where units leave no decimal."""
    if a.is_integral and b.is_integral:
        return a if a == b else LONG
    one, other = digits_of_type(a), digits_of_type(b)
    return _decimal(max(one.before, other.before), max(one.after, other.after)) or DOUBLE


def _decimal(before: int, after: int) -> Type | None:
    return Type("decimal", (before + after, after)) if before + after <= MAX_DIGITS else None


def exactly_applied(function: Affine, attribute: Attribute) -> Expression:
    """Writes the conversion without a quotient: `x * 0.001`."""
    slope, shift, span = function.slope, function.shift, attribute.span
    result: Expression = attribute
    if slope != 1:
        result = Binary("*", result, number_of(slope, span), span=span)
    if shift:
        result = Binary("+" if shift > 0 else "-", result, number_of(abs(shift), span), span=span)
    return result


def as_double(function: Affine, attribute: Attribute) -> Expression:
    """Writes the conversion with a quotient, `x / 60`, whose values are doubles."""
    if function.integers()[2] != 1:
        return written_out(function, attribute)
    return Binary(
        "/", written_out(function, attribute), number_of(Fraction(1), attribute.span), span=attribute.span
    )


def gives_doubles(conversion: Expression) -> bool:
    """Returns True if a conversion ends in a quotient."""
    return isinstance(conversion, Binary) and conversion.operator == "/"


def converted_type(conversion: Expression, function: Affine, type_: Type) -> Type:
    """Returns the type of values of a type in another unit."""
    exact = None if gives_doubles(conversion) else exact_type(type_, function)
    return exact or DOUBLE


def _limit(conversion: Expression, function: Affine) -> int:
    """Returns the least absolute value that is too large for its new unit.

    That is beyond 64 bits there, or, for a double, 2^53 in either unit before the division.
    """
    p, q, r = function.integers()
    if not gives_doubles(conversion):
        return (_LONGS - abs(q) - 1) // p + 1
    return LARGEST if r == 1 else (LARGEST - abs(q) - 1) // p + 1


def is_too_large(conversion: Expression, function: Affine, value: int | Fraction) -> bool:
    """Returns True if an exact value does not fit the type of its new unit."""
    is_decimal_there = not gives_doubles(conversion) and not (function.is_whole and isinstance(value, int))
    return not is_decimal_there and abs(value) >= _limit(conversion, function)


def conversion_sql(name: str, conversion: Expression, function: Affine, type_: Type) -> str:
    """Writes the column of a type in another unit, rounded at most once."""
    value, wanted = column(name), converted_type(conversion, function, type_)
    if wanted == DOUBLE:
        plain = value if type_ == DOUBLE else decimals.as_double(value, type_)
        text = plain if function == IDENTITY else function.sql(plain)
    elif wanted == LONG:
        p, q, _ = function.integers()
        text = f"CAST({value} AS BIGINT) * {p}L" + (f" {'+' if q > 0 else '-'} {abs(q)}L" if q else "")
    else:
        digits = digits_of_type(type_)
        text = f"CAST({value} AS DECIMAL({digits.total}, {digits.after}))"
        text += "" if function.slope == 1 else f" * {decimal_notation(function.slope)}BD"
        sign, shift = "+" if function.shift > 0 else "-", decimal_notation(abs(function.shift))
        text += f" {sign} {shift}BD" if function.shift else ""
        text = f"CAST({text} AS {wanted.spark})"
    end = _limit(conversion, function)
    if (
        not is_exact(type_)
        or wanted.name == "decimal"
        or end >= min(10 ** digits_of_type(type_).before, _LONGS)
    ):
        return text
    kept = f"{value} IS NULL OR ({value} > {-end}L AND {value} < {end}L)"
    return f"CASE WHEN {kept} THEN {text} ELSE raise_error({quote(BEYOND + name)}) END"
