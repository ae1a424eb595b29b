"""Small worlds for law tests: all values that can matter, and trees with their meaning in plain Python.

A `Paint` is a list of layers, a box with a leaf each; the last layer that a tuple falls into decides. It is
built into a tree by `tree` and read without any tree by `meaning`, so each can judge the other.
"""

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from attrs import frozen
from hypothesis import Phase, settings
from hypothesis import strategies as st

from cedilla.compiler import regions
from cedilla.compiler.regions import UNDEFINED, Bound, Domain, Tree

Row = dict[str, Any]

# A failure is made small, unless all that matters is that there is one (`tests/laws/mutations.py`).
_PHASES = [p for p in Phase if p is not Phase.shrink or os.environ.get("SHRINK", "1") == "1"]
_COUNT = os.environ.get("EXAMPLES", "4" if "QUICK" in os.environ else "16")
LIGHT = settings(max_examples=int(_COUNT), deadline=None, phases=_PHASES)
BRIEF = settings(LIGHT, max_examples=max(3, LIGHT.max_examples // 6))
"""For laws that run whole queries; `make test-rest` has as many cases again, and more, by `FURTHER`."""
FURTHER = settings(LIGHT, max_examples=max(5, LIGHT.max_examples // 3))
HEAVY = settings(LIGHT, max_examples=int(os.environ.get("SOAK_EXAMPLES", "5000")), derandomize=False)

HALF = Fraction(1, 2)
CONSTANTS = (0, HALF, 1, 2, 3)
"""The constants of conditions on a dense axis; `DENSE` has every constant and a value in every gap."""
DENSE = (-1, 0, Fraction(1, 4), HALF, Fraction(3, 4), 1, Fraction(3, 2), 2, Fraction(5, 2), 3, 4, UNDEFINED)
WHOLE = (-2, -1, 0, 1, 2, 3, 4, 5, UNDEFINED)
"""The same for whole numbers."""


# --- sets of values ---


@frozen
class Members:
    """A set of values as a predicate: `kind` with its arguments."""

    kind: str
    low: Bound | None = None
    high: Bound | None = None
    points: frozenset[Any] = frozenset()

    def has(self, value: object) -> bool:
        match self.kind:
            case "all":
                return True
            case "interval":
                return value is not UNDEFINED and _within(value, self.low, self.high)
            case "points":
                return value in self.points
            case "but points":
                return value is not UNDEFINED and value not in self.points
            case "defined":
                return value is not UNDEFINED
            case _:
                return value is UNDEFINED

    def tree(self, attribute: str) -> Tree:
        defined = regions.defined(attribute)
        match self.kind:
            case "all":
                return True
            case "interval":
                return regions.interval(attribute, self.low, self.high)
            case "points":
                return regions.values(attribute, self.points)
            case "but points":
                return regions.difference(defined, regions.values(attribute, self.points))
            case "defined":
                return defined
            case _:
                return regions.complement(defined)


def _within(value: Any, low: Bound | None, high: Bound | None) -> bool:
    above = low is None or value > low[0] or (value == low[0] and not low[1])
    below = high is None or value < high[0] or (value == high[0] and high[1] == 1)
    return above and below


def members(constants: Sequence[Any] = CONSTANTS, *, half_open: bool = False) -> st.SearchStrategy[Members]:
    """Intervals, points, complements and ⊥; `half_open` cuts only before a value, as whole types do."""
    cut = st.tuples(st.sampled_from(constants), st.just(0) if half_open else st.integers(0, 1))
    interval = st.builds(Members, st.just("interval"), st.none() | cut, st.none() | cut)
    some = st.frozensets(st.sampled_from(constants), min_size=1, max_size=3)
    points = st.builds(Members, st.sampled_from(["points", "but points"]), points=some)
    return interval | points | st.builds(Members, st.sampled_from(["all", "defined", "undefined"]))


# --- trees ---


@frozen
class Paint:
    ground: Hashable
    layers: tuple[tuple[tuple[tuple[str, Members], ...], Hashable], ...]

    def meaning(self, row: Mapping[str, object]) -> Any:
        leaf = self.ground
        for conditions, colour in self.layers:
            if all(m.has(row.get(name, UNDEFINED)) for name, m in conditions):
                leaf = colour
        return leaf

    def tree(self) -> Tree:
        result: Tree = self.ground
        for conditions, colour in self.layers:
            inside = regions.box({name: m.tree(name) for name, m in conditions})
            result = regions.update(result, inside, lambda _, colour=colour: colour)
        return result


def paints(
    attributes: Mapping[str, st.SearchStrategy[Members]] | Iterable[str],
    leaves: st.SearchStrategy[Any] | None = None,
    layers: int = 4,
) -> st.SearchStrategy[Paint]:
    """Random layered trees over some attributes; boolean leaves, a region, where none are given."""
    leaves = st.booleans() if leaves is None else leaves
    if not isinstance(attributes, Mapping):
        attributes = {name: members() for name in attributes}
    if not attributes:
        return st.builds(Paint, leaves, st.just(()))
    condition = st.one_of([st.tuples(st.just(n), m) for n, m in attributes.items()])
    conditions = st.lists(condition, min_size=1, max_size=len(attributes), unique_by=lambda c: c[0]).map(
        tuple
    )
    layer = st.tuples(conditions, leaves)
    return st.builds(Paint, leaves, st.lists(layer, max_size=layers).map(tuple))


def rows(axes: Mapping[str, Sequence[Any]]) -> Iterator[Row]:
    """Every tuple over the given values; an undefined attribute is left out."""
    for combination in product(*axes.values()):
        yield {n: v for n, v in zip(axes, combination, strict=True) if v is not UNDEFINED}


# --- domains ---


@frozen
class Axis:
    """A domain with the values that stand for all of it."""

    domain: Domain
    values: tuple[Any, ...]
    label: str


def axis(attribute: str, kind: str, *, undefined: bool) -> Axis:
    """`finite`, `range`, `whole` (unbounded integers), `dense` or `between` (numbers), with or without ⊥."""
    defined = regions.defined(attribute)
    inside, probes, integral = {
        "finite": (regions.values(attribute, [0, 1, 2]), (0, 1, 2), True),
        "range": (regions.interval(attribute, (0, 0), (3, 0)), (0, 1, 2), True),
        "whole": (defined, WHOLE[:-1], True),
        "dense": (defined, DENSE[:-1], False),
        "between": (
            regions.interval(attribute, (0, 1), (2, 1)),
            tuple(v for v in DENSE[:-1] if 0 < v <= 2),
            False,
        ),
    }[kind]
    if undefined:
        inside, probes = regions.union(inside, regions.complement(defined)), (*probes, UNDEFINED)
    return Axis(Domain(inside, integral), probes, f"{kind}{' and ⊥' if undefined else ''}")


def axes(
    attributes: Iterable[str], kinds: Sequence[str] = ("finite", "range", "whole", "dense", "between")
) -> st.SearchStrategy[dict[str, Axis]]:
    def one(attribute: str) -> st.SearchStrategy[Axis]:
        return st.builds(
            lambda kind, undefined: axis(attribute, kind, undefined=undefined),
            st.sampled_from(kinds),
            st.booleans(),
        )

    return st.fixed_dictionaries({name: one(name) for name in attributes})


def universe(chosen: Mapping[str, Axis]) -> dict[str, Domain]:
    return {name: one.domain for name, one in chosen.items()}


def values(chosen: Mapping[str, Axis], *names: str) -> dict[str, tuple[Any, ...]]:
    return {name: chosen[name].values for name in names or chosen}
