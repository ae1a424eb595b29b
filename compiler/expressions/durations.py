"""Lengths on an axis in programs: `300`, `"1/2"`, or `"5 minutes"` on an axis of timestamps."""

from __future__ import annotations

from fractions import Fraction

from cedilla.compiler.expressions.types import Type

_UNITS = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
"""Microseconds, the unit of an axis of timestamps; the longest first."""


def axis_length(value: int | str | Fraction) -> Fraction:
    """Parses a length in units of its axis.

    Raises `ValueError` if the text is neither a number nor a length of time.
    """
    if isinstance(value, str) and " " in value:
        number, unit = value.split(" ")
        if (size := _UNITS.get(unit.removesuffix("s"))) is None:
            raise ValueError(f"no unit of time: {unit}")
        return Fraction(number) * size
    return Fraction(value)


def length_code(value: Fraction, axis: Type) -> str:
    """Writes a length as Python text, in the longest unit that has a whole number of it."""
    if value.denominator != 1:
        return repr(str(value))
    if axis.name != "timestamp":
        return str(value)
    unit, size = next((unit, size) for unit, size in _UNITS.items() if value % size == 0)
    count = value // size
    return repr(f"{count} {unit}{'s' if count != 1 else ''}")
