"""Markers whose ranges cut each other: a stream has so many cells that nothing more could be computed (RQ481)."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from immutables import Map

from cedilla.compiler import regions
from cedilla.compiler.regions import Level, Tree
from tests.kit.command import cedilla
from tests.kit.errors import code_of, error_of
from tests.kit.query import Query
from tests.kit.stream import Item
from tests.kit.tiers import rest, soak, tiered

HEAD = 'stream r(a: double, b: double, c: double, t: double) from json "r";\n'
QUERY = f'{HEAD}emit r to json "o";'


def _box(rng: random.Random, names: str) -> str:
    lows = {name: rng.randrange(500) for name in names}
    return ", ".join(f"{name} in [{low}, {low + rng.randrange(1, 500)})" for name, low in lows.items())


def _rectangles(names: str) -> Callable[[int], str]:
    rng = random.Random(3)
    return lambda _: _box(rng, names)


KINDS: dict[str, Callable[[int], str]] = {
    "two attributes": _rectangles("ab"),
    "three attributes": _rectangles("abc"),
    "values of two attributes": lambda k: f"{'ab'[k % 2]} = {k}",
    "lists beside ranges": lambda k: (
        f"a in {{{', '.join(str(k + 7 * n) for n in range(50))}}}, b in [{k}, {k + 100})"
    ),
    "one attribute": lambda k: f"a in [{2 * k}, {2 * k + 1})",
}
LEAST = {"two attributes": 30, "three attributes": 12, "values of two attributes": 200}


def _accents(kind: str, count: int) -> list[Item]:
    return [{"$accent": f"[[{KINDS[kind](k)}, alter(t, y -> y * {k + 2})]]"} for k in range(count)]


@pytest.mark.parametrize(
    "kind", ["three attributes", rest("two attributes"), soak("values of two attributes")]
)
def test_accents_with_too_many_cells_end_the_query_at_their_place(tmp_path: Path, kind: str) -> None:
    run = Query.without_engine(tmp_path, QUERY)
    tuple_: Item = {"a": 1, "b": 1, "c": 1, "t": 1.0}
    path = run.write("r", [tuple_, *_accents(kind, 400)])
    error = error_of(run.simulate)
    assert error.code == "RQ481"
    assert error.span is not None
    assert error.span.line > LEAST[kind]
    assert error.span.source == str(path)


@pytest.mark.parametrize(("kind", "factor"), [("one attribute", 3), rest("lists beside ranges", 4)])
def test_separate_ranges_fit(tmp_path: Path, kind: str, factor: int) -> None:
    """Each of many accents describes a part of its own, or cuts few others."""
    run = Query.without_engine(tmp_path, QUERY)
    run.write("r", [*_accents(kind, 100), {"a": 2, "b": 2, "c": 1, "t": 12.0}])
    (row,) = run.simulate().rows("r")
    assert row["t"] == 12 / factor


def test_the_query_s_accents_have_the_same_budget(tmp_path: Path) -> None:
    box = _rectangles("abc")
    accents = "\n".join(f"accent r [[{box(k)}, alter(t, y -> y * {k + 2})]];" for k in range(40))
    query = tmp_path / "q.rq"
    query.write_text(f'{HEAD}{accents}\nemit r to json "o";')
    result = cedilla("check", query)
    assert "error[RQ481]" in result.output
    line = int(result.output.split("q.rq:")[1].split(":")[0])
    assert line > LEAST["three attributes"]


def test_such_a_marker_may_be_set_aside(tmp_path: Path) -> None:
    run = Query.without_engine(tmp_path, QUERY)
    run.write("r", [*_accents("three attributes", 40), {"a": 1, "b": 1, "c": 1, "t": 1.0}])
    codes = run.simulate(bad_markers="quarantine").codes
    assert "RQ481" in codes


def test_closed_boxes_have_the_same_budget() -> None:
    rng = random.Random(3)
    closed: list[Tree] = [False]

    def close(_: int) -> None:
        low = {name: rng.randrange(100) for name in "abc"}
        box = {name: regions.interval(name, (at, 0), (at + 20, 0)) for name, at in low.items()}
        closed.append(regions.union(closed[-1], regions.box(box)))

    assert code_of(lambda: list(map(close, range(200)))) == "RQ481"
    assert len(closed) > 20


def test_a_hundred_thousand_values_are_one_table() -> None:
    """Also with another condition for each of them, and below ranges of another attribute."""
    planned: Tree = Level(
        "s", False, (), (False,), Map({n: regions.interval("ts", (n, 0), None) for n in range(100_000)})
    )
    late = regions.box({"s": regions.values("s", [-1]), "ts": regions.interval("ts", (3, 0), None)})
    assert len(regions.union(planned, late).points) == 100_001
    many = regions.values("s", range(100_000))
    for low in range(10):
        above = regions.box({"a": regions.interval("a", (low, 0), None), "s": regions.values("s", [-low])})
        many = regions.union(many, above)
    assert many.attribute == "a"


def _exact(tree: Tree) -> Tree:
    """The same tree, of which no part remembers what has gone."""
    memo: dict[int, Tree] = {}

    def exact(node: Tree) -> Tree:
        if not isinstance(node, Level):
            return node
        if id(node) not in memo:
            points = Map({value: exact(child) for value, child in node.points.items()})
            pieces = tuple(map(exact, node.pieces))
            memo[id(node)] = Level(node.attribute, exact(node.undefined), node.cuts, pieces, points)
        return memo[id(node)]

    return exact(tree)


@pytest.mark.parametrize("seed", tiered(range(10)))
def test_no_tree_is_heavier_than_it_says(seed: int) -> None:
    rng = random.Random(seed)
    tree: Tree = 0
    for step in range(10):
        conditions = {
            name: regions.values(name, rng.sample(range(30), rng.randrange(1, 12)))
            if rng.random() < 0.6
            else regions.interval(name, (rng.randrange(15), 0), (rng.randrange(16, 30), 0))
            for name in rng.sample("abc", 2)
        }
        tree = regions.update(
            tree, regions.box(conditions), lambda leaf, step=step: leaf + rng.choice((0, step))
        )
        exact = _exact(tree)
        assert tree == exact
        assert not isinstance(tree, Level) or tree.weight >= exact.weight


def test_cells_that_have_gone_do_not_count() -> None:
    """A point changes again and again, and each time another large part is below it."""
    first: Tree = False
    for n in range(40):
        below = regions.values("b", range(n, 2_000 + n))
        first = regions.union(
            regions.difference(first, regions.values("a", [1])),
            regions.box({"a": regions.values("a", [1]), "b": below}),
        )
        assert isinstance(first, Level)
        assert len(first.points) == 1
