# pyright: basic
# With `registry` and `kinds` the only modules that see pint, whose types are partial.
"""Units by their names: pint's, or UCUM codes through ucumvert. All conversions are exact (theory N4 to N6, N15).

A unit is its name, a string. What computations make is named as pint reads it: `meter/second**2`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from operator import add, mul, sub, truediv
from typing import Any

from attrs import frozen

from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.units.kinds import described, named, quantity
from cedilla.compiler.units.registry import MANY, NUMBER, UnknownUnit, registry, unit_of
from cedilla.grammar.syntax import SECOND

__all__ = ["NUMBER", "RADIAN", "Mismatch", "Sum", "UnknownUnit"]

RADIAN = "radian"

_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}


class Mismatch(ValueError):
    """Two units do not go together; the text says why."""


@frozen
class Sum:
    """What a sum or difference gives: its unit, and what is done to each side before it."""

    unit: str
    left: Affine
    right: Affine


def check(name: str) -> None:
    """Raise `UnknownUnit` where no unit has a name."""
    unit_of(name)


@lru_cache(MANY)
def conversion(source: str, target: str) -> Affine:
    """The function from values in one unit to values in another.

    Raises `UnknownUnit`; `Mismatch` where the dimensions differ, or the function is not affine and increasing.
    """
    if source == target:
        return IDENTITY
    one, other = quantity(source), quantity(target)
    if one.kind != other.kind:
        raise _apart(source, target)
    if not is_scale(source) and not is_scale(target):
        return Affine(one.factor / other.factor, 0)
    return _between_scales(source, target)


def _between_scales(source: str, target: str) -> Affine:
    a, b = unit_of(source), unit_of(target)
    try:
        shift, one, three = (Fraction(registry().Quantity(Fraction(n), a).to(b).magnitude) for n in (0, 1, 3))
    except (TypeError, ValueError, ZeroDivisionError):
        if is_scale(source) != is_scale(target):
            scale, other = (source, target) if is_scale(source) else (target, source)
            why = f"{scale} is of points of a scale, and {other} is of differences"
            raise Mismatch(why) from None
        raise Mismatch(_no_line(source, target)) from None
    if three - shift != 3 * (one - shift) or one <= shift:
        raise Mismatch(_no_line(source, target))
    return Affine(one - shift, shift)


def is_same(a: str, b: str) -> bool:
    """Whether two names are of one unit. Raises `UnknownUnit`."""
    try:
        return conversion(a, b).is_identity
    except Mismatch:
        return False


def leads(function: Affine, source: str, target: str) -> bool:
    """Whether a function is the one from values in one unit to values in another."""
    try:
        return conversion(source, target) == function
    except (Mismatch, UnknownUnit):
        return False


def _apart(source: str, target: str) -> Mismatch:
    return Mismatch(f"{described(source)} and {described(target)} are different kinds of quantity")


def _no_line(source: str, target: str) -> str:
    return f"the conversion from {source} to {target} is not of the shape y * a + b with a > 0"


def circle(unit: str) -> Fraction | None:
    """Returns the full circle in a unit of angle, `None` in other units. Raises `UnknownUnit`."""
    if unit == SECOND or quantity(unit).kind != quantity(RADIAN).kind:
        return None
    return Fraction(repr(float(conversion("turn", unit).slope)))


@lru_cache(MANY)
def total(operator: str, left: str, right: str) -> Sum:
    """What `+` or `-` gives of values in two units: the left one's, but for temperatures on a scale, whose
    differences are no temperatures on it. Raises `UnknownUnit`, `Mismatch`."""
    from pint import PintError

    if quantity(left).kind != quantity(right).kind:
        raise _apart(left, right)
    if not is_scale(left) and not is_scale(right):
        return Sum(left, IDENTITY, conversion(right, left))
    a, b, act = unit_of(left), unit_of(right), _ARITHMETIC[operator]

    def at(x: int, y: int) -> Any:
        return act(registry().Quantity(Fraction(x), a), registry().Quantity(Fraction(y), b))

    try:
        none, first, second = at(0, 0), at(1, 0), at(0, 1)
    except (PintError, TypeError):
        help = "a difference has a unit of its own, as delta_degC"
        raise Mismatch(
            f"{left} {operator} {right} has no meaning: both are points of a scale; {help}"
        ) from None
    shift = Fraction(none.magnitude)
    slopes = Fraction(first.magnitude) - shift, Fraction(second.magnitude) - shift
    sign = 1 if operator == "+" else -1
    names = (left, right, f"delta_{left}")
    unit = next((name for name in names if _is_called(none.units, name)), named(none.units))
    return Sum(unit, Affine(slopes[0], 0), Affine(slopes[1] * sign, shift * sign))


def _is_called(unit: Any, name: str) -> bool:
    try:
        return unit == unit_of(name)
    except UnknownUnit:
        return False


@lru_cache(MANY)
def product(operator: str, left: str, right: str) -> str | None:
    """The unit of `*` or `/`; `None` of temperatures on a scale, which cannot be multiplied. Raises `UnknownUnit`."""
    from pint import OffsetUnitCalculusError

    one = Fraction(1)
    if operator == "/" and left == right:
        return NUMBER
    try:
        result = _ARITHMETIC[operator](
            registry().Quantity(one, unit_of(left)), registry().Quantity(one, unit_of(right))
        )
    except OffsetUnitCalculusError:
        return None
    return named(result.units)


@lru_cache(MANY)
def power(unit: str, exponent: Fraction) -> str | None:
    """The unit of a power of values; `None` of temperatures on a scale. Raises `UnknownUnit`."""
    if is_scale(unit):
        return None
    return named(unit_of(unit) ** exponent)


@lru_cache(MANY)
def is_scale(unit: str) -> bool:
    """Whether values are points of a scale with a zero of its own, as degC. Raises `UnknownUnit`."""
    return not registry().Quantity(Fraction(1), unit_of(unit))._is_multiplicative


@lru_cache(MANY)
def difference(unit: str) -> str | None:
    """The unit of the difference of two values; `None` of what has none, as decibels. Raises `UnknownUnit`."""
    try:
        return total("-", unit, unit).unit if is_scale(unit) else unit
    except Mismatch:
        return None


def of_differences(names: Iterable[str]) -> tuple[str, ...]:
    """The units of differences of values in some units, and of their squares: those of deviations and variances."""
    differences = [unit for name in names if (unit := difference(name)) is not None]
    squares = [square for unit in differences if (square := power(unit, Fraction(2))) is not None]
    return (*differences, *squares)
