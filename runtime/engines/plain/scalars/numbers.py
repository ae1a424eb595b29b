"""Functions of numbers: signs, rounding, remainders, powers, logarithms, angles."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

from cedilla.runtime.engines.plain.scalars.arithmetic import (
    double,
    in_range,
    is_odd,
    positive_remainder,
    remainder,
)


def rounded(value: Any, digits: int = 0, mode: str = ROUND_HALF_UP) -> Any:
    """Rounds a number to `digits` decimal places of its shortest decimal. A zero has no sign."""
    if is_odd(value) or (isinstance(value, int) and digits >= 0):
        return value
    if digits < 0 and isinstance(value, float):
        return _rounded_to_tens(value, 10.0**-digits, mode)
    if isinstance(value, int | Fraction):
        scaled = value * Fraction(10) ** digits
        result = (round(scaled) if mode == ROUND_HALF_EVEN else _half_up(scaled)) / Fraction(10) ** digits
        return in_range(int(result)) if isinstance(value, int) else result
    exact = Decimal(repr(value))
    if abs(exact) >= 2**52:
        return float(exact)
    return float(exact.quantize(Decimal(1).scaleb(-digits), mode, _ALL_DIGITS)) + 0.0


def _rounded_to_tens(value: float, step: float, mode: str) -> float:
    """Rounds a double to a multiple of a power of ten by its remainder, in the steps that engines take."""
    if abs(value) >= 2**63:
        return value
    rest = math.fmod(value, step)
    kept = value - rest
    is_tie = abs(rest) == step / 2
    is_away = kept % (2 * step) != 0 if is_tie and mode == ROUND_HALF_EVEN else abs(rest) >= step / 2
    return kept + (math.copysign(step, value) if is_away else 0.0) + 0.0


_ALL_DIGITS = Context(prec=40)
"""Holds 16 digits before the point and 15 after it."""


def _half_up(value: Fraction) -> int:
    """Returns the nearest whole number; of two, the one farther from zero."""
    nearest = math.floor(abs(value) + Fraction(1, 2))
    return -nearest if value < 0 else nearest


def _rounding(function: Callable[[Any], int]) -> Callable[[Any], Any]:
    return lambda value: None if is_odd(value) else in_range(function(value))


def _root_of_squares(x: float, y: float) -> float:
    """Computes in steps that are rounded equally everywhere; a power of two keeps the squares in range."""
    greater = max(abs(x), abs(y))
    scale = 2.0**-600 if greater > 2.0**500 else 2.0**600 if greater < 2.0**-400 else 1.0
    x, y = x * scale, y * scale
    return math.sqrt(x * x + y * y) / scale


def _real(function: Callable[..., float]) -> Callable[..., Any]:
    """Wraps a function of doubles: undefined outside its domain, infinite for too large results."""

    def computed(*arguments: Any) -> Any:
        numbers = [double(value) for value in arguments]
        try:
            result = function(*numbers)
        except OverflowError:
            return math.inf
        except ValueError:
            return None
        return None if math.isnan(result) else result

    return computed


def _power(x: float, y: float) -> float:
    if x == 0 and y < 0:
        return math.inf
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf


def _log(x: float, y: float | None = None) -> float:
    if y is None:
        return math.log(x)
    base, of = math.log(x), math.log(y)
    if not base:
        return math.copysign(math.inf, of) if abs(of) > 0 else math.nan
    return _whole_exponent(x, y, of / base)


def _whole_exponent(base: float, x: float, logarithm: float) -> float:
    """Returns a logarithm, exact if it is whole."""
    if not math.isfinite(logarithm):
        return logarithm
    nearest = round(logarithm)
    try:
        return float(nearest) if math.pow(base, nearest) == x else logarithm + 0.0
    except OverflowError:
        return logarithm


def _tangent_hyperbolic(function: Callable[[float], float]) -> Callable[[float], float]:
    def signed(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.copysign(math.inf, x)

    return signed


VALUES: dict[str, Callable[..., Any]] = {
    "abs": lambda x: in_range(abs(x)),
    "sign": _real(lambda x: math.nan if math.isnan(x) else float((x > 0) - (x < 0))),
    "floor": _rounding(math.floor),
    "ceil": _rounding(math.ceil),
    "round": rounded,
    "bround": lambda x, digits=0: rounded(x, digits, ROUND_HALF_EVEN),
    "rint": lambda x: float(rounded(double(x), 0, ROUND_HALF_EVEN)),
    "mod": remainder,
    "pmod": positive_remainder,
    "sqrt": _real(math.sqrt),
    "cbrt": _real(math.cbrt),
    "pow": _real(_power),
    "exp": _real(math.exp),
    "expm1": _real(math.expm1),
    "ln": _real(math.log),
    "log": _real(_log),
    "log10": _real(math.log10),
    "log2": _real(lambda x: _whole_exponent(2.0, x, math.log2(x))),
    "log1p": _real(math.log1p),
    "sin": _real(math.sin),
    "cos": _real(math.cos),
    "tan": _real(math.tan),
    "asin": _real(math.asin),
    "acos": _real(math.acos),
    "atan": _real(math.atan),
    "atan2": _real(lambda y, x: math.atan2(y + 0.0, x + 0.0)),
    "sinh": _real(_tangent_hyperbolic(math.sinh)),
    "cosh": _real(math.cosh),
    "tanh": _real(math.tanh),
    "degrees": _real(math.degrees),
    "radians": _real(math.radians),
    "hypot": _real(_root_of_squares),
    "pi": lambda: math.pi,
    "e": lambda: math.e,
    "isnan": lambda x: x is not None and isinstance(x, float) and math.isnan(x),
}
