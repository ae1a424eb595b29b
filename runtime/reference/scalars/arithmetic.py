"""Numbers, and the signs `+`, `-`, `*`, `/` and `%`: exact where both sides are, else with doubles."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction
from typing import Any

from cedilla.compiler.expressions.types import LARGEST
from cedilla.compiler.regions.affine import Affine

_LONG = 2**63


def number(value: Any) -> Any:
    """A value to compute with: decimals are exact fractions."""
    return Fraction(value) if isinstance(value, Decimal) else value


def is_odd(value: Any) -> bool:
    """Whether a number is infinite, or none (NaN)."""
    return isinstance(value, float) and not math.isfinite(value)


def is_beyond(value: Any) -> bool:
    """Whether a number, as a double, is not among those between which every whole number is one (RQ310)."""
    return not abs(double(value)) < LARGEST


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
    """In one go, as the SQL of `floor` has it: exact for exact numbers, rounded as doubles are for doubles."""
    p, q, r = function.integers()
    return (value * float(p) + q) / r if isinstance(value, float) else function(value)


def arithmetic(sign: str, x: Any, y: Any) -> Any:
    """`x sign y`: doubles where one is, else exact; undefined by zero."""
    if isinstance(x, float) or isinstance(y, float):
        x, y = double(x), double(y)
    match sign:
        case "+" | "-" | "*":
            return in_range({"+": operator.add, "-": operator.sub, "*": operator.mul}[sign](x, y))
        case "/":
            return None if y == 0 else x / y if isinstance(x, float) else Fraction(x) / y
        case _:
            return remainder(x, y)


def remainder(x: Any, y: Any) -> Any:
    """With the sign of the dividend."""
    if y == 0:
        return None
    if isinstance(x, float) or isinstance(y, float):
        return math.nan if math.isinf(x) else math.fmod(x, y)
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest
