# pyright: basic
# The only module that sees pint: its types are partial, those of the functions here are not.
"""Units by their names: pint's, or UCUM codes through ucumvert. All conversions are exact (theory N4 to N6).

A unit is its name, a string. What computations make is named as pint reads it: `meter/second**2`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from importlib import resources
from operator import add, mul, sub, truediv
from pickle import PickleError
from tokenize import TokenError
from typing import Any

from attrs import frozen

from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.kept import place

NUMBER = "dimensionless"
"""The unit of a plain number that came of units, as of a quotient of two of them."""
RADIAN = "radian"

_LONGEST = 60
_ODD = re.compile(r"[\s,;=\x00]|[0-9]{3}|[0-9][eE]|\*\*[^*/]*\*\*")
"""What no name has; pint would calculate powers however large they are."""
_MANY = 1024
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}


class UnknownUnit(ValueError):
    """No unit has this name."""


class Mismatch(ValueError):
    """Two units do not go together; the text says why."""


_ANNOTATION = re.compile(r"\{[^{}]*\}")
"""UCUM's remarks, `{request}`: alone they stand for a plain number."""


@frozen
class Sum:
    """What a sum or difference gives: its unit, and what is done to each side before it."""

    unit: str
    left: Affine
    right: Affine


@cache
def _registry() -> Any:
    """Everything that pint knows, with fractions in place of floating point numbers."""
    from pint import UnitRegistry

    return _kept(UnitRegistry, non_int_type=Fraction)


def _kept(registry: Callable[..., Any], **arguments: Any) -> Any:
    """A registry from what pint keeps of its definitions, which take it half a second to read; without where that is
    spoilt or cannot be read."""
    folder = place("pint")
    try:
        return registry(cache_folder=folder, **arguments)
    except (OSError, EOFError, PickleError, AttributeError, ImportError, ValueError):
        return registry(**arguments)


@cache
def _codes() -> Callable[[str], Any]:
    """What reads UCUM codes. Its units without a name in pint become known to the registry."""
    from ucumvert import PintUcumRegistry

    _registry().load_definitions(str(resources.files("ucumvert") / "pint_ucum_defs.txt"))
    return _kept(PintUcumRegistry).from_ucum


@lru_cache(_MANY)
def _unit(name: str) -> Any:
    """The unit of a name. Raises `UnknownUnit`."""
    from pint import PintError

    if len(name) > _LONGEST or _ODD.search(name) or not name:
        raise UnknownUnit(name)
    if _ANNOTATION.fullmatch(name):
        return _registry().parse_units(NUMBER)
    # A name that is none may also be no Python (pint reads names as such), or a number.
    try:
        return _registry().parse_units(name)
    except (PintError, TokenError, ArithmeticError, AssertionError, AttributeError, TypeError, ValueError):
        return _of_code(name)


def _of_code(code: str) -> Any:
    from lark.exceptions import LarkError
    from pint import PintError

    try:
        quantity = _codes()(code)
        if quantity.magnitude != 1:
            raise UnknownUnit(code)
        return _registry().parse_units(_text(quantity.units))
    except (PintError, LarkError, AttributeError, TypeError, ValueError):
        raise UnknownUnit(code) from None


def check(name: str) -> None:
    """Raise `UnknownUnit` where no unit has a name."""
    _unit(name)


def _text(unit: Any) -> str:
    """The name of a computed unit, which pint reads back; its own text fails on fractions."""
    powers = {name: Fraction(power) for name, power in unit._units.items()}
    above = [_power(name, power) for name, power in powers.items() if power > 0]
    below = [_power(name, -power) for name, power in powers.items() if power < 0]
    if not below:
        return "*".join(above) or NUMBER
    return "/".join(("*".join(above) or "1", *below))


def _power(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    return f"{name}**{power}" if power.denominator == 1 else f"{name}**({power})"


@lru_cache(_MANY)
def conversion(source: str, target: str) -> Affine:
    """The function from values in one unit to values in another.

    Raises `UnknownUnit`; `Mismatch` where the dimensions differ, or the function is not affine and increasing.
    """
    if source == target:
        return IDENTITY
    a, b = _unit(source), _unit(target)
    if not a.is_compatible_with(b):
        raise _apart(source, target)
    try:
        shift, one, three = (
            Fraction(_registry().Quantity(Fraction(n), a).to(b).magnitude) for n in (0, 1, 3)
        )
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


_LIKE = {"C": "degC", "F": "degF"}
"""Names of coulomb and farad, and what they are written for."""


def _apart(source: str, target: str) -> Mismatch:
    """That two units are of different dimensions, and which one was likely meant."""
    why = f"{described(source)} and {described(target)} are of different dimensions"
    meant = [_LIKE.get(name, name) for name in (source, target)]
    if meant != [source, target] and _unit(meant[0]).is_compatible_with(_unit(meant[1])):
        why += f"; did you mean `{'` and `'.join(sorted({*meant} - {source, target}))}`?"
    return Mismatch(why)


def _no_line(source: str, target: str) -> str:
    return f"the conversion from {source} to {target} is not of the shape y * a + b with a > 0"


def described(name: str) -> str:
    """A unit with its dimension, as `degF (temperature)`."""
    dimensions = _unit(name).dimensionality
    powers = {key.strip("[]"): Fraction(power) for key, power in dimensions.items()}
    above = [_power(each, power) for each, power in powers.items() if power > 0]
    below = [_power(each, -power) for each, power in powers.items() if power < 0]
    dimension = "/".join(("*".join(above) or ("1" if below else "no dimension"), *below))
    return f"{name} ({dimension})"


@lru_cache(_MANY)
def total(operator: str, left: str, right: str) -> Sum:
    """What `+` or `-` gives of values in two units: the left one's, but for temperatures on a scale, whose
    differences are no temperatures on it. Raises `UnknownUnit`, `Mismatch`."""
    from pint import PintError

    a, b = _unit(left), _unit(right)
    if not a.is_compatible_with(b):
        raise _apart(left, right)
    act, quantity = _ARITHMETIC[operator], _registry().Quantity

    def at(x: int, y: int) -> Any:
        return act(quantity(Fraction(x), a), quantity(Fraction(y), b))

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
    unit = next((name for name in names if _is_called(none.units, name)), _text(none.units))
    return Sum(unit, Affine(slopes[0], 0), Affine(slopes[1] * sign, shift * sign))


def _is_called(unit: Any, name: str) -> bool:
    try:
        return unit == _unit(name)
    except UnknownUnit:
        return False


@lru_cache(_MANY)
def product(operator: str, left: str, right: str) -> str | None:
    """The unit of `*` or `/`; `None` of temperatures on a scale, which cannot be multiplied. Raises `UnknownUnit`."""
    from pint import OffsetUnitCalculusError

    one = Fraction(1)
    quantity = _registry().Quantity
    if operator == "/" and left == right:
        return NUMBER
    try:
        result = _ARITHMETIC[operator](quantity(one, _unit(left)), quantity(one, _unit(right)))
    except OffsetUnitCalculusError:
        return None
    return _text(result.units)


@lru_cache(_MANY)
def power(unit: str, exponent: Fraction) -> str | None:
    """The unit of a power of values; `None` of temperatures on a scale. Raises `UnknownUnit`."""
    if is_scale(unit):
        return None
    return _text(_unit(unit) ** exponent)


@lru_cache(_MANY)
def is_scale(unit: str) -> bool:
    """Whether values are points of a scale with a zero of its own, as degC. Raises `UnknownUnit`."""
    return not _registry().Quantity(Fraction(1), _unit(unit))._is_multiplicative


@lru_cache(_MANY)
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
