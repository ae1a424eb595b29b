"""Converts the arguments of a call to the kinds of the function (`takes` in
`compiler/expressions/scalars/scalar_functions.py`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from cedilla.compiler.expressions.scalars import scalar_functions
from cedilla.runtime.engines.plain.scalars.arithmetic import is_odd, number
from cedilla.runtime.engines.plain.scalars.numbers import rounded
from cedilla.runtime.engines.plain.scalars.times import midnight, moment_of


def as_kind(kind: str, value: Any) -> Any:
    """Converts an argument to the kind that the function takes."""
    if value is None:
        return None
    match kind:
        case "word":
            return _whole(number(value), -(2**63), 2**63 - 1)
        case "whole" | "length" | "place" | "days" | "months" | "bit":
            return _whole(number(value), *scalar_functions.BOUNDS.get(kind, ()))
        case "timestamp" | "date" if isinstance(value, str):
            return moment_of(kind, value)
        case "timestamp":
            return value.astimezone(UTC) if isinstance(value, datetime) else midnight(value)
        case "date":
            return value.astimezone(UTC).date() if isinstance(value, datetime) else value
        case "buckets" | "bounds" | "list" | "numbers":
            return value
        case _:
            return number(value)


def _whole(value: Any, low: int = -(2**31), high: int = 2**31 - 1) -> int | None:
    """Returns a number as a whole one of 32 bits."""
    if is_odd(value):
        return None
    whole = value if isinstance(value, int) else int(rounded(value))
    return whole if low <= whole <= high else None
