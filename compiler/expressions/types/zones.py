"""Local times of zones of the tz database, and the moments that they are (theory N13).

A clock that is set back shows the times of an hour twice; one that is set forward skips times. Such a time has no one
moment, and is never guessed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.syntax import Literal

TWICE_SHOWN, SKIPPED = "RQ337", "RQ338"
"""The codes of tuples with a time that has two moments, and of those with one that has none."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND, _MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)
_FIRST_YEAR = 1800
"""No zone changes before it."""


class NoMoment(ValueError):
    """A local time has no one moment. `code`: `TWICE_SHOWN` or `SKIPPED`. `moments`: the two that it has; for a skipped
    time twice the moment when the clock is set forward."""

    def __init__(self, code: str, moments: tuple[datetime, datetime]) -> None:
        super().__init__(code)
        self.code, self.moments = code, moments


class ClockChange(NamedTuple):
    """A change of a clock: its moment, and the offsets from UTC before and after it, all in microseconds."""

    at: int
    before: int
    after: int


def check_zone(zone: str, span: Span | None) -> str:
    """Returns the name of a zone. Raises RQ173 for an unknown one."""
    if zone in _known():
        return zone
    raise _unknown(zone, span)


_known = cache(available_timezones)


def _unknown(zone: str, span: Span | None) -> DiagnosticError:
    name = zone.strip().replace(" ", "_")
    cities = {zone.rpartition("/")[2].lower(): zone for zone in _known()}
    near = suggest(name, _known()) or cities.get(name.rpartition("/")[2].lower())
    hint = f'did you mean "{near}"?' if near else 'a zone has the name of a city: "Europe/Berlin"'
    return failure("RQ173", f'the tz database has no zone "{zone}"', span, hint=hint)


def no_constant(problem: NoMoment, literal: Literal, zone: str) -> DiagnosticError:
    """Returns RQ175 for a constant of a marker that is a local time without one moment."""
    first, second = _texts(problem)
    is_skipped = problem.code == SKIPPED
    hint = (
        f"a time that they show, or `{first}`" if is_skipped else f"with an offset: `{first}` or `{second}`"
    )
    return failure("RQ175", _without_moment(problem, str(literal.value), zone), literal.span, hint=hint)


def _without_moment(problem: NoMoment, local: str, zone: str) -> str:
    first, second = _texts(problem)
    if problem.code == SKIPPED:
        return f"clocks in {zone} skip {local}: they are set forward at {first}"
    return f"clocks in {zone} show {local} twice, at {first} and {second}"


def _texts(problem: NoMoment) -> list[str]:
    return [moment.isoformat().replace("+00:00", "Z") for moment in problem.moments]


def moment_in(local: datetime, zone: str) -> datetime:
    """Returns the moment, in UTC, when the clocks of a zone show a time. Raises `NoMoment` if none, or two, fit."""
    at = local.replace(tzinfo=_zone(zone))
    before, after = (at.replace(fold=fold).utcoffset() or timedelta(0) for fold in (0, 1))
    if before == after:
        return (local - before).replace(tzinfo=UTC)
    if before > after:
        first, second = ((local - offset).replace(tzinfo=UTC) for offset in (before, after))
        raise NoMoment(TWICE_SHOWN, (first, second))
    micros = (local.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
    years = range(local.year - 1, local.year + 2)
    skipping = (change for year in years for change in clock_changes(zone, year))
    change = next(c for c in skipping if c.at + c.before <= micros < c.at + c.after)
    set_forward = _EPOCH + change.at * _MICROSECOND
    raise NoMoment(SKIPPED, (set_forward, set_forward))


def shown(micros: int, before: str, after: str, span: Span | None) -> int:
    """Returns the moment when clocks of the zone `after` show what those of `before` show at a moment, in microseconds
    since 1970. Raises RQ175 if no moment, or two, fit: no tuple with this text could be read."""
    local = (_EPOCH + micros * _MICROSECOND).astimezone(_zone(before)).replace(tzinfo=None)
    try:
        moment = moment_in(local, after)
    except NoMoment as problem:
        hint = "a list of missing values without it comes first"
        message = f"{_without_moment(problem, local.isoformat(), after)}; it is among the missing values"
        raise failure("RQ175", message, span, hint=hint) from None
    return (moment - _EPOCH) // _MICROSECOND


@cache
def clock_changes(zone: str, year: int) -> tuple[ClockChange, ...]:
    """Returns the changes of the clocks of a zone in a year of UTC, in their order. There is at most one each day."""
    if not _FIRST_YEAR <= year <= datetime.max.year:
        return ()
    first, last = datetime(year, 1, 1, tzinfo=UTC), datetime(year, 12, 31, tzinfo=UTC)
    days = [first + timedelta(n) for n in range((last - first).days + 1)]
    if year < datetime.max.year:
        days.append(last + timedelta(1))
    offsets = [_offset_at(zone, day) for day in days]
    changing = (days_ for days_, (a, b) in zip(pairwise(days), pairwise(offsets), strict=True) if a != b)
    return tuple(_change_between(zone, *both) for both in changing)


def _change_between(zone: str, start: datetime, end: datetime) -> ClockChange:
    before, after = _offset_at(zone, start), _offset_at(zone, end)
    while end - start > _SECOND:
        middle = start + (end - start) // _SECOND // 2 * _SECOND
        start, end = (middle, end) if _offset_at(zone, middle) == before else (start, middle)
    return ClockChange((end - _EPOCH) // _MICROSECOND, before, after)


def offset_in(zone: str, local: datetime) -> int:
    """Returns the offset of a zone from UTC at a local time, in microseconds. If clocks show the time twice or skip it,
    it is the offset before they are set."""
    return (local.replace(tzinfo=_zone(zone)).utcoffset() or timedelta(0)) // _MICROSECOND


def _offset_at(zone: str, moment: datetime) -> int:
    return (moment.astimezone(_zone(zone)).utcoffset() or timedelta(0)) // _MICROSECOND


def _zone(zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(zone)  # which keeps the last ones
    except (ValueError, OSError):  # a machine with another database
        raise _unknown(zone, None) from None
