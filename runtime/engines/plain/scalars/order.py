"""Equality and order of values as in Spark: NaN equals itself and comes after every number, both zeros are
equal.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any


def comparable(value: Any) -> Any:
    """Returns a hashable value that is the same for equal values, also for a decimal and a double with its digits."""
    if isinstance(value, float):
        return math.nan if math.isnan(value) else value + 0.0
    if isinstance(value, Fraction):  # a value in state, from before an Alter that makes doubles of decimals
        return as_double if Fraction(repr(as_double := float(value))) == value else value
    return tuple(map(comparable, value)) if isinstance(value, list | tuple) else value  # type: ignore[reportUnknownVariableType,reportUnknownArgumentType]


def equal(x: Any, y: Any) -> bool:
    """Returns True if two defined values are equal."""
    x, y = comparable(x), comparable(y)
    return x is y or x == y


def rank(value: Any) -> Any:
    """Returns a sort key for values of one type: ⊥ first, NaN last; arrays by their elements in order."""
    if value is None:
        return (0, 0)
    if isinstance(value, list | tuple):
        return (1, [rank(element) for element in value])  # type: ignore[reportUnknownVariableType]
    return (2, 0) if isinstance(value, float) and math.isnan(value) else (1, value)
