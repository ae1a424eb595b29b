"""Increasing affine maps with exact rational coefficients (paper, section 3; theory G8, G21)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any, ClassVar, cast

from attrs import field, frozen
from immutables import Map

from cedilla.compiler.regions import double_arithmetic
from cedilla.compiler.regions.function import Monotone, Number
from cedilla.compiler.regions.levels import Level, Tree, Value, make_level
from cedilla.grammar.diagnostics import failure

_SHORT = 12
"""Digits of a whole number that a message shows without an exponent."""
_MAX_BITS = 13_000
"""Bits of an exact number, some 4,000 digits: functions get longer with each that follows another."""
_DOUBLE = 1000
"""Bits of the largest numbers that functions lead to, somewhat less than doubles have."""


def exact(value: Number) -> Number:
    """Returns the same number, an `int` where it is whole, so that equal numbers print alike."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


@frozen(cache_hash=True)
class Affine(Monotone):
    """The function `y -> slope * y + shift`.

    Coefficients are rationals, so inverses and compositions are exact and two functions are equal
    iff they are the same function (theory G8).
    """

    name: ClassVar[str] = "affine"

    slope: Fraction = field(converter=Fraction)
    shift: Fraction = field(converter=Fraction)

    def __call__(self, value: Number) -> Number:
        return exact(self.slope * value + self.shift)

    @lru_cache(4096)  # noqa: B019
    def after(self, first: Affine) -> Affine:
        """Returns the composition `self ∘ first`: `first` is applied first. Raises `DiagnosticError` RQ009 as `check`
        does."""
        result = Affine(self.slope * first.slope, self.slope * first.shift + self.shift)
        result.check()
        return result

    def check(self) -> None:
        """Raises `DiagnosticError` RQ009 where the function leads out of the doubles, or its exact numbers are too
        long."""
        slope, shift = (
            [n.bit_length() for n in number.as_integer_ratio()] for number in (self.slope, self.shift)
        )
        if abs(slope[0] - slope[1]) > _DOUBLE or shift[0] - shift[1] > _DOUBLE:
            message = "values would be too large or too small for a double, which holds at most 1.8e308"
            hint = "check the factor; or drop the attribute, and add one of another name"
            raise failure("RQ009", message, hint=hint)
        if max(*slope, *shift) > _MAX_BITS:
            message = "the functions of the attribute, one after the other, have numbers of over 4,000 digits"
            hint = "use numbers of fewer digits; or drop the attribute, and add one of another name"
            raise failure("RQ009", message, hint=hint)

    def inverse(self) -> Affine:
        """Returns β of α; the slope of an accent's function is never zero (theory G21)."""
        return _inverse(self)

    def takes(self, value: Any) -> bool:
        """Returns True: it takes all values, of doubles also infinities and NaN."""
        return True

    def image(self, node: Level, outside: Tree | None) -> Tree:
        if not self.rises:
            return super().image(node, outside)
        points = Map[Value, Tree]({self(cast("Number", v)): child for v, child in node.points.items()})
        cuts = [(self(value), after) for value, after in node.cuts]
        return make_level(node.attribute, node.undefined, cuts, node.pieces, points)

    @classmethod
    def load(cls, *parameters: str) -> Affine:
        """Returns the function with such coefficients, equal ones as one object."""
        return _loaded(*parameters)

    def dump(self) -> list[Any]:
        """Returns the coefficients alone: commit records have many affine functions."""
        return [str(self.slope), str(self.shift)]

    @property
    def rises(self) -> bool:
        """True if it keeps the order of values."""
        return self.slope > 0

    @property
    def is_identity(self) -> bool:
        return self.slope == 1 and self.shift == 0

    @property
    def is_whole(self) -> bool:
        """True if integers are mapped to integers."""
        return self.slope.denominator == 1 and self.shift.denominator == 1

    def integers(self) -> tuple[int, int, int]:
        """Returns `(p, q, r)` with `self(y) == (y * p + q) / r` and r > 0, in lowest terms."""
        denominator = lcm(self.slope.denominator, self.shift.denominator)
        return int(self.slope * denominator), int(self.shift * denominator), denominator

    def text(self, parameter: str) -> str:
        """Returns the function's body as accent text, for example `(y * 5 - 160) / 9`."""
        p, q, r = self.integers()
        scaled = parameter if p == 1 else f"{parameter} * {p}"
        shifted = scaled if q == 0 else f"{scaled} {'+' if q > 0 else '-'} {abs(q)}"
        if r == 1:
            return shifted
        return f"({shifted}) / {r}" if q or p != 1 else f"{shifted} / {r}"

    def at_text(self, value: int) -> str:
        """Returns the function's value as text for messages: a whole number, or six digits.

        >>> Affine(Fraction(9, 5), 32).at_text(10)
        '50'
        """
        numerator, denominator = self(value).as_integer_ratio()
        is_short = denominator == 1 and abs(numerator) < 10**_SHORT
        return str(numerator) if is_short else f"{Decimal(numerator) / Decimal(denominator):.6g}"

    def of_double(self, value: float) -> float:
        """Applies the function to a double.

        Rounds once if the double has a short decimal (`double_arithmetic`).
        """
        return value if self.is_identity else double_arithmetic.of_double(*self.integers(), value)

    def sql(self, column: str) -> str:
        """Returns SQL that applies the function to a DOUBLE column."""
        return column if self.is_identity else double_arithmetic.sql(column, *self.integers())

    @property
    def coefficients(self) -> tuple[float, ...] | None:
        """The coefficients for `double_arithmetic.sql_over`; `None` if the function needs more."""
        return double_arithmetic.coefficients(*self.integers())


@lru_cache(4096)
def _inverse(function: Affine) -> Affine:
    return Affine(1 / function.slope, -function.shift / function.slope)


@lru_cache(4096)
def _loaded(slope: str, shift: str) -> Affine:
    return Affine(Fraction(slope), Fraction(shift))


IDENTITY = Affine(Fraction(1), Fraction(0))
