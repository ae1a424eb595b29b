"""Functions that only a source undoes: reciprocals, functions by points, shifts of timestamps (theory N7, N11).

Outputs never announce them. Each is monotone on its domain and exact on rational numbers; a value outside of the domain
has no image.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, cast

from attrs import field, frozen

from cedilla.compiler.regions.affine import Affine, exact
from cedilla.compiler.regions.function import Domain, Monotone, Number
from cedilla.compiler.regions.levels import Bound
from cedilla.grammar.formatting.expression_formatter import decimal_text

_PLACES = 10**6
_MAX_EXACT = 2**53
_INFINITY = "double('Infinity')"
_EPOCH = datetime(1970, 1, 1)
_FIRST, _LAST = ((end - _EPOCH) // timedelta(microseconds=1) for end in (datetime.min, datetime.max))
"""The first and the last timestamp, in microseconds."""
_LENGTHS = (("day", 86_400_000_000), ("hour", 3_600_000_000), ("minute", 60_000_000))


def _points(points: tuple[tuple[Number, Number], ...]) -> tuple[tuple[Fraction, Fraction], ...]:
    return tuple((Fraction(x), Fraction(y)) for x, y in points)


@frozen(cache_hash=True)
class Reciprocal(Monotone):
    """The function `y -> factor / y` of positive numbers, as from L/100km to mpg. It is its own inverse."""

    factor: Fraction = field(converter=Fraction)

    name: ClassVar[str] = "reciprocal"

    @property
    def rises(self) -> bool:
        return False

    @property
    def domain(self) -> Domain:
        """The positive numbers."""
        return (0, 1), None

    def __call__(self, value: Number) -> Number:
        return exact(self.factor / value)

    def inverse(self) -> Reciprocal:
        return self

    def of_double(self, value: float) -> float:
        """Returns the nearest double to the exact quotient if the value has at most six decimal places."""
        p, q = self.factor.as_integer_ratio()
        scaled = float(round(value * _PLACES)) if abs(value) < self._below else 0.0
        if scaled and scaled / _PLACES == value:
            return float(p * _PLACES) / (scaled * q)
        return float(p) / (value * q)

    def sql(self, column: str) -> str:
        """Returns SQL that takes the same steps; null outside of the domain."""
        p, q = self.factor.as_integer_ratio()
        scaled = f"rint({column} * {_PLACES}D)"
        is_exact = f"{column} < {self._below!r}D AND {scaled} / {_PLACES}D = {column}"
        quotient = f"{float(p * _PLACES)!r}D / ({scaled} * {float(q)!r}D)"
        plain = f"{float(p)!r}D / ({column} * {float(q)!r}D)"
        inside = f"{column} > 0D AND {column} < {_INFINITY}"
        return f"CASE WHEN NOT ({inside}) THEN NULL WHEN {is_exact} THEN {quotient} ELSE {plain} END"

    @property
    def _below(self) -> float:
        p, q = self.factor.as_integer_ratio()
        return 0.0 if p * _PLACES >= _MAX_EXACT else float(_MAX_EXACT // (q * _PLACES))

    def text(self, parameter: str) -> str:
        return f"{decimal_text(self.factor)} / {parameter}"


@frozen(cache_hash=True)
class ByPoints(Monotone):
    """A function that is linear between points, as the breakpoints of an air quality index. The points are in the
    order of their first coordinates; the second ones rise, or fall, with them."""

    points: tuple[tuple[Fraction, Fraction], ...] = field(converter=_points)

    name: ClassVar[str] = "points"

    @property
    def rises(self) -> bool:
        return self.points[0][1] < self.points[-1][1]

    @property
    def domain(self) -> Domain:
        return (exact(self.points[0][0]), 0), (exact(self.points[-1][0]), 1)

    @cached_property
    def _parts(self) -> list[tuple[float, Affine]]:
        """The last value of each part, and its function."""
        parts: list[tuple[float, Affine]] = []
        for (x, y), (next_x, next_y) in pairwise(self.points):
            slope = (next_y - y) / (next_x - x)
            parts.append((float(next_x), Affine(slope, y - slope * x)))
        return parts

    def __call__(self, value: Number) -> Number:
        at = next(n for n, (x, _) in enumerate(self.points[1:]) if value <= x)
        return self._parts[at][1](value)

    def inverse(self) -> ByPoints:
        return ByPoints(tuple(sorted((y, x) for x, y in self.points)))

    def of_double(self, value: float) -> float:
        return next(part for last, part in self._parts if value <= last).of_double(value)

    def sql(self, column: str) -> str:
        """Returns SQL that takes the same steps; null outside of the domain."""
        first, last = float(self.points[0][0]), float(self.points[-1][0])
        parts = (f"WHEN {column} <= {end!r}D THEN {part.sql(column)}" for end, part in self._parts)
        outside = f"NOT ({column} >= {first!r}D AND {column} <= {last!r}D)"
        return f"CASE WHEN {outside} THEN NULL {' '.join(parts)} END"

    def text(self, parameter: str) -> str:
        """Returns the points, as accents write them."""
        return f"by points {{{', '.join(f'({decimal_text(x)}, {decimal_text(y)})' for x, y in self.points)}}}"


@frozen(cache_hash=True)
class Shift(Monotone):
    """The function `y -> y + 1 hour` of timestamps, which are microseconds since 1970."""

    micros: int

    name: ClassVar[str] = "shift"

    @property
    def rises(self) -> bool:
        return True

    @property
    def is_identity(self) -> bool:
        return self.micros == 0

    @property
    def domain(self) -> Domain:
        """The timestamps whose image is a timestamp."""
        return (max(_FIRST, _FIRST - self.micros), 0), (min(_LAST, _LAST - self.micros), 1)

    def __call__(self, value: Number) -> Number:
        return value + self.micros

    def inverse(self) -> Shift:
        return Shift(-self.micros)

    def of_double(self, value: float) -> float:
        raise TypeError("timestamps are whole numbers")

    def of_moment(self, moment: datetime) -> datetime:
        return moment + timedelta(microseconds=self.micros)

    def sql(self, column: str) -> str:
        """Returns SQL over a column of timestamps; null outside of the domain."""
        (first, _), (last, _) = cast("tuple[Bound, Bound]", self.domain)
        axis = f"unix_micros({column})"
        inside = f"{axis} BETWEEN {first}L AND {last}L"
        return f"CASE WHEN {inside} THEN timestamp_micros({axis} + {self.micros}L) END"

    def text(self, parameter: str) -> str:
        """Returns the function in the coarsest unit that is whole; in seconds if none is."""
        length = abs(self.micros)
        unit, size = next(
            (length_unit for length_unit in _LENGTHS if length % length_unit[1] == 0), ("second", 10**6)
        )
        number = decimal_text(Fraction(length, size))
        return f"{parameter} {'-' if self.micros < 0 else '+'} {number} {unit}{'' if number == '1' else 's'}"
