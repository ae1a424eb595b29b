"""Finds the value of a set that is nearest to another value, for suggestions."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from fractions import Fraction

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.regions import Bound, Level, Tree, Value
from cedilla.grammar.diagnostics.suggestions import edits, suggest

_SHOWN = 60


def nearest(type_: Type, value: Value, members: Tree) -> Value | None:
    """Returns the member that a value likely stands for: the most similar string, a number with nearly its digits;
    `None` if no member is similar."""
    if not isinstance(members, Level) or isinstance(value, bool):
        return None
    if isinstance(value, str):
        listed = [m for m, inside in members.points.items() if inside and isinstance(m, str)]
        near = difflib.get_close_matches(value, sorted(listed), n=1)
        return suggest(value, sorted(listed)) or (near[0] if near else None)
    candidates = [v for v in _candidates(type_, members) if members.at(v)]
    text = type_.wire(value)
    alike = [v for v in candidates if len(text) > 1 and edits(type_.wire(v), text) == 1]
    return min(alike, key=lambda v: (abs(Fraction(v) - Fraction(value)), v), default=None)


def _candidates(type_: Type, members: Level) -> Iterator[int | Fraction]:
    """Yields the points of a set of numbers, and the values at the ends of its pieces."""
    yield from (v for v, inside in members.points.items() if inside and not isinstance(v, str))
    for low, high, inside in members.piece_bounds():
        if inside:
            yield from (_end(type_, cut, side) for cut, side in ((low, 0), (high, 1)) if cut is not None)


def _end(type_: Type, cut: Bound, side: int) -> int | Fraction:
    if not type_.is_integral:
        return cut[0]
    first = regions.ceiling(cut)
    return first - side


def written(attribute: str, type_: Type, members: Tree) -> str | None:
    """Writes a set of values without ⊥ as a condition, `s in {1, 2}`, if that is short."""
    inside = regions.intersection(members, regions.defined(attribute))
    texts = [text for (text,) in patterns.texts({attribute: inside}, {attribute: type_}, outer=False)]
    text = " or ".join(texts)
    return text if 0 < len(text) <= _SHOWN else None
