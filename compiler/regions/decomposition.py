"""What a tree is made of: its leaf for a tuple, its attributes and leaves, its boxes and cells."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import wraps
from itertools import chain
from typing import Any, TypeVar

from immutables import Map

from cedilla.compiler.regions.trees import UNDEFINED, Level, Tree, Value, make_level


def boxes(tree: Tree) -> Iterator[tuple[dict[str, Tree], Any]]:
    """Disjoint boxes that tile the space, each with its leaf; values with the same subtree share a box."""
    if not isinstance(tree, Level):
        yield {}, tree
        return
    for child, where in groups(tree):
        for inner, leaf in boxes(child):
            yield {tree.attribute: where, **inner}, leaf


def groups(node: Level) -> list[tuple[Tree, Tree]]:
    """Each distinct child of a level with the set of values that lead to it."""
    at_points: dict[Tree, list[Value]] = {}
    for value, child in node.points.items():
        at_points.setdefault(child, []).append(value)
    children = dict.fromkeys([*node.pieces, node.undefined, *at_points])
    result: list[tuple[Tree, Tree]] = []
    for child in children:
        pieces = [piece == child for piece in node.pieces]
        if not any(pieces):  # a finite set, whatever the number of other points
            points = Map(dict.fromkeys(at_points.get(child, ()), True))
        else:
            points = Map({value: other == child for value, other in node.points.items()})
        result.append((child, make_level(node.attribute, node.undefined == child, node.cuts, pieces, points)))
    return result


def contains(tree: Tree, row: Mapping[str, object]) -> Any:
    """The leaf for one tuple; attributes that the tuple lacks are undefined."""
    while isinstance(tree, Level):
        tree = tree.at(row.get(tree.attribute, UNDEFINED))
    return tree


def attributes(tree: Tree) -> frozenset[str]:
    """The attributes that matter."""
    if not isinstance(tree, Level):
        return frozenset()
    names: set[str] = set()
    seen: set[int] = set()
    for child in chain((tree.undefined,), tree.pieces, tree.points.values()):
        if names >= tree.inner:  # nothing more can come, so the points need not be gone through
            break
        if isinstance(child, Level) and id(child) not in seen:
            seen.add(id(child))
            names |= attributes(child)
    return frozenset(names | {tree.attribute})


_REMEMBERED = 64
_LARGE = 64  # points from which on a result is worth remembering

Result = TypeVar("Result")


def remembered(function: Callable[..., Result]) -> Callable[..., Result]:
    """The same function of trees, which gives its last results for large trees again without computing them.

    Trees are told apart by identity: an epoch that changes nothing of a large tree asks nothing new of it.
    Whatever else the function takes must be hashable.
    """
    memo: dict[tuple[Hashable, ...], tuple[tuple[Tree, ...], Result]] = {}

    @wraps(function)
    def known(*given: Tree) -> Result:
        if not any(isinstance(tree, Level) and len(tree.points) > _LARGE for tree in given):
            return function(*given)
        key = tuple(id(each) if isinstance(each, Level) else each for each in given)
        if key not in memo:
            memo[key] = given, function(*given)
            if len(memo) > _REMEMBERED:
                del memo[next(iter(memo))]
        return memo[key][1]

    return known


@remembered
def leaves(tree: Tree) -> list[Any]:
    """The distinct leaves."""
    distinct: dict[Any, None] = {}
    seen: set[int] = set()

    def visit(node: Tree) -> None:
        if not isinstance(node, Level):
            distinct[node] = None
            return
        for child in (*node.pieces, node.undefined, *node.points.values()):
            if id(child) not in seen:
                seen.add(id(child))
                visit(child)

    visit(tree)
    return list(distinct)


def cells(tree: Tree) -> dict[Any, Tree]:
    """Each distinct leaf with the region where it holds, in one pass."""
    if not isinstance(tree, Level):
        return {tree: True}
    memo: dict[int, dict[Any, Tree]] = {}

    def of(child: Tree) -> dict[Any, Tree]:
        if not isinstance(child, Level):
            return {child: True}
        if id(child) not in memo:
            memo[id(child)] = cells(child)
        return memo[id(child)]

    pieces, undefined = [of(piece) for piece in tree.pieces], of(tree.undefined)
    points: dict[Any, dict[Value, Tree]] = {}
    for value, child in tree.points.items():
        for leaf, where in of(child).items():
            points.setdefault(leaf, {})[value] = where
    regions: dict[Any, Tree] = {}
    for leaf in dict.fromkeys(leaf for part in (*pieces, undefined, points) for leaf in part):
        here = points.get(leaf, {})
        if any(leaf in piece for piece in pieces):
            here = {value: here.get(value, False) for value in tree.points}
        outside = [piece.get(leaf, False) for piece in pieces]
        regions[leaf] = make_level(tree.attribute, undefined.get(leaf, False), tree.cuts, outside, Map(here))
    return regions
