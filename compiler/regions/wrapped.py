"""Numbers that wrap around, as registers and counters do (theory N11)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import ClassVar, cast

from attrs import field, frozen
from immutables import Map

from cedilla.compiler.regions.affine import Affine, exact
from cedilla.compiler.regions.function import Number, NumberFunction
from cedilla.compiler.regions.levels import Bound, Level, Tree, make_level


@frozen(cache_hash=True)
class Wrapped(NumberFunction):
    """Takes the numbers from `low` on, `size` of them, to those from `to` on that differ by a multiple of `size`.

    A signed register that is read as an unsigned one, and back:

    >>> unsigned = Wrapped(65536, -32768, 0)
    >>> unsigned(-1), unsigned(5), unsigned.of(40000)
    (65535, 5, None)
    >>> unsigned.inverse()(65535)
    -1
    """

    name: ClassVar[str] = "wrapped"

    size: Fraction = field(converter=Fraction)
    low: Fraction = field(converter=Fraction)
    to: Fraction = field(converter=Fraction)

    @property
    def is_identity(self) -> bool:
        return self.low == self.to

    @cached_property
    def _jump(self) -> Fraction:
        """The number whose image is `to`: images start again there."""
        return self.to + self.size * ceil((self.low - self.to) / self.size)

    @cached_property
    def _parts(self) -> tuple[tuple[Fraction, Fraction, Affine], ...]:
        """The first number of each part, its end, and its function, in the order of their images."""
        after = Affine(1, self.to - self._jump)
        parts = (
            (self._jump, self.low + self.size, after),
            (self.low, self._jump, Affine(1, after.shift + self.size)),
        )
        return tuple(part for part in parts if part[0] < part[1])

    def takes_exact(self, value: Number) -> bool:
        return self.low <= value < self.low + self.size

    def __call__(self, value: Number) -> Number:
        return exact(self.to + (Fraction(value) - self.to) % self.size)

    def inverse(self) -> Wrapped:
        return Wrapped(self.size, self.to, self.low)

    def image(self, node: Level, outside: Tree | None) -> Tree:
        cuts: list[Bound] = []
        pieces: list[Tree] = []
        for low, end, shifted in self._parts:
            first = bisect_right(node.cuts, (low, 0))
            inner = [cut for cut in node.cuts[first:] if cut < (end, 0)]
            cuts += [(shifted(low), 0), *map(shifted.image_of_cut, inner)]
            pieces += node.pieces[first : first + len(inner) + 1]
        cuts.append((exact(self.to + self.size), 0))
        ends = (pieces[0], pieces[-1]) if outside is None else (outside, outside)
        numbers = cast("Mapping[Number, Tree]", node.points)
        points = {self(value): child for value, child in numbers.items() if self.takes(value)}
        return make_level(node.attribute, node.undefined, cuts, [ends[0], *pieces, ends[1]], Map(points))

    def of_double(self, value: float) -> float:
        low, _, last = self._parts[-1]
        return (last if float(low) <= value < float(self._jump) else self._parts[0][2]).of_double(value)

    def sql(self, column: str) -> str:
        """Returns SQL that takes the same steps; null outside of the domain."""
        inside = f"{column} >= {float(self.low)!r}D AND {column} < {float(self.low + self.size)!r}D"
        first, *last = (part.sql(column) for _, _, part in self._parts)
        wrapped = f"IF({column} < {float(self._jump)!r}D, {last[0]}, {first})" if last else first
        return f"CASE WHEN {inside} THEN {wrapped} END"

    def text(self, parameter: str) -> str:
        return f"{parameter} wrapped by {exact(self.size)} from {exact(self.low)} to {exact(self.to)}"
