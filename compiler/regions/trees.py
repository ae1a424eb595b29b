"""Operations on trees: what holds of one tree, or of two, at each tuple (theory 1.1)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Set
from operator import and_, is_, or_  # pyright: ignore[reportUnknownVariableType]
from typing import Any

from attrs import define, field, frozen
from immutables import Map

from cedilla.compiler.regions.levels import (
    CELL,
    NO_POINTS,
    Bound,
    Level,
    Tree,
    Value,
    make_level,
    order,
    reach,
    weight_below,
)
from cedilla.grammar.diagnostics import DiagnosticError, failure

ANY = object()
"""Represents "any other operand" when an operation is probed."""


@frozen
class Operation:
    """A pointwise operation on two trees.

    `shortcut(a, b)` returns the result if one operand alone decides it, else `None`; `leaf(a, b)` combines
    two leaves. Both see leaves and subtrees alike, so `shortcut` must compare by identity or by leaf.
    `neutral` is the result over zero operands.
    """

    shortcut: Callable[[Tree, Tree], Tree | None]
    leaf: Callable[[Tree, Tree], Tree]
    neutral: Tree = None


def combine(a: Tree, b: Tree, operation: Operation) -> Tree:
    """Returns the tree whose leaf is `operation` of the leaves of both. The cost grows with the distinct pairs of their
    subtrees. Raises `DiagnosticError` RQ480 if the tree has too many levels.

    >>> from cedilla.compiler.regions import interval, values
    >>> second, hot = values("s", [2]), interval("t", (90, 1), None)
    >>> print(combine(second, hot, UNION))
    s = 2: True, else (t > 90: True, else False)
    >>> print(combine(second, hot, Operation(lambda a, b: None, lambda a, b: a + b)))
    s = 2: (t > 90: 2, else 1), else (t > 90: 1, else 0)
    """
    return _Combination(operation).of(a, b)


@define(eq=False)
class _Combination:
    """Combines each pair of subtrees once, and makes equal subtrees one object, so that the next combination meets each
    of them once, too. `deep`: the number of levels so far that lie below many others."""

    operation: Operation
    results: dict[tuple[int, int], Tree] = field(factory=dict[tuple[int, int], Tree])
    shared: dict[Tree, Tree] = field(factory=dict[Tree, Tree])
    deep: int = 0

    def of(self, a: Tree, b: Tree, depth: int = 0) -> Tree:
        """Returns the combination of two subtrees that lie below `depth` levels."""
        decided = self.operation.shortcut(a, b)
        if decided is not None:
            return decided
        key = id(a), id(b)
        if key not in self.results:
            self.results[key] = self._combined(a, b, depth)
        return self.results[key]

    def _combined(self, a: Tree, b: Tree, depth: int) -> Tree:
        at_a = order(a.attribute) if isinstance(a, Level) else None
        at_b = order(b.attribute) if isinstance(b, Level) else None
        if at_a is None and at_b is None:
            return self.operation.leaf(a, b)
        self.deep += depth > SHALLOW
        if depth > _DEEPEST or self.deep > MAX_DEPTH:
            raise too_many_cases()
        first = min(x for x in (at_a, at_b) if x is not None)
        left = a if at_a == first else Level(first[1], a, (), (a,))
        right = b if at_b == first else Level(first[1], b, (), (b,))
        result = _combine_levels(left, right, self, depth + 1)
        if isinstance(result, Level) and result.weight > MAX_WEIGHT:
            result = _weighed(result)
        return self._shared(result, depth)

    def _shared(self, tree: Tree, depth: int) -> Tree:
        if depth <= 1 or not isinstance(tree, Level) or len(tree.points) > _MAX_POINTS:
            return tree
        return self.shared.setdefault(tree, tree)


_MAX_POINTS = 64
"""Points of a level that is compared with others: its hash is that of all points."""
_DEEPEST = 100
"""Attributes that descriptions may name together: each is a level, and levels are computed by recursion."""
SHALLOW, MAX_DEPTH = 6, 2000
"""The levels without a limit of parts, and the most parts below more levels: their number may be that of the
combinations of all descriptions."""


MAX_WEIGHT = 10_000 * CELL
"""What a tree weighs at most: 10,000 cells of ranges, or ten million in rows of tables."""


def _weighed(tree: Level) -> Tree:
    """Returns an equal tree whose weight is exact. Raises `DiagnosticError` RQ481 if it is too large."""
    memo: dict[int, Tree] = {}

    def exact(node: Tree) -> Tree:
        if not isinstance(node, Level):
            return node
        if id(node) not in memo:
            pieces = tuple(map(exact, node.pieces))
            points = Map({value: exact(child) for value, child in node.points.items()})
            memo[id(node)] = Level(node.attribute, exact(node.undefined), node.cuts, pieces, points)
        return memo[id(node)]

    result = exact(tree)
    if result.weight > MAX_WEIGHT:
        hint = (
            "describe the tuples by single values, `s = 1` or `s in {1, 2}`, by fewer ranges of few attributes, "
            "or by an attribute that tells them apart"
        )
        message = (
            "the conditions so far cut the tuples into too many cells, because each range cuts all the others"
        )
        raise failure("RQ481", message, hint=hint)
    return result


def too_many_cases() -> DiagnosticError:
    """Returns RQ480: descriptions by many attributes make more cases than can be computed."""
    hint = "describe the tuples by fewer attributes, and by the same ones in all markers"
    return failure("RQ480", "the descriptions of the markers so far make too many cases together", hint=hint)


def _combine_levels(a: Level, b: Level, combination: _Combination, depth: int) -> Tree:
    operation = combination.operation
    cuts, pairs = align(a, b)
    pieces = [combination.of(x, y, depth) for x, y in pairs]
    undefined = combination.of(a.undefined, b.undefined, depth)
    # The linear case: one side is constant outside its points, so only those points are touched. If both
    # sides are,
    # the one with fewer points is used. The points of the other side are kept, or all disappear.
    sides: list[tuple[Level, Level | None]] = []
    if len(b.pieces) == 1 and (probe := operation.shortcut(ANY, b.pieces[0])) is not None:
        sides.append((b, a if probe is ANY else None))
    if len(a.pieces) == 1 and (probe := operation.shortcut(a.pieces[0], ANY)) is not None:
        sides.append((a, b if probe is ANY else None))
    values, kept = {*a.points, *b.points} if not sides else (), None
    same = [a, b]  # the operands that the result may equal
    if sides:
        side, kept = min(sides, key=lambda pair: len(pair[0].points))
        values, same = side.points, [kept or side]
    memo: dict[tuple[int, int], Tree] = {}
    touched: list[Value] = []
    mutation = (NO_POINTS if kept is None else kept.points).mutate()
    for value in values:
        x, y = a.at(value), b.at(value)
        key = id(x), id(y)
        if key not in memo:
            memo[key] = combination.of(x, y, depth)
        result = memo[key]
        same = [node for node in same if result is (x if node is a else y)]
        if kept is None or result is not (x if kept is a else y):
            mutation[value] = result
            touched.append(value)
    for operand in same:
        if undefined is operand.undefined and _all_same(cuts, pieces, operand):
            if not operand.points and all(piece is undefined for piece in pieces):
                return undefined
            return operand  # the same object, which callers may have seen before
    inner = reach((undefined, *pieces, *memo.values()))
    nested = weight_below(memo.values())
    if kept is not None:
        inner, nested = inner | kept.inner, nested + kept.nested
    points = mutation.finish()
    return make_level(a.attribute, undefined, cuts, pieces, points, check=touched, inner=inner, nested=nested)


def _all_same(cuts: tuple[Bound, ...], pieces: list[Tree], other: Level) -> bool:
    return cuts == other.cuts and all(map(is_, pieces, other.pieces))


def align(a: Level, b: Level) -> tuple[tuple[Bound, ...], list[tuple[Tree, Tree]]]:
    """Returns the cuts of both levels, and the pieces of both between them."""
    if not b.cuts:
        return a.cuts, [(piece, b.pieces[0]) for piece in a.pieces]
    if not a.cuts:
        return b.cuts, [(a.pieces[0], piece) for piece in b.pieces]
    cuts = tuple(sorted({*a.cuts, *b.cuts}))
    i = j = 0
    pairs = [(a.pieces[0], b.pieces[0])]
    for cut in cuts:
        if i < len(a.cuts) and a.cuts[i] == cut:
            i += 1
        if j < len(b.cuts) and b.cuts[j] == cut:
            j += 1
        pairs.append((a.pieces[i], b.pieces[j]))
    return cuts, pairs


def lattice(
    leaf: Callable[[Any, Any], Tree],
    neutral: Tree,
    absorbing: Tree,
    same: Callable[[Any, Any], bool] = is_,
) -> Operation:
    """Returns an associative and commutative operation in which each leaf combined with itself stays the
    same.

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


def union(*regions: Tree) -> Tree:
    """Returns the tuples that lie in one of some regions."""
    result: Tree = False
    for region in regions:
        result = combine(result, region, UNION)
    return result


def intersection(*regions: Tree) -> Tree:
    """Returns the tuples that lie in all of some regions."""
    result: Tree = True
    for region in regions:
        result = combine(result, region, INTERSECTION)
    return result


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
    outside = undefined is node.undefined and _all_same(node.cuts, pieces, node)
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
