"""Accents and punctuations item by item, in plain Python and exact arithmetic, without regions.

What `verify` and the tests decode streams with; it shares nothing with the engine but the parser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeGuard

from attrs import evolve

from cedilla.compiler.facts.quantities import has_units
from cedilla.compiler.units.units import conversion
from cedilla.grammar import syntax
from cedilla.grammar.parser import parse_accent, parse_punctuation
from cedilla.runtime.reference.scalars.arithmetic import is_odd

Item = dict[str, Any]
"""One line of a stream: a tuple, or `{"$accent": text}`, or `{"$punctuation": text}`."""


def is_tuple(item: Item) -> bool:
    """Whether an item is a tuple and no marker."""
    return "$accent" not in item and "$punctuation" not in item


Reader = Callable[[str, Any], Any]
"""Attribute and value, of a tuple or of a condition -> a value that can be compared with its like."""


def as_it_is(attribute: str, value: Any) -> Any:
    """The reader of streams whose JSON values compare as they are: all but timestamps and dates. A double compares as
    its shortest decimal, as it is written."""
    return Fraction(repr(value)) if isinstance(value, float) and not is_odd(value) else value


def matches(row: Item, conditions: Iterable[syntax.Condition], read: Reader = as_it_is) -> bool:
    """Whether a tuple meets every condition; only the wildcard matches the undefined value (theory 1.1)."""
    return all(
        _meets(row.get(c.attribute), c.pattern, lambda v, c=c: read(c.attribute, v)) for c in conditions
    )


def _meets(given: Any, pattern: Any, read: Callable[[Any], Any]) -> bool:
    value = None if given is None else read(given)
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
    """The value of an accent's function."""
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
    """α and β, from two points of the affine function; on a list they work on each element, and they leave NaN and
    infinities, which are words, as they are. Of a recode: its pairs, one way and the other."""
    if isinstance(alter, syntax.RecodeAttribute):
        codes = {before.value: after.value for before, after in alter.codes}
        back = {after: before for before, after in codes.items()}
        return (lambda y: codes.get(y, y)), (lambda y: back.get(y, y))
    shift = evaluate(alter.body, alter.parameter, Fraction(0))
    slope = evaluate(alter.body, alter.parameter, Fraction(1)) - shift
    return _each(lambda y: y * slope + shift), _each(lambda y: (y - shift) / slope)


def _each(function: Callable[[Fraction], Fraction]) -> Callable[[Any], Any]:
    def one(y: Any) -> Any:
        return y if isinstance(y, str) or is_odd(y) else function(Fraction(as_it_is("", y)))

    return lambda y: list(map(one, y)) if isinstance(y, list) else one(y)


def _changes(change: syntax.Primitive, row: Item) -> TypeGuard[Change]:
    return isinstance(change, Change) and row.get(change.name) is not None


class Decoder:
    """Follows a stream; knows the accents and punctuations so far. `names`: those that renames have brought, and of
    which attributes they are (theory N2); `units`: those of canonical values, for constants with units.

    It knows no domains, so it is not for streams whose domains grow while recodes are in force: a value that is new and
    was a code once (N1, N3) would be decoded by that recode. `verify` decodes outputs, and no output has recodes."""

    def __init__(self, read: Reader = as_it_is, units: Mapping[str, str] | None = None) -> None:
        self.read = read
        self.units = units or {}
        self.accents: list[syntax.AccentText] = []
        self.punctuations: list[tuple[int, syntax.PunctuationText]] = []
        self.names: dict[str, str] = {}

    def canonical(self, row: Item) -> Item:
        """The tuple by the names of attributes, with every Alter and recode that precedes and matches it undone, the
        latest first (theory 2.5); of an attribute that was added, those since its last Add (G32)."""
        renamed = {self.names[n]: v for n, v in row.items() if n in self.names and v is not None}
        row = {n: v for n, v in row.items() if n not in self.names} | renamed
        for _, _, before in self._back(row, len(self.accents)):
            row = before
        return row

    def _back(self, row: Item, start: int) -> Iterator[tuple[syntax.Primitive, bool, Item]]:
        """The accents before a place, the latest first: what each changes, whether a tuple matches it, and the tuple
        with that undone. `row`: the tuple as its values are at the place, by the names of attributes."""
        row, begun = dict(row), set[str]()
        for place in reversed(range(start)):
            change = self.accents[place].primitive
            met = self._matches(row, place, self.accents[place].description)
            if isinstance(change, syntax.AddAttribute) and met:
                begun.add(change.name)
            elif change.name not in begun and met and _changes(change, row):
                row = {**row, change.name: function_of(change)[1](row[change.name])}
            yield change, met, row

    def _matches(self, row: Item, place: int, conditions: Sequence[syntax.Condition]) -> bool:
        """Whether a tuple meets the conditions of a marker behind so many accents. A condition on a name of a rename is
        one on its attribute, and only of tuples that bring it by this name. One with units is of the canonical value.
        """
        if any(map(has_units, conditions)):
            canonical = next((each for *_, each in reversed([*self._back(row, place)])), row)
            measured = [self._measured(c) for c in conditions if has_units(c)]
            return matches(canonical, measured) and self._matches(
                row, place, [c for c in conditions if not has_units(c)]
            )
        by = {c.attribute for c in conditions} & self.names.keys()
        if not by:
            return matches(row, conditions, self.read)
        known = {**row, **{name: row.get(self.names[name]) for name in by}}
        return matches(
            known, conditions, lambda name, value: self.read(self.names.get(name, name), value)
        ) and all(self._name(row, place, self.names[name]) == name for name in by)

    def _measured(self, condition: syntax.Condition) -> syntax.Condition:
        """A condition with its constants in the unit of canonical values."""
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

    def _name(self, row: Item, place: int, attribute: str) -> str:
        """The name by which a tuple would bring an attribute behind so many accents."""
        for change, met, _ in self._back(row, place):
            if met and change.name == attribute and isinstance(change, syntax.RenameAttribute):
                return change.field
            if met and change.name == attribute and isinstance(change, syntax.AddAttribute):
                return attribute
        return attribute

    def raw_at(self, canonical: Item, accents: int) -> Item:
        """The canonical tuple with the values that it would have had after the first so many accents."""
        row = dict(canonical)
        for place, accent in enumerate(self.accents[:accents]):
            change = accent.primitive
            if isinstance(change, syntax.AddAttribute) and change.name in row:
                if self._matches(row, place, accent.description):
                    row[change.name] = canonical[change.name]
            elif _changes(change, row) and self._matches(row, place, accent.description):
                row[change.name] = function_of(change)[0](row[change.name])
        return row

    def feed(self, item: Item) -> Item | None:
        """Take an item; a tuple comes back canonical."""
        if "$accent" in item:
            self._accent(parse_accent(item["$accent"]))
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
            accent = evolve(accent, description=(*accent.description, anything), primitive=change)
        if isinstance(change, syntax.RenameAttribute) and change.field != change.name:
            self.names[change.field] = change.name
        self.accents.append(accent)

    def closed(self, canonical: Item) -> bool:
        """Whether some punctuation so far says that this tuple never comes (theory 3)."""
        return any(
            self._matches(self.raw_at(canonical, count), count, punctuation.conditions)
            for count, punctuation in self.punctuations
        )
