"""Sums of decimals of many digits as SQL: in two parts, so that no sum overflows on the way."""

from __future__ import annotations

from decimal import Decimal

from cedilla.compiler.expressions.aggregates.aggregate_kinds import SPLIT_DIGITS


def upper(value: str, scale: int) -> str:
    """Returns the upper part of a decimal, in units.

    Avoids divisions of decimals, whose scales differ by engine.
    """
    least = unit(scale)
    return f"CAST(rint(CAST({value} - {value} % {least} AS DOUBLE) / 1E{SPLIT_DIGITS - scale}D) AS BIGINT)"


def whole_of(scale: int, high: str, low: str) -> str:
    """Joins both parts of a number; undefined if it has more than 38 digits."""
    least, kind = unit(scale), f"DECIMAL(38, {scale})"
    units, rest = f"({high} + {upper(low, scale)})", f"({low} % {least})"
    fewer, more = f"{units} > 0 AND {rest} < 0", f"{units} < 0 AND {rest} > 0"  # both of one sign
    units = f"({units} - CASE WHEN {fewer} THEN 1 WHEN {more} THEN -1 ELSE 0 END)"
    rest = f"({rest} + CASE WHEN {fewer} THEN {least} WHEN {more} THEN -{least} ELSE 0BD END)"
    product = f"CAST(CAST({units} AS DECIMAL({38 - SPLIT_DIGITS}, 0)) * {least} AS {kind})"
    return f"CASE WHEN abs({units}) < {10 ** (38 - SPLIT_DIGITS)} THEN CAST({product} + {rest} AS {kind}) END"


def unit(scale: int) -> str:
    """Returns the unit of the upper part."""
    return f"{Decimal(1).scaleb(SPLIT_DIGITS - scale):f}BD"


def in_two_parts(high: str, low: str, scale: int) -> str:
    """Returns the sums of both parts."""
    return f"named_struct('high', sum({high}), 'low', CAST(sum({low}) AS DECIMAL(38, {scale})))"
