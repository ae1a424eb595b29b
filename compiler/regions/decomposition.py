"""Takes trees apart: the leaf for a tuple, attributes, leaves, boxes and cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from immutables import Map

from cedilla.compiler.regions.caching import remembered
from cedilla.compiler.regions.combining import MAX_DEPTH, SHALLOW, too_many_cases
from cedilla.compiler.regions.levels import UNDEFINED, Bound, Level, Tree, Value, make_level


def boxes(tree: Tree) -> Iterator[tuple[dict[str, Tree], Any]]:
    """Yields disjoint boxes that tile the space, each with its leaf; values with the same subtree share a
    box. Raises `DiagnosticError` RQ480 if too many boxes have many conditions.
    """
    deep = 0
    for conditions, leaf in _boxes(tree):
        deep += len(conditions) > SHALLOW
        if deep > MAX_DEPTH:
            raise too_many_cases()
        yield conditions, leaf


def _boxes(tree: Tree) -> Iterator[tuple[dict[str, Tree], Any]]:
    if not isinstance(tree, Level):
        yield {}, tree
        return
    for child, where in groups(tree):
        for inner, leaf in _boxes(child):
            yield {tree.attribute: where, **inner}, leaf


def groups(node: Level) -> list[tuple[Tree, Tree]]:
    """Returns each distinct child of a level with the set of values that lead to it."""
    at: dict[Tree, tuple[dict[int, Tree], list[Value]]] = {}
    for index, piece in enumerate(node.pieces):
        at.setdefault(piece, ({}, []))[0][index] = True
    undefined = at.setdefault(node.undefined, ({}, []))
    for value, child in node.points.items():
        at.setdefault(child, ({}, []))[1].append(value)
    result: list[tuple[Tree, Tree]] = []
    for child, group in at.items():
        indexes, values = group
        # Without pieces a finite set, whatever the number of other points.
        points = {**(dict.fromkeys(node.points, False) if indexes else {}), **dict.fromkeys(values, True)}
        cuts, pieces = _runs(node, indexes)
        result.append((child, make_level(node.attribute, group is undefined, cuts, pieces, Map(points))))
    return result


def contains(tree: Tree, row: Mapping[str, object]) -> Any:
    """Returns the leaf for one tuple; attributes that the tuple lacks are undefined."""
    while isinstance(tree, Level):
        tree = tree.at(row.get(tree.attribute, UNDEFINED))
    return tree


def attributes(tree: Tree) -> frozenset[str]:
    """Returns the attributes on which the leaf depends."""
    if not isinstance(tree, Level):
        return frozenset()
    names: set[str] = set()
    visited: set[int] = set()
    for child in chain((tree.undefined,), tree.pieces, tree.points.values()):
        if names >= tree.inner:  # no further attribute can come, so the points need not be visited
            break
        if isinstance(child, Level) and id(child) not in visited:
            visited.add(id(child))
            names |= attributes(child)
    return frozenset(names | {tree.attribute})


@remembered
def leaves(tree: Tree) -> list[Any]:
    """Returns the distinct leaves."""
    distinct: dict[Any, None] = {}
    visited: set[int] = set()

    def visit(node: Tree) -> None:
        if not isinstance(node, Level):
            distinct[node] = None
            return
        for child in (*node.pieces, node.undefined, *node.points.values()):
            if id(child) not in visited:
                visited.add(id(child))
                visit(child)

    visit(tree)
    return list(distinct)


def cells(tree: Tree) -> dict[Any, Tree]:
    """Returns each distinct leaf with the region where it holds, in one pass.

    >>> from cedilla.compiler.regions import choose, interval, values
    >>> units = choose(values("s", [2]), "°F", choose(interval("s", (7, 1), None), "K", "°C"))
    >>> for unit, region in cells(units).items():
    ...     print(unit, "|", region)
    °C | s = 2: False, s > 7: False, else True
    K | s > 7: True, else False
    °F | s = 2: True, else False
    """
    memo: dict[int, dict[Any, Tree]] = {}

    def of(node: Tree) -> dict[Any, Tree]:
        if not isinstance(node, Level):
            return {node: True}
        if id(node) not in memo:
            memo[id(node)] = _cells(node, of)
        return memo[id(node)]

    return of(tree)


def _cells(node: Level, of: Callable[[Tree], dict[Any, Tree]]) -> dict[Any, Tree]:
    undefined, pieces = of(node.undefined), _by_leaf(enumerate(node.pieces), of)
    points = _by_leaf(node.points.items(), of)
    regions: dict[Any, Tree] = {}
    for leaf in dict.fromkeys((*pieces, *undefined, *points)):
        at_leaf = points.get(leaf, {})
        if leaf in pieces:
            at_leaf = {value: at_leaf.get(value, False) for value in node.points}
        cuts, outside = _runs(node, pieces.get(leaf, {}))
        regions[leaf] = make_level(node.attribute, undefined.get(leaf, False), cuts, outside, Map(at_leaf))
    return regions


def _by_leaf(
    children: Iterable[tuple[Any, Tree]], of: Callable[[Tree], dict[Any, Tree]]
) -> dict[Any, dict[Any, Tree]]:
    """Returns for each leaf the children that have it, with the region where it holds below each."""
    result: dict[Any, dict[Any, Tree]] = {}
    for key, child in children:
        for leaf, where in of(child).items():
            result.setdefault(leaf, {})[key] = where
    return result


def _runs(node: Level, at: Mapping[int, Tree]) -> tuple[list[Bound], list[Tree]]:
    """Returns the cuts and the pieces of a level that has these trees at some of a level's pieces, else `False`. The
    cost grows with these only."""
    cuts: list[Bound] = []
    pieces = [at.get(0, False)]
    for index, where in at.items():
        if index > 0:
            cuts.append(node.cuts[index - 1])
            pieces.append(where)
        if index < len(node.cuts) and index + 1 not in at:
            cuts.append(node.cuts[index])
            pieces.append(False)
    return cuts, pieces
