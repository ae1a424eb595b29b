"""Patterns of one attribute: from syntax to sets of values and back (theory 1.1, G1).

A set of values is a one-level region over the attribute (`regions.Level` with boolean leaves). Whole-number
types normalise every bound to a half-open interval, so `<= 5` and `< 6` are the same set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.zones import NoMoment, no_constant
from cedilla.compiler.regions import Bound, Domain, Level, Tree, Universe, Value
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.suggestions import unknown_attribute
from cedilla.grammar.syntax import Comparison, Condition, Literal, RangePattern, SetPattern, Wildcard

Pattern = Comparison | SetPattern | RangePattern | Wildcard
_UNBOUNDED: Universe = {}
_MAX_HOLES = 4
"""Values that a description excludes one by one; more are excluded by the ranges between them."""
_LONGEST_LIST = 50_000
"""Values of a list that is written; readers refuse a text of too many (RQ482)."""


def before(type_: Type, value: Value) -> Bound:
    """Returns the cut just before a value."""
    return (-(-value // 1), 0) if type_.is_integral and not isinstance(value, str | bool) else (value, 0)


def after(type_: Type, value: Value) -> Bound:
    """Returns the cut just after a value."""
    return (value // 1 + 1, 0) if type_.is_integral and not isinstance(value, str | bool) else (value, 1)


def value_of(type_: Type, literal: Literal) -> Value:
    """Returns a constant's value. Raises RQ103 if the type does not fit, RQ175 for a local time without one
    moment."""
    try:
        return type_.value(literal)
    except NoMoment as problem:
        raise no_constant(problem, literal, type_.zone or "") from None
    except ValueError as problem:
        hint = _NOT_EMPTY if literal.text.lower() in ("null", "none") else _HINTS.get(type_.name)
        hint = _OF_ELEMENTS if type_.element else hint
        if type_.is_numeric and not _NUMBER.fullmatch(str(literal.value)):
            is_word = literal.text == literal.value
            hint = f"write a number without quotes, `5` or `0.5`{_NO_CONSTANTS if is_word else ''}"
        message = f"{problem}, and a value of type {type_} is expected"
        raise failure("RQ103", message, literal.span, hint=hint) from None


_OF_ELEMENTS = (
    "no condition reads the elements of a list; in a query `unnest[tags as tag](R)` makes tuples of them"
)
_NO_CONSTANTS = "; markers have no constants of `let`"
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


_NOT_EMPTY = (
    "no constant is undefined: `x is null` asks for it in a query, and `s = *` is any value in a marker"
)
_HINTS = {
    "timestamp": 'a timestamp is written as a string, "2013-01-31T00:00:00Z"',
    "date": 'a date is written as a string, "2013-01-31"',
    "version": 'a version is numbers between dots, "2.0.1" or "v1.2-rc.1": at most eight of at most 18 digits',
    "string": 'a string is written in quotes, "north"',
    "boolean": "`true` and `false` are written without quotes",
    **dict.fromkeys(("int", "long", "double", "decimal"), "a number is written without quotes, 5 or 0.5"),
}


def value_set(attribute: str, type_: Type, pattern: Pattern) -> Tree:
    """Returns the values that match a pattern; `True` for the wildcard, which alone matches ⊥."""
    match pattern:
        case Wildcard():
            return True
        case SetPattern(values):
            return regions.values(attribute, [value_of(type_, v) for v in values])
        case RangePattern(low, high, low_closed, high_closed):
            lowest = highest = None
            if low is not None:
                value = value_of(type_, low)
                lowest = before(type_, value) if low_closed else after(type_, value)
            if high is not None:
                value = value_of(type_, high)
                highest = after(type_, value) if high_closed else before(type_, value)
            return regions.interval(attribute, lowest, highest)
        case Comparison(operator, literal):
            return compare(attribute, type_, operator, value_of(type_, literal))


def compare(attribute: str, type_: Type, operator: str, value: Value) -> Tree:
    """Returns the values v with `v operator value`."""
    match operator:
        case "=":
            return regions.values(attribute, [value])
        case "!=":
            return regions.difference(regions.defined(attribute), regions.values(attribute, [value]))
        case "<":
            return regions.interval(attribute, None, before(type_, value))
        case "<=":
            return regions.interval(attribute, None, after(type_, value))
        case ">":
            return regions.interval(attribute, after(type_, value), None)
        case _:
            return regions.interval(attribute, before(type_, value), None)


def region_of(conditions: tuple[Condition, ...], types: Mapping[str, Type]) -> Tree:
    """Returns the region of a conjunction of conditions. Raises RQ102 for an unknown attribute."""
    result: Tree = True
    for condition in conditions:
        if condition.attribute not in types:
            raise unknown_attribute(condition.attribute, sorted(types), condition.span)
        inside = value_set(condition.attribute, types[condition.attribute], condition.pattern)
        result = regions.intersection(result, inside)
    return result


# --- back to text ----------------------------------------------------------------------------------------


def texts(box: regions.Box, types: Mapping[str, Type], *, outer: bool) -> Iterator[tuple[str, ...]]:
    """Yields the conjunctions that together describe a box in the wire format.

    Constants and ranges do not match ⊥, and the wire has no pattern for ⊥ alone. With `outer`, a set with ⊥ is
    widened to a free attribute (right for Adds, theory D1); else its ⊥ part is omitted (right for the rest).
    """
    for conditions, _ in conjunctions(box, types, outer=outer):
        yield conditions


def conjunctions(
    box: regions.Box, types: Mapping[str, Type], *, outer: bool, universe: Universe = _UNBOUNDED
) -> Iterator[tuple[tuple[str, ...], regions.Box]]:
    """Yields the same as `texts`, each with the box that it describes.

    Omits values and ranges outside of the `universe`: `k != 1` does not yield `k < 1` if 1 is the least value (RQ216).
    """
    alternatives: dict[str, list[tuple[str, Tree]]] = {}
    for attribute, members in box.items():
        if members is True or (outer and members.undefined):
            continue
        domain = {attribute: universe.get(attribute, regions.ANYTHING)}
        terms = list(_conditions(attribute, members, types.get(attribute, Type("double")), domain))
        if not terms:
            return
        alternatives[attribute] = terms
    for chosen in product(*alternatives.values()):
        sets = (members for _, members in chosen)
        yield tuple(text for text, _ in chosen), dict(zip(alternatives, sets, strict=True))


def possible(attribute: str, members: Tree, type_: Type, domain: Domain) -> Tree:
    """Returns a set without ⊥ as `texts` writes it: without values and ranges that the domain has not."""
    if not isinstance(members, Level):
        return members
    texts = _conditions(attribute, members, type_, {attribute: domain})
    return regions.union(*(values for _, values in texts))


def _conditions(attribute: str, members: Level, type_: Type, domain: Universe) -> Iterator[tuple[str, Tree]]:
    """Yields the conditions that together describe a set without ⊥, each with the values that meet it."""
    if type_.name == "boolean" and any(members.pieces) and not all(map(members.at, (False, True))):
        # No value is before, between or after the two values.
        if isinstance(only := regions.values(attribute, filter(members.at, (False, True))), Level):
            yield from _conditions(attribute, only, type_, domain)
        return
    possible_values = domain[attribute].members
    inside = sorted(
        v
        for v, hit in members.points.items()
        if hit and (not isinstance(possible_values, Level) or possible_values.at(v))
    )
    for start in range(0, len(inside), _LONGEST_LIST):
        part = inside[start : start + _LONGEST_LIST]
        yield _list(attribute, part, type_), regions.values(attribute, part)
    ranges = list(_ranges(attribute, members, type_, domain))
    holes = sorted(v for v, hit in members.points.items() if not hit)
    if members.pieces == (True,) and len(ranges) > 1 and len(holes) <= _MAX_HOLES:
        text = ", ".join(f"{attribute} != {type_.wire(hole)}" for hole in holes)
        yield text, regions.difference(regions.defined(attribute), regions.values(attribute, holes))
        return
    for start, end in ranges:
        yield _range(attribute, start, end, type_), regions.interval(attribute, start, end)


def _list(attribute: str, values: list[Value], type_: Type) -> str:
    if len(values) == 1:
        return f"{attribute} = {type_.wire(values[0])}"
    return f"{attribute} in {{{', '.join(map(type_.wire, values))}}}"


def _ranges(
    attribute: str, members: Level, type_: Type, domain: Universe
) -> Iterator[tuple[Bound | None, Bound | None]]:
    """Yields the ranges of a set, split at excluded points, that contain a value of the domain."""
    holes = sorted(v for v, hit in members.points.items() if not hit)
    for low, high, hit in members.piece_bounds():
        if hit:
            inner_holes = [
                v for v in holes if (low is None or low <= (v, 0)) and (high is None or (v, 0) < high)
            ]
            for start, end in _pieces(low, high, inner_holes, type_):
                if not regions.is_empty(regions.interval(attribute, start, end), domain):
                    yield start, end


def _pieces(
    low: Bound | None, high: Bound | None, holes: list[Value], type_: Type
) -> Iterator[tuple[Bound | None, Bound | None]]:
    starts = [low, *(after(type_, hole) for hole in holes)]
    ends = [*(before(type_, hole) for hole in holes), high]
    for start, end in zip(starts, ends, strict=True):
        if start is None or end is None or start < end:
            yield start, end


def _writable(type_: Type, cut: Bound | None) -> Bound | None:
    """Returns the same cut by a value that has a text: no value follows the last moment of the year 9999."""
    return (cut[0] - 1, 1) if cut is not None and type_.last is not None and cut[0] > type_.last else cut


def _range(attribute: str, low: Bound | None, high: Bound | None, type_: Type) -> str:
    if low is None and high is None:
        return f"{attribute} in [,]"
    low, high = _writable(type_, low), _writable(type_, high)
    if low is None and high is not None:
        return f"{attribute} {'<=' if high[1] else '<'} {type_.wire(high[0])}"
    if high is None and low is not None:
        return f"{attribute} {'>' if low[1] else '>='} {type_.wire(low[0])}"
    assert low is not None
    assert high is not None
    opening, closing = "(" if low[1] else "[", "]" if high[1] else ")"
    return f"{attribute} in {opening}{type_.wire(low[0])}, {type_.wire(high[0])}{closing}"
