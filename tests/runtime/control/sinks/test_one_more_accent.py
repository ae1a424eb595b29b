"""What one more accent costs the control plane does not depend on how many are in force."""

from __future__ import annotations

from random import Random

import pytest

from cedilla.compiler import compile_query, regions
from cedilla.compiler.plan import derive
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.sinks.announce import SinkState, begin, finish
from cedilla.runtime.control.sinks.functions import changes, next_functions
from cedilla.runtime.control.sources.active_accents import count
from cedilla.runtime.control.sources.source_state import SourceState
from tests.kit.work import calls

PLAN = compile_query("""
stream r(ts: long, s: int, t: double) from json "r" punctuated on ts;
hot := select[t > 10](r);
emit hot to json "o";
""").plan
(SOURCE,) = PLAN.sources
ALWAYS = frozenset(("ts", "s", "t"))


class Run:
    """The states of a run without its data."""

    def __init__(self) -> None:
        self.state = SourceState.start(SOURCE, PLAN.droppable["r"])
        self.sink = SinkState.start(PLAN.start["hot"])
        self.announced: tuple[str, ...] = ()

    def epoch(self, *texts: str) -> int:
        """Applies accents, announces, and returns how many are in force."""
        lines = [MarkerLine("accent", text, at, next=at + 1) for at, text in enumerate(texts)]
        advanced = advance(PLAN, {"r": self.state}, {"r": lines})
        assert not advanced.stops
        state = advanced.states["r"]
        during = derive(PLAN, {"r": state.facts_during(self.state.closed)})["hot"]
        after = derive(PLAN, {"r": state.facts()})["hot"]
        self.sink, markers = finish(*begin(self.sink, during, ALWAYS), after, ALWAYS)
        self.announced = markers.alters
        self.state = state.next_epoch()
        return count(SOURCE, self.state)


def altered(s: int, factor: int) -> str:
    return f"[[s = {s}, alter(t, y -> y * {factor})]]"


def work(number: int, *, alike: bool) -> int:
    """Returns the calls of an epoch that brings one more accent."""
    run = Run()
    run.epoch(*(altered(s, 2 if alike else s + 2) for s in range(number)))
    run.epoch(altered(number, number + 10))
    taken = calls(lambda: run.epoch(altered(number + 1, number + 20)))
    assert run.announced == (altered(number + 1, number + 20),)
    assert run.epoch(altered(7, 1_000_003)) == (4 if alike else number + 2)
    assert run.announced == (altered(7, 1_000_003),)
    return taken


@pytest.mark.parametrize("alike", [True, False])
def test_one_more_accent_costs_what_is_new(alike: bool) -> None:
    assert work(600, alike=alike) < 1.1 * work(60, alike=alike)


def test_many_accents_that_come_together_cost_what_each_costs() -> None:
    """Each function that is announced looked at all that are in force."""

    def arrival(number: int) -> int:
        return calls(lambda: Run().epoch(*(altered(s, s + 2) for s in range(number))))

    assert arrival(400) < 12 * arrival(40)


def test_a_pointwise_function_looks_only_at_the_points_that_changed() -> None:
    asked: list[object] = []

    @regions.pointwise
    def doubled(tree: regions.Tree) -> regions.Tree:
        def leaf(value: int) -> int:
            asked.append(value)
            return value * 2

        return regions.map_leaves(tree, leaf)

    tree = regions.choose(regions.values("s", range(50)), 2, 1)
    assert doubled(tree) == regions.choose(regions.values("s", range(50)), 4, 2)
    later = regions.update(tree, regions.values("s", [7, 60]), lambda leaf: leaf + 10)
    asked.clear()
    assert doubled(later) == regions.map_leaves(later, lambda leaf: leaf * 2)
    assert sorted(map(str, asked)) == ["11", "12"]


def test_the_count_of_leaves_follows_points_that_come_and_go() -> None:
    universe = {"s": regions.Domain(regions.values("s", range(20)), integral=True)}
    count_of = regions.LeafCount(universe, 0)
    tree: regions.Tree = regions.choose(regions.values("s", range(18)), 1, 0)
    for values, leaf in (([3], 2), ([3], 1), ([18], 3), ([19], 4), ([40], 5), ([*range(18)], 6), ([2], 0)):
        tree = regions.update(tree, regions.values("s", values), lambda _, leaf=leaf: leaf)
        assert count_of.of(tree) == len(regions.possible_leaves(tree, universe) - {0})


def _change_at_once(target: regions.Tree, old: regions.Tree) -> regions.Tree:
    between = regions.Operation(lambda a, b: None, lambda new, old: new.after(old.inverse()))
    return regions.combine(target, old, between)


@pytest.mark.parametrize("seed", range(5))
def test_functions_that_follow_changes_agree_with_those_that_start_again(seed: int) -> None:
    rng = Random(seed)
    fresh = vars(next_functions)["__wrapped__"]
    units: regions.Tree = regions.choose(
        regions.values("s", range(40)), (IDENTITY, Affine(2, 0)), (IDENTITY,)
    )
    scale: regions.Tree = IDENTITY
    for _ in range(40):
        where = regions.values("s", rng.sample(range(60), rng.choice([1, 3])))
        if rng.random() < 0.3:
            where = regions.intersection(where, regions.interval("ts", (rng.randrange(9), 0), None))
        if rng.random() < 0.1:
            where = regions.interval("s", (rng.randrange(60), 0), (rng.randrange(60, 70), 1))
        function = Affine(rng.randrange(1, 4), rng.randrange(2))
        units = regions.update(units, where, lambda h, f=function: (*h, f) if f != h[-1] else h)
        target = next_functions(units, scale, ())
        assert target == fresh(units, scale, ())
        assert {**changes(target, scale)} == {
            function: cell
            for function, cell in regions.cells(_change_at_once(target, scale)).items()
            if not function.is_identity
        }
        if rng.random() < 0.8:
            scale = regions.choose(where, target, scale)
