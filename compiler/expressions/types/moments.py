r"""The texts of timestamps, dates and numbers: one table for sources, constants, casts and every engine.

Spark's own cast completes a missing part by today or the first of a month, and reads a bare number as seconds
or days. Texts that do not define their whole moment are invalid here. The patterns are valid in Python, Java
and Rust: they contain no `\d` and no lookahead.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime

from cedilla.compiler.expressions.types.zones import NoMoment, moment_in

_YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_DAY = rf"{_YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_MINUTE = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_SECOND = r":[0-5][0-9](?:\.[0-9]{1,9})?"
_ZONE = "(?:Z|[+-](?:(?:0[0-9]|1[0-7])(?::?[0-5][0-9])?|18(?::?00)?))"
DAY = re.compile(_DAY)
"""A date: four digits of the year, two of the month, two of the day."""
NO_SECONDS = re.compile(rf"{_DAY}[T ]{_MINUTE}{_ZONE}")
"""A timestamp with a zone and without seconds, which Spark's cast does not take."""
WITH_SECONDS = re.compile(rf"{_DAY}(?:[T ]{_MINUTE}(?:{_SECOND}{_ZONE}?)?)?")
"""Any other timestamp: a date, hours and minutes, seconds with nine places at most, a zone.

Missing parts are zero, or the zone of the attribute.
"""
_LOST = re.compile(r"\.[0-9]{6}[0-9]*[1-9]")
"""Places beyond microseconds that are not zero."""
WHOLE = "[+-]?[0-9]+"
"""A whole number in a text that is cast."""
REAL = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)"
"""Any number in a text that is cast, and the words for an infinity."""
BLANKS = " \t\n\r"
"""The characters allowed around a text that is cast."""


def moment_of(text: str, zone: str | None = None) -> datetime:
    """Parses a moment, in UTC, and truncates it to microseconds. `zone`: that of texts without an offset, else UTC.

    Raises `ValueError` for other texts, and for moments outside the years 1 to 9999; `NoMoment` for local times without
    one moment.
    """
    if WITH_SECONDS.fullmatch(text) or NO_SECONDS.fullmatch(text):
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                return moment.astimezone(UTC)
            return moment.replace(tzinfo=UTC) if zone is None else moment_in(moment, zone)
        except NoMoment:
            raise
        except (ValueError, OverflowError):
            pass
    raise ValueError(f"{text!r} is not a timestamp in ISO form")


def loses_digits(text: str) -> bool:
    """Returns True if a moment has digits beyond microseconds.

    A constant must not lose them: a compared value would be on the wrong side.
    """
    return _LOST.search(text) is not None


def day_of(text: str) -> date:
    """Parses a day. Raises `ValueError` for other texts."""
    if DAY.fullmatch(text):
        with suppress(ValueError):
            return date.fromisoformat(text)
    raise ValueError(f"{text!r} is not a date in ISO form")
