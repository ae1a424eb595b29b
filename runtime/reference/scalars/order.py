"""Equality and order of values as Spark has them: NaN equals itself and comes after every number, the zeros are one."""

from __future__ import annotations

import math
from typing import Any


def comparable(value: Any) -> Any:
    """The one value, comparable by `==` and hashable, of those that are equal."""
    if isinstance(value, float):
        return math.nan if math.isnan(value) else value + 0.0
    return tuple(map(comparable, value)) if isinstance(value, list | tuple) else value  # type: ignore[reportUnknownVariableType,reportUnknownArgumentType]


def equal(x: Any, y: Any) -> bool:
    """Whether two defined values are equal."""
    x, y = comparable(x), comparable(y)
    return x is y or x == y


def rank(value: Any) -> Any:
    """What to order values of one type by: ⊥ first, NaN last; arrays by their elements, one after the other."""
    if value is None:
        return (0, 0)
    if isinstance(value, list | tuple):
        return (1, [rank(each) for each in value])  # type: ignore[reportUnknownVariableType]
    return (2, 0) if isinstance(value, float) and math.isnan(value) else (1, value)
