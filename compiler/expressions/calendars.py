"""Periods of a calendar by the clocks of a zone: days, weeks that begin on Monday, months, quarters, years (theory 1.3,
G25).

A day on which clocks are set has 23 or 25 hours. A period begins when the clocks first show its beginning; if they skip
it, later by the time that they skip. So periods follow each other, and each moment is in one.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

from attrs import field, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.step_functions import Range, whole_numbers
from cedilla.compiler.expressions.types import quote
from cedilla.compiler.expressions.types.zones import offset_in
from cedilla.compiler.regions import Bound, Level, Tree, ceiling
from cedilla.grammar.syntax import MICROSECONDS

_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNITS = (*_DAYS, *_MONTHS)
"""Units of periods."""
_DAY = MICROSECONDS["day"]
_TO_MONDAY = 3
"""The days from a Monday to 1970-01-01, a Thursday."""
_FIRST_YEAR, _END_YEAR = 1900, 2100
"""Engines agree about clocks in these years; moments before and after them are in no period."""
_START, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def clock_time(text: str) -> int | None:
    """Returns a time of day, `06:00` or `06:00:30`, in microseconds since midnight; `None` for other texts."""
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?", text):
        return None
    read = time.fromisoformat(text)
    return ((read.hour * 60 + read.minute) * 60 + read.second) * MICROSECONDS["second"]


def clock_text(starts: int) -> str:
    """Returns the text of a time of day in microseconds since midnight, as `clock_time` reads it."""
    text = (datetime.min + starts * _MICROSECOND).time().isoformat()
    return text.removesuffix(":00")


@frozen(slots=False)
class Calendar:
    """Periods of `count` units. `zone`: of the tz database; `starts`: the time of day at which a period begins, in
    microseconds.

    Period 0 has 1970-01-01, or is the first of several units that do. For example, the clocks of Berlin are set forward
    on 2026-03-29, a day of 23 hours:

    >>> days = Calendar("day", 1, "Europe/Berlin")
    >>> [(days.begin(n + 1) - days.begin(n)) // 3_600_000_000 for n in (20_540, 20_541, 20_542)]
    [24, 23, 24]
    """

    unit: str
    count: int
    zone: str
    starts: int = field(default=0)

    @property
    def text(self) -> str:
        """The length of a period, `1 month`."""
        return f"{self.count} {self.unit}{'' if self.count == 1 else 's'}"

    def arguments(self, on: str) -> dict[str, str]:
        """Returns what programs and `explain` state of it."""
        starting = {"starting": clock_text(self.starts)} if self.starts else {}
        return {"length": self.text, "on": on, "zone": self.zone, **starting}

    def begin(self, number: int) -> int:
        """Returns the moment when a period begins, in microseconds since 1970 (UTC)."""
        if (days := self._days) is not None:
            first = date(1970, 1, 1) + timedelta(number * days - self._shift)
        else:
            year, month = divmod(number * self._months, 12)
            first = date(1970 + year, month + 1, 1)
        local = datetime(first.year, first.month, first.day) + self.starts * _MICROSECOND
        # The offset before clocks are set: the earlier of two moments, and later than a skipped one by what is skipped.
        return (local.replace(tzinfo=UTC) - _START) // _MICROSECOND - offset_in(self.zone, local)

    def number(self, moment: int) -> int | None:
        """Returns the number of the period of a moment, in microseconds since 1970; `None` outside of the years."""
        first, end = self._reach
        if not first <= moment < end:
            return None
        local = (_START + moment * _MICROSECOND).astimezone(ZoneInfo(self.zone)).replace(tzinfo=None)
        number = self._index((local - self.starts * _MICROSECOND).date())
        # Clocks that are set around the beginning of a period show times of another one.
        if moment >= self.begin(number + 1):
            return number + 1
        return number - 1 if moment < self.begin(number) else number

    def first_from(self, moment: int) -> int:
        """Returns the number of the first period that begins at a moment or later, within the years."""
        return self._clamped(moment - 1) + 1

    def image(self, members: Level, cells: str, whole: bool) -> Tree:
        """Returns the periods that contain a moment of a set, as a set of numbers of the attribute `cells`; as
        `Extents.image`."""
        ranges = [self._cells(low, high) for low, high, inside in members.piece_bounds() if inside]
        ranges += [self._cells((v, 0), (v, 1)) for v, inside in members.points.items() if inside]
        return whole_numbers(cells, ranges, members.undefined)

    def outside(self, on: str) -> Tree:
        """Returns the moments in no period, as a region of the attribute `on`."""
        low, high = self._reach
        return regions.union(regions.interval(on, None, (low, 0)), regions.interval(on, (high, 0), None))

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The number of the first period in the years, and that after the last one."""
        return self._index(date(_FIRST_YEAR, 1, 1)) + 1, self._index(date(_END_YEAR, 1, 1))

    @cached_property
    def _reach(self) -> tuple[int, int]:
        """The first moment in a period of the years, and the first one after the last of these periods."""
        first, end = self.ends
        return self.begin(first), self.begin(end)

    def _cells(self, low: Bound | None, high: Bound | None) -> Range:
        """Returns the half-open range of the periods that have moments between two cuts."""
        start, end = self._reach
        lowest = None if low is None else ceiling(low)
        highest = None if high is None else ceiling(high) - 1
        return (
            None if lowest is None or lowest < start else self._clamped(lowest),
            None if highest is None or highest >= end else self._clamped(highest) + 1,
        )

    def _clamped(self, moment: int) -> int:
        """Returns the number of the period of a moment, or one before or after all of them."""
        first, end = self.ends
        number = self.number(moment)
        if number is not None:
            return number
        return first - 1 if moment < self._reach[0] else end

    def _index(self, day: date) -> int:
        """Returns the number of the period that has a day by the calendar."""
        if (days := self._days) is not None:
            return ((day - date(1970, 1, 1)).days + self._shift) // days
        return ((day.year - 1970) * 12 + day.month - 1) // self._months

    @property
    def _days(self) -> int | None:
        days = _DAYS.get(self.unit)
        return None if days is None else days * self.count

    @property
    def _months(self) -> int:
        return _MONTHS[self.unit] * self.count

    @property
    def _shift(self) -> int:
        return _TO_MONDAY if self.unit == "week" else 0

    # --- SQL ---

    def shown_sql(self, moment: str) -> str:
        """Returns SQL for the number of the period that clocks show at a moment, null outside of the years."""
        first, end = (f"timestamp_micros({bound}L)" for bound in self._reach)
        local = f"from_utc_timestamp({moment}, {quote(self.zone)})"
        if self.starts:
            local = f"timestamp_micros(unix_micros({local}) - {self.starts}L)"
        if (days := self._days) is not None:
            index = f"unix_date(CAST({local} AS DATE)){f' + {self._shift}' if self._shift else ''}"
            size = days
        else:
            index, size = f"(year({local}) - 1970) * 12 + month({local}) - 1", self._months
        number = f"({index} - pmod({index}, {size})) div {size}" if size > 1 else index
        return f"CASE WHEN {moment} >= {first} AND {moment} < {end} THEN CAST({number} AS BIGINT) END"

    def number_sql(self, moment: str, shown: str) -> str:
        """Returns SQL for the number of the period of a moment, as `number`. `shown`: the column of `shown_sql`."""
        later = f"{moment} >= {self.begin_sql(f'{shown} + 1')}"
        earlier = f"{moment} < {self.begin_sql(shown)}"
        return f"{shown} + CASE WHEN {later} THEN 1 WHEN {earlier} THEN -1 ELSE 0 END"

    def begin_sql(self, number: str) -> str:
        """Returns SQL for the moment when a period begins."""
        if (days := self._days) is not None:
            day = f"({number}) * {days}{f' - {self._shift}' if self._shift else ''}"
        else:
            day = f"unix_date(add_months(DATE'1970-01-01', CAST(({number}) * {self._months} AS INT)))"
        starts = f" + {self.starts}L" if self.starts else ""
        return (
            f"to_utc_timestamp(timestamp_micros(CAST({day} AS BIGINT) * {_DAY}L{starts}), {quote(self.zone)})"
        )


@frozen
class Boundary:
    """A bound of the periods of a calendar as a function of their number: `offset` 0 for the beginning, 1 for the
    end."""

    calendar: Calendar
    offset: int

    def __call__(self, number: int) -> int:
        return self.calendar.begin(number + self.offset)

    def sql(self, number: str) -> str:
        """Returns SQL for the bound of the period of a number."""
        return self.calendar.begin_sql(f"{number} + {self.offset}" if self.offset else number)
