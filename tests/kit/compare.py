"""Comparisons of values and of rows, but for the last digits of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any


def same(one: Any, other: Any) -> bool:
    """Returns True for equal values; a NaN equals a NaN."""
    return (
        one == other or (one != one and other != other) or (type(one) is float and math.isclose(one, other))
    )


def exactly_same(one: Any, other: Any) -> bool:
    """Returns True for equal values; only a NaN of a double equals a NaN."""
    both = isinstance(one, float) and isinstance(other, float)
    return one == other or (both and math.isnan(one) and math.isnan(other))


def rounded(rows: Iterable[Mapping[str, Any]], digits: int = 6) -> list[Any]:
    """Returns the rows as values that compare, in an order."""
    return sorted(
        sorted((n, v if isinstance(v, str) else round(float(v), digits)) for n, v in row.items())
        for row in rows
    )
