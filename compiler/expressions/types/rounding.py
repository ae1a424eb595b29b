"""Floor and ceiling of affine functions as Spark SQL.

Whole numbers and decimals are divided as such, never as doubles, which have no odd numbers beyond 2^53.
Results of more than 64 bits, and those of NaN or infinities, are undefined.
"""

from __future__ import annotations

from fractions import Fraction

from cedilla.compiler.expressions.types import MAX_DIGITS, Type
from cedilla.compiler.regions.affine import Affine

_MIN_LONG, _LONG_END = -(2**63), 2**63
_DECIMAL_END = 10**MAX_DIGITS
_OF_LONG = 20
"""The digits of the decimal that holds a long."""


def rounded_sql(name: str, value: str, type_: Type, function: Affine) -> str:
    """Writes `floor` or `ceil` of an affine function of a value, as a BIGINT; `type_`: of the value."""
    if _is_in_longs(type_, function):
        _, q, r = function.integers()
        return _of_long(name, value, q, r)
    if is_exact(type_, function):
        return _of_decimal(name, value, type_, function)
    if type_.name != "double":
        value = f"CAST({value} AS DOUBLE)"
    return _of_double(name, function.sql(value))


def is_exact(type_: Type, function: Affine) -> bool:
    """Returns True if an affine function of a number is computed in longs or decimals, not in doubles."""
    scale = type_.parameters[1] if type_.parameters else 0
    has_room = max(map(abs, function.integers())) * 10**scale < _DECIMAL_END // 10
    return _is_in_longs(type_, function) or ((type_.is_integral or type_.name == "decimal") and has_room)


def limit_of(type_: Type, function: Affine) -> int | None:
    """Returns the digits before the point that a number may have so that 38 digits suffice; `None`: any."""
    if _is_in_longs(type_, function):
        return None
    p, q, _ = function.integers()
    digits, scale = type_.parameters or (_OF_LONG, 0)
    room = MAX_DIGITS - 1 - scale - (len(str(abs(p))) if p != 1 else 0)
    return room if (p != 1 or q) and digits - scale > room else None


def _is_in_longs(type_: Type, function: Affine) -> bool:
    p, q, r = function.integers()
    return type_.is_integral and p == 1 and r < _LONG_END and abs(q) // r < 2**61


def _of_long(name: str, value: str, shift: int, divisor: int) -> str:
    """Rounds `(value + shift) / divisor`, without ever adding to a value near the end of its range."""
    if divisor == 1:
        return f"try_add(CAST({value} AS BIGINT), {shift}L)" if shift else f"CAST({value} AS BIGINT)"
    whole, rest = divmod(shift, divisor)
    text = f"{value} div {divisor} - int({value} % {divisor} < 0)"
    above = f"pmod({value}, {divisor})"
    if name == "floor":
        more = f" + int({above} >= {divisor - rest})" if rest else ""
    else:
        more = f" + 1 + int({above} > {divisor - rest})" if rest else f" + int({above} > 0)"
    return f"{text}{more}{_signed(whole)}"


def _signed(number: int) -> str:
    return f" {'-' if number < 0 else '+'} {abs(number)}" if number else ""


def _of_decimal(name: str, value: str, type_: Type, function: Affine) -> str:
    """Rounds `(value * p + q) / r` in decimals. Values that do not fit 38 digits are undefined."""
    p, q, r = function.integers()
    scale = type_.parameters[1] if type_.parameters else 0
    scaled = f"CAST({value} AS DECIMAL({_OF_LONG}, 0))" if type_.is_integral else value
    limit = limit_of(type_, function)
    if p != 1 or q:
        computed = f"{scaled} * {p}BD" if p != 1 else scaled
        computed = f"{computed} + {q}BD" if q else computed
        scaled = f"({computed})" if limit is None else _between(scaled, limit, computed)
    if name == "floor":
        off, tests = f"- int({scaled} % {r}BD < 0)", ((">=", _MIN_LONG), ("<", _LONG_END))
    else:
        off, tests = f"+ int({scaled} % {r}BD > 0)", ((">", _MIN_LONG - 1), ("<=", _LONG_END - 1))
    # A bound with more digits than the value is beyond all its values.
    room = _DECIMAL_END // 10**scale
    inside = " AND ".join(f"{scaled} {sign} {end * r}BD" for sign, end in tests if abs(end * r) < room)
    if r == 1:  # without a remainder: Sail simplifies `x % 1` to 0
        rounded = f"CAST({name}({scaled}) AS BIGINT)"
    else:
        whole = f"CAST({scaled} - {scaled} % {r}BD AS DECIMAL({MAX_DIGITS}, 0))" if scale else scaled
        rounded = f"{whole} div {r}BD {off}"
    return f"CASE WHEN {inside} THEN {rounded} END" if inside else rounded


def _between(value: str, digits: int, text: str) -> str:
    """Writes `text` for decimals with at most `digits` digits before the point; undefined for others."""
    end = f"{10**digits}BD"
    return f"CASE WHEN {value} > -{end} AND {value} < {end} THEN {text} END"


def _of_double(name: str, value: str) -> str:
    return f"CASE WHEN {value} >= {_MIN_LONG}D AND {value} < {_LONG_END}D THEN {name}({value}) END"


def sum_sql(value: str, type_: Type, number: int | Fraction) -> str:
    """Adds a positive constant to a column, undefined if the sum is too large for the type."""
    match type_.name:
        case "double":
            return Affine(1, number).sql(value)
        case "decimal":
            most = Fraction(10 ** type_.parameters[0] - 1, 10 ** type_.parameters[1]) - number
            return f"CASE WHEN {value} <= {type_.sql(most)} THEN {value} + {type_.sql(number)} END"
        case _:
            return f"try_add({value}, {int(number)}L)"


def bound_sql(number: str, type_: Type, bound: Affine) -> str:
    """Writes a bound of a window, of a type, from the column of its number; undefined beyond that type."""
    step, shift, _ = bound.integers()
    if type_.first is None or type_.last is None:
        if not type_.is_integral:
            return bound.sql(f"CAST({number} AS DOUBLE)")
        product = f"try_multiply({number}, {step}L)"
        return f"try_add({product}, {shift}L)" if shift else product
    first, last = -((shift - type_.first) // step), (type_.last - shift) // step
    moved = f" + {shift}" if shift else ""
    return f"timestamp_micros(IF({number} BETWEEN {first} AND {last}, {number} * {step}{moved}, NULL))"


def window_numbers_sql(value: str, type_: Type, length: Fraction, step: Fraction) -> str:
    """Writes the numbers of the windows that contain a value as an array: all k with `k * step <= value < k *
    step + length`.

    Omits numbers of more than 64 bits; null if no number remains.
    """
    last = rounded_sql("floor", value, type_, Affine(1 / step, 0))
    first = rounded_sql("floor", value, type_, Affine(1 / step, 1 - length / step))
    ends = f"coalesce({first}, {_MIN_LONG + 1}L - 1L), coalesce({last}, {_LONG_END - 1}L)"
    return f"IF({first} IS NULL AND {last} IS NULL, NULL, sequence({ends}))"


def quotient_sql(name: str, dividend: str, divisor: str) -> str:
    """Writes `floor` or `ceil` of a quotient of two whole numbers, undefined if the divisor is 0."""
    by = f"nullif({divisor}, 0)"
    sign = "!=" if name == "floor" else "="
    off = f"int({dividend} % {by} != 0 AND ({dividend} < 0) {sign} ({divisor} < 0))"
    rounded = f"{dividend} div {by} {'-' if name == 'floor' else '+'} {off}"
    return f"CASE WHEN {divisor} = -1 THEN try_subtract(0L, CAST({dividend} AS BIGINT)) ELSE {rounded} END"
