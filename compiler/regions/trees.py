"""Descriptions, punctuation patterns and all that is computed from them (theory 1.1, G1).

A `Tree` is a piecewise constant function of a tuple: one level per attribute that matters, in one fixed
order of attributes, down to a leaf. A region is a tree whose leaves are `True` and `False`; presence maps
and histories of units are trees with other leaves, so one set of operations serves them all.

A level (`Steps`) cuts the ordered domain of its attribute into pieces, overridden at single points, and
says apart what holds for the undefined value ⊥. Points live in a persistent hash map: describing one more
point costs the same however many there are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from fractions import Fraction
from functools import wraps
from itertools import chain
from operator import is_
from typing import Any, TypeVar

from attrs import field, frozen
from immutables import Map

Value = int | Fraction | str | bool
Cut = tuple[Any, int]
"""`(v, 0)`: the next piece starts with v; `(v, 1)`: it starts just after v."""

Tree = Any
"""A leaf (any hashable value) or `Steps`."""

POSITION = "$position"
"""The pseudo-attribute for the position in the stream; it comes last in the order of attributes."""


class _Undefined:
    """The undefined value ⊥, an extra point of every domain (theory 1.1)."""

    def __repr__(self) -> str:
        return "⊥"


UNDEFINED = _Undefined()
_NO_POINTS: Map[Value, Tree] = Map()
_NOTHING: frozenset[str] = frozenset()
_UNKNOWN: frozenset[str] = frozenset({"?"})


@frozen(cache_hash=True)
class Steps:
    """One level of a tree: a step function of one attribute. Build it with `steps`."""

    attribute: str
    undefined: Tree
    cuts: tuple[Cut, ...]
    pieces: tuple[Tree, ...]
    points: Map[Value, Tree] = field(default=_NO_POINTS)
    inner: frozenset[str] = field(default=_UNKNOWN, eq=False, repr=False)
    """The attributes below this level, and perhaps some that were there once."""

    def __attrs_post_init__(self) -> None:
        if self.inner is _UNKNOWN:
            found = _reach((self.undefined, *self.pieces, *self.points.values()))
            object.__setattr__(self, "inner", found)

    def at(self, value: object) -> Tree:
        """The subtree for one value, or for `UNDEFINED`."""
        if value is UNDEFINED:
            return self.undefined
        found = self.points.get(value, UNDEFINED)  # type: ignore[arg-type]
        return self.pieces[_piece(self.cuts, value)] if found is UNDEFINED else found

    def piece_bounds(self) -> Iterator[tuple[Cut | None, Cut | None, Tree]]:
        """Each piece with the cuts it lies between; `None` is unbounded."""
        bounds = (None, *self.cuts, None)
        for index, piece in enumerate(self.pieces):
            yield bounds[index], bounds[index + 1], piece


def _reach(children: Iterable[Tree]) -> frozenset[str]:
    """The attributes at and below the levels among some trees."""
    found = _NOTHING
    for child in children:
        if isinstance(child, Steps) and not (child.attribute in found and child.inner <= found):
            found = found.union(child.inner, (child.attribute,))
    return found


def _piece(cuts: tuple[Cut, ...], value: Any) -> int:
    """The index of the piece that a value lies in."""
    return bisect_right(cuts, (value, 0))


def order(attribute: str) -> tuple[bool, str]:
    """The place of an attribute's level in every tree."""
    return attribute == POSITION, attribute


def steps(
    attribute: str,
    undefined: Tree,
    cuts: Iterable[Cut],
    pieces: Iterable[Tree],
    points: Map[Value, Tree] = _NO_POINTS,
    *,
    check: Iterable[Value] | None = None,
    inner: frozenset[str] = _UNKNOWN,
) -> Tree:
    """A level in normal form: equal neighbours merged, needless points dropped, collapsed if constant.

    `check` names the points that may equal the piece they lie in; all of them by default. `inner`: the
    attributes below, where they are known.
    """
    wanted = iter(pieces)
    kept_pieces = [next(wanted)]
    kept_cuts: list[Cut] = []
    for cut, piece in zip(cuts, wanted, strict=True):
        if kept_cuts and kept_cuts[-1][0] == cut[0]:  # the piece in between is the single value cut[0]
            points = points if cut[0] in points else points.set(cut[0], kept_pieces[-1])
            check = None if check is None else {*check, cut[0]}
            kept_pieces.pop()
            kept_cuts.pop()
            cut = (cut[0], 0) if points[cut[0]] == piece else cut  # noqa: PLW2901
        if piece != kept_pieces[-1]:
            kept_cuts.append(cut)
            kept_pieces.append(piece)
    bounds = tuple(kept_cuts)
    needless = [
        v for v in (points if check is None else check) if points[v] == kept_pieces[_piece(bounds, v)]
    ]
    if needless:
        mutation = points.mutate()
        for value in needless:
            del mutation[value]
        points = mutation.finish()
    if not bounds and not points and undefined == kept_pieces[0]:
        return undefined
    return Steps(attribute, undefined, bounds, tuple(kept_pieces), points, inner)


# --- combination -----------------------------------------------------------------------------------------

_ANY = object()  # stands for "whatever the other operand is" when an operation is probed


@frozen
class Operation:
    """A pointwise operation on two trees.

    `settle(a, b)` gives the result where one operand alone decides it, else `None`; `leaf(a, b)` combines
    two leaves. Both see leaves and subtrees alike, so `settle` must compare by identity or by leaf.
    `neutral` is what it gives over no operands at all.
    """

    settle: Callable[[Tree, Tree], Tree | None]
    leaf: Callable[[Tree, Tree], Tree]
    neutral: Tree = None


def combine(a: Tree, b: Tree, operation: Operation) -> Tree:
    """The tree whose leaf is `operation` of the leaves of both, everywhere."""
    settled = operation.settle(a, b)
    if settled is not None:
        return settled
    at_a = order(a.attribute) if isinstance(a, Steps) else None
    at_b = order(b.attribute) if isinstance(b, Steps) else None
    if at_a is None and at_b is None:
        return operation.leaf(a, b)
    first = min(x for x in (at_a, at_b) if x is not None)
    left = a if at_a == first else Steps(first[1], a, (), (a,))
    right = b if at_b == first else Steps(first[1], b, (), (b,))
    return _combine_levels(left, right, operation)


def _combine_levels(a: Steps, b: Steps, operation: Operation) -> Tree:
    cuts, pairs = _merge(a, b)
    pieces = [combine(x, y, operation) for x, y in pairs]
    undefined = combine(a.undefined, b.undefined, operation)
    # The linear case: one side says nothing outside its points, so only those points are touched; of two such
    # sides the one with fewer. The points of the other side are kept or all gone.
    sides: list[tuple[Steps, Steps | None]] = []
    if len(b.pieces) == 1 and (probe := operation.settle(_ANY, b.pieces[0])) is not None:
        sides.append((b, a if probe is _ANY else None))
    if len(a.pieces) == 1 and (probe := operation.settle(a.pieces[0], _ANY)) is not None:
        sides.append((a, b if probe is _ANY else None))
    values, kept = {*a.points, *b.points} if not sides else (), None
    same = [a, b]  # what the result may turn out to be
    if sides:
        side, kept = min(sides, key=lambda each: len(each[0].points))
        values, same = side.points, [kept or side]
    memo: dict[tuple[int, int], Tree] = {}
    touched: list[Value] = []
    mutation = (_NO_POINTS if kept is None else kept.points).mutate()
    for value in values:
        x, y = a.at(value), b.at(value)
        key = id(x), id(y)
        if key not in memo:
            memo[key] = combine(x, y, operation)
        result = memo[key]
        same = [each for each in same if result is (x if each is a else y)]
        if kept is None or result is not (x if kept is a else y):
            mutation[value] = result
            touched.append(value)
    for operand in same:
        if undefined is operand.undefined and _all_same(cuts, pieces, operand):
            if not operand.points and all(piece is undefined for piece in pieces):
                return undefined
            return operand  # the same object, which readers may know already
    inner = _reach((undefined, *pieces, *memo.values()))
    inner = inner if kept is None else inner | kept.inner
    return steps(a.attribute, undefined, cuts, pieces, mutation.finish(), check=touched, inner=inner)


def _all_same(cuts: tuple[Cut, ...], pieces: list[Tree], other: Steps) -> bool:
    return cuts == other.cuts and all(map(is_, pieces, other.pieces))


def _merge(a: Steps, b: Steps) -> tuple[tuple[Cut, ...], list[tuple[Tree, Tree]]]:
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


def _settle_union(a: Tree, b: Tree) -> Tree | None:
    if a is True or b is True:
        return True
    if a is False or a is b:
        return b
    return a if b is False else None


def _settle_intersection(a: Tree, b: Tree) -> Tree | None:
    if a is False or b is False:
        return False
    if a is True or a is b:
        return b
    return a if b is True else None


def _settle_difference(a: Tree, b: Tree) -> Tree | None:
    if a is False or b is True or a is b:
        return False
    return a if b is False else None


UNION = Operation(_settle_union, lambda a, b: a or b, False)
INTERSECTION = Operation(_settle_intersection, lambda a, b: a and b, True)
DIFFERENCE = Operation(_settle_difference, lambda a, b: a and not b)


def union(*regions: Tree) -> Tree:
    result: Tree = False
    for region in regions:
        result = combine(result, region, UNION)
    return result


def intersection(*regions: Tree) -> Tree:
    result: Tree = True
    for region in regions:
        result = combine(result, region, INTERSECTION)
    return result


def difference(a: Tree, b: Tree) -> Tree:
    return combine(a, b, DIFFERENCE)


def complement(region: Tree) -> Tree:
    return combine(True, region, DIFFERENCE)


def update(tree: Tree, region: Tree, change: Callable[[Any], Hashable]) -> Tree:
    """The tree with `change` applied to its leaves inside `region`."""

    def settle(a: Tree, b: Tree) -> Tree | None:
        return a if b is False else None

    return combine(tree, region, Operation(settle, lambda a, b: change(a) if b else a))


def within(region: Tree, tree: Tree, test: Callable[[Any], bool]) -> Tree:
    """The part of a region where a tree's leaf passes a test; costs as much as the region is large."""

    def settle(a: Tree, b: Tree) -> Tree | None:
        return False if a is False else None

    return combine(region, tree, Operation(settle, lambda inside, leaf: inside and test(leaf)))


_HERE = object()


def choose(where: Tree, inside: Tree, outside: Tree) -> Tree:
    """One tree inside a region, another outside."""

    def settle(a: Tree, b: Tree) -> Tree | None:
        if a is _HERE:
            return b
        return a if b is _HERE else None

    masked_inside = update(inside, complement(where), lambda _: _HERE)
    masked_outside = update(outside, where, lambda _: _HERE)
    return combine(masked_inside, masked_outside, Operation(settle, lambda a, b: a))


def map_leaves(tree: Tree, change: Callable[[Any], Tree]) -> Tree:
    """The tree with every leaf replaced; a leaf may become a subtree on later attributes."""
    if not isinstance(tree, Steps):
        return change(tree)
    return map_children(tree, lambda child: map_leaves(child, change))


def map_children(node: Steps, change: Callable[[Tree], Tree]) -> Tree:
    """The level with each distinct child replaced once."""
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
    return steps(node.attribute, undefined, node.cuts, pieces, Map(new))


def is_small(tree: Tree, most: int) -> bool:
    """Whether a tree has no more levels, pieces and points than so many, counted wherever they are led to."""
    left, count = [tree], 0
    while left:
        node = left.pop()
        if isinstance(node, Steps):
            count += 1 + len(node.pieces) + len(node.points)
            if count > most:
                return False
            left += (node.undefined, *node.pieces, *node.points.values())
    return True


# --- boxes -----------------------------------------------------------------------------------------------

Box = Mapping[str, Tree]
"""Attribute -> set of values (a one-level region over that attribute); unnamed attributes are free."""


def interval(attribute: str, low: Cut | None, high: Cut | None) -> Tree:
    """The defined values between two cuts; `None` is unbounded. ⊥ is outside (theory 1.1)."""
    if low is not None and high is not None and not low < high:
        return False
    cuts = tuple(cut for cut in (low, high) if cut is not None)
    pieces = [True] if low is None else [False, True]
    return steps(attribute, False, cuts, [*pieces, False] if high is not None else pieces)


def values(attribute: str, members: Iterable[Value]) -> Tree:
    """A finite set of values."""
    return steps(attribute, False, (), (False,), Map(dict.fromkeys(members, True)))


def defined(attribute: str) -> Tree:
    """Every value but ⊥."""
    return steps(attribute, False, (), (True,))


def box(conditions: Box) -> Tree:
    """The region of the tuples that meet every condition."""
    result: Tree = True
    for attribute in sorted(conditions, key=order, reverse=True):
        inner = result
        result = map_leaves(conditions[attribute], lambda inside, inner=inner: inner if inside else False)
    return result


def boxes(tree: Tree) -> Iterator[tuple[dict[str, Tree], Any]]:
    """Disjoint boxes that tile the space, each with its leaf; values with the same subtree share a box."""
    if not isinstance(tree, Steps):
        yield {}, tree
        return
    for child, where in groups(tree):
        for inner, leaf in boxes(child):
            yield {tree.attribute: where, **inner}, leaf


def groups(node: Steps) -> list[tuple[Tree, Tree]]:
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
        result.append((child, steps(node.attribute, node.undefined == child, node.cuts, pieces, points)))
    return result


def contains(tree: Tree, row: Mapping[str, object]) -> Any:
    """The leaf for one tuple; attributes that the tuple lacks are undefined."""
    while isinstance(tree, Steps):
        tree = tree.at(row.get(tree.attribute, UNDEFINED))
    return tree


def attributes(tree: Tree) -> frozenset[str]:
    """The attributes that matter."""
    if not isinstance(tree, Steps):
        return _NOTHING
    found: set[str] = set()
    seen: set[int] = set()
    for child in chain((tree.undefined,), tree.pieces, tree.points.values()):
        if found >= tree.inner:  # nothing more can come, so the points need not be gone through
            break
        if isinstance(child, Steps) and id(child) not in seen:
            seen.add(id(child))
            found |= attributes(child)
    return frozenset(found | {tree.attribute})


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
        if not any(isinstance(tree, Steps) and len(tree.points) > _LARGE for tree in given):
            return function(*given)
        key = tuple(id(each) if isinstance(each, Steps) else each for each in given)
        if key not in memo:
            memo[key] = given, function(*given)
            if len(memo) > _REMEMBERED:
                del memo[next(iter(memo))]
        return memo[key][1]

    return known


@remembered
def leaves(tree: Tree) -> list[Any]:
    """The distinct leaves."""
    found: dict[Any, None] = {}
    seen: set[int] = set()

    def visit(node: Tree) -> None:
        if not isinstance(node, Steps):
            found[node] = None
            return
        for child in (*node.pieces, node.undefined, *node.points.values()):
            if id(child) not in seen:
                seen.add(id(child))
                visit(child)

    visit(tree)
    return list(found)


def cells(tree: Tree) -> dict[Any, Tree]:
    """Each distinct leaf with the region where it holds, in one pass."""
    if not isinstance(tree, Steps):
        return {tree: True}
    memo: dict[int, dict[Any, Tree]] = {}

    def of(child: Tree) -> dict[Any, Tree]:
        if not isinstance(child, Steps):
            return {child: True}
        if id(child) not in memo:
            memo[id(child)] = cells(child)
        return memo[id(child)]

    pieces, undefined = [of(piece) for piece in tree.pieces], of(tree.undefined)
    points: dict[Any, dict[Value, Tree]] = {}
    for value, child in tree.points.items():
        for leaf, where in of(child).items():
            points.setdefault(leaf, {})[value] = where
    found: dict[Any, Tree] = {}
    for leaf in dict.fromkeys(leaf for part in (*pieces, undefined, points) for leaf in part):
        here = points.get(leaf, {})
        if any(leaf in piece for piece in pieces):
            here = {value: here.get(value, False) for value in tree.points}
        outside = [piece.get(leaf, False) for piece in pieces]
        found[leaf] = steps(tree.attribute, undefined.get(leaf, False), tree.cuts, outside, Map(here))
    return found


# --- quantifiers -----------------------------------------------------------------------------------------


@frozen
class Domain:
    """What values an attribute can take: coverage is asked relative to it (theory G5, ⊥ lemma).

    `members` is a region over the attribute; `integral` says that only whole numbers occur.
    """

    members: Tree = True
    integral: bool = False


ANYTHING = Domain()
Universe = Mapping[str, Domain]


def quantify(tree: Tree, over: Set[str] | None, operation: Operation, universe: Universe) -> Tree:
    """Fold away attributes (`None`: all of them): `operation` of the tree over all their possible values."""
    if not isinstance(tree, Steps):
        return tree
    if over is not None and tree.attribute not in over:
        return map_children(tree, lambda child: quantify(child, over, operation, universe))
    result: Tree = None
    seen: set[int] = set()
    for child in _children(tree, universe.get(tree.attribute, ANYTHING)):
        if id(child) in seen:
            continue
        seen.add(id(child))
        folded = quantify(child, over, operation, universe)
        result = folded if result is None else combine(result, folded, operation)
        if operation.settle(result, _ANY) is result:  # nothing can change it any more
            return result
    return operation.neutral if result is None else result


def exists(region: Tree, over: Set[str], universe: Universe) -> Tree:
    """∃: where some value of the attributes `over` lies in the region."""
    return quantify(region, over, UNION, universe)


def forall(region: Tree, over: Set[str], universe: Universe) -> Tree:
    """∀: where the whole fibre over `over` lies in the region (closed fibres, theory 1.3)."""
    return quantify(region, over, INTERSECTION, universe)


def covers(region: Tree, universe: Universe) -> bool:
    """Whether every possible tuple lies in the region."""
    return quantify(region, None, INTERSECTION, universe) is True


def is_empty(region: Tree, universe: Universe) -> bool:
    """Whether no possible tuple lies in the region."""
    return quantify(region, None, UNION, universe) is False


def _children(node: Steps, domain: Domain) -> Iterator[Tree]:
    """The children of a level that some value of the domain leads to; those of pieces come first."""
    members = domain.members
    if members is False:
        return
    if members is True:
        members = Steps(node.attribute, True, (), (True,))
    if members.pieces == (False,):
        yield from _of_finite_domain(node, members)
    else:
        whole = Steps(members.attribute, True, members.cuts, members.pieces)
        aligned = Steps(node.attribute, node.undefined, node.cuts, node.pieces)
        cuts, pairs = _merge(aligned, whole)
        bounds = (None, *cuts, None)
        for index, (child, inside) in enumerate(pairs):
            if inside and _has_free_value(bounds[index], bounds[index + 1], node, domain):
                yield child
        for value, child in node.points.items():
            if members.at(value) and not (domain.integral and _is_broken(value)):
                yield child
    if members.undefined:
        yield node.undefined


def _of_finite_domain(node: Steps, members: Steps) -> Iterator[Tree]:
    if len(node.points) < len(members.points) and len(node.pieces) == 1:
        yield node.pieces[0]  # some member of the domain is no point of the level
        yield from (child for value, child in node.points.items() if members.at(value))
    else:
        yield from (node.at(value) for value, inside in members.points.items() if inside)


def _has_free_value(low: Cut | None, high: Cut | None, node: Steps, domain: Domain) -> bool:
    """Whether the domain has a value between the cuts that is no point of the level."""
    if low is None or high is None:
        return True
    if domain.integral:
        first, end = ceiling(low), ceiling(high)
        if end - first > len(node.points):
            return True
        return any(value not in node.points for value in range(first, end))
    if low[0] == high[0]:  # [v, v]: the single value v
        return low[0] not in node.points
    return low < high


def _is_broken(value: Value) -> bool:
    return isinstance(value, Fraction) and value.denominator != 1


def ceiling(cut: Cut) -> int:
    """The least whole number at or after a cut."""
    value, after = cut
    whole = -((-value) // 1)
    return int(whole) + 1 if after and whole == value else int(whole)


# --- compaction ------------------------------------------------------------------------------------------


def coalesced(tree: Tree, universe: Universe, least: int = 2) -> Tree:
    """The same tree over whole numbers, with runs of `least` or more neighbouring points as one piece (theory 1.4).

    So a punctuation for each of 1, 2, 3 ... ends as one range, however many there are.
    """
    if not isinstance(tree, Steps):
        return tree
    node = map_children(tree, lambda child: coalesced(child, universe, least))
    if not isinstance(node, Steps) or not universe.get(node.attribute, ANYTHING).integral:
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
    return steps(node.attribute, node.undefined, cuts, pieces, mutation.finish())


def _runs(points: Map[Value, Tree], least: int) -> list[tuple[int, int, Tree]]:
    """First, last and child of every run of `least` or more neighbouring whole numbers with one child."""
    runs: list[tuple[int, int, Tree]] = []
    whole = sorted(v for v in points if isinstance(v, int) and not isinstance(v, bool))
    for value in whole:
        if runs and runs[-1][1] == value - 1 and runs[-1][2] == points[value]:
            runs[-1] = runs[-1][0], value, runs[-1][2]
        else:
            runs.append((value, value, points[value]))
    return [run for run in runs if run[1] - run[0] + 1 >= least]


# --- change of axis --------------------------------------------------------------------------------------


def transform(tree: Tree, attribute: str, function: Callable[[Any], Value]) -> Tree:
    """The image of a tree under an increasing function of one attribute."""
    if not isinstance(tree, Steps):
        return tree
    if tree.attribute != attribute:
        if order(tree.attribute) > order(attribute):
            return tree
        return map_children(tree, lambda child: transform(child, attribute, function))
    points = Map({function(value): child for value, child in tree.points.items()})
    cuts = [(function(value), after) for value, after in tree.cuts]
    return steps(attribute, tree.undefined, cuts, tree.pieces, points)


def latest(tree: Tree) -> Tree:
    """The tree as it is after the last position."""
    if not isinstance(tree, Steps):
        return tree
    return tree.pieces[-1] if tree.attribute == POSITION else map_children(tree, latest)


def reshape(
    tree: Tree, change: Callable[[dict[str, Tree]], Iterable[Box]], operation: Operation, start: Tree
) -> Tree:
    """The image of a tree under a map of boxes; where images overlap, `operation` combines the leaves."""
    result = start
    for conditions, leaf in boxes(tree):
        if leaf == start:
            continue
        for image in change(conditions):
            inside = map_leaves(box(image), lambda hit, leaf=leaf: leaf if hit else start)
            result = combine(result, inside, operation)
    return result


def renamed(members: Tree, attribute: str) -> Tree:
    """A set of values of one attribute, as values of another."""
    if not isinstance(members, Steps):
        return members
    return Steps(attribute, members.undefined, members.cuts, members.pieces, members.points)
