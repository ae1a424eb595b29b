"""Accented-punctuated streams item by item, in plain Python: the oracle that shares nothing with the engine.

A stream is a list of items: a tuple (`dict`), or a marker as its line `{"$accent": ...}` or
`{"$punctuation": ...}`. Arithmetic is exact where the values are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeGuard

from cedilla.grammar import syntax
from cedilla.grammar.parser import parse_accent, parse_punctuation

Item = dict[str, Any]


def read_output(folder: Path) -> list[Item]:
    """The stream that an output folder holds: files in the order of their names (design, section 6)."""
    items: list[Item] = []
    for epoch in sorted(folder.glob("epoch=*")):
        for file in sorted(epoch.iterdir()):
            items += [json.loads(line) for line in file.read_text().splitlines()]
    return items


def is_tuple(item: Item) -> bool:
    return "$accent" not in item and "$punctuation" not in item


def matches(row: Item, conditions: Iterable[syntax.Condition]) -> bool:
    """Whether a tuple meets every condition; only the wildcard matches the undefined value (theory 1.1)."""
    return all(_meets(row.get(c.attribute), c.pattern) for c in conditions)


def _meets(value: Any, pattern: Any) -> bool:
    match pattern:
        case syntax.Wildcard():
            return True
        case _ if value is None:
            return False
        case syntax.Comparison(operator, literal):
            other = literal.value
            return {
                "=": value == other,
                "!=": value != other,
                "<": value < other,
                "<=": value <= other,
                ">": value > other,
                ">=": value >= other,
            }[operator]
        case syntax.SetPattern(values):
            return value in [v.value for v in values]
        case syntax.RangePattern(low, high, low_closed, high_closed):
            above = low is None or value > low.value or (low_closed and value == low.value)
            below = high is None or value < high.value or (high_closed and value == high.value)
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
    """α and β, from two points of the affine function."""
    shift = evaluate(alter.body, alter.parameter, Fraction(0))
    slope = evaluate(alter.body, alter.parameter, Fraction(1)) - shift
    return lambda y: _exact(y) * slope + shift, lambda y: (_exact(y) - shift) / slope


def _exact(value: Any) -> Fraction:
    return Fraction(value)


def _changes(change: syntax.Primitive, row: Item) -> TypeGuard[syntax.AlterAttribute]:
    return isinstance(change, syntax.AlterAttribute) and row.get(change.name) is not None


class Decoder:
    """Follows a stream; knows the accents and punctuations so far."""

    def __init__(self) -> None:
        self.accents: list[syntax.AccentText] = []
        self.punctuations: list[tuple[int, syntax.PunctuationText]] = []

    def canonical(self, row: Item) -> Item:
        """The tuple with every Alter that precedes and matches it undone, the latest first (theory 2.5)."""
        row = dict(row)
        for accent in reversed(self.accents):
            change = accent.primitive
            if _changes(change, row) and matches(row, accent.description):
                row[change.name] = function_of(change)[1](row[change.name])
        return row

    def raw_at(self, canonical: Item, accents: int) -> Item:
        """The canonical tuple as it would have looked after the first so many accents."""
        row = dict(canonical)
        for accent in self.accents[:accents]:
            change = accent.primitive
            if _changes(change, row) and matches(row, accent.description):
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
            matches(self.raw_at(canonical, count), punctuation.conditions)
            for count, punctuation in self.punctuations
        )


def decode(stream: Iterable[Item]) -> list[Item]:
    """The canonical tuples of a stream."""
    decoder = Decoder()
    return [row for item in stream if (row := decoder.feed(item)) is not None]


def complaints(stream: Iterable[Item], initial: set[str]) -> Iterator[str]:
    """What makes a stream invalid: tuples after their punctuation, attributes before their Add or after their
    Drop, Adds of what exists, Drops of what does not. `initial`: the attributes that exist from the start.
    """
    decoder = Decoder()
    seen: list[tuple[str, Any]] = []  # attribute, accent in order
    for index, item in enumerate(stream):
        row = decoder.feed(item)
        if row is None:
            if "$accent" in item and not isinstance(decoder.accents[-1].primitive, syntax.AlterAttribute):
                seen.append((decoder.accents[-1].primitive.name, decoder.accents[-1]))
            continue
        if decoder.closed(row):
            yield f"item {index}: {item} comes after a punctuation that closes it"
        for name in item:
            present = name in initial
            for attribute, accent in seen:
                if attribute == name and matches(item, accent.description):
                    present = isinstance(accent.primitive, syntax.AddAttribute)
            if not present:
                yield f"item {index}: {item} is defined on {name}, which does not exist there"
