"""The conversions that may explain a jump: between units of one kind if the unit is declared, else those that
producers are known to mix up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from math import inf

from attrs import evolve, frozen

from cedilla.compiler.expressions.units.own import OF, PART, short
from cedilla.compiler.expressions.units.units import Mismatch, UnknownUnit, conversion
from cedilla.compiler.regions.affine import IDENTITY, Affine

_UNITS = (
    *("degC", "degF", "kelvin"),
    *("m/s", "km/h", "mph", "knot"),
    *("mm", "cm", "m", "km", "inch", "foot", "mile"),
    *("g", "kg", "tonne", "lb", "ounce"),
    *("mW", "W", "kW", "MW", "GW", "hp"),
    *("Wh", "kWh", "MWh", "GWh", "W*min", "kW*min", "J", "kJ", "MJ", "GJ", "BTU"),
    *("Pa", "hPa", "kPa", "bar", "psi", "inHg", "mmHg"),
    *("mL", "litre", "m3", "gallon"),
    *("litre/second", "litre/minute", "m3/hour", "gallon/minute"),
    *("ns", "us", "ms", "s", "min", "hour", "day"),
    *("bit", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"),
    *("1", "percent", "permille", "ppm", "ppb"),
    *("Hz", "kHz", "MHz", "GHz", "rpm"),
    *("deg", "rad"),
    *("uV", "mV", "V", "kV"),
    *("uA", "mA", "A", "kA"),
    *("ug/m3", "mg/m3", "g/m3"),
)
"""Units in use; a jump may lead to those of the kind of the declared one, and so may those of the query."""
_OF_SUBSTANCES = ("g/L", "mg/dL", "mg/L", "ug/L", "mol/L", "mmol/L", "umol/L", "nmol/L")
"""The same of a substance, `mg/dL of glucose`."""

_FAHRENHEIT = Affine(Fraction(9, 5), Fraction(32))
_KELVIN = Affine(Fraction(1), Fraction("273.15"))
_PAIRS = (
    ("inches", "mm", "25.4"),
    ("feet", "m", "0.3048"),
    ("US gallons", "litres", "3.785411784"),
    ("inHg", "hPa", "33.8638866667"),
    ("psi", "kPa", "6.894757293168"),
)
"""Factors of at least 3: nature has smaller ones too often, so only a declared unit allows them."""


@frozen
class Conversion:
    """A conversion. `penalty`: how much more a rare one has to explain, in nats; `unit`: the one that it leads to;
    `between`: the values that may be in the unit before it; `undoes`: values continue as before, without an accent.
    `came_from`: the unit of all earlier values, if it leads into the declared one.
    """

    name: str
    function: Affine
    penalty: float = 0.0
    unit: str | None = None
    between: tuple[float, float] = (-inf, inf)
    undoes: bool = False
    came_from: str | None = None


def _scale(factor: str | int | Fraction) -> Affine:
    return Affine(Fraction(factor), Fraction(0))


def _both(forth: str, back: str, function: Affine, penalty: float) -> Iterator[Conversion]:
    yield Conversion(forth, function, penalty)
    yield Conversion(back, function.inverse(), penalty)


_CELSIUS = (-90.0, 100.0)
"""Temperatures, if no unit is declared."""


def _temperatures() -> Iterator[Conversion]:
    of = {"°C": IDENTITY, "°F": _FAHRENHEIT, "K": _KELVIN}
    for first, second in permutations(of, 2):
        low, high = (float(of[first](Fraction(value))) for value in _CELSIUS)
        function = of[second].after(of[first].inverse())
        yield Conversion(f"{first} to {second}", function, between=(low, high))


def _factors() -> Iterator[Conversion]:
    """Yields moved decimal points."""
    for power, penalty in ((3, 0.0), (2, 0.0), (1, 0.0), (6, 1.0), (4, 3.0), (5, 3.0)):
        yield from _both(f"x {10**power:,}", f"/ {10**power:,}", _scale(10**power), penalty)


def _sixties() -> Iterator[Conversion]:
    yield from _both("minutes to seconds", "seconds to minutes", _scale(60), 1.0)


SIGN = Conversion("the opposite sign", _scale(-1), 2.0)


def _all_conversions() -> Iterator[Conversion]:
    yield from _factors()
    yield from _temperatures()
    yield from _sixties()
    yield from _both("hours to seconds", "seconds to hours", _scale(3600), 1.0)
    yield from _both("m/s to km/h", "km/h to m/s", _scale("3.6"), 4.5)
    yield from _both("KiB to B", "B to KiB", _scale(1024), 1.0)
    yield from _both("MiB to B", "B to MiB", _scale(1024**2), 1.0)
    yield SIGN
    for first, second, factor in _PAIRS:
        yield from _both(f"{first} to {second}", f"{second} to {first}", _scale(factor), 5.0)


CONVERSIONS = tuple(_all_conversions())
"""Those of attributes without a declared unit."""


_NO_UNIT = 3.0
"""The penalty of factors that lead to no unit, for an attribute that has one."""
_CAME_FROM = 2.0
"""The penalty of a jump into the declared unit: all values before it were wrong."""


@lru_cache(256)
def unit_conversions(unit: str, own: tuple[str, ...] = ()) -> tuple[tuple[str, Affine], ...]:
    """Returns the other units of the kind of `unit`, each with the function that leads to it. `own`: the full names of
    the query's units.

    For example, kWh/day leads to Wh/day and kWh/hour.
    """
    conversions: dict[Affine, str] = {}
    for name in (*own, *_UNITS, *_of_a_part(unit, own)):
        try:
            function = conversion(unit, name)
        except (Mismatch, UnknownUnit):
            continue
        if not function.is_identity:
            conversions.setdefault(function, name)
    return tuple((name, function) for function, name in conversions.items())


def _of_a_part(unit: str, own: tuple[str, ...]) -> Iterator[str]:
    """Yields units that differ in one part of a unit of several, and those of a substance."""
    _, of, substance = unit.rpartition(OF)
    if of:
        yield from (f"{name}{OF}{substance}" for name in _OF_SUBSTANCES)
        return
    for part in PART.finditer(unit):
        if part[0] != unit and not part[0].startswith("{"):
            for name, function in unit_conversions(part[0], own):
                if function.shift == 0 and PART.fullmatch(name):
                    yield unit[: part.start()] + name + unit[part.end() :]


def _oddness(function: Affine) -> float:
    """Returns the penalty of a conversion between units of two systems, as MiB and kB; temperatures have none."""
    return 1.0 if function.shift == 0 and 1 not in function.slope.as_integer_ratio() else 0.0


@lru_cache(1024)
def candidates(
    unit: str | None, decoded: Affine = IDENTITY, net: Affine = IDENTITY, own: tuple[str, ...] = ()
) -> tuple[Conversion, ...]:
    """Returns the conversions that values may have met.

    `unit`: the declared unit; `decoded`: the function with which accents decode values now; `net`: the jumps since
    then that no accent announces; `own`: the full names of the query's units. A value in a new unit is decoded as if
    it were in the old one.
    """
    undone = net.inverse()
    back = decoded.after(undone)
    undoing = (
        [] if back.is_identity else [Conversion("no accent at all", back, 0.0, unit, undoes=net.is_identity)]
    )
    if unit is None:
        return (*undoing, *CONVERSIONS)
    units = [
        Conversion(
            f"{short(unit)} to {short(name)}",
            decoded.after(function).after(undone),
            _oddness(function),
            name,
        )
        for name, function in unit_conversions(unit, own)
    ]
    if decoded.is_identity and net.is_identity:
        units += _into(unit, own, {conversion.function for conversion in units})
    of_units = [conversion for conversion in (*undoing, *units) if not conversion.function.is_identity]
    functions = {conversion.function for conversion in of_units}
    moved = [
        conversion for conversion in (*_factors(), *_sixties(), SIGN) if conversion.function not in functions
    ]
    return (*of_units, *(evolve(conversion, penalty=conversion.penalty + _NO_UNIT) for conversion in moved))


def _into(unit: str, own: tuple[str, ...], functions: Collection[Affine]) -> Iterator[Conversion]:
    """Yields the conversions of values that were in another unit and are in the declared one now. `functions`: those
    that lead out of it, which are more likely."""
    for name, function in unit_conversions(unit, own):
        back = function.inverse()
        if back not in functions:
            text = f"{short(name)} to {short(unit)}"
            yield Conversion(text, back, _CAME_FROM + _oddness(function), unit, came_from=name)


def unit_after(unit: str | None, function: Affine, own: tuple[str, ...] = ()) -> str | None:
    """Returns the unit to which a function leads from the declared one, if it is one of those in use or in `own`, the
    full names of the query's units."""
    if unit is None:
        return None
    return next(
        (name for name, leads in ((unit, IDENTITY), *unit_conversions(unit, own)) if leads == function), None
    )
