"""Timestamps and dates of texts as SQL: those that `compiler.expressions.moments` says, and no others."""

from __future__ import annotations

from re import Pattern

from cedilla.compiler.expressions.moments import DAY, NO_SECONDS, WITH_SECONDS
from cedilla.compiler.expressions.types import Type, quote

_ANY_ZONE = ("0001-01-02", "9999-12-31")
"""Between these texts no zone leads out of the years that have a text."""


def of_text(text: str, type_: Type) -> str:
    """SQL: the timestamp or date of a text, null where it is none; the same as `moment_of` and `day_of`."""
    if type_.name == "date":
        return f"CASE WHEN {_is(text, DAY)} THEN try_cast({text} AS DATE) END"
    moment = f"try_cast({text} AS TIMESTAMP)"
    longer = f"try_cast(concat(left({text}, 16), ':00', substr({text}, 17)) AS TIMESTAMP)"
    low, high = _ANY_ZONE
    return (
        f"CASE WHEN {_is(text, WITH_SECONDS)} AND "
        f"({text} >= '{low}' AND {text} < '{high}' OR {_in_years(moment)}) THEN {moment} "
        f"WHEN {_is(text, NO_SECONDS)} AND {_in_years(longer)} THEN {longer} END"
    )


def _is(text: str, pattern: Pattern[str]) -> str:
    whole = rf"\A(?:{pattern.pattern})\z"
    return f"{text} RLIKE {quote(whole)}"


def _in_years(moment: str) -> str:
    return f"year({moment}) BETWEEN 1 AND 9999"
