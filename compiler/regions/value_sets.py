"""Builds sets of values of one attribute, and the region of tuples that satisfy one such set per attribute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from immutables import Map

from cedilla.compiler.regions.levels import Bound, Level, Tree, Value, make_level, order
from cedilla.compiler.regions.trees import map_leaves

Box = Mapping[str, Tree]
"""Attribute -> set of values (a one-level region over that attribute); unnamed attributes are free."""


def interval(attribute: str, low: Bound | None, high: Bound | None) -> Tree:
    """Returns the defined values between two cuts; `None` is unbounded. ⊥ is outside (theory 1.1)."""
    if low is not None and high is not None and not low < high:
        return False
    cuts = tuple(cut for cut in (low, high) if cut is not None)
    pieces = [True] if low is None else [False, True]
    return make_level(attribute, False, cuts, [*pieces, False] if high is not None else pieces)


def values(attribute: str, members: Iterable[Value]) -> Tree:
    """Returns a finite set of values."""
    return make_level(attribute, False, (), (False,), Map(dict.fromkeys(members, True)))


def defined(attribute: str) -> Tree:
    """Returns every value but ⊥."""
    return make_level(attribute, False, (), (True,))


def box(conditions: Box) -> Tree:
    """Returns the region of the tuples that meet every condition."""
    result: Tree = True
    for attribute in sorted(conditions, key=order, reverse=True):
        inner = result
        result = map_leaves(conditions[attribute], lambda inside, inner=inner: inner if inside else False)
    return result


def ceiling(cut: Bound) -> int:
    """Returns the least whole number at or after a cut."""
    value, after = cut
    whole = -((-value) // 1)
    return int(whole) + 1 if after and whole == value else int(whole)


def renamed(members: Tree, attribute: str) -> Tree:
    """Returns the same set of values as values of another attribute."""
    if not isinstance(members, Level):
        return members
    return Level(attribute, members.undefined, members.cuts, members.pieces, members.points)
