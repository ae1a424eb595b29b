"""Decimals under Alters (theory N12): they keep their declared type, and no digit is lost or rounded.

Exact are products and sums with numbers in decimal notation whose inverses are such, too, as long as engines have the
digits: seconds to nanoseconds, but not minutes to seconds, which make doubles of an attribute. Raw values have a wider
type. A raw value that is not of the declared type in canonical units is refused (RQ334).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil

from cedilla.compiler.expressions.types import DOUBLE, MAX_DIGITS, Type, array_of, decimal_notation
from cedilla.compiler.expressions.types.decimals import Digits, digits_of_number, digits_of_type, places_of
from cedilla.compiler.expressions.unit_conversions.conversions import is_decimal
from cedilla.compiler.regions import Tree, leaves
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.bent import Bent


def raw_type(type_: Type, functions: Iterable[Affine | Bent], least: Type | None = None) -> Type | None:
    """Returns the type that holds all values of a decimal type, and their images under some functions; `None` if a
    value may lose digits in either direction. `least`: a type that it includes."""
    if type_.name != "decimal":
        return None
    declared, distinct = digits_of_type(type_), set(functions)
    held = [declared, *([] if least is None else [digits_of_type(least)])]
    exact = [function for function in distinct if isinstance(function, Affine) and keeps_digits(function)]
    if len(exact) < len(distinct):
        return None
    held += (_image(declared, function) for function in exact)
    raw = Digits(max(digits.before for digits in held), max(digits.after for digits in held))
    if raw.total + 1 > MAX_DIGITS or not all(
        _computed(declared, f).total <= MAX_DIGITS and _computed(raw, f.inverse()).total <= MAX_DIGITS
        for f in exact
    ):
        return None
    return Type("decimal", (raw.total, raw.after))


def written_type(type_: Type, scale: Tree) -> Type:
    """Returns the type of an output's values under its announced functions. Decimals, alone or in arrays, get the
    digits that they need, or become doubles."""
    if type_.element is not None:
        return array_of(written_type(type_.element, scale))
    if type_.name != "decimal" or scale == IDENTITY:
        return type_
    functions = leaves(scale)
    return type_ if functions == [IDENTITY] else raw_type(type_, functions) or DOUBLE


def keeps_digits(function: Affine) -> bool:
    """Returns True if an increasing function and its inverse have decimals as values of decimals."""
    return function.rises and all(map(is_decimal, (function.slope, 1 / function.slope, function.shift)))


def _image(digits: Digits, function: Affine) -> Digits:
    """Returns the digits of the values of a function."""
    end = ceil(function.slope * 10**digits.before + abs(function.shift))
    after = max(digits.after + places_of(function.slope), places_of(function.shift))
    return Digits(len(str(end - 1)) if end > 1 else 0, after)


def _computed(digits: Digits, function: Affine) -> Digits:
    """Returns the digits of the type that engines give the values, with one before the point for rounding."""
    if function.slope != 1:
        factor = digits_of_number(function.slope)
        digits = Digits(digits.before + factor.before + 1, digits.after + factor.after)
    if function.shift:
        summand = digits_of_number(abs(function.shift))
        digits = Digits(max(digits.before, summand.before) + 1, max(digits.after, summand.after))
    return Digits(digits.before + 1, digits.after) if function.is_identity else digits


def holds(type_: Type, value: int | Fraction) -> bool:
    """Returns True if a decimal type has all digits of a number."""
    precision, places = type_.parameters
    scaled = Fraction(value) * 10**places
    return scaled.denominator == 1 and abs(scaled) < 10**precision


def encoded_sql(value: str, type_: Type, function: Affine, wanted: Type) -> str:
    """Writes a function of a decimal column. `type_`: of the column; `wanted`: its `raw_type`."""
    return f"CAST({_sql(value, type_, function)} AS {wanted.spark})"


def decoded_sql(value: str, raw: Type, function: Affine, wanted: Type) -> str:
    """Writes the canonical value of a raw one; undefined if it is not of the declared type, `wanted`."""
    computed, digits, kept = (
        _sql(value, raw, function),
        _computed(digits_of_type(raw), function),
        digits_of_type(wanted),
    )
    tests: list[str] = []
    if digits.after > kept.after:
        tests.append(f"{computed} = CAST({computed} AS DECIMAL({digits.before + kept.after}, {kept.after}))")
    if digits.before > kept.before:
        tests.append(f"{computed} > -{10**kept.before}BD AND {computed} < {10**kept.before}BD")
    result = f"CAST({computed} AS {wanted.spark})"
    return f"CASE WHEN {' AND '.join(tests)} THEN {result} END" if tests else result


def _sql(value: str, type_: Type, function: Affine) -> str:
    text = f"CAST({value} AS {type_.spark})"
    if function.slope != 1:
        text = f"{text} * {_literal(function.slope)}"
    if function.shift:
        text = f"{text} {'+' if function.shift > 0 else '-'} {_literal(abs(function.shift))}"
    return text if function.is_identity else f"({text})"


def _literal(number: Fraction) -> str:
    """Writes a number with its own digits; engines differ about those of a constant."""
    digits = digits_of_number(number)
    return f"CAST({decimal_notation(number)}BD AS DECIMAL({digits.total}, {digits.after}))"
