"""The texts that mean a timestamp or a date: one pattern for constants, for Spark and for plain Python.

Spark's own cast takes a missing part for today or for the first of a month, and a bare number for seconds or days; a
text that does not say all of its moment is none here.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime

_DAY = r"(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_MINUTE = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_SECOND = r":[0-5][0-9](?:\.[0-9]{1,6}0{0,3})?"
_ZONE = r"(?:Z|[+-](?:(?:0[0-9]|1[0-7])(?::?[0-5][0-9])?|18(?::?00)?))"
DAY = re.compile(_DAY)
"""A date: four digits of the year, two of the month, two of the day."""
NO_SECONDS = re.compile(rf"{_DAY}[T ]{_MINUTE}{_ZONE}")
"""A timestamp with a zone and without seconds, which Spark's cast does not take."""
WITH_SECONDS = re.compile(rf"{_DAY}(?:[T ]{_MINUTE}(?:{_SECOND}{_ZONE}?)?)?")
"""Any other timestamp: a date, hours and minutes, seconds with six places at most, a zone. What is left out is zero, or
UTC."""


def moment_of(text: str) -> datetime:
    """The moment of a text, in UTC. `ValueError` where it is none, or lies outside the years 1 to 9999."""
    if WITH_SECONDS.fullmatch(text) or NO_SECONDS.fullmatch(text):
        with suppress(ValueError, OverflowError):
            moment = datetime.fromisoformat(text)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    raise ValueError(f"{text!r} is no timestamp in ISO form")


def day_of(text: str) -> date:
    """The day of a text. `ValueError` where it is none."""
    if DAY.fullmatch(text):
        with suppress(ValueError):
            return date.fromisoformat(text)
    raise ValueError(f"{text!r} is no date in ISO form")
