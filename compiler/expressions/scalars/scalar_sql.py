"""SQL of scalar functions that is equal on every engine (docs/engines.md).

Each writer gets the SQL of the arguments and their types. The SQL does not rely on engine defaults: widening
of numbers, negative places, NaN and -0.0, texts of doubles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from cedilla.compiler.expressions.types import DOUBLE, Type, decimals
from cedilla.grammar.syntax import MICROSECONDS

Writer = Callable[[Sequence[str], Sequence[Type]], str]

LENGTHS = {"microsecond": 1, **MICROSECONDS}
"""Microseconds of the units with a fixed length."""
MONTHS = {"month": "month({})", "quarter": "quarter({}) * 3 - 2", "year": "1"}
"""The first month of the other units."""


def not_nan(name: str) -> str:
    """Writes a call that is undefined if its result is NaN."""
    return f"nanvl({name}({{all}}), NULL)"


def log(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the natural logarithm, or that to a base; undefined if an argument has none."""
    if len(arguments) == 1:
        return not_nan("ln").format(all=arguments[0])
    base, x = arguments
    return f"CASE WHEN {base} > 0 AND {x} > 0 THEN {_whole_exponent(base, x, f'log({base}, {x})')} END"


def log2(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the logarithm to base 2."""
    return _whole_exponent("2D", arguments[0], f"log2({arguments[0]})")


def _whole_exponent(base: str, x: str, logarithm: str) -> str:
    """Writes a logarithm, exact if it is whole: a quotient of two others may be slightly off."""
    nearest = f"rint({logarithm})"
    return f"(nanvl(IF(pow({base}, {nearest}) = {x}, {nearest}, {logarithm}), NULL) + 0D)"


def sign(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes 1, 0 or -1; the sign of a zero is 0."""
    return f"(nanvl(sign({arguments[0]}), NULL) + 0D)"


def atan2(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes an angle. Both zeros become one, because the angle jumps between them."""
    y, x = arguments
    return f"nanvl(atan2({y} + 0D, {x} + 0D), NULL)"


def hypot(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the root of the sum of two squares.

    A factor, a power of two, keeps the squares in range without rounding.
    """
    x, y = (as_double(argument, type_) for argument, type_ in zip(arguments, types, strict=True))
    greater = f"greatest(abs({x}), abs({y}))"
    plain, large, small = (_root_of_squares(x, y, scale) for scale in (1.0, 2.0**-600, 2.0**600))
    return (
        f"nanvl(CASE WHEN {greater} > {2.0**500!r}D THEN {large} "
        f"WHEN {greater} < {2.0**-400!r}D THEN {small} ELSE {plain} END, NULL)"
    )


def _root_of_squares(x: str, y: str, scale: float) -> str:
    if scale == 1.0:
        return f"sqrt({x} * {x} + {y} * {y})"
    x, y = (f"({value} * {scale!r}D)" for value in (x, y))
    return f"sqrt({x} * {x} + {y} * {y}) * {1 / scale!r}D"


def as_double(number: str, type_: Type) -> str:
    """Casts a number to a double, because whole numbers would overflow."""
    return number if type_ == DOUBLE else f"CAST({number} AS DOUBLE)"


def power(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes a power.

    Engines differ on 0 to a negative exponent, which is infinite, and on 1 and -1 to an exponent without end, which
    are 1.
    """
    x, y = arguments
    power = f"nanvl(pow({x}, {y}), NULL)"
    if re.fullmatch(r"[\d.]+(e\d+)?D?", y):
        return power
    cases = f"WHEN {x} = 0 AND {y} < 0 THEN double('Infinity')"
    if types[1] == DOUBLE:
        cases += (
            f" WHEN ({x} = 1 AND {y} IS NOT NULL) OR ({x} = -1 AND abs({y}) = double('Infinity')) THEN 1D"
        )
    return f"CASE {cases} ELSE {power} END"


def log1p(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes ln(1 + x) to the last digits near zero, where `ln` loses them."""
    x = as_double(arguments[0], types[0])
    near = f"IF(abs({x}) < 1E-17D, {x}, 2D * atanh({x} / ({x} + 2D)))"
    return f"IF(abs({x}) < 0.5D, {near}, nanvl(ln({x} + 1D), NULL))"


def remainder(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes a remainder with the sign of the dividend: undefined for zero, NaN for doubles without one."""
    if "decimal" in [type_.name for type_ in types]:
        return _of_decimals("%", arguments, types)
    text = f"({arguments[0]} % {not_zero(arguments[1], types[1])})"
    return f"nanvl({text}, double('NaN'))" if DOUBLE in types else text


def positive_remainder(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the remainder plus a positive divisor if it is negative; the sum does not overflow."""
    if "decimal" in [type_.name for type_ in types]:
        return _of_decimals("pmod", arguments, types)
    rest, divisor = remainder(arguments, types), not_zero(arguments[1], types[1])
    more = f"({rest} + {divisor}) % {divisor}" if DOUBLE in types else f"{rest} + {divisor}"
    text = f"CASE WHEN {rest} < 0 AND {divisor} > 0 THEN {more} ELSE {rest} END"
    return f"({text} + 0D)" if DOUBLE in types else text


def _of_decimals(operator: str, arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes a remainder of two decimals."""
    (x, y), (left, right) = arguments, map(decimals.digits_of_type, types)
    result = decimals.type_of_result(operator, left, right)
    if result == DOUBLE:
        doubles = [decimals.as_double(text, type_) for text, type_ in zip(arguments, types, strict=True)]
        return (remainder if operator == "%" else positive_remainder)(doubles, [DOUBLE, DOUBLE])
    is_constant = re.fullmatch(r"[\d.]*[1-9][\d.]*BD", y)
    divisor = y if is_constant else not_zero(y, types[1])
    rest = f"({decimals.arithmetic_sql('%', (x, left), (divisor, right), result)})"
    if operator == "pmod":
        rest = f"CASE WHEN {rest} < 0 AND {divisor} > 0 THEN {rest} + {divisor} ELSE {rest} END"
    return f"CAST({rest} AS {result.spark})"


def not_zero(number: str, type_: Type) -> str:
    """Writes a divisor, undefined if it is zero.

    `nullif` does not recognise -0.0 on every engine, and Sail's widens decimals.
    """
    return f"nullif({number}, 0)" if type_.is_integral else f"IF({number} = 0, NULL, {number})"


def rounded(name: str) -> Writer:
    """Rounds by the decimal text of a double, because 1.005 is slightly less than it seems.

    A zero has no sign.
    """

    def sql(arguments: Sequence[str], types: Sequence[Type]) -> str:
        x, digits = arguments[0], arguments[1].strip("()") if len(arguments) > 1 else "0"
        if digits.startswith("-"):
            return _rounded_to_tens(name, x, types[0], int(digits[1:]))
        if types[0].name == "decimal":
            return decimals.rounded_sql(name, x, types[0], int(digits))
        if types[0] != DOUBLE:
            return x
        if digits == "0" or name == "bround":
            return f"({name}({x}, {digits}) + 0D)"
        least = 0.1 ** int(digits)
        exact = f"{name}(CAST({_digits(x, small=least < _WRITTEN_OUT)} AS DECIMAL(38, 22)), {digits})"
        return (
            f"CASE WHEN abs({x}) < {least / 10!r}D THEN 0D "
            f"WHEN abs({x}) < {2.0**51!r}D THEN CAST(CAST({exact} AS STRING) AS DOUBLE) ELSE {x} END"
        )

    return sql


def _rounded_to_tens(name: str, x: str, type_: Type, zeros: int) -> str:
    """Rounds to a multiple of a power of ten, by the remainder, which is exact in every type."""
    mark = "BD" if type_.name == "decimal" else "D" if type_ == DOUBLE else "L"
    step, half, twice = (f"{number}{mark}" for number in (10**zeros, 5 * 10 ** (zeros - 1), 2 * 10**zeros))
    x = x if type_.name != "int" else f"CAST({x} AS BIGINT)"
    rest, kept = f"{x} % {step}", f"({x} - {x} % {step})"
    is_odd = f" AND {kept} % {twice} != 0"
    above, below = f"{rest} > {half}", f"{rest} < -{half}"
    above += f" OR ({rest} = {half}{is_odd if name == 'bround' else ''})"
    below += f" OR ({rest} = -{half}{is_odd if name == 'bround' else ''})"
    if type_ == DOUBLE:
        moved = f"{kept} + CASE WHEN {above} THEN {step} WHEN {below} THEN -{step} ELSE 0D END + 0D"
        return f"CASE WHEN abs({x}) < {2.0**63!r}D THEN {moved} ELSE {x} END"
    if type_.is_integral:
        last = (2**63 - 1) // 10**zeros * 10**zeros
        more, less = (
            f"IF({kept} = {last}L, NULL, {kept} + {step})",
            f"IF({kept} = -{last}L, NULL, {kept} - {step})",
        )
        return f"CASE WHEN {above} THEN {more} WHEN {below} THEN {less} ELSE {kept} END"
    before, wanted = decimals.digits_of_type(type_).before, decimals.rounded_type(type_, -zeros).spark
    if before < zeros:  # less than half of the power
        return f"IF({x} IS NULL, NULL, CAST(0 AS {wanted}))"
    whole = f"CAST({kept} AS DECIMAL({before}, 0))"
    return f"CAST({whole} + CASE WHEN {above} THEN {step} WHEN {below} THEN -{step} ELSE 0BD END AS {wanted})"


_WRITTEN_OUT = 1e-4
"""Engines may write a smaller number with an exponent, and not all parse that as a decimal."""


def _digits(x: str, *, small: bool) -> str:
    """Writes a double in decimal notation."""
    text = f"CAST({x} AS STRING)"
    if not small:
        return text
    zeros = f"repeat('0', try_cast(regexp_extract({text}, '[eE]-([0-9]+)', 1) AS INT) - 1)"
    digits = f"regexp_replace(regexp_extract({text}, '^[^eE]*', 0), '[-.]', '')"
    return (
        f"IF(abs({x}) < {_WRITTEN_OUT!r}D AND rlike({text}, '[eE]'), "
        f"concat(IF({x} < 0, '-0.', '0.'), {zeros}, {digits}), {text})"
    )


def rint(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the nearest whole number as a double; of two, the even one."""
    return f"(bround({arguments[0]}, 0) + 0D)" if types[0] == DOUBLE else f"CAST({arguments[0]} AS DOUBLE)"


def best(name: str) -> Writer:
    """Returns a writer of the greatest or the least of some values.

    Of two zeros, it is the one without a sign.
    """

    def sql(arguments: Sequence[str], types: Sequence[Type]) -> str:
        text = f"{name}({', '.join(arguments)})"
        return f"({text} + 0D)" if DOUBLE in types else text

    return sql


def absolute(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the absolute value; undefined for the least long, which has none."""
    (x,) = arguments
    if types[0].name == "decimal":
        return f"IF({x} < 0, {decimals.opposite_sql(x, types[0])}, {x})"
    return f"abs({x})" if types[0] == DOUBLE else f"IF({x} < 0, try_subtract(0L, {x}), {x})"


def substring(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes a substring.

    Positions before the first character count, so a negative one may shorten the result.
    """
    text, start, *rest = arguments
    if not rest:
        return _unless_null([start], f"substring({text}, {start})")
    length = _at_least_zero(rest[0])
    plain = f"substring({text}, {start}, {length})"
    if start.isdecimal():
        return _unless_null(rest, plain)
    first = f"char_length({text}) + {start}"
    less = f"{length} + least({first}, 0)"
    behind = f"substring({text}, greatest({first}, 0) + 1, IF({less} < 0, 0, {less}))"
    return _unless_null(rest, f"CASE WHEN {start} >= 0 THEN {plain} WHEN {start} < 0 THEN {behind} END")


def _unless_null(arguments: Sequence[str], text: str) -> str:
    """Writes a text that is undefined if an argument is; constants are defined."""
    tests = [f"{argument} IS NULL" for argument in arguments if not re.fullmatch(r"-?\d+", argument)]
    return f"IF({' OR '.join(tests)}, NULL, {text})" if tests else text


def not_below_zero(name: str) -> Writer:
    """Returns a writer of a call whose second argument counts from 0; negative ones count as 0."""
    return lambda arguments, types: f"{name}({arguments[0]}, {_at_least_zero(arguments[1])})"


def _at_least_zero(number: str) -> str:
    return number if number.isdecimal() else f"IF({number} < 0, 0, {number})"


def truncated_time(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Truncates a moment: a fixed unit begins at a multiple of it, a week on Monday, other units with a date."""
    unit, moment = arguments[0].strip("'"), arguments[1]
    if unit in MONTHS:
        return f"CAST({_first_day(moment, unit)} AS TIMESTAMP)"
    micros = f"unix_micros({moment})"
    since = f"{micros} + {3 * LENGTHS['day']}" if unit == "week" else micros
    return f"timestamp_micros({micros} - pmod({since}, {LENGTHS[unit]}))" if LENGTHS[unit] > 1 else moment


def truncated_date(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Truncates a day to its week, which begins on Monday, or its month, quarter or year."""
    day, unit = arguments[0], arguments[1].strip("'")
    return f"date_sub({day}, (dayofweek({day}) + 5) % 7)" if unit == "week" else _first_day(day, unit)


def _first_day(day: str, unit: str) -> str:
    """Writes the first day of a month, quarter or year."""
    return f"make_date(year({day}), {MONTHS[unit].format(day)}, 1)"


def whole_units(micros: int) -> str:
    """Counts whole units; times before 1970 are rounded down, too."""
    return f"(unix_micros({{0}}) div {micros} - int(unix_micros({{0}}) % {micros} < 0))"


def hashed(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes a hash that is the same for equal numbers of different types."""
    parts = (decimals.as_double(x, t) if t.is_numeric else x for x, t in zip(arguments, types, strict=True))
    return f"hash({', '.join(parts)})"


def since_1970(units: int) -> Writer:
    """Returns a writer of a moment from a count of `units` per second, to the microsecond."""
    factor = 1_000_000 // units

    def sql(arguments: Sequence[str], types: Sequence[Type]) -> str:
        (x,) = arguments
        mark, most = ("D" if types[0] == DOUBLE else "L"), _SECONDS * units
        micros = f"CAST(round({x} * {factor}D) AS BIGINT)" if types[0] == DOUBLE else f"{x} * {factor}L"
        return f"timestamp_micros(CASE WHEN {x} BETWEEN -{most}{mark} AND {most}{mark} THEN {micros} END)"

    return sql


_SECONDS = 300_000_000_000
"""More seconds than from 1970 to the years 1 and 9999; their microseconds fit a long."""


def within_years(moment: str, type_: Type) -> str:
    """Writes a timestamp or date, undefined beyond the years 1 to 9999, which have no text."""
    return f"CASE WHEN {type_.axis(moment)} BETWEEN {type_.first}L AND {type_.last}L THEN {moment} END"


def as_int(number: str, type_: Type, low: int = -(2**31), high: int = 2**31 - 1) -> str:
    """Writes a whole number as an INT, undefined outside its bounds.

    Sail ignores a mere cast in comparisons.
    """
    if type_.name == "int" and high - low == 2**32 - 1:
        return number
    mark = "D" if type_ == DOUBLE else "L"
    whole = number if type_.name == "int" else f"try_cast({number} AS INT)"
    return f"CASE WHEN {number} BETWEEN {low}{mark} AND {high}{mark} THEN {whole} END"
