"""Domains that grow in the middle of random streams, on real engines: the law of `test_growth`, on fewer cases (N1)."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from attrs import evolve
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.records.json_objects import json_text
from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.stream import complaints, read_output
from tests.kit.tiers import tiered
from tests.laws.edges import read
from tests.laws.engine_runs import written
from tests.laws.growth_cases import GROWTHS, before, from_table, meaning, random_case
from tests.laws.reference_runs import Items, bag, cut, decoded, described, first_attributes


def parts(rng: Random, items: Items) -> list[Items]:
    """The items in files, at random."""
    return cut(rng, items) if len(items) > 1 else [items]


def grows(run: Query, rng: Random, later: Items, *, by_table: bool) -> bool:
    """Processes the written items, then a growth and the later items, as two batches; True if the query could
    continue."""
    if by_table:
        run.write("fleet", [{"k": 1}, {"k": 2}])
    executor = run.executor(rng.choice([1, 2, None]))
    run.go_on(executor, 0)
    if by_table:
        run.write("fleet", [{"k": 2}, {"k": 3}])
    else:
        later = [*GROWTHS, *later]
    for part in parts(rng, later):
        for source in ("r", "s"):
            run.write(source, [json_text(item) for name, item in part if name == source])
    if by_table and rng.random() < 0.5:
        executor = run.executor()  # the table is longer when the query starts again
    try:
        run.go_on(executor, 1)
    except DiagnosticError as error:
        if [diagnostic.code for diagnostic in error.diagnostics] != ["RQ222"]:
            raise
        return False
    return True


def check_growth_on_engine(
    spark: SparkSession, root: Path, seed: int, size: int, length: int, *, by_table: bool
) -> None:
    rng = Random(seed)
    made, _, items, bound = random_case(rng, size, length)
    context = described(made, items)
    (emit,) = made.plan.emits
    text = from_table(made) if by_table else before(made)
    run = written(spark, root, evolve(made, text=text), parts(rng, items[:bound]))
    if not grows(run, rng, items[bound:], by_table=by_table):
        pytest.skip("an operator of the query cannot go on (RQ222)")
    late = [
        (source, line["code"], json.loads(line["raw"]))
        for source in ("r", "s")
        for line in run.quarantine(source)
    ]
    actual = read_output(root / "out" / emit.name)
    assert bag(decoded(actual)) == meaning(made, items, late, context), context
    initial = first_attributes(made.plan.start[emit.relation])
    assert list(complaints(actual, initial, read)) == [], context


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", tiered((0, 3, 2, 4, 5), 2, 3))
def test_random_queries_grow_on_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_growth_on_engine(spark, tmp_path, seed, 3, 40, by_table=seed % 2 == 0)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(40))
def test_more_random_queries_grow_on_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_growth_on_engine(spark, tmp_path, seed, 1 + seed % 6, 50, by_table=seed % 2 == 0)
