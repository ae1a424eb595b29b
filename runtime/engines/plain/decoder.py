"""Decodes streams item by item, in plain Python and exact arithmetic, without regions.

For `verify` and the tests; it shares only the parser with the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeGuard

from attrs import evolve

from cedilla.compiler.expressions.units.units import conversion
from cedilla.compiler.facts.quantities import has_units
from cedilla.grammar import syntax
from cedilla.grammar.parser import parse_accent, parse_punctuation
from cedilla.runtime.engines.plain.scalars.arithmetic import is_odd

Item = dict[str, Any]
"""One line of a stream: a tuple, or `{"$accent": text}`, or `{"$punctuation": text}`."""


def is_tuple(item: Item) -> bool:
    """Returns True if an item is a tuple and not a marker."""
    return "$accent" not in item and "$punctuation" not in item


Reader = Callable[[str, Any], Any]
"""Attribute and value, of a tuple or of a condition -> a comparable value."""


def as_it_is(attribute: str, value: Any) -> Any:
    """Returns a value unchanged, for JSON values that compare directly: all but timestamps and dates.

    A double compares as its shortest decimal, which is its text.
    """
    return Fraction(repr(value)) if isinstance(value, float) and not is_odd(value) else value


def matches(row: Item, conditions: Iterable[syntax.Condition], read: Reader = as_it_is) -> bool:
    """Returns True if a tuple meets every condition; only the wildcard matches the undefined value (theory
    1.1).
    """
    return all(
        _meets(row.get(c.attribute), c.pattern, lambda v, c=c: read(c.attribute, v)) for c in conditions
    )


def _meets(raw: Any, pattern: Any, read: Callable[[Any], Any]) -> bool:
    value = None if raw is None else read(raw)
    match pattern:
        case syntax.Wildcard():
            return True
        case _ if value is None:
            return False
        case syntax.Comparison(operator, literal):
            other = read(literal.value)
            return {
                "=": value == other,
                "!=": value != other,
                "<": value < other,
                "<=": value <= other,
                ">": value > other,
                ">=": value >= other,
            }[operator]
        case syntax.SetPattern(values):
            return value in [read(v.value) for v in values]
        case syntax.RangePattern(low, high, low_closed, high_closed):
            first, last = (None if bound is None else read(bound.value) for bound in (low, high))
            above = first is None or value > first or (low_closed and value == first)
            below = last is None or value < last or (high_closed and value == last)
            return above and below
    raise AssertionError(pattern)


def evaluate(body: Any, parameter: str, value: Any) -> Any:
    """Evaluates an accent's function."""
    match body:
        case syntax.Attribute(name):
            assert name == parameter
            return value
        case syntax.Literal(constant):
            return Fraction(constant)
        case syntax.Unary("-", operand):
            return -evaluate(operand, parameter, value)
        case syntax.Binary(operator, left, right):
            a, b = evaluate(left, parameter, value), evaluate(right, parameter, value)
            return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[
                operator
            ]()
    raise AssertionError(body)


Change = syntax.AlterAttribute | syntax.RecodeAttribute


@lru_cache(1024)
def function_of(alter: Change) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Returns α and β of an Alter, or the pairs of a recode in both directions.

    The affine function follows from two points. Lists are mapped by element; NaN and infinities, which are
    words, stay.
    """
    if isinstance(alter, syntax.RecodeAttribute):
        codes = {before.value: after.value for before, after in alter.codes}
        back = {after: before for before, after in codes.items()}
        return (lambda y: codes.get(y, y)), (lambda y: back.get(y, y))
    shift = evaluate(alter.body, alter.parameter, Fraction(0))
    slope = evaluate(alter.body, alter.parameter, Fraction(1)) - shift
    return _elementwise(lambda y: y * slope + shift), _elementwise(lambda y: (y - shift) / slope)


def _elementwise(function: Callable[[Fraction], Fraction]) -> Callable[[Any], Any]:
    def mapped(y: Any) -> Any:
        if isinstance(y, list):
            return list(map(mapped, y))
        return y if isinstance(y, str) or is_odd(y) else function(Fraction(as_it_is("", y)))

    return mapped


def _changes(change: syntax.Primitive, row: Item) -> TypeGuard[Change]:
    return isinstance(change, Change) and row.get(change.name) is not None


class Decoder:
    """Follows a stream, and stores its accents and punctuations so far.

    `names`: names of renames -> attributes (theory N2). `units`: those of canonical values, for constants
    with units.

    It knows no domains, so it does not support streams whose domains grow while recodes are active. There a
    new value that once was a code (N1, N3) would be decoded by that recode. `verify` decodes outputs, which
    contain no recodes.
    """

    def __init__(self, read: Reader = as_it_is, units: Mapping[str, str] | None = None) -> None:
        self.read = read
        self.units = units or {}
        self.accents: list[syntax.AccentText] = []
        self.punctuations: list[tuple[int, syntax.PunctuationText]] = []
        self.names: dict[str, str] = {}

    def canonical(self, row: Item) -> Item:
        """Returns the canonical tuple with its attributes' names.

        Undoes every matching Alter and recode before it, the latest first (theory 2.5); for an added
        attribute, those since its last Add (G32).
        """
        renamed = {self.names[n]: v for n, v in row.items() if n in self.names and v is not None}
        row = {n: v for n, v in row.items() if n not in self.names} | renamed
        return self._canonical_at(row, len(self.accents))

    def _canonical_at(self, row: Item, start: int) -> Item:
        """Returns the canonical tuple of one with its values after `start` accents."""
        begun: Item = {}
        for change, met, earlier in self._back(row, start):
            if isinstance(change, syntax.AddAttribute) and met and change.name in earlier:
                begun.setdefault(change.name, earlier[change.name])
            row = earlier
        return row | begun

    def _back(self, row: Item, start: int) -> Iterator[tuple[syntax.Primitive, bool, Item]]:
        """Yields the accents before a position, the latest first: primitive, match, and the tuple with it
        undone.

        It also undoes what was before an attribute's last Add: earlier descriptions are about the values in the
        form of that time. The engine accepts the Add only if all is undone by then, or if nothing depends on
        it (RQ467).

        `row`: the tuple with its values at the position, by the names of attributes.
        """
        row = dict(row)
        for index in reversed(range(start)):
            change = self.accents[index].primitive
            met = self._matches(row, index, self.accents[index].description)
            if met and _changes(change, row):
                row = {**row, change.name: function_of(change)[1](row[change.name])}
            yield change, met, row

    def _matches(self, row: Item, accent_count: int, conditions: Sequence[syntax.Condition]) -> bool:
        """Returns True if a tuple meets the conditions of a marker after `accent_count` accents.

        A condition on a name of a rename is one on its attribute, for tuples that use this name. A condition
        with units is about the canonical value.
        """
        if any(map(has_units, conditions)):
            measured = [self._measured(c) for c in conditions if has_units(c)]
            return matches(self._canonical_at(row, accent_count), measured) and self._matches(
                row, accent_count, [c for c in conditions if not has_units(c)]
            )
        by = {c.attribute for c in conditions} & self.names.keys()
        if not by:
            return matches(row, conditions, self.read)
        by_name = {**row, **{name: row.get(self.names[name]) for name in by}}
        return matches(
            by_name, conditions, lambda name, value: self.read(self.names.get(name, name), value)
        ) and all(self._name(row, accent_count, self.names[name]) == name for name in by)

    def _measured(self, condition: syntax.Condition) -> syntax.Condition:
        """Converts the constants of a condition to the unit of canonical values."""
        unit = self.units[self.names.get(condition.attribute, condition.attribute)]

        def value(literal: syntax.Literal) -> syntax.Literal:
            assert literal.unit is not None
            return evolve(literal, value=conversion(literal.unit, unit)(Fraction(literal.value)))

        pattern = condition.pattern
        match pattern:
            case syntax.Comparison():
                pattern = evolve(pattern, value=value(pattern.value))
            case syntax.SetPattern():
                pattern = evolve(pattern, values=tuple(map(value, pattern.values)))
            case syntax.RangePattern(low, high):
                pattern = evolve(pattern, low=low and value(low), high=high and value(high))
            case syntax.Wildcard():
                pass
        return evolve(
            condition, attribute=self.names.get(condition.attribute, condition.attribute), pattern=pattern
        )

    def _name(self, row: Item, accent_count: int, attribute: str) -> str:
        """Returns the name of an attribute in a tuple after `accent_count` accents."""
        for change, met, _ in self._back(row, accent_count):
            if met and change.name == attribute and isinstance(change, syntax.RenameAttribute):
                return change.field
            if met and change.name == attribute and isinstance(change, syntax.AddAttribute):
                return attribute
        return attribute

    def raw_at(self, canonical: Item, accents: int) -> Item:
        """Returns the canonical tuple with its values after the first `accents` accents."""
        row = dict(canonical)
        for index, accent in enumerate(self.accents[:accents]):
            change = accent.primitive
            if isinstance(change, syntax.AddAttribute) and change.name in row:
                if self._matches(row, index, accent.description):
                    row[change.name] = canonical[change.name]
            elif _changes(change, row) and self._matches(row, index, accent.description):
                row[change.name] = function_of(change)[0](row[change.name])
        return row

    def feed(self, item: Item) -> Item | None:
        """Takes an item; returns a tuple in canonical values."""
        if "$accent" in item:
            for accent in parse_accent(item["$accent"]).singles:
                self._accent(accent)
        elif "$punctuation" in item:
            self.punctuations.append((len(self.accents), parse_punctuation(item["$punctuation"])))
        else:
            return self.canonical(item)
        return None

    def _accent(self, accent: syntax.AccentText) -> None:
        change = accent.primitive
        if change.name in self.names:  # of the tuples that bring the attribute by this name
            anything = syntax.Condition(change.name, syntax.Wildcard(span=accent.span), span=accent.span)
            change = evolve(change, name=self.names[change.name])
            accent = evolve(accent, description=(*accent.description, anything), primitives=(change,))
        if isinstance(change, syntax.RenameAttribute) and change.field != change.name:
            self.names[change.field] = change.name
        self.accents.append(accent)

    def closed(self, canonical: Item) -> bool:
        """Returns True if an earlier punctuation excludes this tuple (theory 3)."""
        return any(
            self._matches(self.raw_at(canonical, count), count, punctuation.conditions)
            for count, punctuation in self.punctuations
        )
