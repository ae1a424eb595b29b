"""Operations on trees: what holds of one tree, or of two, at each tuple (theory 1.1)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from operator import and_, is_, or_  # pyright: ignore[reportUnknownVariableType]
from typing import Any

from immutables import Map

from cedilla.compiler.regions.combining import Operation, all_same, combine
from cedilla.compiler.regions.levels import Level, Tree, make_level


def lattice(
    leaf: Callable[[Any, Any], Tree],
    neutral: Tree,
    absorbing: Tree,
    same: Callable[[Any, Any], bool] = is_,
) -> Operation:
    """Returns an associative and commutative operation; each leaf combined with itself stays the same.

    `neutral` changes nothing, `absorbing` always wins. `same` compares a tree with these two leaves.
    """

    def shortcut(a: Tree, b: Tree) -> Tree | None:
        if same(a, absorbing) or same(b, absorbing):
            return absorbing
        if a is b or same(a, neutral):
            return b
        return a if same(b, neutral) else None

    return Operation(shortcut, leaf, neutral)


def _shortcut_difference(a: Tree, b: Tree) -> Tree | None:
    if a is False or b is True or a is b:
        return False
    return a if b is False else None


UNION = lattice(or_, neutral=False, absorbing=True)  # pyright: ignore[reportUnknownArgumentType]


INTERSECTION = lattice(and_, neutral=True, absorbing=False)  # pyright: ignore[reportUnknownArgumentType]


DIFFERENCE = Operation(_shortcut_difference, lambda a, b: a and not b)


def folded(trees: Sequence[Tree], operation: Operation, neutral: Tree) -> Tree:
    """Returns the combination of trees. Neighbours are combined first, so that large results meet rarely."""
    while len(trees) > 1:
        pairs = [combine(a, b, operation) for a, b in zip(trees[::2], trees[1::2], strict=False)]
        trees = [*pairs, trees[-1]] if len(trees) % 2 else pairs
    return trees[0] if trees else neutral


def union(*regions: Tree) -> Tree:
    """Returns the tuples that lie in one of some regions."""
    return folded(regions, UNION, False)


def intersection(*regions: Tree) -> Tree:
    """Returns the tuples that lie in all of some regions."""
    return folded(regions, INTERSECTION, True)


def difference(a: Tree, b: Tree) -> Tree:
    """Returns the tuples of one region that do not lie in another."""
    return combine(a, b, DIFFERENCE)


def complement(region: Tree) -> Tree:
    """Returns the tuples that do not lie in a region."""
    return combine(True, region, DIFFERENCE)


def update(tree: Tree, region: Tree, change: Callable[[Any], Hashable]) -> Tree:
    """Applies `change` to the leaves inside `region`."""
    return changed(tree, region, lambda leaf, _: change(leaf))


def changed(tree: Tree, changes: Tree, change: Callable[[Any, Any], Hashable]) -> Tree:
    """Returns the tree with `change(leaf, what)` wherever `changes` has a leaf `what` other than `False`.

    >>> from cedilla.compiler.regions import values
    >>> alters = changed(False, values("s", [1, 2]), lambda _, inside: "°F")
    >>> print(changed(("°C",), alters, lambda history, unit: (*history, unit)))
    s in {1, 2}: ('°C', '°F'), else ('°C',)
    """

    def shortcut(a: Tree, b: Tree) -> Tree | None:
        return a if b is False else None

    return combine(tree, changes, Operation(shortcut, change))


def restricted(changes: Tree, region: Tree) -> Tree:
    """Returns the tree inside a region, `False` outside."""

    def shortcut(a: Tree, b: Tree) -> Tree | None:
        return False if a is False or b is False else a if b is True else None

    return combine(changes, region, Operation(shortcut, lambda a, b: a if b else False))


def within(region: Tree, tree: Tree, test: Callable[[Any], bool]) -> Tree:
    """Returns the part of a region where a tree's leaf passes a test. The cost grows with the region only.

    >>> from cedilla.compiler.regions import interval, values
    >>> presence = choose(values("s", [1, 2]), "present", "absent")
    >>> print(within(values("s", [2, 3]), presence, lambda leaf: leaf == "present"))
    s = 2: True, else False
    """

    def shortcut(a: Tree, b: Tree) -> Tree | None:
        return False if a is False else None

    return combine(region, tree, Operation(shortcut, lambda inside, leaf: inside and test(leaf)))


_HERE = object()


def choose(where: Tree, inside: Tree, outside: Tree) -> Tree:
    """Returns the tree that equals one tree inside a region and another one outside.

    >>> from cedilla.compiler.regions import interval, values
    >>> print(choose(values("s", [2]), interval("t", (90, 1), None), interval("t", (32, 1), None)))
    s = 2: (t > 90: True, else False), else (t > 32: True, else False)
    """

    def shortcut(a: Tree, b: Tree) -> Tree | None:
        if a is _HERE:
            return b
        return a if b is _HERE else None

    masked_inside = update(inside, complement(where), lambda _: _HERE)
    masked_outside = update(outside, where, lambda _: _HERE)
    return combine(masked_inside, masked_outside, Operation(shortcut, lambda a, b: a))


def map_leaves(tree: Tree, change: Callable[[Any], Tree]) -> Tree:
    """Replaces every leaf; a leaf may become a subtree on later attributes."""
    memo: dict[int, Tree] = {}

    def mapped(node: Tree) -> Tree:
        if id(node) not in memo:
            memo[id(node)] = map_children(node, mapped) if isinstance(node, Level) else change(node)
        return memo[id(node)]

    return mapped(tree)


def without(tree: Tree, names: Set[str]) -> Tree:
    """Returns a tree of tuples that are undefined on some attributes: it decides by the others only."""
    memo: dict[int, Tree] = {}

    def left(node: Tree) -> Tree:
        if not isinstance(node, Level):
            return node
        if id(node) not in memo:
            is_undefined = node.attribute in names
            memo[id(node)] = left(node.undefined) if is_undefined else map_children(node, left)
        return memo[id(node)]

    return left(tree) if names else tree


def map_children(node: Level, change: Callable[[Tree], Tree]) -> Tree:
    """Replaces each distinct child of a level once."""
    memo: dict[int, Tree] = {}

    def changed(child: Tree) -> Tree:
        if id(child) not in memo:
            memo[id(child)] = change(child)
        return memo[id(child)]

    new = {value: changed(child) for value, child in node.points.items()}
    pieces, undefined = [changed(piece) for piece in node.pieces], changed(node.undefined)
    outside = undefined is node.undefined and all_same(node.cuts, pieces, node)
    if outside and all(map(is_, new.values(), node.points.values())):
        return node  # the same object, which readers may know already
    return make_level(node.attribute, undefined, node.cuts, pieces, Map(new))


def is_small(tree: Tree, limit: int) -> bool:
    """Returns True if a tree has at most `most` levels, pieces and points; shared ones count each time."""
    left, count = [tree], 0
    while left:
        node = left.pop()
        if isinstance(node, Level):
            count += 1 + len(node.pieces) + len(node.points)
            if count > limit:
                return False
            left += (node.undefined, *node.pieces, *node.points.values())
    return True
