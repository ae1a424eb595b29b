"""Decimals: the digits of results of exact arithmetic, and SQL that is equal on every engine.

A result has all the digits that it may need, as in SQL. If these are more than `DIGITS`, a value that does
need more is undefined. If that leaves too few digits before the point, the result is a double.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from cedilla.compiler.expressions.types import DOUBLE, LONG, MAX_DIGITS, Type
from cedilla.compiler.regions.affine import exact
from cedilla.grammar.syntax import Expression, Literal, Unary

DIGITS = 37
"""The most digits of operands and products. Engines have 38, which always fits the sum of two operands."""
PLACES = 20
"""The most digits after the point of a result that may need more than `DIGITS`."""
_OF_LONG = 19
_OF_DOUBLE = 15
"""Every engine converts a decimal of this many digits to the nearest double."""


class Digits(NamedTuple):
    """The digits before and after the point that a number may have."""

    before: int
    after: int

    @property
    def total(self) -> int:
        return self.before + self.after


def digits_of(expression: Expression, type_: Type) -> Digits:
    """Returns the digits of an exact number: a constant has its own, other numbers those of their type."""
    if isinstance(expression, Unary) and expression.operator == "-":
        return digits_of(expression.operand, type_)
    if isinstance(expression, Literal) and isinstance(expression.value, int | Fraction):
        return digits_of_number(expression.value)
    return digits_of_type(type_)


@lru_cache(maxsize=1024)
def digits_of_number(value: int | Fraction) -> Digits:
    """Returns the digits in the decimal notation of a number."""
    after = places_of(value)
    before = len(str(int(abs(value)))) if abs(value) >= 1 or not after else 0
    return Digits(before, after)


def places_of(value: int | Fraction) -> int:
    """Returns the number of digits after the point; a number that decimals cannot hold gets one more than
    they have.
    """
    places = 0
    while value.denominator != 1 and places <= MAX_DIGITS:
        places, value = places + 1, value * 10
    return places


def digits_of_type(type_: Type) -> Digits:
    """Returns the digits of a type of whole numbers or decimals."""
    if type_.name == "decimal":
        precision, scale = type_.parameters
        return Digits(precision - scale, scale)
    return Digits(10 if type_.name == "int" else 19, 0)


def is_exact(type_: Type) -> bool:
    """Returns True if numbers of a type are exact: whole numbers and decimals."""
    return type_.is_numeric and type_ != DOUBLE


def type_of_constant(value: Fraction) -> Type:
    """Returns the decimal type of a constant; double if it has too many digits, or more than 64 bits before
    the point.
    """
    digits = digits_of_number(value)
    if abs(value) >= 2**63 or digits.after > PLACES or digits.total > DIGITS:
        return DOUBLE
    return Type("decimal", (digits.total, digits.after))


def _type(digits: Digits, needed: int, most: int = DIGITS) -> Type:
    """Returns the type with these digits. `needed`: the digits that its computation may need in total."""
    if needed <= most:
        return Type("decimal", (max(1, digits.total), digits.after))
    return Type("decimal", (min(most, digits.total), digits.after)) if digits.after <= PLACES else DOUBLE


def arithmetic_type(operator: str, sides: Sequence[tuple[Expression, Type]]) -> Type:
    """Returns the type of `+`, `-`, `*`, `/`, `%` or `pmod` of two numbers."""
    types = [type_ for _, type_ in sides]
    if operator == "/" or DOUBLE in types:
        return DOUBLE
    if all(type_.is_integral for type_ in types):
        return LONG if operator in ("+", "-", "*") or LONG in types else Type("int")
    left, right = (digits_of(*side) for side in sides)
    return type_of_result(operator, left, right)


def type_of_result(operator: str, left: Digits, right: Digits) -> Type:
    """Returns the type of `+`, `-`, `*`, `%` or `pmod` of exact numbers, at least one of them a decimal."""
    after = max(left.after, right.after)
    before = max(left.before, right.before)
    match operator:
        case "*":
            digits = Digits(left.before + right.before, left.after + right.after)
            return _type(digits, digits.total)
        case "+" | "-":
            return _type(Digits(before + 1, after), before + 1 + after, MAX_DIGITS)
        case _:
            least = right.before if operator == "pmod" else min(left.before, right.before)
            return _type(Digits(least, after), before + after)


def common_type(digits_of_each: Iterable[Digits]) -> Type:
    """Returns the decimal that holds numbers of all these digits, or as many of them as possible."""
    all_digits = list(digits_of_each)
    digits = Digits(max(d.before for d in all_digits), max(d.after for d in all_digits))
    return _type(digits, digits.total, MAX_DIGITS)


def rounded_type(type_: Type, places: int) -> Type:
    """Returns the type of a decimal rounded to `places` digits after the point."""
    before, after = digits_of_type(type_)
    return type_ if places >= after else Type("decimal", (before + 1 + max(places, 0), max(places, 0)))


# --- SQL ---


def as_decimal(text: str, expression: Expression, type_: Type) -> str:
    """Writes an exact number as a decimal. `text`: its SQL, as an operand."""
    if isinstance(expression, Literal) and isinstance(expression.value, int):
        return f"{expression.value}BD"
    return text if type_.name == "decimal" else f"CAST({text} AS DECIMAL({digits_of_type(type_).total}, 0))"


def as_double(text: str, type_: Type) -> str:
    """Writes a number as the nearest double.

    Sail rounds twice if a decimal has more digits than a double, but not if it reads a text.
    """
    if type_ == DOUBLE or type_.name != "decimal" or type_.parameters[0] <= _OF_DOUBLE:
        return f"CAST({text} AS DOUBLE)"
    return f"CAST(CAST({text} AS STRING) AS DOUBLE)"


def arithmetic_sql(operator: str, left: tuple[str, Digits], right: tuple[str, Digits], result: Type) -> str:
    """Writes `+`, `-`, `*` or `%` of two decimals; undefined if an operand or a product has more than
    `DIGITS` digits.

    `result`: the type by `type_of_result`, not a double. The divisor is not zero.
    """
    left, right = _not_simplified(left, right), _not_simplified(right, left)
    (x, a), (y, b) = left, right
    after = result.parameters[1]
    if operator == "*":
        if a.total + b.total <= DIGITS:
            return f"{x} * {y}"
        estimate = " * ".join(
            as_double(text, Type("decimal", (d.total, d.after))) for text, d in (left, right)
        )
        return (
            f"CASE WHEN abs({estimate}) < 2E{DIGITS - after}D THEN try_cast({x} * {y} AS {result.spark}) END"
        )
    return f" {operator} ".join(within([left, right]))


def _not_simplified(side: tuple[str, Digits], other: tuple[str, Digits]) -> tuple[str, Digits]:
    """Hides from Sail that a side next to a constant 0 or 1 is always defined.

    Sail would simplify `x % 1` and `x * 0` to a 0 of another type.
    """
    (text, digits), (constant, _) = side, other
    if constant not in ("0BD", "1BD"):
        return side
    if digits.total < MAX_DIGITS:
        return f"try_cast({text} AS DECIMAL({digits.total + 1}, {digits.after}))", digits
    return f"get(array({text}), 0)", digits


def within(sides: Sequence[tuple[str, Digits]]) -> list[str]:
    """Casts decimals to the most digits after the point among them; undefined if one has too many before it."""
    after = max(digits.after for _, digits in sides)
    return [
        text if digits.before + after <= DIGITS else f"try_cast({text} AS DECIMAL({DIGITS}, {after}))"
        for text, digits in sides
    ]


def opposite_sql(text: str, type_: Type) -> str:
    """Writes the opposite of a decimal. Spark's own sign rounds to 34 digits."""
    return f"CAST(0BD - {text} AS {type_.spark})"


def rounded_sql(name: str, x: str, type_: Type, places: int) -> str:
    """Rounds a decimal to fewer digits after the point.

    Avoids a cast, because Sail compares `CAST(x AS DECIMAL(9, 0)) = 0` as `x = 0`.
    """
    wanted = rounded_type(type_, places)
    if wanted == type_:
        return x
    rounded = f"CAST(round({x}, {places}) AS {wanted.spark})"
    if name == "round":
        return rounded
    two, half, opposite = (type_.sql(Fraction(numerator, 2 * 10**places)) for numerator in (4, 1, -1))
    down = f"CAST(round(IF({x} < 0, {x} - {opposite}, {x} - {half}), {places}) AS {wanted.spark})"
    return f"CASE WHEN {x} % {two} IN ({half}, {opposite}) THEN {down} ELSE {rounded} END"


def is_scaled(left: Digits, right: Digits) -> bool:
    """Returns True if both sides of a quotient can be scaled to whole numbers by one power of ten."""
    after = max(left.after, right.after)
    return all(side.total + after <= MAX_DIGITS for side in (left, right))


def is_quotient_of_longs(sides: Sequence[tuple[Expression, Type]]) -> bool:
    """Returns True if both sides of a quotient, scaled to whole numbers by a power of ten, are longs."""
    if not all(is_exact(type_) for _, type_ in sides):
        return False
    digits = [digits_of(*side) for side in sides]
    after = max(side_digits.after for side_digits in digits)
    return not after or all(side_digits.before + after < _OF_LONG for side_digits in digits)


def scaled_sql(text: str, digits: Digits, after: int) -> str:
    """Writes a decimal times a power of ten that makes it whole, as a double."""
    scaled = f"CAST({text} * {10**after}BD AS DECIMAL({max(1, digits.before + after)}, 0))" if after else text
    return f"CAST({scaled} AS DOUBLE)"


# --- comparisons ---

MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The equivalent comparison with exchanged sides."""
_TURNED = {"<": "<=", "<=": "<=", ">": ">", ">=": ">"}


def compared_with_constant(operator: str, text: str, type_: Type, value: int | Fraction) -> str:
    """Compares an exact number and a constant by all digits of both."""
    mine, theirs = digits_of_type(type_), digits_of_number(value)
    fits = (
        theirs.after <= MAX_DIGITS
        and max(mine.before, theirs.before) + max(mine.after, theirs.after) <= MAX_DIGITS
    )
    if type_.name == "decimal" and fits:
        return f"{text} {operator} {type_.sql(value)}"
    scaled = value * 10**mine.after
    least, greatest = _range(type_)
    if scaled == int(scaled) and least <= scaled <= greatest:
        return f"{text} {operator} {_unscaled(int(scaled), type_)}"
    if operator in ("=", "!="):
        return f"{text} {'!=' if operator == '=' else '='} {text}"
    if scaled < least:
        return f"{text} {'<' if operator[0] == '<' else '>='} {_unscaled(least, type_)}"
    return f"{text} {_TURNED[operator]} {_unscaled(min(scaled // 1, greatest), type_)}"


def _range(type_: Type) -> tuple[int, int]:
    """Returns the least and the greatest value of a type, in units of its last digit."""
    assert type_.ends is not None
    least, greatest = (int(end * 10 ** digits_of_type(type_).after) for end in type_.ends)
    return least, greatest


def _unscaled(number: int, type_: Type) -> str:
    return type_.sql(exact(Fraction(number, 10 ** digits_of_type(type_).after)))


def compared_sql(operator: str, left: tuple[str, Digits], right: tuple[str, Digits]) -> str:
    """Compares two decimals by all digits of both."""
    (x, a), (y, b) = left, right
    after = max(a.after, b.after)
    if max(a.before, b.before) + after <= MAX_DIGITS:
        return f"{x} {operator} {y}"
    if a.after < b.after:
        return compared_sql(MIRRORED[operator], right, left)
    always, never = f"{x} = {x}", f"{x} != {x}"
    end = f"{10 ** (MAX_DIGITS - after)}BD"
    above = always if operator in ("<", "<=", "!=") else never
    below = always if operator in (">", ">=", "!=") else never
    same = f"{x} {operator} try_cast({y} AS DECIMAL({MAX_DIGITS}, {after}))"
    return f"CASE WHEN {y} >= {end} THEN {above} WHEN {y} <= -{end} THEN {below} ELSE {same} END"
