"""JSON values as the control plane has them: exact, ordered, of their attribute's type (`expressions/types.py`)."""

from __future__ import annotations

import json
import math
import re
import sys
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any

from cedilla.compiler.expressions.types import FARTHEST, Type
from cedilla.compiler.regions import Value
from cedilla.compiler.regions.affine import Affine, exact
from cedilla.compiler.regions.code import Code
from cedilla.grammar.diagnostics import Span
from cedilla.grammar.syntax import Literal
from cedilla.runtime.items.json_objects import json_text, word

_NOWHERE = Span("", 0, 0, 1, 1, 1, 1)
_DIGITS = 60
"""A decimal of a greater exponent is none that any column holds."""
_SMALLEST = 1_000_000
"""The engine takes a number of a smaller exponent for none."""


def value_of_json(type_: Type, value: Any) -> Value:
    """The control-plane value of a JSON value; `ValueError` where it is none of the type.

    As the engine reads it: whole numbers have no point, a string takes anything as its text.
    """
    number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    match type_.name:
        case "int" | "long" if isinstance(value, int) and number:
            bits = 31 if type_.name == "int" else 63
            if -(2**bits) <= value < 2**bits:
                return value
        case "double" if (odd := word(value)) is not None:
            return -FARTHEST if odd < 0 else FARTHEST
        case "double" if number and isinstance(value, int):
            return max(-FARTHEST, min(value, FARTHEST)) if abs(value) > sys.float_info.max else value
        case "double" if number:
            nearest = float(value)
            if math.isfinite(nearest):
                return exact(Fraction(repr(nearest)))
            return -FARTHEST if nearest < 0 else FARTHEST
        case "decimal" if (decimal := decimal_of_json(type_, value)) is not None:
            return exact(decimal)
        case "boolean" if isinstance(value, bool):
            return value
        case "string":
            return value if isinstance(value, str) else json_text(value)
        case "array" if isinstance(value, list) and type_.element is not None:
            return tuple(value_of_json(type_.element, each) for each in value)  # type: ignore[return-value]
        case "timestamp" | "date" if isinstance(value, str):
            return type_.value(Literal(value, json.dumps(value), span=_NOWHERE))
        case _:
            pass
    shown = json.dumps(value, default=str, ensure_ascii=False)
    raise ValueError(f"{shown} is no {type_}")


_QUOTED = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def decimal_of_json(type_: Type, value: Any) -> Fraction | None:
    """A number, also as a string, where commas do not count, as a decimal of a type; `None` where it is none."""
    if isinstance(value, str) and _QUOTED.fullmatch(plain := value.replace(",", "")):
        value = Decimal(plain)
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    return rounded_decimal(type_, value) if is_number else None


def rounded_decimal(type_: Type, value: Any) -> Fraction | None:
    """A number as a decimal of a type, halves away from zero as the engine rounds them; `None` where it has too many
    digits."""
    precision, scale = type_.parameters
    if isinstance(value, Decimal) and not (value.is_finite() and abs(value.adjusted()) < _DIGITS):
        return Fraction(0) if value.is_finite() and -_SMALLEST < value.adjusted() < 0 else None
    scaled = Fraction(value) * 10**scale
    whole = floor(abs(scaled) + Fraction(1, 2)) * (1 if scaled > 0 else -1)
    return Fraction(whole, 10**scale) if abs(whole) < 10**precision else None


def applied(function: Affine | Code, value: Value) -> Value:
    """A function of a number, or of each element of an array; NaN and infinities stay what they are. `None` where a
    code does not lead from the value."""
    if isinstance(function, Code):
        return function.map.get(value)  # type: ignore[return-value]
    if isinstance(value, str):  # where no recode has come
        return value
    if isinstance(value, tuple):
        return tuple(applied(function, each) for each in value)  # type: ignore[return-value]
    if abs(value) >= FARTHEST:  # type: ignore[arg-type,operator]
        return value
    return function(value)  # type: ignore[arg-type]


def near_digits(value: Any, digits: int) -> Fraction | int:
    """A canonical value of an attribute that had so many digits behind the point before it was altered: with these
    digits where it is next to such a number, as 0.57 * 100, which in doubles is 56.99999999999999 (theory D0).

    Next to it: not farther than the roundings of an affine function in doubles come to. A sensor that has become finer
    keeps its digits.
    """
    scaled = Fraction(value) * 10**digits
    nearest = round(scaled)
    most = min(_ROUNDINGS * max(abs(scaled), 1), _LEAST_STEP)
    return exact(Fraction(nearest, 10**digits)) if abs(scaled - nearest) <= most else value


def near_digits_sql(value: str, digits: int) -> str:
    """The same of a column of doubles."""
    scaled = f"{value} * 1e{digits}D" if digits else value
    most = f"least({float(_ROUNDINGS)!r}D * greatest(abs({scaled}), 1D), {float(_LEAST_STEP)!r}D)"
    nearest = f"rint({scaled}) / 1e{digits}D" if digits else f"rint({scaled})"
    return f"CASE WHEN abs({scaled} - rint({scaled})) <= {most} THEN {nearest} ELSE {value} END"


_ROUNDINGS = Fraction(1, 10**13)
"""What the roundings of an affine function come to, relative to the number."""
_LEAST_STEP = Fraction(1, 1000)
"""However large a number is, parts of its last digit as large as this are no rounding."""


def number_to_json(value: Value) -> Any:
    """A double, or an array of them, for a JSON line; `Infinity` where it is too large for a double."""
    if isinstance(value, tuple):
        return [number_to_json(each) for each in value]
    try:
        return float(value)
    except OverflowError:
        return "Infinity" if value > 0 else "-Infinity"  # type: ignore[operator]


def digits_behind(attribute: str, type_: Type) -> dict[str, int]:
    """The digits behind the point of an attribute of whole numbers or decimals, by its name; else nothing."""
    if type_.name == "decimal":
        return {attribute: type_.parameters[1]}
    return {attribute: 0} if type_.is_integral else {}
