"""Caches results about trees by identity, and follows a large tree through its changes, so that an epoch costs what
is new in it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from functools import wraps
from typing import TypeVar

from attrs import define, field

from cedilla.compiler.regions.combining import all_same
from cedilla.compiler.regions.levels import CELL, Level, Tree, Value, make_level, order, reach, weight_below

_MEMO_SIZE = 64
_LEAST = 16
"""The points, or the cells, of a tree whose results are worth caching."""

Result = TypeVar("Result")


def _is_large(tree: Tree) -> bool:
    return isinstance(tree, Level) and (len(tree.points) > _LEAST or tree.weight > _LEAST * CELL)


def remembered(function: Callable[..., Result]) -> Callable[..., Result]:
    """Caches the last results of a function of trees if one of the trees is large.

    Trees are compared by identity: an epoch that leaves a large tree unchanged computes nothing again. Other
    arguments must be hashable.
    """
    return _caching(function, lambda arguments, _: function(*arguments))


def pointwise(function: Callable[..., Tree]) -> Callable[..., Tree]:
    """Caches the last results of a function of trees whose result at a tuple depends on the trees at this tuple only.

    If large trees have changed at a few points since an earlier call, only these points are computed again.
    """

    def follow(trees: tuple[Tree, ...], earlier: _Memo[Tree]) -> Tree:
        result = _recomputed(function, trees, reversed(earlier.values()))
        return function(*trees) if result is None else result[0]

    return _caching(function, follow)


_Memo = dict[tuple[Hashable, ...], tuple[tuple[Tree, ...], Result]]
"""Arguments by identity -> the arguments, which keeps their identities, and the result; the last call last."""


def _caching(
    function: Callable[..., Result], compute: Callable[[tuple[Tree, ...], _Memo[Result]], Result]
) -> Callable[..., Result]:
    """Returns a function that keeps its last results about large trees. `compute`: from arguments and earlier calls."""
    memo: _Memo[Result] = {}

    @wraps(function)
    def cached(*arguments: Tree) -> Result:
        if not any(map(_is_large, arguments)):
            return function(*arguments)
        key = tuple(id(argument) if isinstance(argument, Level) else argument for argument in arguments)
        if key not in memo:
            memo[key] = arguments, compute(arguments, memo)
            if len(memo) > _MEMO_SIZE:
                del memo[next(iter(memo))]
        return memo[key][1]

    return cached


def _recomputed(
    function: Callable[..., Tree],
    trees: tuple[Tree, ...],
    earlier: Iterable[tuple[tuple[Tree, ...], Tree]],
) -> tuple[Tree] | None:
    """Returns the result of a pointwise function from that of an earlier call with nearly the same trees; `None` if
    there was none."""
    first = min((tree.attribute for tree in trees if isinstance(tree, Level)), key=order)
    for before, result in earlier:
        changed: set[Value] = set()
        for old, new in zip(before, trees, strict=True):
            values = _changed(old, new, first)
            if values is None:
                break
            changed |= values
        else:
            at = {v: function(*(_at(tree, first, v) for tree in trees)) for v in changed}
            return (_with_points(result, first, at),)
    return None


def _changed(old: Tree, new: Tree, attribute: str) -> Set[Value] | None:
    """Returns the values of an attribute where a tree may differ from an earlier one; `None` if these are not all."""
    if old is new:
        return frozenset()
    if not isinstance(old, Level) or not isinstance(new, Level):
        return frozenset() if old == new else None
    is_alike = new.attribute == old.attribute == attribute and new.undefined is old.undefined
    return new.changed_since(old) if is_alike and all_same(new.cuts, new.pieces, old) else None


def _at(tree: Tree, attribute: str, value: Value) -> Tree:
    return tree.at(value) if isinstance(tree, Level) and tree.attribute == attribute else tree


def _with_points(tree: Tree, attribute: str, at: Mapping[Value, Tree]) -> Tree:
    """Returns a tree with other children at some values of an attribute, before which it has no level."""
    is_here = isinstance(tree, Level) and tree.attribute == attribute
    node = tree if is_here else Level(attribute, tree, (), (tree,))
    new = {value: child for value, child in at.items() if node.at(value) is not child}
    if not new:
        return tree
    inner, nested = node.inner | reach(new.values()), node.nested + weight_below(new.values())
    points = node.points.update(new)
    return make_level(
        attribute,
        node.undefined,
        node.cuts,
        node.pieces,
        points,
        check=new,
        inner=inner,
        nested=nested,
        kept=node,
    )


@define
class PointChanges:
    """Follows a level through later ones, to the points that have changed since."""

    base: Level
    _last: Level = field(init=False)
    _values: set[Value] = field(init=False, factory=set[Value])

    def __attrs_post_init__(self) -> None:
        self._last = self.base

    def until(self, level: Level) -> dict[Value, Tree | None]:
        """Returns the points that are others, or no more (`None`), in a later level of the same attribute. All points
        are compared if it is not known how it came from the last one.

        >>> from cedilla.compiler.regions import difference, union, values
        >>> many = values("s", range(100))
        >>> PointChanges(many).until(union(difference(many, values("s", [7])), values("s", [200])))
        {200: True, 7: None}
        """
        was, now = self.base.points, level.points
        step = level.changed_since(self._last)
        if step is None:
            self._values = {v for v, child in now.items() if was.get(v, was) is not child}
            if len(now) - len(self._values) < len(was):  # some points have gone
                self._values.update(value for value in was if value not in now)
        else:
            self._values |= step
        self._last = level
        return {v: now.get(v) for v in self._values if was.get(v) is not now.get(v)}
