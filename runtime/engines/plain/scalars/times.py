"""Functions of timestamps and dates: their parts, steps in the calendar, numbers since 1970."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from cedilla.compiler.expressions.scalars import scalar_functions
from cedilla.compiler.expressions.types import Type
from cedilla.grammar.diagnostics import Span
from cedilla.grammar.syntax import Literal
from cedilla.runtime.engines.plain.scalars.arithmetic import double, is_odd
from cedilla.runtime.engines.plain.scalars.numbers import rounded

START = datetime(1970, 1, 1, tzinfo=UTC)
"""Timestamps and dates are counted from here."""
_NOWHERE = Span("", 0, 0, 1, 1, 1, 1)


def moment_of(kind: str, text: str) -> Any:
    """Parses a timestamp or date in ISO form."""
    value = Type(kind).value(Literal(text, text, span=_NOWHERE))
    assert isinstance(value, int)
    if kind == "date":
        return START.date() + timedelta(days=value)
    return START + timedelta(microseconds=value)


def midnight(day: date) -> datetime:
    """Returns the moment at which a day begins."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def micros(moment: datetime) -> int:
    """Returns microseconds since 1970."""
    return (moment - START) // timedelta(microseconds=1)


def _since_1970(units: int) -> Callable[[Any], datetime | None]:
    def moment(value: Any) -> datetime | None:
        if is_odd(value):
            return None
        exact = value if isinstance(value, int) else double(value)
        return START + timedelta(microseconds=int(rounded(exact * (1_000_000 // units))))

    return moment


def _add_months(day: date, count: int) -> date:
    months = day.year * 12 + day.month - 1 + count
    year, month = divmod(months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _last_day(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])


def _trunc(day: date, unit: str) -> date:
    match unit.lower():
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=day.month - (day.month - 1) % 3, day=1)
        case _:
            return day.replace(month=1, day=1)


def _date_trunc(unit: str, moment: datetime) -> datetime:
    unit = unit.lower()
    lengths = {
        "microsecond": 1,
        "millisecond": 1_000,
        "second": 10**6,
        "minute": 60 * 10**6,
        "hour": 3600 * 10**6,
    }
    if unit in lengths:
        return moment - timedelta(microseconds=micros(moment) % lengths[unit])
    return midnight(moment.date() if unit == "day" else _trunc(moment.date(), unit))


def _formatted(moment: datetime, pattern: str) -> str:
    texts = {
        "yyyy": f"{moment.year:04}",
        "MM": f"{moment.month:02}",
        "dd": f"{moment.day:02}",
        "HH": f"{moment.hour:02}",
        "mm": f"{moment.minute:02}",
        "ss": f"{moment.second:02}",
        "SSS": f"{moment.microsecond // 1000:03}",
    }
    tokens: list[str] = scalar_functions.FORMAT.findall(pattern)
    return "".join(texts.get(token, token.strip("'")) for token in tokens)


VALUES: dict[str, Callable[..., Any]] = {
    "year": lambda d: d.year,
    "quarter": lambda d: (d.month + 2) // 3,
    "month": lambda d: d.month,
    "day": lambda d: d.day,
    "dayofweek": lambda d: d.isoweekday() % 7 + 1,
    "weekday": lambda d: d.weekday(),
    "dayofyear": lambda d: d.timetuple().tm_yday,
    "weekofyear": lambda d: d.isocalendar().week,
    "hour": lambda t: t.hour,
    "minute": lambda t: t.minute,
    "second": lambda t: t.second,
    "last_day": _last_day,
    "date_add": lambda d, n: d + timedelta(days=n),
    "date_sub": lambda d, n: d - timedelta(days=n),
    "add_months": _add_months,
    "datediff": lambda end, start: (end - start).days,
    "date_trunc": _date_trunc,
    "trunc": _trunc,
    "date_format": _formatted,
    "unix_seconds": lambda t: micros(t) // 1_000_000,
    "unix_millis": lambda t: micros(t) // 1_000,
    "unix_micros": micros,
    "unix_date": lambda d: (d - START.date()).days,
    "timestamp_seconds": _since_1970(1),
    "timestamp_millis": _since_1970(1_000),
    "timestamp_micros": _since_1970(1_000_000),
    "date_from_unix_date": lambda n: START.date() + timedelta(days=n),
}
