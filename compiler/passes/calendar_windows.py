"""Reads the calendar of a window: `window[1 day on at zone "Europe/Berlin" starting "06:00" as [begin, end]](R)`."""

from __future__ import annotations

from cedilla.compiler.expressions.calendars import UNITS, Calendar, clock_time
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.zones import check_zone
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.formatting.expression_formatter import measure_text

_FORM = '`window[1 day on at zone "Europe/Berlin" as [begin, end]](R)`'


def is_calendar(node: syntax.Window) -> bool:
    """Returns True if the windows of a node are periods of a calendar."""
    return node.zone is not None or node.length.unit in syntax.CALENDAR_UNITS


def calendar_of(node: syntax.Window, type_: Type) -> Calendar:
    """Returns the calendar of a window on an attribute of a type.

    Raises RQ103 for an attribute that is not a timestamp; RQ105 without a zone, for an invalid time of day, or for a
    length that is not a number of days, weeks, months, quarters or years; RQ173 for an unknown zone.
    """
    if node.zone is None:
        unit = node.length.unit
        message = f"the length of a {unit} depends on the calendar, and on the clocks of a zone"
        form = f'window[{measure_text(node.length)} on {node.on} zone "UTC" as [begin, end]](R)'
        hint = f"`{form}`, or a zone with the name of a city"
        raise failure("RQ105", message, node.length.span, hint=hint)
    if type_.name != "timestamp":
        message = f"clocks of a zone show moments, and `{node.on}` is {type_}"
        raise failure(
            "RQ103", message, node.span, hint=f"a window on a timestamp, {_FORM}; or leave `zone` out"
        )
    length = node.length
    if length.unit not in UNITS:
        hint = f"{_FORM}, or a week, month, quarter, year; shorter ones are alike in every zone, so leave `zone` out"
        raise failure("RQ105", "a window with a zone is of days or longer periods", length.span, hint=hint)
    if length.value.denominator != 1 or length.value < 1:
        raise failure("RQ105", "the periods of a calendar are whole", length.span, hint=f"as in {_FORM}")
    starts = clock_time(node.starting or "00:00")
    if starts is None:
        hint = 'hours and minutes, `starting "06:00"`'
        raise failure("RQ105", f'"{node.starting}" is not a time of day', node.span, hint=hint)
    return Calendar(str(length.unit), int(length.value), check_zone(node.zone, node.span), starts)
