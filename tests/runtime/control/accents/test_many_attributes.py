"""Accents that many different attributes describe: right, or RQ480 in a moment."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import regions
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import simulate
from cedilla.runtime.epochs.options.options import Options
from tests.kit.errors import error_of
from tests.kit.query import Query
from tests.kit.stream import Decoder, Item
from tests.runtime.control.accents.streams import accents_by_attributes, query_over_many


def check_refused(run: Query, items: list[Item]) -> None:
    """The last marker, by the engine and by the reference."""
    path = run.write("r", items)
    for act in (run.simulate, run.process):
        error = error_of(act)
        assert error.code == "RQ480"
        assert f"{path.name}:{len(items)}" in str(error)


@pytest.mark.either_engine
def test_alters_by_five_attributes_mean_each_combination(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(5)
    rows: list[Item] = [{"t": 7560.0, **{f"a{n}": rng.randrange(2) for n in range(5)}} for _ in range(20)]
    run = Query(spark, tmp_path, query_over_many(5))
    items: list[Item] = [*rows, *accents_by_attributes(5, lambda n: n + 2), *rows]
    run.write("r", items)
    run.process()
    decoder = Decoder()
    read = [row for item in run.output("r") if (row := decoder.feed(item)) is not None]
    expected = [Fraction(7560)] * len(rows)
    for row in rows:
        value = Fraction(7560)
        for n in range(5):
            value /= n + 2 if row[f"a{n}"] == 1 else 1
        expected.append(value)
    assert sorted(round(float(row["t"]), 6) for row in read) == sorted(round(float(v), 6) for v in expected)


@pytest.mark.either_engine
def test_more_combinations_than_can_be_announced_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    check_refused(Query(spark, tmp_path, query_over_many(60)), accents_by_attributes(7, lambda n: n + 2))


@pytest.mark.rest
@pytest.mark.either_engine
@pytest.mark.parametrize("marker", ["accent", "punctuation"])
def test_a_marker_by_hundreds_of_attributes_is_refused(
    spark: SparkSession, tmp_path: Path, marker: str
) -> None:
    conditions = ", ".join(f"a{n} = 1" for n in range(300))
    text = f"[[{conditions}, alter(t, y -> y * 2)]]" if marker == "accent" else f"[{conditions}]"
    check_refused(Query(spark, tmp_path, query_over_many(300)), [{f"${marker}": text}])


def test_attributes_that_decide_each_others_units_are_right_or_refused(tmp_path: Path) -> None:
    """Around a circle."""
    items: list[Item] = [
        {"$accent": f"[[a{(n + 1) % 12} = {n + 2}, alter(a{n}, y -> y * 2)]]"} for n in range(12)
    ]
    run = Query.without_engine(tmp_path, query_over_many(12))
    path = run.write("r", items)
    with pytest.raises(DiagnosticError, match="RQ480"):
        simulate(run.query, Options(sources={"r": str(path)}, sinks={"r": str(tmp_path / "o")}))


@pytest.mark.rest
def test_one_function_by_forty_attributes_takes_a_moment(tmp_path: Path) -> None:
    run = Query.without_engine(tmp_path, query_over_many(40))
    last: Item = {"t": 1.0, **{f"a{n}": n % 2 for n in range(40)}}
    path = run.write("r", [*accents_by_attributes(18, lambda _: 2), last])
    simulate(run.query, Options(sources={"r": str(path)}, sinks={"r": str(tmp_path / "o")}))


@pytest.mark.parametrize("seed", range(5))
def test_trees_of_many_attributes_mean_what_each_step_says(seed: int) -> None:
    """Counts of boxes over two of thirty attributes each, and what is computed of them, against the boxes."""
    rng = random.Random(seed)
    names = [f"a{n:02}" for n in range(30)]
    boxes = [{n: rng.randrange(3) for n in rng.sample(names[at : at + 4], 2)} for at in range(0, 27, 3)]
    tree: Tree = 0
    for conditions in boxes:
        where = regions.box({n: regions.values(n, [v]) for n, v in conditions.items()})
        tree = regions.update(tree, where, lambda count: count + 1)
    some = regions.map_leaves(tree, lambda count: count >= 2)
    cells = regions.cells(tree)
    moved = regions.transform(tree, names[0], lambda value: value + 5)
    bound = regions.exists(some, {names[0]}, {})
    for _ in range(200):
        row = {name: rng.randrange(3) for name in names}
        count = sum(all(row[n] == v for n, v in conditions.items()) for conditions in boxes)
        assert regions.contains(tree, row) == count
        assert regions.contains(some, row) == (count >= 2)
        assert [leaf for leaf, where in cells.items() if regions.contains(where, row)] == [count]
        assert regions.contains(moved, {**row, names[0]: row[names[0]] + 5}) == count
        rest = sum(all(row[n] == v for n, v in conditions.items() if n != names[0]) for conditions in boxes)
        assert regions.contains(bound, row) >= (count >= 2)
        assert not regions.contains(bound, row) or rest >= 2


def test_combinations_of_twenty_attributes_are_refused_before_they_are_made() -> None:
    trees: list[Tree] = [1]

    def go_on(n: int) -> None:
        where = regions.values(f"a{n:02}", [1])
        trees.append(regions.update(trees[-1], where, lambda leaf: leaf * (n + 2) + n))

    with pytest.raises(DiagnosticError, match="RQ480"):
        list(map(go_on, range(20)))
    assert 100 < len(regions.leaves(trees[-1])) < 5000
