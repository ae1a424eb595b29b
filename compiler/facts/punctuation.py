"""Punctuations as patterns, attribute by attribute: CombinePunct (theory 1.1).

The four pattern forms (wildcard, constant, range, list) are closed under intersection, so two punctuations
combine into one. They are not closed under union: nothing here makes a pattern larger (theory E8).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import overload

from attrs import evolve

from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.expressions.types.patterns import Pattern
from cedilla.compiler.regions import Value
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.formatting.expression_formatter import format_punctuation
from cedilla.grammar.parser import parse_punctuation
from cedilla.grammar.syntax import (
    Comparison,
    Condition,
    Literal,
    PunctuationText,
    RangePattern,
    SetPattern,
    Wildcard,
)


@overload
def combine_punctuations(first: str, second: str, types: Mapping[str, Type] | None = None) -> str | None: ...


@overload
def combine_punctuations(
    first: PunctuationText, second: PunctuationText, types: Mapping[str, Type] | None = None
) -> PunctuationText | None: ...


def combine_punctuations(
    first: str | PunctuationText, second: str | PunctuationText, types: Mapping[str, Type] | None = None
) -> str | PunctuationText | None:
    """Returns the punctuation that describes the intersection of both, or `None` if it is empty (theory 1.1,
    E6).

    >>> combine_punctuations("[ts < 60, s in {1, 2}]", "[s in {2, 3}]")
    '[ts in [, 60), s = 2]'

    Both are texts, and so is the result; or both are parsed. Each attribute is named once: by a constant, a list or a
    range; free attributes are not named. Only a `!=` on a range stays a condition of its own. `types` decides how
    constants compare: times and dates by their meaning, and between 5 and 6 no whole number exists. Constants of an
    attribute without a type compare as written.

    Raises `DiagnosticError` RQ208 if the constants of an attribute are of different kinds, or do not fit its
    type; for a text that is not a punctuation, raises as `parse_punctuation` does.
    """
    if isinstance(first, str) or isinstance(second, str):
        one, other = (parse_punctuation(p) if isinstance(p, str) else p for p in (first, second))
        both = _combined(one, other, types or {})
        return None if both is None else format_punctuation(both)
    return _combined(first, second, types or {})


def _combined(
    first: PunctuationText, second: PunctuationText, types: Mapping[str, Type]
) -> PunctuationText | None:
    conditions: list[Condition] = []
    every = (*first.conditions, *second.conditions)
    for attribute in dict.fromkeys(condition.attribute for condition in every):
        conditions_here = [condition for condition in every if condition.attribute == attribute]
        order = _Order(types.get(attribute))
        common = order.meet([condition.pattern for condition in conditions_here])
        if common is None:
            return None
        conditions += [evolve(conditions_here[0], pattern=pattern) for pattern in common]
    return evolve(first, conditions=tuple(conditions))


class _Order:
    """Compares the constants of one attribute."""

    def __init__(self, type_: Type | None) -> None:
        self._type = type_
        self._kind: type | None = None

    def meet(self, patterns: list[Pattern]) -> list[Pattern] | None:
        """Returns patterns for the intersection of all patterns; at most one of them is not a `!=`."""
        common: SetPattern | RangePattern | None = None
        excluded: dict[Value, Comparison] = {}
        for pattern in patterns:
            if isinstance(pattern, Comparison) and pattern.operator == "!=":
                excluded.setdefault(self._value(pattern.value), pattern)
            elif (form := _form(pattern)) is not None:
                common = form if common is None else self._both(common, form)
        if common is None:
            return list(excluded.values())
        if isinstance(common, RangePattern):
            if self._is_empty(common):
                return None
            if not self._is_point(common):
                return [common, *(p for v, p in excluded.items() if self._inside(v, common))]
            assert common.low is not None
            common = SetPattern((common.low,), span=common.span)
        members = {self._value(v): v for v in common.values}
        kept = tuple(literal for value, literal in members.items() if value not in excluded)
        if not kept:
            return None
        return [Comparison("=", kept[0], span=common.span) if len(kept) == 1 else evolve(common, values=kept)]

    def _both(self, a: SetPattern | RangePattern, b: SetPattern | RangePattern) -> SetPattern | RangePattern:
        match a, b:
            case SetPattern(), _:
                return evolve(a, values=tuple(v for v in a.values if self._inside(self._value(v), b)))
            case _, SetPattern():
                return self._both(b, a)
            case RangePattern(), RangePattern():
                low, low_closed = self._tighter((a.low, a.low_closed), (b.low, b.low_closed), upper=False)
                high, high_closed = self._tighter(
                    (a.high, a.high_closed), (b.high, b.high_closed), upper=True
                )
                return RangePattern(low, high, low_closed, high_closed, span=a.span)

    def _tighter(
        self, a: tuple[Literal | None, bool], b: tuple[Literal | None, bool], *, upper: bool
    ) -> tuple[Literal | None, bool]:
        """Returns the tighter of two ends; of two at one value, the open one."""
        if a[0] is None or b[0] is None:
            return a if b[0] is None else b
        at_a, at_b = self._value(a[0]), self._value(b[0])
        if at_a == at_b:
            return a[0], a[1] and b[1]
        return a if (at_a < at_b) == upper else b  # type: ignore[operator]

    def _inside(self, value: Value, pattern: SetPattern | RangePattern) -> bool:
        if isinstance(pattern, SetPattern):
            return value in [self._value(v) for v in pattern.values]
        above = pattern.low is None or self._above(value, self._value(pattern.low), pattern.low_closed)
        return above and (
            pattern.high is None or self._above(self._value(pattern.high), value, pattern.high_closed)
        )

    def _above(self, value: Value, bound: Value, closed: bool) -> bool:
        return value > bound or (closed and value == bound)  # type: ignore[operator]

    def _is_empty(self, range_: RangePattern) -> bool:
        if range_.low is None or range_.high is None:
            return False
        low, high = self._value(range_.low), self._value(range_.high)
        if self._type is not None:  # whole numbers have gaps
            return patterns.value_set("", self._type, range_) is False
        return low > high or (low == high and not (range_.low_closed and range_.high_closed))  # type: ignore[operator]

    def _is_point(self, range_: RangePattern) -> bool:
        if range_.low is None or range_.high is None:
            return False
        same = self._value(range_.low) == self._value(range_.high)
        return same and range_.low_closed and range_.high_closed

    def _value(self, literal: Literal) -> Value:
        if self._type is not None:
            try:
                return self._type.value(literal)
            except ValueError as problem:
                raise _clash(f"{problem}, but the attribute is of type {self._type}", literal) from None
        kind = type(literal.value) if isinstance(literal.value, bool | str) else float
        if self._kind not in (None, kind):
            raise _clash(f"{literal.text} is of another kind than the attribute's other constants", literal)
        self._kind = kind
        return literal.value


def _form(pattern: Pattern) -> SetPattern | RangePattern | None:
    """Returns an equal list or range; `None` for the wildcard."""
    match pattern:
        case Wildcard():
            return None
        case Comparison("=", value):
            return SetPattern((value,), span=pattern.span)
        case Comparison("<" | "<=" as operator, value):
            return RangePattern(None, value, True, operator == "<=", span=pattern.span)
        case Comparison(operator, value):
            return RangePattern(value, None, operator == ">=", True, span=pattern.span)
        case _:
            return pattern


def _clash(message: str, literal: Literal) -> DiagnosticError:
    hint = "both punctuations have to be over the same attributes"
    return failure("RQ208", message, literal.span, hint=hint)
