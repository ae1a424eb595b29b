"""Conversions to another type: numbers, conditions, strings, timestamps, dates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from cedilla.runtime.reference.scalars.arithmetic import double, is_odd
from cedilla.runtime.reference.scalars.times import midnight


def _to_whole(bits: int) -> Callable[[Any], int | None]:
    def convert(value: Any) -> int | None:
        if isinstance(value, str):
            text = value.strip()
            value = int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None
        if value is None or is_odd(value):
            return None
        whole = int(value)
        return whole if -(2 ** (bits - 1)) <= whole < 2 ** (bits - 1) else None

    return convert


_REAL = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?|[+-]?inf(?:inity)?", re.IGNORECASE
)


def _to_double(value: Any) -> float | None:
    if isinstance(value, str):
        text = value.strip()
        if not _REAL.fullmatch(text):
            return None
        value = text if text[-1] in "yY" or "inf" in text.lower() else text.rstrip("dDfF")
    result = float(value) if isinstance(value, str) else double(value)
    return None if math.isnan(result) else result


_WORDS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}


def _to_boolean(value: Any) -> bool | None:
    return _WORDS.get(value.strip().lower()) if isinstance(value, str) else value != 0


def _to_string(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case datetime():
            text = value.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
            return text.rstrip("0") if "." in text else text
        case date():
            return value.isoformat()
        case int():
            return str(value)
        case _:
            return _java(double(value))


def _java(value: float) -> str:
    """A double as Java writes it; whole numbers as if they were of a whole type."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == math.floor(value) and abs(value) < 1e15:
        return str(int(value))
    if 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{exponent + len(digits) - 1}"


_DATE = re.compile(r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?\s*", re.DOTALL)
_TIMESTAMP = re.compile(
    r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?"
    r"\s*(Z|UTC|GMT|[+-]\d{1,2}:?\d{2}|[+-]\d{1,2})?)?)?)?)?\s*"
)


def _to_date(value: Any) -> date | None:
    if not isinstance(value, str):
        return value.astimezone(UTC).date() if isinstance(value, datetime) else value
    match = _DATE.fullmatch(value)
    try:
        return date(*(int(part or 1) for part in match.groups())) if match else None
    except ValueError:
        return None


def _to_timestamp(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return value if isinstance(value, datetime) else midnight(value)
    match = _TIMESTAMP.fullmatch(value)
    if not match:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((fraction or "").ljust(6, "0")[:6]),
            UTC,
        )
    except ValueError:
        return None
    return moment - timedelta(minutes=_offset(zone)) if zone and zone[0] in "+-" else moment


def _offset(zone: str) -> int:
    hours, _, minutes = zone[1:].partition(":")
    if not minutes and len(hours) > 2:
        hours, minutes = hours[:-2], hours[-2:]
    return (int(hours) * 60 + int(minutes or 0)) * (-1 if zone[0] == "-" else 1)


VALUES: dict[str, Callable[..., Any]] = {
    "int": _to_whole(32),
    "long": _to_whole(64),
    "double": _to_double,
    "boolean": _to_boolean,
    "string": _to_string,
    "timestamp": _to_timestamp,
    "date": _to_date,
}
