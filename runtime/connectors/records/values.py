"""Converts JSON values to the control plane: exact, ordered, of their attribute's type (`expressions/types/`)."""

from __future__ import annotations

import json
import math
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

from cedilla.compiler.expressions.types import FARTHEST, Type
from cedilla.compiler.expressions.types.versions import key_of
from cedilla.compiler.regions import Value
from cedilla.compiler.regions.affine import Affine, exact
from cedilla.compiler.regions.function import Function
from cedilla.runtime.connectors.records.json_objects import is_text, json_text, word

_MAX_EXPONENT = 60
"""Exponent limit of numbers; no column of decimals contains larger ones."""


def value_of_json(type_: Type, value: Any) -> Value:
    """Returns the control-plane value of a JSON value. Raises `ValueError` if it is not of the type.

    Numbers are exact: only doubles are rounded, and a number beyond their range is refused. A string accepts any
    value as its text.
    """
    number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    match type_.name:
        case "int" | "long" if (whole := whole_of_json(type_, value)) is not None:
            return whole
        case "double" if (odd := word(value)) is not None:
            return -FARTHEST if odd < 0 else FARTHEST
        case "double" if number and isinstance(value, int) and abs(value) <= sys.float_info.max:
            return value
        case "double" if number and isinstance(value, Decimal) and math.isfinite(nearest := float(value)):
            return exact(Fraction(repr(nearest)))
        case "decimal" if (decimal := decimal_of_json(type_, value)) is not None:
            return exact(decimal)
        case "boolean" if isinstance(value, bool):
            return value
        case "string" if is_text(text := value if isinstance(value, str) else json_text(value)):
            return text
        case "array" if type_.element is not None:
            return tuple(value_of_json(type_.element, element) for element in elements_of(value))  # type: ignore[return-value]
        case "timestamp" | "date" if isinstance(value, str):
            return type_.moment(value)
        case "version" if isinstance(value, str):
            return key_of(value)
        case _:
            pass
    shown = json.dumps(value, default=str, ensure_ascii=False)
    raise ValueError(f"{shown} is not a value of type {type_}")


def elements_of(value: Any) -> list[Any]:
    """Returns the elements of a list; another value is a list of one. Raises `ValueError` for null elements."""
    elements: list[Any] = value if isinstance(value, list) else [value]
    if None in elements:
        raise ValueError("an element is null")
    return elements


def whole_of_json(type_: Type, value: Any) -> int | None:
    """Returns a number as an `int` or a `long` in any notation, `5`, `5.0`, `5e0`; `None` if it does not fit."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    if isinstance(value, Decimal):
        if not is_near_one(value) or value != value.to_integral_value():
            return None
        value = int(value)
    bits = 31 if type_.name == "int" else 63
    return value if -(2**bits) <= value < 2**bits else None


def decimal_of_json(type_: Type, value: Any) -> Fraction | None:
    """Returns a number as a decimal of a type; `None` if it does not fit, or has more digits than the type."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    if isinstance(value, Decimal) and not is_near_one(value):
        return None
    precision, scale = type_.parameters
    scaled = Fraction(value) * 10**scale
    return Fraction(value) if scaled.denominator == 1 and abs(scaled) < 10**precision else None


def is_near_one(value: Decimal) -> bool:
    """Returns True if a number is finite, and within the exponents of whole numbers and decimals."""
    return value.is_finite() and (not value or abs(value.adjusted()) < _MAX_EXPONENT)


def applied(function: Function, value: Value) -> Value:
    """Applies a function to a number, or to each element of an array; an affine one leaves NaN and infinities. `None`
    if a code has no pair for the value, or a bent function does not take it."""
    if not isinstance(function, Affine):
        return function.of(value)  # type: ignore[arg-type]
    if isinstance(value, str):  # no recode has come
        return value
    if isinstance(value, tuple):
        return tuple(applied(function, element) for element in value)  # type: ignore[return-value]
    if abs(value) >= FARTHEST:  # type: ignore[arg-type,operator]
        return value
    return function(value)  # type: ignore[arg-type]


def near_digits(value: Any, digits: int) -> Fraction | int:
    """Returns a canonical value of an attribute that had `digits` digits after the point before it was altered. A value
    next to such a number is rounded to it: 0.57 * 100 is 56.99999999999999 in doubles (theory D0).

    The distance must not exceed the rounding errors of an affine function in doubles. A sensor with more digits than
    before keeps them.
    """
    scaled = Fraction(value) * 10**digits
    nearest = round(scaled)
    most = min(_ROUNDINGS * max(abs(scaled), 1), _MIN_STEP)
    return exact(Fraction(nearest, 10**digits)) if abs(scaled - nearest) <= most else value


def near_digits_sql(value: str, digits: int) -> str:
    """Returns SQL for the same rounding of a column of doubles."""
    scaled = f"{value} * 1e{digits}D" if digits else value
    most = f"least({float(_ROUNDINGS)!r}D * greatest(abs({scaled}), 1D), {float(_MIN_STEP)!r}D)"
    nearest = f"rint({scaled}) / 1e{digits}D" if digits else f"rint({scaled})"
    return f"CASE WHEN abs({scaled} - rint({scaled})) <= {most} THEN {nearest} ELSE {value} END"


_ROUNDINGS = Fraction(1, 10**13)
"""Maximum rounding error of an affine function, relative to the number."""
_MIN_STEP = Fraction(1, 1000)
"""Minimum part of the last digit that is never a rounding error, even for large numbers."""


def number_to_json(value: Value) -> Any:
    """Returns a double, or an array of them, for a JSON line; `Infinity` if it is too large for a double."""
    if isinstance(value, tuple):
        return [number_to_json(element) for element in value]
    try:
        return float(value)
    except OverflowError:
        return "Infinity" if value > 0 else "-Infinity"  # type: ignore[operator]
