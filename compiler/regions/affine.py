"""Increasing affine maps with exact rational coefficients (paper, section 3; theory G8, G21)."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

from attrs import field, frozen

Number = int | Fraction


def exact(value: Number) -> Number:
    """The same number, an `int` where it is whole, so that equal numbers print alike."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


@frozen(cache_hash=True)
class Affine:
    """The function `y -> slope * y + shift`.

    Coefficients are rationals, so inverses and compositions are exact and two functions are equal
    iff they are the same function (theory G8).
    """

    slope: Fraction = field(converter=Fraction)
    shift: Fraction = field(converter=Fraction)

    def __call__(self, value: Number) -> Number:
        return exact(self.slope * value + self.shift)

    def after(self, first: Affine) -> Affine:
        """The composition `self ∘ first`: `first` is applied first."""
        return Affine(self.slope * first.slope, self.slope * first.shift + self.shift)

    def inverse(self) -> Affine:
        """β of α; the slope of an accent's function is never zero (theory G21)."""
        return Affine(1 / self.slope, -self.shift / self.slope)

    @property
    def is_identity(self) -> bool:
        return self.slope == 1 and self.shift == 0

    @property
    def is_whole(self) -> bool:
        """Whether integers are mapped to integers."""
        return self.slope.denominator == 1 and self.shift.denominator == 1

    def integers(self) -> tuple[int, int, int]:
        """`(p, q, r)` with `self(y) == (y * p + q) / r` and r > 0, in lowest terms."""
        denominator = lcm(self.slope.denominator, self.shift.denominator)
        return int(self.slope * denominator), int(self.shift * denominator), denominator

    def text(self, parameter: str) -> str:
        """The function's body as accent text, for example `(y * 5 - 160) / 9`."""
        return self._render(parameter, "")

    def sql(self, column: str) -> str:
        """One fused SQL expression over a DOUBLE column, with one division."""
        return column if self.is_identity else self._render(column, "D")

    def _render(self, operand: str, suffix: str) -> str:
        p, q, r = self.integers()
        scaled = operand if p == 1 else f"{operand} * {p}{suffix}"
        shifted = scaled if q == 0 else f"{scaled} {'+' if q > 0 else '-'} {abs(q)}{suffix}"
        if r == 1:
            return shifted
        return f"({shifted}) / {r}{suffix}" if q or p != 1 else f"{shifted} / {r}{suffix}"


def sql_over(value: str, p: str, q: str, r: str) -> str:
    """As `Affine.sql`, of a function whose numbers are columns of each row."""
    return f"({value} * {p} + {q}) / {r}"


IDENTITY = Affine(Fraction(1), Fraction(0))
