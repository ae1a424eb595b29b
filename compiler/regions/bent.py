"""Functions that only a source undoes: reciprocals, functions by points, logarithms, shifts of timestamps (theory N7,
N11).

With falling affine functions they are those that outputs never announce. Each is monotone on its domain and, but for
logarithms, exact on rational numbers; a value outside of the domain has no image.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import assert_never, cast

from attrs import field, frozen

from cedilla.compiler.regions.affine import IDENTITY, Affine, Number, exact
from cedilla.compiler.regions.logarithms import Logarithm, Power, joined
from cedilla.compiler.regions.trees import Bound

Domain = tuple[Bound | None, Bound | None]
"""The first and the last cut of the values that a function takes; `None` is unbounded."""
_PLACES = 10**6
_MAX_EXACT = 2**53
_INFINITY = "double('Infinity')"
_EPOCH = datetime(1970, 1, 1)
_FIRST, _LAST = ((end - _EPOCH) // timedelta(microseconds=1) for end in (datetime.min, datetime.max))
"""The first and the last timestamp, in microseconds."""
_LENGTHS = (("day", 86_400_000_000), ("hour", 3_600_000_000), ("minute", 60_000_000))


def _points(points: tuple[tuple[Number, Number], ...]) -> tuple[tuple[Fraction, Fraction], ...]:
    return tuple((Fraction(x), Fraction(y)) for x, y in points)


def _decimal(number: Fraction) -> str:
    """Returns a number that a text gave as a decimal, in full."""
    places = 0
    while (number * 10**places).denominator > 1:
        places += 1
    digits = f"{abs(number * 10**places).numerator:0{places + 1}}"
    whole, rest = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{'-' if number < 0 else ''}{whole}{f'.{rest}' if rest else ''}"


@frozen(cache_hash=True)
class Reciprocal:
    """The function `y -> factor / y` of positive numbers, as from L/100km to mpg. It is its own inverse."""

    factor: Fraction = field(converter=Fraction)

    is_identity = False
    coefficients = None
    rises = False
    domain: Domain = ((0, 1), None)

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
        return f"{_decimal(self.factor)} / {parameter}"


@frozen(cache_hash=True)
class ByPoints:
    """A function that is linear between points, as the breakpoints of an air quality index. The points are in the
    order of their first coordinates; the second ones rise, or fall, with them."""

    points: tuple[tuple[Fraction, Fraction], ...] = field(converter=_points)

    is_identity = False
    coefficients = None

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
        return f"by points {{{', '.join(f'({_decimal(x)}, {_decimal(y)})' for x, y in self.points)}}}"


@frozen(cache_hash=True)
class Shift:
    """The function `y -> y + 1 hour` of timestamps, which are microseconds since 1970."""

    micros: int

    coefficients = None
    rises = True

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
        number = _decimal(Fraction(length, size))
        return f"{parameter} {'-' if self.micros < 0 else '+'} {number} {unit}{'' if number == '1' else 's'}"


Link = Affine | Reciprocal | ByPoints | Logarithm | Power | Shift


@frozen(cache_hash=True)
class Chain:
    """Functions one after the other, the first one first. One of them is bent, or together they fall."""

    links: tuple[Link, ...]

    is_identity = False
    coefficients = None

    @property
    def rises(self) -> bool:
        return sum(not link.rises for link in self.links) % 2 == 0

    @cached_property
    def domain(self) -> Domain:
        low, high = self.links[-1].domain
        for link in reversed(self.links[:-1]):
            low, high = _both(_image((low, high), link.inverse()), link.domain)
        return low, high

    def __call__(self, value: Number) -> Number:
        for link in self.links:
            value = link(value)
        return value

    def inverse(self) -> Chain:
        return Chain(tuple(link.inverse() for link in reversed(self.links)))

    def of_double(self, value: float) -> float:
        for link in self.links:
            value = link.of_double(value)
        return value

    def sql(self, column: str) -> str:
        """Returns SQL that takes the same steps; null outside of the domain."""
        result = column
        for link in self.links:
            result = f"({link.sql(result)})"
        return f"CASE WHEN abs({column}) < {_INFINITY} THEN {result} END"

    def text(self, parameter: str) -> str:
        """Returns the functions one inside of the other; those by points, and after them, in their order."""
        texts = [parameter]
        for link in self.links:
            if isinstance(link, ByPoints):
                texts += [link.text(parameter), parameter]
            else:
                inner = texts[-1] if texts[-1] == parameter else f"({texts[-1]})"
                texts[-1] = link.text(inner)
        return ", then ".join(text for text in texts if text != parameter)


Bent = Reciprocal | ByPoints | Logarithm | Power | Shift | Chain


def affine_of(function: Affine | Bent) -> Affine | None:
    """Returns a function as an affine one, which may fall; `None` if it bends."""
    match function:
        case Affine():
            return function
        case Chain((Affine() as only,)):
            return only
        case Chain() | Reciprocal() | ByPoints() | Logarithm() | Power() | Shift():
            return None
        case _:
            assert_never(function)


def takes(function: Bent, value: Number | float) -> bool:
    """Returns True if a value is in the domain of a function; infinities and NaN are in none. A double means its
    shortest decimal."""
    if isinstance(value, float):
        if not isfinite(value):
            return False
        value = Fraction(repr(value))
    low, high = function.domain
    above = low is None or (value > low[0] if low[1] else value >= low[0])
    return above and (high is None or (value <= high[0] if high[1] else value < high[0]))


def after(last: Affine | Bent, first: Affine | Bent) -> Affine | Bent:
    """Returns the composition `last ∘ first`.

    >>> pace = after(Reciprocal(60), Affine(1, -5))  # first minus 5, then 60 through it
    >>> pace.text("y")
    '60 / (y - 5)'
    >>> pace.domain  # the values above 5
    ((5, 1), None)
    >>> after(Reciprocal(60), pace).text("y")  # a reciprocal undoes itself
    'y - 5'
    """
    if isinstance(last, Affine) and isinstance(first, Affine):
        return last.after(first)
    links: list[Link] = []
    for following in (*_links(first), *_links(last)):
        link = following
        while links and (both := _merged(links[-1], link)) is not None:
            links.pop()
            link = both
        if not link.is_identity:
            links.append(link)
    match links:
        case []:
            return IDENTITY
        case [Reciprocal() | ByPoints() | Logarithm() | Power() | Shift() as only]:
            return only
        case [Affine() as only] if only.rises:
            return only
        case several:
            return Chain(tuple(several))


def _merged(first: Link, last: Link) -> Link | None:
    """Returns two functions as one, if that is possible."""
    match first, last:
        case Affine(), Affine():
            return last.after(first)
        case Shift(), Shift():
            return Shift(first.micros + last.micros)
        case _ if not isinstance(last, Affine) and first.inverse() == last:
            return IDENTITY
        case _:
            return joined(first, last)


def _links(function: Affine | Bent) -> tuple[Link, ...]:
    return function.links if isinstance(function, Chain) else (function,)


def ends_with(function: Affine | Bent, last: Bent) -> bool:
    """Returns True if the last steps of a function are those of another one. Several shifts are one, of a multiple."""
    if last.is_identity:
        return False
    if isinstance(last, Shift):
        *_, final = _links(function)
        return isinstance(final, Shift) and final.micros % last.micros == 0 and final.micros * last.micros > 0
    return _links(function)[-len(_links(last)) :] == _links(last)


def image_of_cut(cut: Bound, function: Affine | Bent) -> Bound:
    """Returns the cut in the image of a function; a falling one changes the sides."""
    value, side = cut
    return function(value), side if function.rises else 1 - side


def _image(domain: Domain, link: Link) -> Domain:
    """Returns the image of a range of values, as far as the link takes them."""
    low, high = _both(domain, link.domain)
    ends = [None if end is None or not _has(link, end) else image_of_cut(end, link) for end in (low, high)]
    return (ends[0], ends[1]) if link.rises else (ends[1], ends[0])


def _has(link: Link, end: Bound) -> bool:
    return not isinstance(link, Reciprocal) or end[0] != 0


def _both(one: Domain, other: Domain) -> Domain:
    lows = [low for low in (one[0], other[0]) if low is not None]
    highs = [high for high in (one[1], other[1]) if high is not None]
    return max(lows, default=None), min(highs, default=None)
