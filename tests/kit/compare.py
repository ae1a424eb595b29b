"""Comparisons of values and of rows: exact ones, and ones that leave out the last digits of numbers."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

Row = Mapping[str, Any]


def same(one: Any, other: Any) -> bool:
    """Returns True for equal values; a NaN equals a NaN."""
    return (
        one == other or (one != one and other != other) or (type(one) is float and math.isclose(one, other))
    )


def exactly_same(one: Any, other: Any) -> bool:
    """Returns True for equal values; only a NaN of a double equals a NaN."""
    both = isinstance(one, float) and isinstance(other, float)
    return one == other or (both and math.isnan(one) and math.isnan(other))


def rounded(rows: Iterable[Row], digits: int = 6) -> list[Any]:
    """Returns the rows as values that compare, in an order."""
    return sorted(
        sorted((n, v if isinstance(v, str) else round(float(v), digits)) for n, v in row.items())
        for row in rows
    )


def plain(rows: Iterable[Row], digits: int | None = None) -> list[dict[str, Any]]:
    """Returns the rows with numbers as floats, rounded where `digits` says so; undefined values are left out."""

    def number(value: float | Fraction | Decimal) -> float:
        return float(value) if digits is None else round(float(value), digits)

    return [
        {
            n: number(v) if isinstance(v, int | float | Fraction | Decimal) else v
            for n, v in row.items()
            if v is not None
        }
        for row in rows
    ]


def values_of(rows: Iterable[Row], *names: str, digits: int | None = None) -> list[tuple[Any, ...]]:
    """Returns some values of each row, sorted; numbers as in `plain`, undefined values as `None`, which is last."""
    values = [tuple(map(row.get, names)) for row in plain(rows, digits)]
    return sorted(values, key=lambda row: [(value is None, value) for value in row])


def bag(rows: Iterable[Row]) -> Counter[frozenset[tuple[str, Any]]]:
    """Returns how often each row comes; numbers are exact, undefined values are left out."""
    return Counter(frozenset((n, v) for n, v in row.items() if v is not None) for row in rows)


def texts(rows: Iterable[Row]) -> list[str]:
    """Returns the rows as their JSON texts, sorted: numbers are as they are written."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows)
