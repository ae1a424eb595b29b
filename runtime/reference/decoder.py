"""Accents and punctuations item by item, in plain Python and exact arithmetic, without regions.

What `verify` and the tests decode streams with; it shares nothing with the engine but the parser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, TypeGuard

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
    """The reader of streams whose JSON values compare as they are: all but timestamps and dates."""
    return value


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


def function_of(alter: syntax.AlterAttribute) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """α and β, from two points of the affine function; on a list they work on each element, and they leave NaN and
    infinities, which are words, as they are."""
    shift = evaluate(alter.body, alter.parameter, Fraction(0))
    slope = evaluate(alter.body, alter.parameter, Fraction(1)) - shift
    return _each(lambda y: y * slope + shift), _each(lambda y: (y - shift) / slope)


def _each(function: Callable[[Fraction], Fraction]) -> Callable[[Any], Any]:
    def one(y: Any) -> Any:
        return y if isinstance(y, str) or is_odd(y) else function(Fraction(y))

    return lambda y: list(map(one, y)) if isinstance(y, list) else one(y)


def _changes(change: syntax.Primitive, row: Item) -> TypeGuard[syntax.AlterAttribute]:
    return isinstance(change, syntax.AlterAttribute) and row.get(change.name) is not None


class Decoder:
    """Follows a stream; knows the accents and punctuations so far."""

    def __init__(self, read: Reader = as_it_is) -> None:
        self.read = read
        self.accents: list[syntax.AccentText] = []
        self.punctuations: list[tuple[int, syntax.PunctuationText]] = []

    def canonical(self, row: Item) -> Item:
        """The tuple with every Alter that precedes and matches it undone, the latest first (theory 2.5); of an
        attribute that was added, those since its last Add (G32)."""
        row = dict(row)
        begun: set[str] = set()
        for accent in reversed(self.accents):
            change = accent.primitive
            if isinstance(change, syntax.AddAttribute) and matches(row, accent.description, self.read):
                begun.add(change.name)
            elif (
                change.name not in begun
                and _changes(change, row)
                and matches(row, accent.description, self.read)
            ):
                row[change.name] = function_of(change)[1](row[change.name])
        return row

    def raw_at(self, canonical: Item, accents: int) -> Item:
        """The canonical tuple as it would have looked after the first so many accents."""
        row = dict(canonical)
        for accent in self.accents[:accents]:
            change = accent.primitive
            if isinstance(change, syntax.AddAttribute) and change.name in row:
                if matches(row, accent.description, self.read):
                    row[change.name] = canonical[change.name]
            elif _changes(change, row) and matches(row, accent.description, self.read):
                row[change.name] = function_of(change)[0](row[change.name])
        return row

    def feed(self, item: Item) -> Item | None:
        """Take an item; a tuple comes back canonical."""
        if "$accent" in item:
            self.accents.append(parse_accent(item["$accent"]))
        elif "$punctuation" in item:
            self.punctuations.append((len(self.accents), parse_punctuation(item["$punctuation"])))
        else:
            return self.canonical(item)
        return None

    def closed(self, canonical: Item) -> bool:
        """Whether some punctuation so far says that this tuple never comes (theory 3)."""
        return any(
            matches(self.raw_at(canonical, count), punctuation.conditions, self.read)
            for count, punctuation in self.punctuations
        )
