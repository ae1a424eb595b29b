"""Periods of a calendar as clocks on a wall show them, without the compiler's arithmetic."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from cedilla.compiler.expressions.types.zones import SKIPPED, NoMoment, moment_in

HOUR = 3_600_000_000
ZONES = (
    "Europe/Berlin",
    "America/St_Johns",  # set back from 00:01 to 23:01 of the day before, up to 2011
    "America/Sao_Paulo",  # skipped midnight
    "America/Havana",  # midnight twice
    "Australia/Lord_Howe",  # half an hour
    "Pacific/Apia",  # skipped 2011-12-30
    "Asia/Kathmandu",
    "UTC",
)
_START = datetime(1970, 1, 1, tzinfo=UTC)


def period_begin(calendar: Any, number: int) -> int:
    """Returns when a period begins, in microseconds since 1970: the first moment that shows its beginning; if clocks
    skip it, as much after it as they skip."""
    local = datetime(1970, 1, 1)
    match calendar.unit:
        case "day" | "week" as unit:
            monday = -3 if unit == "week" else 0
            local += timedelta(days=monday + number * calendar.count * (7 if unit == "week" else 1))
        case unit:
            months = number * calendar.count * {"month": 1, "quarter": 3, "year": 12}[unit]
            local = local.replace(year=1970 + months // 12, month=months % 12 + 1)
    local += timedelta(microseconds=calendar.starts)
    try:
        moment = moment_in(local, calendar.zone)
    except NoMoment as problem:
        moment = problem.moments[0]
        if problem.code == SKIPPED:
            shown_before = (
                (moment - timedelta(microseconds=1)).astimezone(ZoneInfo(calendar.zone)).replace(tzinfo=None)
            )
            moment += local - shown_before - timedelta(microseconds=1)
    return (moment - _START) // timedelta(microseconds=1)
