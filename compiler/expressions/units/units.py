# pyright: basic
# Only this module, `registry` and `kinds` see pint, whose types are partial.
"""Units by name: pint's names, or UCUM codes through ucumvert. All conversions are exact (theory N4 to N6,
N15).

A unit is its name, a string. Computed units are named as pint reads them: `meter/second**2`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from operator import add, mul, sub, truediv
from typing import Any

from attrs import frozen

from cedilla.compiler.expressions.units.answers import remembered
from cedilla.compiler.expressions.units.kinds import described, named, quantity
from cedilla.compiler.expressions.units.own import OF
from cedilla.compiler.expressions.units.registry import (
    NUMBER,
    UnknownUnit,
    of_substance,
    registry,
    unit_of,
)
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.logarithms import Logarithm
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.grammar.syntax import SECOND

__all__ = ["NUMBER", "RADIAN", "Mismatch", "Sum", "UnknownUnit"]

RADIAN = "radian"

_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}


class Mismatch(ValueError):
    """Two units cannot be combined; the text gives the reason."""


@frozen
class Sum:
    """The unit of a sum or difference, and the conversion of each side before it."""

    unit: str
    left: Affine
    right: Affine


@remembered
def check(name: str) -> None:
    """Raises `UnknownUnit` if no unit has this name."""
    unit_of(name)


@remembered
def conversion(source: str, target: str) -> Affine:
    """Returns the function from values in one unit to values in another.

    Raises `UnknownUnit`; `Mismatch` if the dimensions differ, or the function is not affine and increasing.
    """
    if source == target:
        return IDENTITY
    source, target = _of_one_substance(source, target)
    one, other = quantity(source), quantity(target)
    if one.kind != other.kind:
        raise _apart(source, target)
    if not is_scale(source) and not is_scale(target):
        return Affine(one.factor / other.factor, 0)
    return _between_scales(source, target)


def _of_one_substance(source: str, target: str) -> tuple[str, str]:
    """A unit without a substance has that of the other."""
    one, other = of_substance(source)[1], of_substance(target)[1]
    if one and not other:
        return source, f"{target}{OF}{one}"
    return (f"{source}{OF}{other}", target) if other and not one else (source, target)


@remembered
def level(source: str, target: str) -> Logarithm | None:
    """Returns the function from values in one unit to their levels in another, as from mW to dBm (theory N7); `None`
    for other units. dB alone has none: it may be of powers or of amplitudes. Raises `UnknownUnit`."""
    one, other, step = quantity(source), quantity(target), _step(target)
    if step is None or is_scale(source) or one.kind != other.kind or not one.kind:
        return None
    return Logarithm(step, other.factor / one.factor)


def _step(unit: str) -> Fraction | None:
    """Returns the step of a unit of levels for a factor of ten: 10 of dBm, 20 of dBV; `None` for other units."""
    names = unit_of(unit)._units
    if list(names.values()) != [1]:
        return None
    converter = registry()._units[next(iter(names))].converter
    return Fraction(converter.logfactor) if getattr(converter, "logbase", None) == 10 else None


def _between_levels(source: str, target: str) -> Affine | None:
    """Returns the function between levels whose references differ by a power of ten, as dBm and dBW."""
    one, other = _step(source), _step(target)
    if one is None or other is None or one / other < 0:
        return None
    ratio = quantity(source).factor / quantity(target).factor
    decades = len(str(ratio.numerator)) - len(str(ratio.denominator))
    return Affine(other / one, other * decades) if ratio == Fraction(10) ** decades else None


def _between_scales(source: str, target: str) -> Affine:
    if (line := _between_levels(source, target)) is not None:
        return line
    a, b = unit_of(source), unit_of(target)
    try:
        shift, one, three = (Fraction(registry().Quantity(Fraction(n), a).to(b).magnitude) for n in (0, 1, 3))
    except (TypeError, ValueError, ZeroDivisionError):
        if is_scale(source) != is_scale(target):
            scale, other = (source, target) if is_scale(source) else (target, source)
            if _step(scale) is not None:
                raise Mismatch(_only_at_source(scale, other)) from None
            why = f"{scale} is of points of a scale, and {other} is of differences"
            raise Mismatch(why) from None
        raise Mismatch(_no_line(source, target)) from None
    if three - shift != 3 * (one - shift) or one <= shift:
        raise Mismatch(_no_line(source, target))
    return Affine(one - shift, shift)


def is_same(a: str, b: str) -> bool:
    """Returns True if two names mean the same unit. Raises `UnknownUnit`."""
    try:
        return conversion(a, b).is_identity
    except Mismatch:
        return False


def leads(function: Affine, source: str, target: str) -> bool:
    """Returns True if `function` converts values from one unit to the other."""
    try:
        return conversion(source, target) == function
    except (Mismatch, UnknownUnit):
        return False


def _apart(source: str, target: str) -> Mismatch:
    return Mismatch(f"{described(source)} and {described(target)} are different kinds of quantity")


def _no_line(source: str, target: str) -> str:
    return f"the conversion from {source} to {target} is not of the shape y * a + b with a > 0"


def _only_at_source(scale: str, other: str) -> str:
    if level(other, scale) is None:
        return f"{scale} may be of powers or of amplitudes: `alter(x, y -> 10 * log10(y))` says which"
    accent = f"unit(x, {unit_text(scale)})"
    return f"{scale} is a logarithm: declared in {other}, values come in it after the accent `{accent}`"


def circle(unit: str) -> Fraction | None:
    """Returns the full circle in a unit of angle, `None` in other units. Raises `UnknownUnit`."""
    if unit == SECOND or quantity(unit).kind != quantity(RADIAN).kind:
        return None
    return Fraction(repr(float(conversion("turn", unit).slope)))


@remembered
def total(operator: str, left: str, right: str) -> Sum:
    """Returns the unit of `+` or `-` of values in two units, and how each side is converted.

    The unit is the left one. A difference of temperatures on a scale is not on the scale. Raises
    `UnknownUnit`, `Mismatch`.
    """
    from pint import PintError

    if quantity(left).kind != quantity(right).kind:
        raise _apart(left, right)
    if not is_scale(left) and not is_scale(right):
        return Sum(left, IDENTITY, conversion(right, left))
    a, b, act = unit_of(left), unit_of(right), _ARITHMETIC[operator]

    def at(x: int, y: int) -> Any:
        return act(registry().Quantity(Fraction(x), a), registry().Quantity(Fraction(y), b))

    try:
        zero, first, second = at(0, 0), at(1, 0), at(0, 1)
    except (PintError, TypeError):
        hint = "a difference has a unit of its own, as delta_degC"
        raise Mismatch(
            f"{left} {operator} {right} has no meaning: both are points of a scale; {hint}"
        ) from None
    shift = Fraction(zero.magnitude)
    slopes = Fraction(first.magnitude) - shift, Fraction(second.magnitude) - shift
    sign = 1 if operator == "+" else -1
    names = (left, right, f"delta_{left}")
    unit = next((name for name in names if _is_called(zero.units, name)), named(zero.units))
    return Sum(unit, Affine(slopes[0], 0), Affine(slopes[1] * sign, shift * sign))


def _is_called(unit: Any, name: str) -> bool:
    try:
        return unit == unit_of(name)
    except UnknownUnit:
        return False


@remembered
def product(operator: str, left: str, right: str) -> str | None:
    """Returns the unit of `*` or `/`; `None` for temperatures on a scale, which cannot be multiplied.

    Raises `UnknownUnit`.
    """
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


@remembered
def power(unit: str, exponent: Fraction) -> str | None:
    """Returns the unit of a power of values; `None` for temperatures on a scale. Raises `UnknownUnit`."""
    if is_scale(unit):
        return None
    return named(unit_of(unit) ** exponent)


@remembered
def is_scale(unit: str) -> bool:
    """Returns True if values are points on a scale with a zero of its own, as degC. Raises `UnknownUnit`."""
    return not registry().Quantity(Fraction(1), unit_of(unit))._is_multiplicative


@remembered
def difference(unit: str) -> str | None:
    """Returns the unit of the difference of two values; `None` if it does not exist, as for decibels.

    Raises `UnknownUnit`.
    """
    try:
        return total("-", unit, unit).unit if is_scale(unit) else unit
    except Mismatch:
        return None


def of_differences(names: Iterable[str]) -> tuple[str, ...]:
    """Returns the units of differences of values, and the squares of these: of deviations and variances."""
    differences = [unit for name in names if (unit := difference(name)) is not None]
    squares = [square for unit in differences if (square := power(unit, Fraction(2))) is not None]
    return (*differences, *squares)
