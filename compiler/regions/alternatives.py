"""Splits a region into a union of simpler ones, so that its test names each attribute rarely.

Punctuations on several attributes close `{a < 1} ∪ {b < 2} ∪ {c < 3}`. A single tree repeats the conditions
on `b` and `c` in every piece of `a`. Three trees of one level each make a short test, which is planned and
run sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from immutables import Map

from cedilla.compiler.regions import (
    CELL,
    Level,
    Operation,
    Tree,
    combine,
    complement,
    difference,
    is_small,
    make_level,
    map_children,
)

_MAX_SEARCHED = 300
"""The most levels and points of a tree for which the search pays."""


class _Anything:
    """The leaf whose value does not matter, because another part of the union decides it."""

    def __repr__(self) -> str:
        return "?"


_ANYTHING = _Anything()


def alternatives(region: Tree) -> list[Tree]:
    """Returns regions whose union is this one.

    >>> from cedilla.compiler.regions import interval, union
    >>> region = union(interval("a", None, (1, 0)), interval("b", None, (2, 0)), interval("c", None, (3, 0)))
    >>> print(region)
    a < 1: True, else (b < 2: True, else (c < 3: True, else False))
    >>> for part in alternatives(region):
    ...     print(part)
    a < 1: True, else False
    b < 2: True, else False
    c < 3: True, else False
    """
    parts: list[Tree] = []
    while isinstance(region, Level) and (rest := _everywhere(region)) is not None:
        parts.append(_besides(region, rest))
        region = rest
    return [*parts, region]


_LARGE, _MAX_POINTS = 16 * CELL, 64
"""The weight above which a simpler tree pays, and the most points of such a tree."""


def narrowed(tree: Tree, region: Callable[[], Tree]) -> Tree:
    """Returns a simpler tree that equals this one inside a region, if this one is large. Only then `region`
    is called.

    For example, tuples of an epoch lie between two times, so that few of many accents by time concern them:

    >>> from cedilla.compiler.regions import interval
    >>> hours = Level("ts", 0, tuple((hour, 0) for hour in range(1, 100)), tuple(range(100)))
    >>> print(narrowed(hours, lambda: interval("ts", (7, 0), (8, 1))))
    ts = 8: 8, else 7
    """
    if not isinstance(tree, Level) or tree.weight <= _LARGE or len(tree.points) > _MAX_POINTS:
        return tree  # many points are a table, which stays
    outside = complement(region())
    return tree if outside is False else _simplified(tree, outside)


def _everywhere(node: Level) -> Tree | None:
    """Returns the child of a level that lies in all its children, or `None` if no child does."""
    if not is_small(node, _MAX_SEARCHED):
        return None
    children = {id(child): child for child in (node.undefined, *node.pieces, *node.points.values())}
    for rest in (node.undefined, node.pieces[-1]):
        if rest is not False and all(difference(rest, child) is False for child in children.values()):
            return rest
    return None


def _besides(node: Level, rest: Tree) -> Tree:
    """Returns the simplest region that makes up the level together with `rest`."""
    return map_children(node, lambda child: False if child == rest else _simplified(child, rest))


def _simplified(region: Tree, rest: Tree) -> Tree:
    """Returns a tree of fewer levels that equals `region` outside of `rest`."""
    outside = _filled(combine(region, rest, _OUTSIDE))
    return False if outside is _ANYTHING else outside


def _shortcut(region: Tree, rest: Tree) -> Tree | None:
    if rest is True:
        return _ANYTHING
    return region if rest is False else None


_OUTSIDE = Operation(_shortcut, lambda region, rest: _ANYTHING if rest else region)


def _filled(tree: Tree) -> Tree:
    """Replaces each leaf that does not matter by a neighbouring one.

    Drops levels whose children become equal.
    """
    if not isinstance(tree, Level):
        return tree
    filled = map_children(tree, _filled)
    if not isinstance(filled, Level):
        return filled
    pieces = _neighbours(_neighbours(filled.pieces)[::-1])[::-1]
    if pieces[0] is _ANYTHING:
        pieces = [filled.undefined] * len(pieces)
    undefined = pieces[-1] if filled.undefined is _ANYTHING else filled.undefined
    outside = Level(filled.attribute, undefined, filled.cuts, tuple(pieces))
    points = {v: outside.at(v) if child is _ANYTHING else child for v, child in filled.points.items()}
    point_leaf = next((child for child in points.values() if child is not _ANYTHING), _ANYTHING)
    if undefined is _ANYTHING:  # only points decide
        undefined, pieces = point_leaf, [point_leaf] * len(pieces)
        points = {v: point_leaf if child is _ANYTHING else child for v, child in points.items()}
    return make_level(filled.attribute, undefined, filled.cuts, pieces, Map(points))


def _neighbours(pieces: Sequence[Tree]) -> list[Tree]:
    """Replaces each piece that does not matter by the piece before it."""
    return list(accumulate(pieces, lambda before, piece: before if piece is _ANYTHING else piece))
