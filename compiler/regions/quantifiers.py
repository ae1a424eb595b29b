"""Removes attributes from trees by folding over all values that they can take (∃, ∀; theory G5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from fractions import Fraction
from typing import Any

from attrs import define, field, frozen

from cedilla.compiler.regions.combining import ANY, Operation, align, combine
from cedilla.compiler.regions.levels import Bound, Level, Tree, Value
from cedilla.compiler.regions.trees import INTERSECTION, UNION, difference, map_children
from cedilla.compiler.regions.value_sets import ceiling


@frozen
class Domain:
    """The values that an attribute can take; coverage is relative to it (theory G5, ⊥ lemma).

    `members` is a region over the attribute. `integral`: only whole numbers occur. `listed` is the user's
    name of a list that comes from elsewhere (`devices.s`). `members` has every value until that list is read,
    though only finitely many occur.
    """

    members: Tree = True
    integral: bool = False
    listed: str = ""

    @property
    def is_list(self) -> bool:
        """True if the members are single values, without a range."""
        return isinstance(self.members, Level) and not any(self.members.pieces)

    def possible(self, values: Tree, attribute: str) -> Tree:
        """Returns the part of a set of values that the attribute can take; ⊥ stays."""
        if self.members is True:
            return values
        undefined = Level(attribute, True, (), (False,))
        return combine(values, combine(self.members, undefined, UNION), INTERSECTION)

    @property
    def may_be_missing(self) -> bool:
        """True if some tuples may lack the attribute, now or after a Drop."""
        return bool(self.members.undefined if isinstance(self.members, Level) else self.members)


ANYTHING = Domain()
Universe = Mapping[str, Domain]


def quantify(tree: Tree, over: Set[str] | None, operation: Operation, universe: Universe) -> Tree:
    """Folds away attributes (`None`: all of them): applies `operation` to the trees of all their possible
    values.
    """
    memo: dict[int, Tree] = {}

    def quantified(node: Tree) -> Tree:
        if not isinstance(node, Level):
            return node
        if id(node) not in memo:
            is_kept = over is not None and node.attribute not in over
            memo[id(node)] = map_children(node, quantified) if is_kept else folded(node)
        return memo[id(node)]

    def folded(node: Level) -> Tree:
        result: Tree = None
        visited: set[int] = set()
        for child in _children(node, universe.get(node.attribute, ANYTHING)):
            if id(child) in visited:
                continue
            visited.add(id(child))
            part = quantified(child)
            result = part if result is None else combine(result, part, operation)
            if operation.shortcut(result, ANY) is result:  # nothing can change it any more
                return result
        return operation.neutral if result is None else result

    return quantified(tree)


def exists(region: Tree, over: Set[str], universe: Universe) -> Tree:
    """Returns ∃: a tuple is in it if some value of the attributes `over` lies in the region."""
    return quantify(region, over, UNION, universe)


def forall(region: Tree, over: Set[str], universe: Universe) -> Tree:
    """Returns ∀: the tuples whose whole fibre over `over` lies in the region (closed fibres, theory 1.3).

    For example, these patterns close `s = 1` only if every tuple has an x (theory 3.1, ⊥ lemma):

    >>> from cedilla.compiler.regions import box, defined, interval, values
    >>> low = box({"s": values("s", [1]), "x": interval("x", None, (5, 0))})
    >>> high = box({"s": values("s", [1]), "x": interval("x", (5, 0), None)})
    >>> closed = combine(low, high, UNION)
    >>> forall(closed, {"x"}, {})
    False
    >>> print(forall(closed, {"x"}, {"x": Domain(defined("x"))}))
    s = 1: True, else False
    """
    return quantify(region, over, INTERSECTION, universe)


def covers(region: Tree, universe: Universe) -> bool:
    """Returns True if every possible tuple lies in the region."""
    return quantify(region, None, INTERSECTION, universe) is True


def is_empty(region: Tree, universe: Universe) -> bool:
    """Returns True if no possible tuple lies in the region."""
    return quantify(region, None, UNION, universe) is False


def possible_leaves(tree: Tree, universe: Universe) -> set[Any]:
    """Returns the distinct leaves that some possible tuple has.

    >>> from cedilla.compiler.regions import choose, values
    >>> units = choose(values("s", [1]), "°C", choose(values("s", [2]), "°F", "K"))
    >>> sorted(possible_leaves(units, {"s": Domain(values("s", [1, 2]))}))
    ['°C', '°F']
    """
    leaves: set[Any] = set()
    visited: set[int] = set()

    def visit(node: Tree) -> None:
        if id(node) in visited:
            return
        visited.add(id(node))
        if not isinstance(node, Level):
            leaves.add(node)
            return
        for child in _children(node, universe.get(node.attribute, ANYTHING)):
            visit(child)

    visit(tree)
    return leaves


@define
class LeafCount:
    """Counts the distinct leaves that some possible tuple has, of one tree after another. Looks only at the points that
    have changed since. `uncounted`: a leaf that does not count."""

    universe: Universe
    uncounted: Any
    _last: Tree = None
    _number: int = 0
    _at_points: Counter[Any] = field(factory=Counter[Any])

    def of(self, tree: Tree) -> int:
        """Returns the number of `possible_leaves` of a tree.

        >>> from cedilla.compiler.regions import choose, values
        >>> count, units = LeafCount({}, "°C"), choose(values("s", [1, 2]), "°F", "°C")
        >>> count.of(units), count.of(choose(values("s", [2]), "K", units))
        (1, 2)
        """
        if not isinstance(tree, Level):
            return len(possible_leaves(tree, self.universe) - {self.uncounted})
        if tree is self._last:
            return self._number
        domain = self.universe.get(tree.attribute, ANYTHING)
        last, changed = self._last, None
        if isinstance(last, Level) and last.attribute == tree.attribute:
            changed = tree.changed_since(last)
        if changed is None:
            self._at_points.clear()
            self._count(tree, tree.points, domain, 1)
        else:
            self._count(last, changed, domain, -1)
            self._count(tree, changed, domain, 1)
        self._last = tree
        outside = {leaf for child in _outside(tree, domain) for leaf in possible_leaves(child, self.universe)}
        more = sum(leaf not in self._at_points for leaf in outside)
        is_there = self.uncounted in outside or self.uncounted in self._at_points
        self._number = len(self._at_points) + more - is_there
        return self._number

    def _count(self, node: Level, values: Iterable[Value], domain: Domain, step: int) -> None:
        memo: dict[int, set[Any]] = {}
        for value in values:
            child = node.points.get(value)
            if child is None or not _is_possible(value, domain):
                continue
            if id(child) not in memo:
                memo[id(child)] = possible_leaves(child, self.universe)
            for leaf in memo[id(child)]:
                self._at_points[leaf] += step
                if not self._at_points[leaf]:
                    del self._at_points[leaf]


def possible_difference(a: Tree, b: Tree, universe: Universe) -> Tree:
    """Returns the tuples of one region that are not in another; `False` if none of them is possible."""
    region = difference(a, b)
    return False if is_empty(region, universe) else region


def _children(node: Level, domain: Domain) -> Iterator[Tree]:
    """Yields the children of a level that some value of the domain leads to; those of pieces come first."""
    if (members := _members(node, domain)) is None:
        return
    if members.pieces == (False,):
        yield from _of_finite_domain(node, members)
    else:
        yield from _of_ranges(node, members, domain)
        yield from (child for value, child in node.points.items() if _is_possible(value, domain))
    if members.undefined:
        yield node.undefined


def _members(node: Level, domain: Domain) -> Level | None:
    """Returns the values of a domain as a level; `None` if there are none."""
    members = domain.members
    if members is False:
        return None
    return Level(node.attribute, True, (), (True,)) if members is True else members


def _outside(node: Level, domain: Domain) -> Iterator[Tree]:
    """Yields the children that some value of the domain leads to which is not a point of the level."""
    if (members := _members(node, domain)) is None:
        return
    if members.pieces == (False,):
        if len(node.pieces) > 1:
            yield from (node.at(value) for value in members.points if value not in node.points)
        elif not all(map(node.points.__contains__, members.points)):
            yield from node.pieces
    else:
        yield from _of_ranges(node, members, domain)
    if members.undefined:
        yield node.undefined


def _is_possible(value: Value, domain: Domain) -> bool:
    members = domain.members
    inside = members.at(value) if isinstance(members, Level) else members
    return inside and not (domain.integral and _is_broken(value))


def _of_ranges(node: Level, members: Level, domain: Domain) -> Iterator[Tree]:
    """Yields the children of pieces in which the domain has a value that is not a point of the level."""
    whole = Level(members.attribute, True, members.cuts, members.pieces)
    aligned = Level(node.attribute, node.undefined, node.cuts, node.pieces)
    cuts, pairs = align(aligned, whole)
    bounds = (None, *cuts, None)
    for index, (child, inside) in enumerate(pairs):
        if inside and _has_free_value(bounds[index], bounds[index + 1], node, domain):
            yield child


def _of_finite_domain(node: Level, members: Level) -> Iterator[Tree]:
    if len(node.points) < len(members.points) and len(node.pieces) == 1:
        yield node.pieces[0]  # some member of the domain is not a point of the level
        yield from (child for value, child in node.points.items() if members.at(value))
    else:
        yield from (node.at(value) for value, inside in members.points.items() if inside)


def _has_free_value(low: Bound | None, high: Bound | None, node: Level, domain: Domain) -> bool:
    """Returns True if the domain has a value between the cuts that is not a point of the level."""
    if low is None or high is None:
        return True
    if domain.integral:
        first, end = ceiling(low), ceiling(high)
        if end - first > len(node.points):
            return True
        return not all(map(node.points.__contains__, range(first, end)))
    if low[0] == high[0]:  # [v, v]: the single value v
        return low[0] not in node.points
    return low < high


def _is_broken(value: Value) -> bool:
    return isinstance(value, Fraction) and value.denominator != 1
