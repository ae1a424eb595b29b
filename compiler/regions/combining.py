"""Combines two trees level by level: the one step that all operations on trees share (theory 1.1)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from operator import is_

from attrs import define, field, frozen
from immutables import Map

from cedilla.compiler.regions.levels import (
    CELL,
    NO_POINTS,
    Bound,
    Level,
    Pieces,
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

    >>> from cedilla.compiler.regions import UNION, interval, values
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
"""The greatest weight of a tree: 10,000 cells of ranges, or ten million in rows of tables."""


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
    if len(a.cuts) + len(b.cuts) > _MANY_CUTS and len(a.points) + len(b.points) <= _FEW_POINTS:
        return _spliced(a, b, combination, depth)
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
        if undefined is operand.undefined and all_same(cuts, pieces, operand):
            if not operand.points and all(piece is undefined for piece in pieces):
                return undefined
            return operand  # the same object, which callers may have seen before
    inner = reach((undefined, *pieces, *memo.values()))
    nested = weight_below(memo.values())
    if kept is not None:
        inner, nested = inner | kept.inner, nested + kept.nested
    points = mutation.finish()
    result = make_level(
        a.attribute, undefined, cuts, pieces, points, check=touched, inner=inner, nested=nested, kept=kept
    )
    return next((operand for operand in (a, b) if _is_same(result, operand)), result)


def _is_same(result: Tree, operand: Level) -> bool:
    """Returns True if a level without points has the very children of an operand, so that this object can serve."""
    return (
        isinstance(result, Level)
        and not result.points
        and not operand.points
        and result.undefined is operand.undefined
        and len(result.cuts) == len(operand.cuts)
        and all_same(result.cuts, result.pieces, operand)
    )


_MANY_CUTS, _FEW_POINTS = 16, 8
"""Cuts of two levels that are combined run by run; the most points of these, which are combined one by one."""


def _spliced(a: Level, b: Level, combination: _Combination, depth: int) -> Tree:
    """Combines two levels; one may have many pieces. Those that the other level leaves unchanged, or decides alone, are
    taken over as a whole."""
    few, many = (a, b) if len(a.cuts) < len(b.cuts) else (b, a)
    shortcut, inner = combination.operation.shortcut, frozenset[str]()
    points = {value: combination.of(a.at(value), b.at(value), depth) for value in {*a.points, *b.points}}
    undefined = combination.of(a.undefined, b.undefined, depth)
    kept: Pieces | None = None
    for low, high, piece in few.piece_bounds():
        first = 0 if low is None else bisect_right(many.cuts, low)
        last = len(many.cuts) if high is None else bisect_left(many.cuts, high)
        cuts, run = many.cuts[first:last], many.pieces[first : last + 1]
        decided = shortcut(piece, ANY) if few is a else shortcut(ANY, piece)
        if decided is ANY:
            inner |= many.inner
        else:
            if decided is not None:
                cuts, run = (), (decided,)
            elif few is a:
                run = [combination.of(piece, other, depth) for other in run]
            else:
                run = [combination.of(other, piece, depth) for other in run]
            inner |= reach(run)
        if kept is None or low is None:
            kept = Pieces(run[0], Map(points), {*points})
        else:
            kept.add(low, run[0])
        kept.extend(cuts, run[1:], is_normal=decided is ANY)
    assert kept is not None
    for operand in (a, b):
        is_same = undefined is operand.undefined and kept.are_of(operand) and len(kept.points) == len(points)
        if is_same and all(result is operand.at(value) for value, result in points.items()):
            return operand  # the same object, which callers may have seen before
    return kept.level(
        a.attribute, undefined, inner | reach((undefined, *points.values())), weight_below(points.values())
    )


def all_same(cuts: tuple[Bound, ...], pieces: Sequence[Tree], other: Level) -> bool:
    """Returns True if pieces between cuts are the very pieces of a level."""
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
