"""Exact numbers under Alters (theory N12): decimals keep their declared type, and no digit is lost or rounded.

Exact are products and sums with numbers in decimal notation whose inverses are such, too, as long as engines have the
digits: seconds to nanoseconds, but not minutes to seconds, which make doubles of an attribute. Raw values have a wider
type. A raw value that is not of the declared type in canonical units is refused (RQ334).

Whole numbers become decimals, `WHOLE`, if an Alter multiplies by a million or more. Otherwise they become doubles,
which take fractions with any digits, such as those of seconds that were whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from cedilla.compiler.expressions.types import DOUBLE, MAX_DIGITS, Type, array_of, decimal_notation
from cedilla.compiler.expressions.types.decimals import Digits, digits_of_number, digits_of_type, places_of
from cedilla.compiler.expressions.units.conversions import is_decimal
from cedilla.compiler.regions import Tree, leaves
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.composition import Bent, affine_of

WHOLE = Type("decimal", (28, 9))
"""The type of altered whole numbers that stay exact: each long, with as many digits after the point as nanoseconds
have in seconds."""
_OF_LONG = 19
_FACTOR = 10**6
"""The least factor of whole numbers that stay exact. Doubles hold microseconds since 1970, but not nanoseconds."""


def keeps_whole(functions: Iterable[Affine | Bent]) -> bool:
    """Returns True if whole numbers stay exact under some functions."""
    distinct = set(functions) - {IDENTITY}
    has_factor = all(isinstance(function, Affine) and function.slope >= _FACTOR for function in distinct)
    return has_factor and raw_type(WHOLE, distinct) is not None


def announcing(before: Type, type_: Type) -> tuple[Affine, ...]:
    """Returns functions that together change no value: Alters by them tell readers of an output that its numbers have
    another type. Returns none if the type is the same for readers."""
    if type_ == DOUBLE and before.is_numeric and before != DOUBLE:
        return (IDENTITY,)
    return (
        (Affine(_FACTOR, 0), Affine(Fraction(1, _FACTOR), 0)) if type_ == WHOLE and before.is_integral else ()
    )


def raw_type(type_: Type, functions: Iterable[Affine | Bent], least: Type | None = None) -> Type | None:
    """Returns the type that holds all values of a decimal type, and their images under some functions; `None` if a
    value may lose digits in either direction. `least`: a type that it includes."""
    if type_.name != "decimal":
        return None
    declared, distinct = digits_of_type(type_), set(functions)
    held = [declared, *([] if least is None else [digits_of_type(least)])]
    affine = filter(None, map(affine_of, distinct))
    exact = [function for function in affine if keeps_digits(function)]
    if len(exact) < len(distinct):
        return None
    held += (_image(declared, function) for function in exact)
    raw = Digits(max(digits.before for digits in held), max(digits.after for digits in held))
    if raw.total + 1 > MAX_DIGITS or not all(
        _computed(declared, f).total <= MAX_DIGITS
        and _computed(_decodable(raw, f.inverse(), declared), f.inverse()).total <= MAX_DIGITS
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
    if functions == [IDENTITY]:
        return type_
    if not all(map(keeps_digits, functions)):
        return DOUBLE
    declared = digits_of_type(type_)
    images = [_image(declared, function) for function in functions]
    after = max(image.after for image in images)
    most = max(declared.before, *(image.before for image in images))
    # Results such as sums have types with more digits than their values. Those that do not fit fail (RQ310).
    for before in range(min(most, MAX_DIGITS - after), min(most, _OF_LONG) - 1, -1):
        kept = Digits(before, after)
        if all(_computed(_encodable(declared, f, kept), f).total <= MAX_DIGITS for f in functions):
            return Type("decimal", (kept.total, after))
    return DOUBLE


def keeps_digits(function: Affine) -> bool:
    """Returns True if a function and its inverse have decimals as values of decimals."""
    return all(map(is_decimal, (function.slope, 1 / function.slope, function.shift)))


def _image(digits: Digits, function: Affine) -> Digits:
    """Returns the digits of the values of a function."""
    exponent = _exponent(function.slope)
    after = digits.after + (places_of(function.slope) if exponent is None else -exponent)
    after = max(after, places_of(function.shift))
    return Digits(_before(abs(function.slope) * 10**digits.before + abs(function.shift)), after)


def _before(end: Fraction) -> int:
    """Returns the digits before the point of numbers that are smaller than another one."""
    return len(str(ceil(end) - 1)) if end > 1 else 0


class _Product(NamedTuple):
    """A factor; `computed`: the digits of the type that engines give the product; `held`: those that its values
    have."""

    factor: Fraction
    computed: Digits
    held: Digits


def _products(digits: Digits, slope: Fraction) -> list[_Product]:
    """Returns the products with a slope, each of the one before. A power of ten only moves the point, so it is split
    into factors if engines lack the digits for one product."""
    products: list[_Product] = []
    while slope != 1:
        most = MAX_DIGITS - digits.total - 2
        factor = Fraction(10**most) if (_exponent(slope) or 0) > most > 0 else slope
        number, moved = digits_of_number(factor), _exponent(factor)
        computed = Digits(digits.before + number.before + 1, digits.after + number.after)
        digits = computed if moved is None else Digits(digits.before + moved, max(digits.after - moved, 0))
        products.append(_Product(factor, computed, digits))
        slope /= factor
    return products


def _exponent(number: Fraction) -> int | None:
    """Returns the exponent of a power of ten, `None` for another number."""
    places = places_of(number)
    digits = str(number.numerator if number.denominator == 1 else int(number * 10**places))
    return len(digits) - 1 - places if digits.strip("0") == "1" else None


def _computed(digits: Digits, function: Affine) -> Digits:
    """Returns the digits of the type that engines give the values, with one before the point for rounding."""
    if products := _products(digits, function.slope):
        digits = products[-1].computed
    if function.shift:
        summand = digits_of_number(abs(function.shift))
        digits = Digits(max(digits.before, summand.before) + 1, max(digits.after, summand.after))
    return Digits(digits.before + 1, digits.after) if function.is_identity else digits


def _decodable(raw: Digits, function: Affine, wanted: Digits) -> Digits:
    """Returns the digits of the raw values whose canonical ones may have the digits `wanted`."""
    exponent = _exponent(function.slope)
    if not exponent:
        return raw
    before = _before(10**wanted.before + abs(function.shift)) - exponent
    after = max(wanted.after, places_of(function.shift)) + exponent
    return Digits(min(raw.before, max(before, 1)), min(raw.after, max(after, 0)))


def _encodable(digits: Digits, function: Affine, kept: Digits) -> Digits:
    """Returns the digits of the values whose images may have the digits `kept`; all if that is not known."""
    exponent = None if function.shift else _exponent(function.slope)
    return digits if exponent is None else Digits(min(digits.before, kept.before - exponent), digits.after)


def holds(type_: Type, value: int | Fraction) -> bool:
    """Returns True if a decimal type has all digits of a number."""
    precision, places = type_.parameters
    scaled = Fraction(value) * 10**places
    return scaled.denominator == 1 and abs(scaled) < 10**precision


def encoded_sql(value: str, type_: Type, function: Affine, wanted: Type, failure: str = "") -> str:
    """Writes a function of a decimal column. `type_`: of the column; `wanted`: its `raw_type`, or its `written_type`
    with the SQL of a failure for values that this does not hold."""
    digits = digits_of_type(type_)
    encodable = _encodable(digits, function, digits_of_type(wanted)) if failure else digits
    text = f"CAST({_sql(value, encodable, function)} AS {wanted.spark})"
    if not (tests := _tests(value, digits, encodable)):
        return text
    return f"CASE WHEN {value} IS NULL OR {tests} THEN {text} ELSE {failure} END"


def decoded_sql(value: str, raw: Type, function: Affine, wanted: Type) -> str:
    """Writes the canonical value of a raw one; undefined if it is not of the declared type, `wanted`."""
    if function.is_identity and raw == wanted:
        return value
    of_raw, kept = digits_of_type(raw), digits_of_type(wanted)
    decodable = _decodable(of_raw, function, kept)
    computed, digits = _sql(value, decodable, function), _computed(decodable, function)
    result = _if_held(computed, digits, kept, f"CAST({computed} AS {wanted.spark})")
    return _if_held(value, of_raw, decodable, result)


def _if_held(value: str, digits: Digits, kept: Digits, result: str) -> str:
    """Writes a result, undefined unless a value has the digits `kept`. `digits`: those of its type."""
    tests = _tests(value, digits, kept)
    return f"CASE WHEN {tests} THEN {result} END" if tests else result


def _tests(value: str, digits: Digits, kept: Digits) -> str:
    """Writes the tests whether a value has the digits `kept`; an empty text if all have."""
    tests: list[str] = []
    if digits.after > kept.after:
        tests.append(f"{value} = CAST({value} AS {_spark(Digits(digits.before, kept.after))})")
    if digits.before > kept.before:
        tests.append(f"{value} > -{10**kept.before}BD AND {value} < {10**kept.before}BD")
    return " AND ".join(tests)


def _spark(digits: Digits) -> str:
    return f"DECIMAL({digits.total}, {digits.after})"


def _sql(value: str, digits: Digits, function: Affine) -> str:
    text = f"CAST({value} AS {_spark(digits)})"
    products = _products(digits, function.slope)
    for product in products[:-1]:
        text = f"CAST({text} * {_literal(product.factor)} AS {_spark(product.held)})"
    if products:
        text = f"{text} * {_literal(products[-1].factor)}"
    if function.shift:
        text = f"{text} {'+' if function.shift > 0 else '-'} {_literal(abs(function.shift))}"
    return text if function.is_identity else f"({text})"


def _literal(number: Fraction) -> str:
    """Writes a number with its own digits; engines differ about those of a constant."""
    return f"CAST({decimal_notation(number)}BD AS {_spark(digits_of_number(number))})"
