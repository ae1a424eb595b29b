"""A region as a union of simpler ones, so that a test for it names each attribute as seldom as can be.

Punctuations on several attributes close `{a < 1} ∪ {b < 2} ∪ {c < 3}`: as a tree, with what `b` and `c` say again
in every piece of `a`. As three trees of one level each it is a short test, and short tests are planned and run
sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from immutables import Map

from cedilla.compiler.regions import (
    Level,
    Operation,
    Tree,
    combine,
    difference,
    is_small,
    make_level,
    map_children,
)

_MOST = 300
"""Levels and points of a tree that is worth the search."""


class _Anything:
    """The leaf that says: whether it is inside or outside is told elsewhere."""

    def __repr__(self) -> str:
        return "?"


_ANYTHING = _Anything()


def alternatives(region: Tree) -> list[Tree]:
    """Regions whose union is this one."""
    parts: list[Tree] = []
    while isinstance(region, Level) and (rest := _everywhere(region)) is not None:
        parts.append(_besides(region, rest))
        region = rest
    return [*parts, region]


def _everywhere(node: Level) -> Tree | None:
    """What is inside whatever the value of a level's attribute, if anything is: one of the children."""
    if not is_small(node, _MOST):
        return None
    children = {id(child): child for child in (node.undefined, *node.pieces, *node.points.values())}
    for rest in (node.undefined, node.pieces[-1]):
        if rest is not False and all(difference(rest, child) is False for child in children.values()):
            return rest
    return None


def _besides(node: Level, rest: Tree) -> Tree:
    """The simplest region that together with the rest is a level's."""
    return map_children(node, lambda child: False if child == rest else _simplified(child, rest))


def _simplified(region: Tree, rest: Tree) -> Tree:
    """A region of fewer levels that is the same outside of another one."""
    outside = _filled(combine(region, rest, _OUTSIDE))
    return False if outside is _ANYTHING else outside


def _shortcut(region: Tree, rest: Tree) -> Tree | None:
    if rest is True:
        return _ANYTHING
    return region if rest is False else None


_OUTSIDE = Operation(_shortcut, lambda region, rest: _ANYTHING if rest else region)


def _filled(tree: Tree) -> Tree:
    """The tree with something suitable where it is told elsewhere; a level goes whose other children are one."""
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
    said = next((child for child in points.values() if child is not _ANYTHING), _ANYTHING)
    if undefined is _ANYTHING:  # nothing is said but at points
        undefined, pieces = said, [said] * len(pieces)
        points = {v: said if child is _ANYTHING else child for v, child in points.items()}
    return make_level(filled.attribute, undefined, filled.cuts, pieces, Map(points))


def _neighbours(pieces: Sequence[Tree]) -> list[Tree]:
    """The pieces, each that may be anything as the one before it."""
    return list(accumulate(pieces, lambda before, piece: before if piece is _ANYTHING else piece))
