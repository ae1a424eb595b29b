"""SQL of conversions that is equal on every engine: to numbers, conditions, texts, dates and timestamps."""

from __future__ import annotations

from collections.abc import Sequence

from cedilla.compiler.expressions.aggregates.aggregate_parts import let
from cedilla.compiler.expressions.scalars.scalar_sql import Writer
from cedilla.compiler.expressions.types import (
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    VERSION,
    Type,
    decimals,
    moments,
    quote,
)
from cedilla.compiler.expressions.types.versions import text_sql


def string(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes doubles as Java does, on every engine; whole ones as before an Alter made them doubles."""
    (x,) = arguments
    if types[0] == VERSION:
        return text_sql(x)
    if types[0].name == "decimal" and types[0].parameters[1]:
        return f"regexp_replace(CAST({x} AS STRING), '[.]?0+$', '')"
    if types[0] != DOUBLE:
        return f"CAST({x} AS STRING)"
    is_whole = f"{x} = rint({x}) AND abs({x}) < 1E15D"
    return f"CASE WHEN {is_whole} THEN CAST(CAST({x} AS BIGINT) AS STRING) ELSE {java_text(x)} END"


def java_text(x: str) -> str:
    """Writes a double or float as Java does, on every engine."""
    text = f"CAST({x} AS STRING)"
    return (
        f"CASE WHEN isnan({x}) OR {x} = 0 OR abs({x}) >= 1E-3D AND abs({x}) < 1E7D THEN {text} "
        f"WHEN abs({x}) = double('Infinity') THEN IF({x} > 0, 'Infinity', '-Infinity') "
        f"ELSE {let(text, 't', _WITH_EXPONENT)} END"
    )


_WITH_EXPONENT = (
    "CASE WHEN contains(t, 'E') THEN t "
    "WHEN contains(t, 'e') THEN replace(regexp_replace(t, '^(-?[0-9])e', '$1.0e'), 'e', 'E') "
    "WHEN rlike(t, '^-?0[.]') THEN concat("
    "regexp_replace(regexp_replace(t, '^(-?)0[.]0*([0-9])([0-9]*)$', '$1$2.$3'), '[.]$', '.0'), "
    "'E-', string(1 + char_length(regexp_extract(t, '[.](0*)', 1)))) "
    "ELSE concat("
    "regexp_replace(regexp_replace(t, '^(-?[0-9])([0-9]*)[.]([0-9]*)$', '$1.$2$3'), '([.][0-9]+?)0+$', '$1'), "
    "'E', string(char_length(regexp_extract(t, '([0-9]+)[.]', 1)) - 1)) END"
)
"""Writes `1e30`, `123456789.125` and `0.00001` as `1.0E30`, `1.23456789125E8` and `1.0E-5`."""


def double(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Converts a number or a text to a double; undefined for NaN and for other texts."""
    (x,) = arguments
    if types[0] == STRING:
        return _of_text(x, moments.REAL, "DOUBLE")
    return f"nanvl({decimals.as_double(x, types[0])}, NULL)"


def whole(wanted: Type) -> Writer:
    """Returns a writer that converts a number, a condition or a text to a whole number.

    A cast that may change a number is never the whole expression, because Sail compares `try_cast(x AS
    BIGINT) = 5` as `x = 5`.
    """

    def sql(arguments: Sequence[str], types: Sequence[Type]) -> str:
        (x,), (type_,) = arguments, types
        if type_ == STRING:
            return _of_text(x, moments.WHOLE, wanted.spark)
        if not decimals.is_exact(type_):
            text = f"try_cast({x} AS {wanted.spark})"  # Spark casts the double 2^63 to a long
            is_long_of_double = type_ == DOUBLE and wanted == LONG
            return f"CASE WHEN {x} < {2.0**63!r}D THEN {text} END" if is_long_of_double else text
        if type_ == wanted:
            return x
        if type_.name == "int":
            return f"CAST({x} AS BIGINT)"
        end = 2 ** (31 if wanted.name == "int" else 63)
        if type_ == LONG:
            bounds = f"{x} > {-end - 1}L AND {x} < {end}L"
        else:
            above = decimals.compared_with_constant(">", x, type_, -end - 1)
            bounds = f"{above} AND {decimals.compared_with_constant('<', x, type_, end)}"
        if (
            type_ != LONG and wanted.name == "int"
        ):  # Spark casts a decimal to an INT as a double: 17.9...9 becomes 18
            x = f"CAST({x} AS BIGINT)"
        return f"CASE WHEN {bounds} THEN CAST({x} AS {wanted.spark}) END"

    return sql


def boolean(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Converts a value to a boolean, or one of the words that Spark accepts for it."""
    (x,) = arguments
    if types[0].name == "decimal":
        return f"({x} != 0)"
    if types[0] != STRING:
        return f"CAST({x} AS BOOLEAN)"
    word = f"lower({_trimmed(x)})"
    return (
        f"CASE WHEN {word} IN ('t', 'true', 'y', 'yes', '1') THEN true "
        f"WHEN {word} IN ('f', 'false', 'n', 'no', '0') THEN false END"
    )


def date(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Converts a moment, or the text of a moment or a date, to its day."""
    (x,) = arguments
    if types[0] != STRING:
        return f"CAST({x} AS DATE)"
    day = _matches(_trimmed(x), moments.DAY.pattern)
    return f"IF({day}, try_cast({_trimmed(x)} AS DATE), CAST({timestamp(arguments, types)} AS DATE))"


def timestamp(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Converts a date to its midnight, or a text to its moment; undefined outside the years 1 to 9999."""
    (x,) = arguments
    if types[0] != STRING:
        return f"CAST({x} AS TIMESTAMP)"
    text = _trimmed(x)
    whole, short = (_matches(text, pattern.pattern) for pattern in (moments.WITH_SECONDS, moments.NO_SECONDS))
    with_seconds = f"concat(left({text}, 16), ':00', substring({text}, 17))"
    moment = f"try_cast(CASE WHEN {whole} THEN {text} WHEN {short} THEN {with_seconds} END AS TIMESTAMP)"
    is_in_range = f"unix_micros({moment}) BETWEEN {TIMESTAMP.first}L AND {TIMESTAMP.last}L"
    return f"IF({is_in_range}, {moment}, NULL)"


def _of_text(text: str, pattern: str, kind: str) -> str:
    """Converts a text in a given form to a type. Engines differ in the other forms that they accept."""
    text = _trimmed(text)
    return f"IF({_matches(text, pattern)}, try_cast({text} AS {kind}), NULL)"


def _trimmed(text: str) -> str:
    return f"btrim({text}, {quote(moments.BLANKS)})"


def _matches(text: str, pattern: str) -> str:
    whole = rf"^(?:{pattern})\z"
    return f"rlike({text}, {quote(whole)})"
