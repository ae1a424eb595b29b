"""Levels of many pieces: what is taken over run by run equals what is combined piece by piece."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from immutables import Map

from cedilla.compiler import regions
from cedilla.compiler.regions import (
    INTERSECTION,
    UNDEFINED,
    UNION,
    Domain,
    Level,
    Operation,
    Tree,
    Value,
    combining,
    trees,
)
from cedilla.compiler.regions.alternatives import narrowed
from tests.kit.tiers import tiered
from tests.kit.work import operations

VALUES = [UNDEFINED, *(value / 2 for value in range(-2, 90))]
SUM = Operation(lambda a, b: a if b == 0 else None, lambda a, b: a + b)


def _level(rng: random.Random, cuts: int, leaf: Callable[[], Tree], name: str = "x") -> Tree:
    bounds = sorted({(rng.randrange(44), rng.randrange(2)) for _ in range(cuts)})
    points: Map[Value, Tree] = Map({rng.randrange(44): leaf() for _ in range(rng.randrange(3))})
    return regions.make_level(name, leaf(), bounds, [leaf() for _ in range(len(bounds) + 1)], points)


def _pairs(rng: random.Random) -> tuple[Tree, Tree, Operation]:
    operation = rng.choice([UNION, INTERSECTION, trees.DIFFERENCE, SUM])
    first, second = rng.sample([30, rng.randrange(5)], 2)
    if operation is not SUM:
        return (*(_level(rng, n, lambda: rng.random() < 0.5) for n in (first, second)), operation)
    below = [0, 1, 2, *(_level(rng, 3, lambda: rng.randrange(2), "y") for _ in range(2))]
    return _level(rng, first, lambda: rng.choice(below)), _level(rng, second, lambda: rng.choice(below)), SUM


@pytest.mark.parametrize("seed", tiered(range(8)))
def test_runs_of_pieces_are_what_they_are_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    for _ in range(300):
        a, b, operation = _pairs(rng)
        by_runs = regions.combine(a, b, operation)
        with monkeypatch.context() as patch:
            patch.setattr(combining, "_MANY_CUTS", 1_000)
            assert by_runs == regions.combine(a, b, operation)
        if operation is SUM or not isinstance(by_runs, Level):
            continue
        for value in VALUES:
            row = {"x": value}
            leaves = (regions.contains(tree, row) for tree in (a, b))
            assert regions.contains(by_runs, row) == operation.leaf(*leaves)


def test_what_changes_nothing_gives_the_same_object() -> None:
    """Memos of later steps find it again."""
    steps = Level("x", 0, tuple((cut, 0) for cut in range(1, 40)), tuple(range(40)))
    assert regions.update(steps, regions.interval("x", None, (1, 0)), lambda _: 0) is steps
    assert regions.update(steps, regions.interval("x", (50, 0), (60, 0)), lambda _: 39) is steps
    few = Level("x", 0, ((5, 0),), (0, 1))
    assert regions.update(few, regions.interval("x", None, (3, 0)), lambda _: 0) is few


@pytest.mark.parametrize("seed", tiered(range(5)))
def test_a_narrowed_tree_is_the_same_inside(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        tree = _level(rng, 30, lambda: _level(rng, 20, lambda: rng.randrange(3), "y"))
        low, high = sorted(rng.sample(range(44), 2))
        sides = {name: regions.interval(name, (low, 0), (high, 1)) for name in rng.choice(["x", "y", "xy"])}
        around = regions.box(sides)
        simple = narrowed(tree, lambda around=around: around)
        for x in VALUES[::3]:
            for y in VALUES[::5]:
                row = {"x": x, "y": y}
                if regions.contains(around, row):
                    assert regions.contains(simple, row) == regions.contains(tree, row)
        assert not isinstance(simple, Level) or simple.weight <= tree.weight


def test_a_change_of_few_cells_costs_the_same_however_many_there_are() -> None:
    """An accent by time comes to a tree with a piece for each earlier one."""

    def add(tree: Tree, first: int, end: int) -> Tree:
        for k in range(first, end):
            later = regions.interval("ts", (k, 1), None)
            tree = regions.update(tree, later, lambda leaf, k=k: k)
        return tree

    few, many = add(0, 0, 50), add(0, 0, 1_000)
    early = operations(lambda: add(few, 2_000, 2_020))
    assert operations(lambda: add(many, 2_000, 2_020)) < 1.2 * early


def test_cells_are_listed_in_a_walk_over_their_pieces() -> None:
    def listed(count: int) -> int:
        steps = Level("ts", 0, tuple((cut, 0) for cut in range(1, count)), tuple(range(count)))
        cells: list[dict[object, Tree]] = []
        steps_taken = operations(lambda: cells.append(regions.cells(steps)))
        assert all(regions.contains(region, {"ts": leaf}) for leaf, region in cells[0].items())
        return steps_taken

    assert listed(400) < 5 * listed(100)


def test_leaves_of_impossible_values_are_left_out() -> None:
    steps = Level("ts", -1, tuple((cut, 0) for cut in range(1, 30)), tuple(range(30)))
    universe = {"ts": Domain(regions.interval("ts", (5, 0), (7, 1)), integral=True)}
    assert regions.possible_leaves(steps, universe) == {5, 6, 7}
