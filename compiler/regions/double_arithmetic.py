"""Computes affine functions of doubles as on paper: 1.005 kWh are 1005 Wh, not 1004.9999999999999.

A double means its shortest decimal. A double with few decimal places is scaled to a whole number: then the
numerator of `(x * p + q) / r` is exact, and the quotient is rounded once. Other doubles go through plain
double arithmetic. Engines and reference take the same steps and get the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd

from attrs import astuple, frozen

_MAX_PLACES = 6
"""The decimal places of the exact method.

More places cost plans with many conditions, which slows small epochs.
"""
_ZEROS, _MORE_PLACES = 9, 9
"""A factor with this many zeros, as from seconds to nanoseconds, allows more places for smaller numbers."""
_MAX_EXACT = 2**53
_MAX_SCALED = 2**51
"""No scaled double below this lies halfway between two whole numbers.

Engines round halves in different ways.
"""
_NO_SHIFT = -0.0
"""Adding it changes nothing, not even -0.0."""


@frozen
class Form:
    """The exact method for values below a magnitude: `(m * p + q) / r` with `m = rint(x * scale)`, if `m /
    scale` is x.
    """

    below: float
    scale: float
    p: float
    q: float
    r: float


_NEVER = Form(0.0, 1.0, 1.0, _NO_SHIFT, 1.0)


@lru_cache(4096)
def form_of(p: int, q: int, r: int) -> Form | None:
    """Returns the exact method of `(x * p + q) / r` for doubles with few places, or `None`."""
    if q == 0 and not any(n & (n - 1) for n in (abs(p), r)):  # powers of two round nothing
        return None
    return _form(_places(p, q, r), p, q, r)


def _places(p: int, q: int, r: int) -> int:
    """Returns the number of decimal places that the exact method takes; 0 if it does not apply.

    A factor of many digits leaves room for fewer places: half of the digits are for those before the point.
    """
    if p % 10**_ZEROS == 0 and _exact_limit(*_scaled(_MORE_PLACES, p, q, r)) == _MAX_SCALED:
        return _MORE_PLACES
    digits = len(str(_exact_limit(*_scaled(_MAX_PLACES, p, q, r))))
    return max(0, min(_MAX_PLACES, digits // 2 - 1))


def _scaled(places: int, p: int, q: int, r: int) -> tuple[int, int, int]:
    scale = 10**places
    common = gcd(p, q * scale, r * scale)
    return p // common, q * scale // common, r * scale // common


def _exact_limit(p: int, q: int, r: int) -> int:
    """Returns the largest whole m with an exact numerator `m * p + q`; 0 if p, q or r is not a double."""
    if not all(map(_is_double, (p, q, r))):
        return 0
    twos = (p | q) & -(p | q)
    return max(0, min(_MAX_SCALED, (_MAX_EXACT * twos - abs(q)) // abs(p)))


def _form(places: int, p: int, q: int, r: int) -> Form | None:
    numbers = _scaled(places, p, q, r)
    limit, scale = _exact_limit(*numbers), 10**places
    if limit == 0 or places == 0:
        return None
    slope, shift, divisor = map(float, numbers)
    return Form(limit / scale, float(scale), slope, shift or _NO_SHIFT, divisor)


def _is_double(number: int) -> bool:
    return abs(number) < 2**1000 and int(float(number)) == number


def of_double(p: int, q: int, r: int, value: float) -> float:
    """Returns `(value * p + q) / r` in doubles, as the SQL computes it."""
    form = form_of(p, q, r)
    if form is not None and abs(value) < form.below:
        scaled = _rint(value * form.scale)
        if scaled / form.scale == value:
            return (scaled * form.p + form.q) / form.r
    slope, shift, divisor = _doubles(p, q, r)
    return (value * slope + shift) / divisor if q else value * slope / divisor


def _rint(value: float) -> float:
    return value if not value else float(round(value))


def _doubles(p: int, q: int, r: int) -> tuple[float, float, float]:
    """Returns the doubles of plain arithmetic; if they do not hold p, q or r, those of the quotients."""
    if _are_doubles(p, q, r):
        return float(p), float(q), float(r)
    return p / r, q / r, 1.0


def _are_doubles(p: int, q: int, r: int) -> bool:
    return max(abs(p), abs(q), r) < 2**1000


def sql(value: str, p: int, q: int, r: int) -> str:
    """Returns SQL for the same function of a DOUBLE column."""
    plain = _affine(value, *map(_literal, _doubles(p, q, r)))
    form = form_of(p, q, r)
    return plain if form is None else _chosen(value, tuple(map(_literal, astuple(form))), plain)


def coefficients(p: int, q: int, r: int) -> tuple[float, ...] | None:
    """Returns the numbers for `sql_over`, equally many for each function; `None` if the function needs more."""
    if not _are_doubles(p, q, r):
        return None
    return float(p), float(q) if q else _NO_SHIFT, float(r), *astuple(form_of(p, q, r) or _NEVER)


def sql_over(value: str, numbers: Sequence[str]) -> str:
    """Returns the same SQL as `sql`, with the `coefficients` of the function in columns of each row."""
    p, q, r, *form = numbers
    return _chosen(value, form, f"({value} * {p} + {q}) / {r}")


def _chosen(value: str, form: Sequence[str], plain: str) -> str:
    below, scale, p, q, r = form
    scaled = f"rint({value} * {scale})"
    is_exact = f"abs({value}) < {below} AND {scaled} / {scale} = {value}"
    return f"CASE WHEN {is_exact} THEN {_affine(scaled, p, q, r)} ELSE {plain} END"


def _affine(value: str, p: str, q: str, r: str) -> str:
    """Returns `(value * p + q) / r` without the steps that change nothing."""
    scaled = value if p == "1.0D" else f"{value} * {p}"
    sign = "-" if q.startswith("-") else "+"
    shifted = scaled if q in ("-0.0D", "0.0D") else f"{scaled} {sign} {q.removeprefix('-')}"
    if r == "1.0D":
        return shifted
    return f"{value} / {r}" if shifted == value else f"({shifted}) / {r}"


def _literal(number: float) -> str:
    return f"{number!r}D"
