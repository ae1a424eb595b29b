"""Doubles that an affine function has made, with the exact values that they are nearest to."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import Any

from cedilla.compiler.regions.affine import Affine, exact
from cedilla.runtime.reference.scalars.arithmetic import double, is_odd


class Decoded(float):
    """A double with the exact value that it is for: the control plane compares that one with constants that the same
    function has made."""

    __slots__ = ("exact",)
    exact: int | Fraction


def decoded(function: Affine, value: Any) -> Any:
    """A function of a number, or of each element of a list, in doubles."""
    if function.is_identity:
        return value
    if is_odd(value):
        return function.of_double(value)
    if isinstance(value, list):
        return [decoded(function, each) for each in value]
    return nearest(function.of_double(double(value)), function(exact_value(value)))


def nearest(value: float, exact: int | Fraction) -> float:
    """A double with the exact value that it is for; an infinity as it is."""
    if not isfinite(value):
        return value
    result = Decoded(value)
    result.exact = exact
    return result


def exact_value(value: Any) -> int | Fraction:
    """The number that a finite value is for; a double for its shortest decimal, as a constant is written."""
    if isinstance(value, Decoded):
        return value.exact
    return exact(Fraction(repr(value))) if isinstance(value, float) else exact(Fraction(value))
