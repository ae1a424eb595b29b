"""Computes images of trees under functions and maps of boxes; joins runs of points into ranges."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

from immutables import Map

from cedilla.compiler.regions.combining import Operation, combine
from cedilla.compiler.regions.decomposition import attributes, boxes, groups
from cedilla.compiler.regions.function import Function
from cedilla.compiler.regions.levels import Level, Tree, Value, make_level, order
from cedilla.compiler.regions.quantifiers import ANYTHING, Universe
from cedilla.compiler.regions.trees import folded, map_children, map_leaves
from cedilla.compiler.regions.value_sets import Box, box


def coalesced(tree: Tree, universe: Universe, least: int = 2) -> Tree:
    """Joins runs of `least` or more neighbouring whole numbers with equal children into one piece (theory
    1.4).

    Punctuations for 1, 2, 3 ... become one range, however many there are.

    >>> from cedilla.compiler.regions import Domain, values
    >>> print(coalesced(values("wid", [1, 2, 3, 7]), {"wid": Domain(integral=True)}))
    wid = 7: True, wid in [1, 4): True, else False
    """
    if not isinstance(tree, Level):
        return tree
    node = map_children(tree, lambda child: coalesced(child, universe, least))
    if not isinstance(node, Level) or not universe.get(node.attribute, ANYTHING).integral:
        return node
    runs = _runs(node.points, least)
    if not runs:
        return node
    inside = {(first, 0): child for first, _, child in runs}
    ends = {(last + 1, 0) for _, last, _ in runs}
    cuts = sorted({*node.cuts, *inside, *ends})
    pieces, run = [node.pieces[0]], None
    for cut in cuts:
        run = inside.get(cut, None if cut in ends else run)
        pieces.append(node.pieces[bisect_right(node.cuts, cut)] if run is None else run)
    mutation = node.points.mutate()
    for first, last, _ in runs:
        for value in range(first, last + 1):
            del mutation[value]
    return make_level(node.attribute, node.undefined, cuts, pieces, mutation.finish())


def _runs(points: Map[Value, Tree], least: int) -> list[tuple[int, int, Tree]]:
    """Returns first, last and child of every run of `least` or more neighbouring whole numbers with one
    child.
    """
    runs: list[tuple[int, int, Tree]] = []
    whole = sorted(v for v in points if isinstance(v, int) and not isinstance(v, bool))
    for value in whole:
        if runs and runs[-1][1] == value - 1 and runs[-1][2] == points[value]:
            runs[-1] = runs[-1][0], value, runs[-1][2]
        else:
            runs.append((value, value, points[value]))
    return [run for run in runs if run[1] - run[0] + 1 >= least]


def transform(
    tree: Tree, attribute: str, function: Function | Callable[[Any], Value], outside: Tree | None = None
) -> Tree:
    """Returns the image of a tree under a function of one attribute; a plain function increases.

    `outside`: the child of values that are not in the image of a function; by default that of the nearest value in it.

    >>> from cedilla.compiler.regions import interval
    >>> from cedilla.compiler.regions.affine import Affine
    >>> from cedilla.compiler.regions.bent import Reciprocal
    >>> print(transform(interval("t", (90, 1), None), "t", Affine("5/9", "-160/9")))  # °F to °C
    t > 290/9: True, else False
    >>> thirsty = interval("use", (8, 1), (12, 0))  # litres per 100 km, to miles per gallon
    >>> print(transform(thirsty, "use", Reciprocal(240), outside=False))
    use in (20, 30): True, else False
    """
    memo: dict[int, Tree] = {}

    def of(node: Tree) -> Tree:
        if not isinstance(node, Level) or order(node.attribute) > order(attribute):
            return node
        if id(node) not in memo:
            is_here = node.attribute == attribute
            memo[id(node)] = _transformed(node, function, outside) if is_here else map_children(node, of)
        return memo[id(node)]

    return of(tree)


def _transformed(node: Level, function: Function | Callable[[Any], Value], outside: Tree | None) -> Tree:
    if isinstance(function, Function):
        return function.image(node, outside)
    points = Map({function(value): child for value, child in node.points.items()})
    cuts = [(function(value), after) for value, after in node.cuts]
    return make_level(node.attribute, node.undefined, cuts, node.pieces, points)


def reshape(
    tree: Tree, change: Callable[[dict[str, Tree]], Iterable[Box]], operation: Operation, start: Tree
) -> Tree:
    """Returns the image of a tree under a map of boxes.

    `operation` combines the leaves where images overlap; `start` is neutral to it.

    For example, the values of `a` and `b` may have changed places, or not:

    >>> from cedilla.compiler.regions import UNION, renamed, values
    >>> region = box({"a": values("a", [1]), "b": values("b", [2])})
    >>> def both(pair: dict[str, Tree]) -> list[Box]:
    ...     return [pair, {"a": renamed(pair["b"], "a"), "b": renamed(pair["a"], "b")}]
    >>> print(reshape(region, both, UNION, False))
    a = 1: (b = 2: True, else False), a = 2: (b = 1: True, else False), else False
    """
    images = [
        map_leaves(box(image), lambda hit, leaf=leaf: leaf if hit else start)
        for conditions, leaf in boxes(tree)
        if leaf != start
        for image in change(conditions)
    ]
    return folded(images, operation, start)


def reshape_values(
    tree: Tree,
    attribute: str,
    change: Callable[[dict[str, Tree]], Iterable[Box]],
    operation: Operation,
    start: Tree,
) -> Tree:
    """Returns `reshape` for a map of boxes that reads and changes conditions on one attribute only.

    Levels above those of the attribute are taken apart once each, not once for each box below them.
    """
    memo: dict[int, Tree] = {}

    def of(node: Tree) -> Tree:
        if not isinstance(node, Level) or attribute not in attributes(node):
            return node
        if id(node) not in memo:
            if node.attribute == attribute:
                memo[id(node)] = reshape(node, change, operation, start)
            else:
                parts = [_within(of(child), where, start) for child, where in groups(node)]
                memo[id(node)] = folded(parts, operation, start)
        return memo[id(node)]

    return of(tree)


def _within(tree: Tree, where: Tree, outside: Tree) -> Tree:
    def shortcut(inside: Tree, region: Tree) -> Tree | None:
        return outside if region is False else inside if region is True else None

    return combine(tree, where, Operation(shortcut, lambda a, b: a if b else outside))
