"""Periods of calendars by the clocks of zones, against clocks on a wall (theory 1.3, G25)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import regions
from cedilla.compiler.expressions.calendars import UNITS, Boundary, Calendar, clock_text, clock_time
from cedilla.compiler.expressions.types.zones import clock_changes
from tests.kit.calendars import HOUR, ZONES, period_begin

CALENDARS = st.builds(
    Calendar,
    st.sampled_from(UNITS),
    st.integers(1, 5),
    st.sampled_from(ZONES),
    st.sampled_from([0, HOUR // 2, 2 * HOUR, 6 * HOUR, 23 * HOUR + HOUR // 2]),
)


@st.composite
def moments(draw: st.DrawFn, zone: str) -> int:
    """A moment, as a rule near one at which the clocks of the zone are set."""
    changes = clock_changes(zone, draw(st.integers(1901, 2098)))
    if changes and draw(st.booleans()):
        near = draw(st.sampled_from([-2 * HOUR, -HOUR, -1, 0, 1, HOUR // 2, HOUR - 1, HOUR, 2 * HOUR]))
        return draw(st.sampled_from(changes)).at + near
    return draw(st.integers(_micros(1901), _micros(2099)))


def _micros(year: int) -> int:
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * 10**6


@given(st.data(), CALENDARS)
def test_each_moment_is_in_the_last_period_that_has_begun(data: st.DataObject, calendar: Calendar) -> None:
    moment = data.draw(moments(calendar.zone))
    number = calendar.number(moment)
    assert number is not None
    assert (
        period_begin(calendar, number)
        == calendar.begin(number)
        <= moment
        < period_begin(calendar, number + 1)
    )
    begin, end = (Boundary(calendar, offset)(number) for offset in (0, 1))
    assert begin < end, "a period without moments is nobody's"


@given(st.data(), CALENDARS)
def test_the_image_of_a_range_is_the_periods_that_meet_it(data: st.DataObject, calendar: Calendar) -> None:
    low, high = sorted(data.draw(moments(calendar.zone)) for _ in range(2))
    after, inclusive = data.draw(st.sampled_from([0, 1])), data.draw(st.sampled_from([0, 1]))
    first, last = low + after, high - 1 + inclusive
    if first > last:
        return
    members = regions.interval("at", (low, after), (high, inclusive))
    assert isinstance(members, regions.Level)
    image = calendar.image(members, "w", whole=True)
    ends = [calendar.number(moment) for moment in (first, last)]
    assert None not in ends
    lowest, highest = (number for number in ends if number is not None)
    for number, is_inside in (
        (lowest - 1, False),
        (lowest, True),
        ((lowest + highest) // 2, True),
        (highest, True),
        (highest + 1, False),
    ):
        assert regions.contains(image, {"w": number}) is is_inside, number


@given(st.data(), CALENDARS)
def test_open_ends_have_no_last_period(data: st.DataObject, calendar: Calendar) -> None:
    moment = data.draw(moments(calendar.zone))
    number = calendar.number(moment)
    assert number is not None
    for members, inside, outside in (
        (regions.interval("at", (moment, 0), None), number + 10**6, number - 1),
        (regions.interval("at", None, (moment, 1)), number - 10**6, number + 1),
    ):
        assert isinstance(members, regions.Level)
        image = calendar.image(members, "w", whole=True)
        assert regions.contains(image, {"w": inside})
        assert not regions.contains(image, {"w": outside})


@pytest.mark.parametrize("unit", UNITS)
def test_years_before_1900_and_after_2099_have_no_periods(unit: str) -> None:
    calendar = Calendar(unit, 1, "Europe/Berlin")
    assert [calendar.number(_micros(year)) for year in (1899, 2101)] == [None, None]
    outside = calendar.outside("at")
    for year, is_outside in ((1899, True), (1902, False), (2098, False), (2101, True)):
        assert regions.contains(outside, {"at": _micros(year)}) is is_outside


def test_weeks_begin_on_monday() -> None:
    weeks = Calendar("week", 1, "UTC")
    begins = [datetime.fromtimestamp(weeks.begin(number) // 10**6, UTC) for number in (-1, 0, 2900)]
    assert [begin.strftime("%a %H:%M") for begin in begins] == ["Mon 00:00"] * 3


@pytest.mark.parametrize("text", ["06:00", "00:00", "23:59:59"])
def test_times_of_day_read_back(text: str) -> None:
    starts = clock_time(text)
    assert starts is not None
    assert clock_text(starts) == text


@pytest.mark.parametrize("text", ["6", "24:00", "06:00Z", "06:00:00.5", "0600", ""])
def test_other_texts_are_no_times_of_day(text: str) -> None:
    assert clock_time(text) is None
