"""Regions as patterns of text, read again."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.regions import Tree
from cedilla.grammar.parser import parse_punctuation

DAY = 86_400_000_000

POINTS: dict[str, tuple[Any, ...]] = {
    "int": (0, 1, 2, 3),
    "long": (-(2**40), 0, 5, 2**40),
    "double": (Fraction(-3, 2), 0, Fraction(1, 4), 2),
    "decimal(8,2)": (Fraction(-3, 2), 0, Fraction(1, 4), 2),
    "string": ("", "a", 'b"\\', "größe"),
    "timestamp": (-DAY, 0, 1, 3600_000_000),
    "date": (-1, 0, 1, 19000),
}


def region(text: str, **types: str) -> Tree:
    parsed = parse_punctuation(f"[{text}]").conditions
    return patterns.region_of(parsed, {name: Type.parse(t) for name, t in types.items()})


def probes(name: str) -> list[Any]:
    """The constants of a type with values between and around them."""
    points = POINTS[name]
    if name == "string":
        return [*points, "A", "aa", "b", "z", "ﬀ"]
    if Type.parse(name).is_integral:
        return sorted({v + d for v in points for d in (-1, 0, 1)})
    return sorted({v + d for v in points for d in (Fraction(-1, 8), 0, Fraction(1, 8))})


def read_again(box: regions.Box, name: str, *, outer: bool) -> Tree:
    """The union of what the texts of a box say when they are read."""
    types = {attribute: Type.parse(name) for attribute in "ab"}
    boxes = list(patterns.texts(box, types, outer=outer))
    return regions.union(
        *(patterns.region_of(parse_punctuation(f"[{', '.join(t)}]").conditions, types) for t in boxes)
    )
