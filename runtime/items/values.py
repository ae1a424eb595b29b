"""JSON values as the control plane has them: exact, ordered, of their attribute's type (`expressions/types.py`)."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any, NoReturn

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.regions import Value
from cedilla.compiler.regions.affine import Affine, exact
from cedilla.grammar.diagnostics import Span
from cedilla.grammar.syntax import Literal

_NOWHERE = Span("", 0, 0, 1, 1, 1, 1)
_DIGITS = 60
"""A decimal of a greater exponent is none that any column holds."""
_SMALLEST = 1_000_000
"""The engine takes a number of a smaller exponent for none."""


def parse_line(text: str) -> dict[str, Any]:
    """The object of a line, its numbers with a point as `Decimal`. `ValueError` where it is no JSON object."""
    try:
        item: Any = json.loads(text, parse_float=Decimal, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("the line is nested too deeply") from None
    if not isinstance(item, dict):
        raise ValueError("the line is no JSON object")
    return item  # type: ignore[reportUnknownVariableType]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


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
        case "double" if number:
            if isinstance(value, int):
                return value
            if math.isfinite(float(value)):
                return exact(Fraction(repr(float(value))))
        case "decimal" if number and (decimal := rounded_decimal(type_, value)) is not None:
            return exact(decimal)
        case "boolean" if isinstance(value, bool):
            return value
        case "string":
            return value if isinstance(value, str) else json.dumps(value, default=str)
        case "array" if isinstance(value, list) and type_.element is not None:
            return tuple(value_of_json(type_.element, each) for each in value)  # type: ignore[return-value]
        case "timestamp" | "date" if isinstance(value, str):
            return type_.value(Literal(value, json.dumps(value), span=_NOWHERE))
        case _:
            pass
    shown = json.dumps(value, default=str, ensure_ascii=False)
    raise ValueError(f"{shown} is no {type_}")


def rounded_decimal(type_: Type, value: Any) -> Fraction | None:
    """A number as a decimal of a type, halves away from zero as the engine rounds them; `None` where it has too many
    digits."""
    precision, scale = type_.parameters
    if isinstance(value, Decimal) and not (value.is_finite() and abs(value.adjusted()) < _DIGITS):
        return Fraction(0) if value.is_finite() and -_SMALLEST < value.adjusted() < 0 else None
    scaled = Fraction(value) * 10**scale
    whole = floor(abs(scaled) + Fraction(1, 2)) * (1 if scaled > 0 else -1)
    return Fraction(whole, 10**scale) if abs(whole) < 10**precision else None


def json_text(value: Any) -> str:
    """A JSON value as text, decimals with all their digits."""
    match value:
        case Decimal():
            return f"{value:f}"
        case dict():
            fields = value.items()  # type: ignore[reportUnknownVariableType]
            return f"{{{', '.join(f'{json_text(str(n))}: {json_text(v)}' for n, v in fields)}}}"  # type: ignore[reportUnknownArgumentType,reportUnknownVariableType]
        case list():
            return f"[{', '.join(map(json_text, value))}]"  # type: ignore[reportUnknownArgumentType]
        case _:
            return json.dumps(value, ensure_ascii=False)


def applied(function: Affine, value: Value) -> Value:
    """A function of a number, or of each element of an array."""
    if isinstance(value, tuple):
        return tuple(applied(function, each) for each in value)  # type: ignore[return-value]
    return function(value)  # type: ignore[arg-type]


def number_to_json(value: Value) -> Any:
    """A double, or an array of them, for a JSON line."""
    return [number_to_json(each) for each in value] if isinstance(value, tuple) else float(value)
