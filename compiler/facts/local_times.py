"""Local times in the bounds of punctuations, which close no more than is certain (theory N13)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from attrs import evolve

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.zones import SKIPPED, NoMoment
from cedilla.grammar.syntax import Comparison, Condition, Literal, RangePattern

_MICROSECOND = timedelta(microseconds=1)


def inner(conditions: tuple[Condition, ...], types: Mapping[str, Type]) -> tuple[Condition, ...]:
    """Returns the conditions of a punctuation with moments as the bounds of their ranges.

    A bound that a clock shows twice is the earlier moment where a range ends, and the later one where it begins. A
    bound that the clock skips is the moment when it is set forward.
    """
    return tuple(map(_inner, conditions, (types.get(c.attribute) for c in conditions)))


def _inner(condition: Condition, type_: Type | None) -> Condition:
    if type_ is None or type_.zone is None:
        return condition
    match condition.pattern:
        case Comparison("<" | "<=" | ">" | ">=" as operator, value) as comparison:
            bound = _bound(type_, value, is_low=operator[0] == ">", is_closed=len(operator) == 2)
            return evolve(condition, pattern=evolve(comparison, value=bound))
        case RangePattern(low, high, low_closed, high_closed) as range_:
            low = low and _bound(type_, low, is_low=True, is_closed=low_closed)
            high = high and _bound(type_, high, is_low=False, is_closed=high_closed)
            return evolve(condition, pattern=evolve(range_, low=low, high=high))
        case _:
            return condition


def _bound(type_: Type, literal: Literal, *, is_low: bool, is_closed: bool) -> Literal:
    try:
        type_.value(literal)
    except NoMoment as problem:
        moment = problem.moments[is_low]
        if problem.code == SKIPPED and is_low != is_closed:
            moment -= _MICROSECOND  # the last time before the change
        text = moment.isoformat()
        return evolve(literal, value=text, text=f'"{text}"')
    except ValueError:  # no time at all, which others report
        pass
    return literal
