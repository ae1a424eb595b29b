"""Trees: descriptions, punctuation patterns and everything computed from them (theory 1.1, G1).

A `Tree` is a piecewise constant function of a tuple: one level per attribute that matters, in one fixed order
of attributes, down to a leaf. A region is a tree whose leaves are `True` and `False`; presence maps and
histories of units are trees with other leaves, so one set of operations serves them all.

A `Level` cuts the ordered domain of its attribute into pieces, and overrides them at single points. It has a
separate child for the undefined value ⊥. Points are in a persistent hash map: describing one more point costs
the same however many there are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Set
from fractions import Fraction
from operator import is_
from typing import Any

from attrs import field, frozen
from immutables import Map

Value = int | Fraction | str | bool


Bound = tuple[Any, int]
"""`(v, 0)`: the next piece starts with v; `(v, 1)`: it starts just after v."""


Tree = Any
"""A leaf (any hashable value) or `Level`."""


POSITION = "$position"
"""The pseudo-attribute for the position in the stream; it comes last in the order of attributes."""

PARTITION = "$partition"
"""The pseudo-attribute for the partition of a topic that a tuple comes from (theory N9)."""


class _Undefined:
    """The undefined value ⊥, an extra point of every domain (theory 1.1)."""

    def __repr__(self) -> str:
        return "⊥"


UNDEFINED = _Undefined()


NO_POINTS: Map[Value, Tree] = Map()


_NOTHING: frozenset[str] = frozenset()


_UNKNOWN: frozenset[str] = frozenset({"?"})


CELL, _LISTED, _MOST_CASES, _MOST_IN_ROW = 1_000, 400, 16, 8
"""The weight of a case of a written expression, if a value in a table's row weighs 1; that of a value below a point, if
the points do not make a row; the greatest weight of points, in cases; the points of a row (`codegen.tables`)."""


_STEPS, _SHARE = 16, 4
"""Number of earlier levels that a level knows its changes since, more than an epoch takes for an accent; each may have
changed less than one in so many points."""


@frozen(cache_hash=True)
class Level:
    """One level of a tree: a step function of one attribute. Build it with `make_level`."""

    attribute: str
    undefined: Tree
    cuts: tuple[Bound, ...]
    pieces: tuple[Tree, ...]
    points: Map[Value, Tree] = field(default=NO_POINTS)
    inner: frozenset[str] = field(default=_UNKNOWN, eq=False, repr=False)
    """The attributes below this level; may include some that are no longer there."""
    nested: int = field(default=-1, eq=False, repr=False)
    """The weight of the levels below the points; may include some that are no longer there."""
    since: tuple[tuple[Map[Value, Tree], Set[Value]], ...] = field(default=(), eq=False, repr=False)
    """The points that earlier levels had, newest first, each with the values at which the next ones may differ."""
    weight: int = field(init=False, eq=False, repr=False)
    """The cost of the level for engine and control plane: its cells as cases of an expression and rows of a table."""

    def __attrs_post_init__(self) -> None:
        if self.inner is _UNKNOWN:
            inner = reach((self.undefined, *self.pieces, *self.points.values()))
            object.__setattr__(self, "inner", inner)
        if self.nested < 0:
            object.__setattr__(self, "nested", weight_below(self.points.values()) if self.points else 0)
        between = (
            self.undefined is self.pieces[0] or self.undefined is self.pieces[-1]
        )  # as in the written expression
        children = self.pieces if between else (self.undefined, *self.pieces)
        weight = self.nested + CELL * len(children)
        if self.inner:  # else all children are leaves
            for child in children:
                if isinstance(child, Level):
                    weight += child.weight + CELL * (min(len(child.points), _MOST_CASES) - 1)
        object.__setattr__(self, "weight", weight)

    def at(self, value: object) -> Tree:
        """Returns the subtree for one value, or for `UNDEFINED`."""
        if value is UNDEFINED:
            return self.undefined
        subtree = self.points.get(value, UNDEFINED)  # type: ignore[arg-type]
        return self.pieces[_piece(self.cuts, value)] if subtree is UNDEFINED else subtree

    def changed_since(self, earlier: Level) -> Set[Value] | None:
        """Returns the values at which the points may differ from those of an earlier level; `None` if it is unknown.

        >>> from cedilla.compiler.regions import union, values
        >>> many = values("s", range(1000))
        >>> sorted(union(union(many, values("s", [2000])), values("s", [3000])).changed_since(many))
        [2000, 3000]
        """
        changed: set[Value] = set()
        if self.points is earlier.points:
            return changed
        for points, values in self.since:
            changed |= values
            if points is earlier.points:
                return changed
        return None

    def __str__(self) -> str:
        """Returns the cases of the level; the first that holds counts.

        >>> print(Level("s", False, ((5, 0),), (False, True), Map({2: True, 7: False})))
        s = 2: True, s = 7: False, s >= 5: True, else False
        """
        listed: dict[Tree, list[Any]] = {}
        points: Map[Any, Tree] = self.points
        for value in sorted(points):
            listed.setdefault(points[value], []).append(value)
        cases = [(_one_of(self.attribute, values), child) for child, values in listed.items()]
        for low, high, piece in self.piece_bounds():
            if piece != self.undefined:
                cases.append((_between(self.attribute, low, high), piece))
        return ", ".join(
            [*(f"{case}: {_part(child)}" for case, child in cases), f"else {_part(self.undefined)}"]
        )

    def piece_bounds(self) -> Iterator[tuple[Bound | None, Bound | None, Tree]]:
        """Yields each piece with the cuts around it; `None` is unbounded."""
        bounds = (None, *self.cuts, None)
        for index, piece in enumerate(self.pieces):
            yield bounds[index], bounds[index + 1], piece


def _part(child: Tree) -> str:
    return f"({child})" if isinstance(child, Level) else str(child)


def _one_of(attribute: str, values: list[Any]) -> str:
    texts = [repr(value) if isinstance(value, str) else str(value) for value in values]
    return f"{attribute} = {texts[0]}" if len(texts) == 1 else f"{attribute} in {{{', '.join(texts)}}}"


def _between(attribute: str, low: Bound | None, high: Bound | None) -> str:
    if low is not None and high is not None:
        return f"{attribute} in {'(' if low[1] else '['}{low[0]}, {high[0]}{']' if high[1] else ')'}"
    if low is not None:
        return f"{attribute} {'>' if low[1] else '>='} {low[0]}"
    return f"{attribute} defined" if high is None else f"{attribute} {'<=' if high[1] else '<'} {high[0]}"


def reach(children: Iterable[Tree]) -> frozenset[str]:
    """Returns the attributes of some trees: those of their top levels and of the levels below."""
    names = _NOTHING
    for child in children:
        if isinstance(child, Level) and not (child.attribute in names and child.inner <= names):
            names = names.union(child.inner, (child.attribute,))
    return names


def weight_below(children: Iterable[Tree]) -> int:
    """Returns what levels below points weigh; equal ones that are one object count once."""
    levels = {id(child): child for child in children if isinstance(child, Level)}
    if not levels:  # as most often
        return 0
    return sum(
        child.weight // CELL + len(child.points)
        if len(child.points) <= _MOST_IN_ROW
        else child.weight + _LISTED * len(child.points)
        for child in levels.values()
    )


def _piece(cuts: tuple[Bound, ...], value: Any) -> int:
    """Returns the index of the piece that a value lies in."""
    return bisect_right(cuts, (value, 0))


def order(attribute: str) -> tuple[bool, str]:
    """Returns the sort key that orders the levels of every tree."""
    return attribute == POSITION, attribute


def make_level(
    attribute: str,
    undefined: Tree,
    cuts: Iterable[Bound],
    pieces: Iterable[Tree],
    points: Map[Value, Tree] = NO_POINTS,
    *,
    check: Iterable[Value] | None = None,
    inner: frozenset[str] = _UNKNOWN,
    nested: int = -1,
    kept: Level | None = None,
) -> Tree:
    """Builds a level in normal form: merges equal neighbours, drops needless points, collapses a constant
    level.

    `check` names the points that may equal the piece around them; all of them by default. `inner`, `nested`: those of
    the level, if the caller has them. `kept`: the level that has all other points than those to check.

    >>> print(make_level("t", False, [(5, 0), (5, 1), (9, 0)], [True, False, True, True], Map({7: True})))
    t = 5: False, t defined: True, else False
    >>> make_level("t", True, [], [True])
    True
    """
    remaining = iter(pieces)
    made = Pieces(next(remaining), points, None if check is None else {*check})
    for cut, piece in zip(cuts, remaining, strict=True):
        made.add(cut, piece)
    return made.level(attribute, undefined, inner, nested, kept)


class Pieces:
    """Pieces of a level in the making, in normal form.

    `check`: the points that may equal the piece around them; `None`: all of them.
    """

    def __init__(self, first: Tree, points: Map[Value, Tree], check: set[Value] | None) -> None:
        self.cuts: list[Bound] = []
        self.pieces = [first]
        self.points = points
        self.check = check

    def add(self, cut: Bound, piece: Tree) -> None:
        """Adds the piece that begins at a cut. A piece of a single value becomes a point."""
        if self.cuts and self.cuts[-1][0] == cut[0]:  # the piece in between is the single value cut[0]
            value = cut[0]
            if value not in self.points:
                self.points = self.points.set(value, self.pieces[-1])
            if self.check is not None:
                self.check.add(value)
            self.pieces.pop()
            self.cuts.pop()
            cut = (value, 0) if self.points[value] == piece else cut
        if piece != self.pieces[-1]:
            self.cuts.append(cut)
            self.pieces.append(piece)

    def extend(self, cuts: Sequence[Bound], pieces: Sequence[Tree], *, is_normal: bool) -> None:
        """Adds pieces. If they are in normal form among themselves, only the first two meet what is there already."""
        single = min(len(cuts), 2) if is_normal else len(cuts)
        for cut, piece in zip(cuts[:single], pieces[:single], strict=True):
            self.add(cut, piece)
        self.cuts += cuts[single:]
        self.pieces += pieces[single:]

    def are_of(self, level: Level) -> bool:
        """Returns True if these are the very pieces of a level."""
        is_alike = len(self.cuts) == len(level.cuts) and all(map(is_, self.pieces, level.pieces))
        return is_alike and tuple(self.cuts) == level.cuts

    def level(
        self,
        attribute: str,
        undefined: Tree,
        inner: frozenset[str],
        nested: int,
        kept: Level | None = None,
    ) -> Tree:
        """Returns the level, without needless points; a constant one collapses. `kept`: as for `make_level`."""
        bounds, pieces, points = tuple(self.cuts), self.pieces, self.points
        needless = [
            v
            for v in (points if self.check is None else self.check)
            if points[v] == pieces[_piece(bounds, v)]
        ]
        if needless:
            mutation = points.mutate()
            for value in needless:
                del mutation[value]
            points = mutation.finish()
        if not bounds and not points and undefined == pieces[0]:
            return undefined
        since = ()
        if kept is not None and self.check is not None and len(self.check) < len(kept.points) // _SHARE:
            since = ((kept.points, self.check), *kept.since)[:_STEPS]
        return Level(attribute, undefined, bounds, tuple(pieces), points, inner, nested, since)
