"""Comparisons of two values: numbers, strings, conditions, timestamps, dates and versions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from cedilla.runtime.engines.plain.scalars.arithmetic import double, number
from cedilla.runtime.engines.plain.scalars.order import rank
from cedilla.runtime.engines.plain.scalars.times import moment_of
from cedilla.runtime.engines.plain.scalars.versions import Version

COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(sign: str, x: Any, y: Any) -> bool:
    """Returns True if `x sign y`; NaN is the greatest number."""
    x, y = _comparable(number(x), number(y))
    return COMPARED[sign](rank(x), rank(y))


def _comparable(x: Any, y: Any) -> tuple[Any, Any]:
    """Converts two values to ones that Python compares as Spark does: doubles, parsed moments."""
    if isinstance(x, str) and isinstance(y, date):
        x = _read(y, x)
    elif isinstance(y, str) and isinstance(x, date):
        y = _read(x, y)
    elif isinstance(y, Version):
        return Version(x), y
    elif isinstance(x, float) or isinstance(y, float):
        return double(x), double(y)
    return x, y


def _read(like: date, text: str) -> date:
    """Parses a constant in ISO form."""
    kind = "timestamp" if isinstance(like, datetime) else "date"
    return moment_of(kind, text)
