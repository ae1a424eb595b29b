"""Affine functions of doubles as on paper: 1.005 kWh are 1005 Wh, though 1.005 * 1000 is 1004.9999999999999 in doubles.

A double stands for its shortest decimal. A double with few decimal places is scaled to a whole number: then the
numerator of `(x * p + q) / r` is exact, and the quotient is rounded once. Other doubles go through plain double
arithmetic. Engines and reference take the same steps and get the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd, inf

from attrs import astuple, frozen

_PLACES = 6
"""The decimal places that the exact way takes; more cost plans of many conditions, which small epochs feel."""
_ZEROS, _MORE_PLACES = 9, 9
"""A factor with so many zeros, as of seconds to nanoseconds, takes more places of smaller numbers."""
_EXACT = 2**53
_SCALED = 2**51
"""Below, no scaled double lies halfway between two whole numbers. Engines round halves in different ways."""
_NO_SHIFT = -0.0
"""Adding it changes nothing, not even -0.0."""


@frozen
class Form:
    """The exact way below a magnitude: `(m * p + q) / r` with `m = rint(x * scale)`, if `m / scale` is x."""

    below: float
    scale: float
    p: float
    q: float
    r: float


_NEVER = Form(0.0, 1.0, 1.0, _NO_SHIFT, 1.0)


@lru_cache(4096)
def form_of(p: int, q: int, r: int) -> Form | None:
    """The exact way of `(x * p + q) / r` for doubles with few places; `None` if there is none."""
    if q == 0 and not any(n & (n - 1) for n in (abs(p), r)):  # powers of two round nothing
        return None
    return _form(_places(p, q, r), p, q, r)


def _places(p: int, q: int, r: int) -> int:
    """The decimal places that the exact way takes, 0 for none.

    A factor of many digits leaves room for fewer: half of the digits are for those before the point.
    """
    if p % 10**_ZEROS == 0 and _most(*_scaled(_MORE_PLACES, p, q, r)) == _SCALED:
        return _MORE_PLACES
    digits = len(str(_most(*_scaled(_PLACES, p, q, r))))
    return max(0, min(_PLACES, digits // 2 - 1))


def _scaled(places: int, p: int, q: int, r: int) -> tuple[int, int, int]:
    scale = 10**places
    common = gcd(p, q * scale, r * scale)
    return p // common, q * scale // common, r * scale // common


def _most(p: int, q: int, r: int) -> int:
    """Up to which whole number the numerator `m * p + q` is exact; 0 where doubles do not hold p, q and r."""
    if not all(map(_is_double, (p, q, r))):
        return 0
    twos = (p | q) & -(p | q)
    return max(0, min(_SCALED, (_EXACT * twos - abs(q)) // abs(p)))


def _form(places: int, p: int, q: int, r: int) -> Form | None:
    numbers = _scaled(places, p, q, r)
    most, scale = _most(*numbers), 10**places
    if most == 0 or places == 0:
        return None
    slope, shift, divisor = map(float, numbers)
    return Form(most / scale, float(scale), slope, shift or _NO_SHIFT, divisor)


def _is_double(number: int) -> bool:
    return abs(number) < 2**1000 and int(float(number)) == number


def of_double(p: int, q: int, r: int, value: float) -> float:
    """`(value * p + q) / r` in doubles, as the SQL computes it."""
    form = form_of(p, q, r)
    if form is not None and abs(value) < form.below:
        scaled = _rint(value * form.scale)
        if scaled / form.scale == value:
            return (scaled * form.p + form.q) / form.r
    return (value * _nearest(p) + _nearest(q)) / _nearest(r) if q else value * _nearest(p) / _nearest(r)


def _rint(value: float) -> float:
    return value if not value else float(round(value))


def _nearest(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def sql(value: str, p: int, q: int, r: int) -> str:
    """The same of a DOUBLE column."""
    plain = _affine(value, *map(_literal, (p, q, r)))
    form = form_of(p, q, r)
    return plain if form is None else _chosen(value, tuple(map(_literal, astuple(form))), plain)


def coefficients(p: int, q: int, r: int) -> tuple[float, ...] | None:
    """The numbers of `sql_over`, the same count for each function; `None` if the function needs more."""
    if max(abs(p), abs(q), r) >= 2**1000:
        return None
    return float(p), float(q) if q else _NO_SHIFT, float(r), *astuple(form_of(p, q, r) or _NEVER)


def sql_over(value: str, numbers: Sequence[str]) -> str:
    """The same as `sql`; the `coefficients` of the function are columns of each row."""
    p, q, r, *form = numbers
    return _chosen(value, form, f"({value} * {p} + {q}) / {r}")


def _chosen(value: str, form: Sequence[str], plain: str) -> str:
    below, scale, p, q, r = form
    scaled = f"rint({value} * {scale})"
    is_exact = f"abs({value}) < {below} AND {scaled} / {scale} = {value}"
    return f"CASE WHEN {is_exact} THEN {_affine(scaled, p, q, r)} ELSE {plain} END"


def _affine(value: str, p: str, q: str, r: str) -> str:
    """`(value * p + q) / r` without the steps that change nothing."""
    scaled = value if p == "1.0D" else f"{value} * {p}"
    sign = "-" if q.startswith("-") else "+"
    shifted = scaled if q in ("-0.0D", "0.0D") else f"{scaled} {sign} {q.removeprefix('-')}"
    if r == "1.0D":
        return shifted
    return f"{value} / {r}" if shifted == value else f"({shifted}) / {r}"


def _literal(number: float) -> str:
    return f"{_nearest(number)!r}D" if isinstance(number, int) else f"{number!r}D"
