"""Kinds of quantity: which units convert to each other (theory N15).

Information, angles, rotations and counts have dimensions in the registry. This module drops them in products:
an angle of 2 rad times a radius of 3 m is 6 m.
"""
# pyright: basic

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from attrs import frozen

from cedilla.compiler.expressions.units.answers import remembered
from cedilla.compiler.expressions.units.own import OF, OWN, short
from cedilla.compiler.expressions.units.registry import (
    NUMBER,
    UnknownUnit,
    is_count,
    of_substance,
    quotient,
    registry,
    text,
    unit_of,
    written,
)

_FORGOTTEN: Mapping[str, tuple[str, frozenset[str]]] = {
    "revolution": (NUMBER, frozenset()),
    "volt_ampere": ("watt", frozenset({"second"})),
    "volt_ampere_reactive": ("watt", frozenset({"second"})),
    "radian": (NUMBER, frozenset({"second"})),
}
"""Base unit -> its meaning in products, and the base units that leave it a kind. The order counts: `rad/revolution` is
an angle.
"""
_TORQUE = "torque"
_AMOUNT, _MASS = "mole", "gram"
_FACTORS = re.compile(r"[*.·⋅ ]")


@frozen
class Quantity:
    """A unit as a multiple of base units: `factor`; its `kind` is the base units with their powers."""

    kind: frozenset[tuple[str, Fraction]]
    factor: Fraction


@remembered
def quantity(name: str) -> Quantity:
    """Returns a unit in base units; for degC and the like, the factor is that of differences.

    Raises `UnknownUnit`.
    """
    unit, substance = of_substance(name)
    factor, roots = _of_roots(unit_of(unit))
    if substance and (amount := roots.pop(_AMOUNT, None)):
        factor *= Fraction(OWN.sub(r"\2", substance)) ** int(amount)
        roots[_MASS] = roots.get(_MASS, Fraction(0)) + amount
    _forget_counts(roots)
    for base, (stands_for, beside) in _FORGOTTEN.items():
        power = roots.get(base, Fraction(0))
        if not power or (power == 1 and roots.keys() <= {base, *beside}):
            continue
        value, others = _of_roots(unit_of(stands_for))
        factor *= Fraction(value**power)
        del roots[base]
        for other, exponent in others.items():
            roots[other] = roots.get(other, Fraction(0)) + exponent * power
    kind = {(base, power) for base, power in roots.items() if power}
    if substance:
        kind.add((substance, Fraction(1)))
    if _is_torque(name):
        kind.add((_TORQUE, Fraction(1)))
    return Quantity(frozenset(kind), factor)


def _forget_counts(roots: dict[str, Fraction]) -> None:
    """Drops counts from products: milliseconds per request are milliseconds; requests per second stay a rate."""
    counts = [base for base in roots if is_count(base)]
    for base in counts:
        if len(counts) > 1 or roots[base] != 1:
            del roots[base]


def _of_roots(unit: Any) -> tuple[Fraction, dict[str, Fraction]]:
    factor, base = registry().get_root_units(unit, check_nonmult=False)
    return Fraction(factor), {name: Fraction(power) for name, power in base._units.items()}


def _is_torque(name: str) -> bool:
    """Returns True for a force times a length, `N*m`; `ft*lbf` is an energy."""
    own = OWN.fullmatch(name)
    match _FACTORS.split(name if own is None else own[2]):
        case [force, arm] if force and arm:
            try:
                return _is_of(force, "newton") and _is_of(arm, "meter")
            except UnknownUnit:
                return False
        case _:
            return False


def _is_of(name: str, other: str) -> bool:
    return unit_of(name).dimensionality == unit_of(other).dimensionality


def named(unit: Any) -> str:
    """Returns the name of a computed unit.

    A product of a force and a length is an energy, so the length comes first.
    """
    name = text(unit)
    return "*".join(reversed(name.split("*"))) if _is_torque(name) else name


@remembered
def described(name: str) -> str:
    """Returns a unit with its kind, as `degF (temperature)`, `byte (information)`."""
    unit_of(of_substance(name)[0])  # which defines the own units in the name
    kind = dict(quantity(name).kind)
    if kind.pop(_TORQUE, None):
        return f"{name} (torque)"
    name, substance = of_substance(name)
    kind.pop(substance, None)
    dimensions = registry().get_dimensionality(registry().UnitsContainer(kind))
    powers = {
        written(dimension.strip("[]")): Fraction(power) for dimension, power in sorted(dimensions.items())
    }
    what = f"{short(name)}{f'{OF}{short(substance)}' if substance else ''}"
    return f"{what} ({short(quotient(powers, 'ratio'))})"
