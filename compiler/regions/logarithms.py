"""Logarithms, as decibels and pH have them, and the powers that undo them (theory N7, N11).

No two libraries agree on the last digit of a power, so this one is made of sums, products and quotients only. Python
and engines take the same steps and get the same bits, within a relative error of 1e-14. Each step keeps the order of
its values, so the whole does.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from math import factorial, floor
from typing import ClassVar

from attrs import field, frozen

from cedilla.compiler.regions.affine import Affine, exact
from cedilla.compiler.regions.function import Monotone, Number
from cedilla.compiler.regions.levels import Bound

_DECADES = 22
"""The powers of ten in both directions: 220 decibels."""
_LOWEST = -_DECADES - 1
_SCALES = [float(f"1e{decades}") for decades in range(_LOWEST, _DECADES + 1)]
"""With one more below, where the quotient of the least value is rounded to."""
_PLACES = 12
"""The decimal places of a logarithm. A number with fewer comes back unchanged."""
_CONTEXT = Context(prec=50)
_TENTHS = [float(_CONTEXT.power(10, Decimal(tenths) / 10)) for tenths in range(10)]
"""10 ** (n / 10)."""
_LN = Fraction(_CONTEXT.ln(Decimal(10))) / 10
_COEFFICIENTS = [float(_LN**n / factorial(n)) for n in range(1, 11)]
"""Those of the series of 10 ** (r / 10). It stays below the next tenth, so the order of values stays."""


@frozen(cache_hash=True)
class _Scale(Monotone):
    """The parameters that a logarithm and the power that undoes it share."""

    step: Fraction = field(converter=Fraction)
    reference: Fraction = field(converter=Fraction)

    @property
    def rises(self) -> bool:
        return self.step > 0


@frozen(cache_hash=True)
class Logarithm(_Scale):
    """The function `y -> step * log10(y / reference)` of positive numbers: decibels with step 10, pH with step -1.

    Only the control plane computes it, for bounds of markers. Sources undo it by its inverse.
    """

    name: ClassVar[str] = "logarithm"

    @property
    def domain(self) -> tuple[Bound, Bound]:
        low, high = (exact(self.reference * Fraction(10) ** decades) for decades in (-_DECADES, _DECADES))
        return (low, 0), (high, 1)

    def __call__(self, value: Number) -> Number:
        ratio = Fraction(_nearest(self.domain, value)) / self.reference
        digits = _CONTEXT.log10(_CONTEXT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
        return exact(round(self.step * Fraction(digits), _PLACES))

    def inverse(self) -> Power:
        return Power(self.step, self.reference)

    def of_double(self, value: float) -> float:
        return float(self(Fraction(repr(value))))

    def sql(self, column: str) -> str:
        raise TypeError("engines compute no logarithms of sources")

    def text(self, parameter: str) -> str:
        return Affine(self.step, 0).text(f"log10({Affine(1 / self.reference, 0).text(parameter)})")


@frozen(cache_hash=True)
class Power(_Scale):
    """The function `y -> reference * 10 ** (y / step)`, which undoes a logarithm."""

    name: ClassVar[str] = "power"

    @property
    def domain(self) -> tuple[Bound, Bound]:
        end = exact(Fraction(repr(float(_DECADES * abs(self.step)))))
        return (-end, 0), (end, 1)

    def __call__(self, value: Number) -> Number:
        return exact(Fraction(repr(self.of_double(float(_nearest(self.domain, value))))))

    def inverse(self) -> Logarithm:
        return Logarithm(self.step, self.reference)

    def of_double(self, value: float) -> float:
        p, q = (float(number) for number in (10 / self.step).as_integer_ratio())
        tenths = value * p / q
        whole = floor(tenths)
        rest, series = tenths - whole, 0.0
        for coefficient in reversed(_COEFFICIENTS):
            series = rest * (coefficient + series)
        power = (1.0 + series) * _TENTHS[whole % 10] * _SCALES[whole // 10 - _LOWEST]
        p, q = (float(number) for number in self.reference.as_integer_ratio())
        return power * p / q

    def sql(self, column: str) -> str:
        """Returns SQL that takes the same steps; null outside of the domain."""
        tenths = column if self.step == 10 else f"({_times(column, 10 / self.step)})"
        whole, series = f"floor({tenths})", "0D"
        for coefficient in reversed(_COEFFICIENTS):
            series = f"({tenths} - {whole}) * ({coefficient!r}D + {series})"
        tenth = _element(_TENTHS, f"pmod({whole}, 10)")
        scale = _element(_SCALES, f"floor({whole} / 10D) + {-_LOWEST}")
        power = _times(f"(1D + {series}) * {tenth} * {scale}", self.reference)
        (low, _), (high, _) = self.domain
        inside = f"{column} >= {float(low)!r}D AND {column} <= {float(high)!r}D"
        return f"CASE WHEN {inside} THEN {power} END"

    def text(self, parameter: str) -> str:
        return Affine(self.reference, 0).text(f"pow(10, {Affine(1 / self.step, 0).text(parameter)})")


def _nearest(domain: tuple[Bound, Bound], value: Number) -> Number:
    """Returns the nearest value in a domain. A bound of a marker may lie outside, as results of an earlier
    function are rounded."""
    (low, _), (high, _) = domain
    return min(max(value, low), high)


def joined(first: object, last: object) -> Affine | Logarithm | Power | None:
    """Returns a logarithm or a power, followed by a factor or its counterpart, as one function; `None` for others."""
    match first, last:
        case Power(step, reference), Affine(slope, shift) if slope > 0 and not shift:
            return Power(step, reference * slope)
        case Affine(slope, shift), Logarithm(step, reference) if slope > 0 and not shift:
            return Logarithm(step, reference / slope)
        case Logarithm(step, reference), Power(other, multiple) if step == other:
            return Affine(multiple / reference, 0)
        case _:
            return None


def _times(value: str, factor: Fraction) -> str:
    """Returns SQL of a product with a fraction, without the steps that change nothing."""
    p, q = factor.as_integer_ratio()
    product = value if p == 1 else f"{value} * {float(p)!r}D"
    return product if q == 1 else f"{product} / {float(q)!r}D"


def _element(numbers: list[float], index: str) -> str:
    listed = ", ".join(f"{number!r}D" for number in numbers)
    return f"element_at(array({listed}), int({index}) + 1)"


def has_logarithm(function: object) -> bool:
    """Returns True for a logarithm, also among the links of a chain."""
    return any(isinstance(link, Logarithm) for link in getattr(function, "links", (function,)))
