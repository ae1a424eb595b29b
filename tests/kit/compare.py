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
    """Returns True for equal values; a NaN equals a NaN, also in lists."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return (
        one == other or (one != one and other != other) or (type(one) is float and math.isclose(one, other))
    )


def exactly_same(one: Any, other: Any) -> bool:
    """Returns True for equal values; only a NaN of a double equals a NaN."""
    both = isinstance(one, float) and isinstance(other, float)
    return one == other or (both and math.isnan(one) and math.isnan(other))


def number_of(text: str) -> float | Decimal:
    """Returns the number of a line: a double where that has its digits, else a decimal."""
    return _short(Decimal(text))


def _short(value: Decimal) -> float | Decimal:
    nearest = float(value)
    if not math.isfinite(nearest):
        return value
    digits, shortest = (len(number.as_tuple().digits) for number in (value, Decimal(repr(nearest))))
    # Java 17 writes some doubles with one digit more than they need.
    is_double = Decimal(repr(nearest)) == value or shortest < digits == 17
    return nearest if is_double else value


def rounded(rows: Iterable[Row], digits: int = 6) -> list[Any]:
    """Returns the rows as values that compare, in an order."""
    return sorted(
        sorted((n, v if isinstance(v, str) else _number(v, digits)) for n, v in row.items()) for row in rows
    )


def plain(rows: Iterable[Row], digits: int | None = None) -> list[dict[str, Any]]:
    """Returns the rows with numbers as floats, rounded where `digits` says so; what no double equals stays.
    Undefined values are left out."""
    return [
        {
            n: _number(v, digits) if isinstance(v, int | float | Fraction | Decimal) else v
            for n, v in row.items()
            if v is not None
        }
        for row in rows
    ]


def _number(value: float | Fraction | Decimal, digits: int | None) -> float | Decimal:
    if isinstance(value, Decimal) and isinstance(short := _short(value), Decimal):
        return short
    if isinstance(value, int | Fraction) and value.denominator == 1 and abs(value) >= _LARGEST:
        return int(value)
    return float(value) if digits is None else round(float(value), digits)


_LARGEST = 2**53
"""A double has every whole number before it."""


def values_of(rows: Iterable[Row], *names: str, digits: int | None = None) -> list[tuple[Any, ...]]:
    """Returns some values of each row, sorted; numbers as in `plain`, undefined values as `None`, which is last."""
    values = [tuple(map(row.get, names)) for row in plain(rows, digits)]
    return sorted(values, key=lambda row: [(value is None, value) for value in row])


def bag(rows: Iterable[Row]) -> Counter[frozenset[tuple[str, Any]]]:
    """Returns how often each row comes; numbers are exact, undefined values are left out."""
    return Counter(frozenset((n, v) for n, v in row.items() if v is not None) for row in rows)


def texts(rows: Iterable[Row]) -> list[str]:
    """Returns the rows as their JSON texts, sorted; numbers have all their digits."""
    return sorted(json.dumps(row, sort_keys=True, default=exact_text) for row in rows)


def exact_text(value: Decimal | Fraction) -> str:
    """Returns a number that is no double as a text that is the same for equal numbers."""
    return f"{type(value).__name__} {Fraction(value)}"
