"""Doubles that result from an affine function, with the exact values that they approximate."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import Any

from cedilla.compiler.regions.affine import exact
from cedilla.compiler.regions.function import NumberFunction
from cedilla.runtime.engines.plain.scalars.arithmetic import double, is_odd


class Decoded(float):
    """A double with the exact value that it approximates.

    The control plane compares the exact value with constants of the same function.
    """

    __slots__ = ("exact",)
    exact: int | Fraction


def decoded(function: NumberFunction, value: Any) -> Any:
    """Applies a function to a number, or to each element of a list, in doubles."""
    if function.is_identity:
        return value
    if is_odd(value):
        return function.of_double(value)
    if isinstance(value, list):
        return [decoded(function, element) for element in value]
    return nearest(function.of_double(double(value)), function(exact_value(value)))


def nearest(value: float, exact: int | Fraction) -> float:
    """Returns a double with the exact value that it approximates; infinities stay."""
    if not isfinite(value):
        return value
    result = Decoded(value)
    result.exact = exact
    return result


def exact_value(value: Any) -> int | Fraction:
    """Returns the exact value of a finite number; for a plain double, its shortest decimal, as a constant is
    written.
    """
    if isinstance(value, Decoded):
        return value.exact
    return exact(Fraction(repr(value))) if isinstance(value, float) else exact(Fraction(value))
