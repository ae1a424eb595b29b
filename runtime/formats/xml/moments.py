"""Timestamps and dates of texts as SQL: those that `compiler.expressions.moments` says, and no others.

An expression costs 2 µs a line, more than all else that is done with a text. So where the cast has succeeded, and a few
signs stand in their places, none is asked.
"""

from __future__ import annotations

from re import Pattern

from cedilla.compiler.expressions.moments import NO_SECONDS, WITH_SECONDS
from cedilla.compiler.expressions.types import Type, quote

_ANY_ZONE = ("0001-01-02", "9999-12-31")
"""Between these texts no zone leads out of the years that have a text."""


def of_text(text: str, type_: Type) -> str:
    """SQL: the timestamp or date of a text, null where it is none; the same as `moment_of` and `day_of`."""
    if type_.name == "date":
        # Two signs for the month and two for the day, of which the cast makes numbers.
        ends = f"substr({text}, 10, 1) BETWEEN '0' AND '9' AND octet_length({text}) = 10"
        return f"CASE WHEN {_begins(text)} AND substr({text}, 8, 1) = '-' AND {ends} THEN try_cast({text} AS DATE) END"
    moment = f"try_cast({text} AS TIMESTAMP)"
    longer = f"try_cast(concat(left({text}, 16), ':00', substr({text}, 17)) AS TIMESTAMP)"
    low, high = _ANY_ZONE
    return (
        f"CASE WHEN {_is_usual(text)} THEN {moment} WHEN {_is(text, WITH_SECONDS)} AND "
        f"({text} >= '{low}' AND {text} < '{high}' OR {_in_years(moment)}) THEN {moment} "
        f"WHEN {_is(text, NO_SECONDS)} AND {_in_years(longer)} THEN {longer} END"
    )


def _begins(text: str) -> str:
    """SQL: whether a text that can be cast begins with a year of four digits, not 0000."""
    return f"instr({text}, '-') = 5 AND {text} >= '0001'"


def _is_usual(text: str) -> str:
    """SQL: whether a text that can be cast has the form `2020-01-02T03:04:05.678Z`, with or without a fraction."""
    # Of eight signs before the first colon, two are the hour's, two the day's, two the month's.
    to_seconds = f"instr({text}, ':') = 14 AND substr({text}, 17, 1) = ':'"
    fraction = f"octet_length({text}) BETWEEN 22 AND 27 AND instr({text}, '.') = 20"
    seconds = f"octet_length({text}) = 20 AND instr({text}, '.') = 0"
    zone = f"endswith({text}, 'Z') AND NOT endswith({text}, ' Z')"
    return f"{zone} AND {_begins(text)} AND {to_seconds} AND ({seconds} OR {fraction})"


def _is(text: str, pattern: Pattern[str]) -> str:
    whole = rf"\A(?:{pattern.pattern})\z"
    return f"{text} RLIKE {quote(whole)}"


def _in_years(moment: str) -> str:
    return f"year({moment}) BETWEEN 1 AND 9999"
