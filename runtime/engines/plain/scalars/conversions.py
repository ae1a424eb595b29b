"""Conversions to another type: numbers, conditions, strings, timestamps, dates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

from cedilla.compiler.expressions.types import decimal_notation, moments
from cedilla.runtime.connectors.records.typed_rows import java_text
from cedilla.runtime.engines.plain.scalars.arithmetic import double, is_odd
from cedilla.runtime.engines.plain.scalars.times import midnight


def _to_whole(bits: int) -> Callable[[Any], int | None]:
    def convert(value: Any) -> int | None:
        if isinstance(value, str):
            text = value.strip(moments.BLANKS)
            value = int(text) if re.fullmatch(moments.WHOLE, text) else None
        if value is None or is_odd(value):
            return None
        whole = int(value)
        return whole if -(2 ** (bits - 1)) <= whole < 2 ** (bits - 1) else None

    return convert


def _to_double(value: Any) -> float | None:
    if isinstance(value, str):
        text = value.strip(moments.BLANKS)
        return float(text) if re.fullmatch(moments.REAL, text) else None
    result = double(value)
    return None if math.isnan(result) else result


_WORDS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}


def _to_boolean(value: Any) -> bool | None:
    return _WORDS.get(value.strip(moments.BLANKS).lower()) if isinstance(value, str) else value != 0


def _to_string(value: Any) -> str:
    match value:
        case str():
            return str(value)
        case bool():
            return str(value).lower()
        case datetime():
            text = value.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
            return text.rstrip("0") if "." in text else text
        case date():
            return value.isoformat()
        case int():
            return str(value)
        case Fraction() if (text := decimal_notation(value)) is not None:
            return text
        case _:
            return _java(double(value))


def _java(value: float) -> str:
    """Returns a double as Java writes it; whole numbers as if they were of a whole type."""
    is_whole = math.isfinite(value) and value == math.floor(value) and abs(value) < 1e15
    return str(int(value)) if is_whole else java_text(value)


def _to_date(value: Any) -> date | None:
    value = _of_text(moments.moment_of, value) if isinstance(value, str) else value
    return value.astimezone(UTC).date() if isinstance(value, datetime) else value


def _to_timestamp(value: Any) -> datetime | None:
    if isinstance(value, str):
        return _of_text(moments.moment_of, value)
    return value if isinstance(value, datetime) else midnight(value)


def _of_text(read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text.strip(moments.BLANKS))
    except ValueError:
        return None


VALUES: dict[str, Callable[..., Any]] = {
    "int": _to_whole(32),
    "long": _to_whole(64),
    "double": _to_double,
    "boolean": _to_boolean,
    "string": _to_string,
    "timestamp": _to_timestamp,
    "date": _to_date,
}
