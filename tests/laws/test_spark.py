"""Random queries on random streams through real Spark: the laws of `test_reference`, on fewer cases, and the same
files and settings through `run` and `simulate`."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.runtime.connectors.records.rejections import is_fatal
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.tools.simulation.simulation import simulate
from tests.kit.errors import code_of
from tests.kit.seeds import soak_seeds
from tests.kit.stream import complaints, read_output
from tests.kit.tiers import tiered
from tests.laws.edges import read
from tests.laws.engine_runs import blank_bad_lines, written
from tests.laws.reference_runs import (
    accepted,
    bag,
    cut,
    decoded,
    described,
    exact_names,
    first_attributes,
    said_gone,
    without,
)
from tests.laws.relational import evaluate_plan
from tests.laws.worlds import ALL, ORDERED, canonical, stream, world

SPOILT = (
    '{"k": 7, "ts": 3, "v": 1.0}',  # outside its domain
    '{"k": 1, "ts": 3}',
    '{"k": 1, "ts": "late", "v": 1.0}',
    '{"k": 1, "ts": 2.5, "v": 1.0}',
    '{"k": 1.0, "ts": 3e0, "v": 1.0}',  # a good one
    '{"k": 1, "ts": "3", "v": 1.0}',
    '{"k": 1, "ts": 3.0000000000000000000001, "v": 1.0}',
    '{"k": 1, "ts": 1e19, "v": 1.0}',
    '{"k": 2, "ts": 3, "v": 1.0, "new": 1}',
    '{"k": 1, "ts": 19, "v": 1.0, "new": 7}',
    '{"k": 1, "ts": 18, "v": 1.0, "new": 2, "b c": 1}',
    '{"k": 2, "ts": 0, "v": null}',
    '{"k": 2, "ts": 0, "v": 0.5}',  # late, where something has closed it
    "no json",
    "[]",
    "",
)
SETTINGS = {
    "invalid": ("quarantine", "quarantine", "abort"),
    "late": ("quarantine", "ignore", "abort"),
    "drift": ("ignore", "quarantine", "infer", "infer", "abort"),
    "drop": ("exact", "eager"),
}


def check_on_engine(
    spark: SparkSession,
    root: Path,
    seed: int,
    size: int,
    length: int,
    kinds: tuple[str, ...] = ALL,
    edges: int = 0,
) -> None:
    rng = Random(seed)
    made = world(rng, size, kinds, edges)
    items = accepted(made.plan, stream(rng, length, made.extra))
    context = described(made, items)
    (emit,) = made.plan.emits
    run = written(spark, root, made, cut(rng, items))
    run.process(files_per_epoch=rng.choice([1, 2, None]))
    actual = read_output(root / "out" / emit.name)
    assert run.quarantine("r") + run.quarantine("s") == [], context
    exact = exact_names(made, items)
    expected = bag(evaluate_plan(made.plan, canonical(items))[emit.relation], exact)
    assert bag(decoded(actual), exact) == expected, context
    initial = first_attributes(made.plan.start[emit.relation])
    assert list(complaints(actual, initial, read)) == [], context


def check_settings(
    spark: SparkSession, root: Path, seed: int, size: int, length: int, kinds: tuple[str, ...] = ALL
) -> None:
    """`run` and `simulate` give the same tuples and set the same lines aside, with the same settings. Lines that
    end one also end the other; without these lines, both continue to the same end."""
    rng = Random(seed)
    made = world(rng, size, kinds)
    items: list[tuple[str, Any]] = list(accepted(made.plan, stream(rng, length)))
    for _ in range(rng.randint(1, 6)):
        items.insert(rng.randrange(len(items)), (rng.choice("rs"), rng.choice(SPOILT)))
    settings = {name: rng.choice(values) for name, values in SETTINGS.items()}
    context = f"{settings}\n{described(made, items)}"
    (emit,) = made.plan.emits
    run = written(spark, root, made, cut(rng, items))
    files_per_epoch = rng.choice([1, 2, None])
    sources = {name: str(root / "in" / name) for name in ("r", "s", "d")}
    options = Options(sources=sources, sinks={emit.name: str(root / "simulated")}, settings=settings)
    ended = code_of(lambda: run.process(files_per_epoch, settings))
    assert ended == code_of(lambda: run.process(files_per_epoch, settings)), context  # and so again
    assert (ended is None) == (code_of(lambda: simulate(compile_query(made.text), options)) is None), context
    if ended is not None:
        if not is_fatal(ended, settings):  # an attribute that both inputs of a join have now (J2)
            return
        blank_bad_lines(made.text, options)
        assert code_of(lambda: run.process(files_per_epoch, settings)) is None, context
    shutil.rmtree(root / "simulated", ignore_errors=True)
    aside: Counter[tuple[str, str]] = Counter()
    simulate(compile_query(made.text), options, lambda line, code: aside.update([(line.source, code)]))
    exact = exact_names(made, [])
    ran, simulated = read_output(root / "out" / emit.name), read_output(root / "simulated")
    # What a Drop that does not wait leaves out depends on the epochs.
    gone = said_gone([*ran, *simulated]) if settings["drop"] == "eager" else set[str]()
    assert bag(without(gone, decoded(ran)), exact) == bag(without(gone, decoded(simulated)), exact), context
    assert Counter((s, line["code"]) for s in ("r", "s") for line in run.quarantine(s)) == aside, context


@pytest.mark.parametrize("seed", tiered(range(12)))
def test_random_plans_keep_the_laws_on_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    operators, tuples = (4, 40) if seed else (3, 24)
    check_on_engine(spark, tmp_path, seed, operators, tuples, *((ALL, 0), (ORDERED, 0), (ALL, 2))[seed % 3])


@pytest.mark.parametrize("seed", tiered(range(4)))
def test_run_and_simulate_agree_on_random_plans_and_bad_lines(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    check_settings(spark, tmp_path, seed, 3, 40)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(60))
def test_more_random_plans_keep_the_laws_on_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_on_engine(spark, tmp_path, seed, 1 + seed % 6, 50, *((ALL, 0), (ORDERED, 0), (ALL, 2))[seed % 3])


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(30))
def test_run_and_simulate_agree_on_more_random_plans(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_settings(spark, tmp_path, seed, 1 + seed % 5, 50, (ALL, ORDERED)[seed % 2])
