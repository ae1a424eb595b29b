"""Decimals of two types meet with all digits of both, or the query is refused when it is compiled (RQ103)."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.stream import read_output
from tests.kit.tiers import tiered
from tests.kit.two_units import END, STREAMS, Ends, check, digits, query, random_wide_case, simulated

MEET = ("a union b", "a intersect b", "a minus b", "a join rename[k as j](b) on ts", "a semi join b on ts")


def refused(types: tuple[str, str]) -> list[bool]:
    """For each operator of two inputs, whether it refuses numbers of two types."""
    streams = STREAMS.format(*types).replace("u := a union b;", "")
    return [_is_refused(f'{streams} x := {meet}; emit x to json "x";') for meet in MEET]


def _held(rng: Random) -> tuple[Ends, list[Any], list[Any]]:
    """A case of two types that a decimal holds."""
    while True:
        ends, left, right = random_wide_case(rng)
        if ends[0] != ends[1] and not any(refused(ends)):
            return ends, left, right


def _is_refused(text: str) -> bool:
    try:
        compile_query(text)
    except DiagnosticError as error:
        return [diagnostic.code for diagnostic in error.diagnostics] == ["RQ103"]
    return False


@pytest.mark.parametrize("seeds", tiered([range(8), range(8, 60)], most=1), ids=str)
def test_decimals_meet_exactly_or_are_refused(seeds: range) -> None:
    for seed in seeds:
        rng = Random(seed)
        ends, left, right = random_wide_case(rng)
        sides = [digits(end.removesuffix(" unit s")) for end in ends]
        is_held = ends[0] == ends[1] or sum(map(max, zip(*sides, strict=True))) <= 38
        assert refused(ends) == [not is_held] * len(MEET), ends
        if is_held:
            check(ends, left, right, simulated(ends, left, right, rng.choice([1, 3, 100])))


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_decimals_meet_exactly_in_many_cases(seed: int) -> None:
    test_decimals_meet_exactly_or_are_refused(range(seed, seed + 1))


@pytest.mark.either_engine
@pytest.mark.parametrize(
    ("seed", "files"),
    [
        *tiered([(5, 1), (6, None), (7, 1), (12, None)]),
        *(pytest.param(n, 1, marks=pytest.mark.soak) for n in range(20, 60)),
    ],
)
def test_decimals_meet_exactly_on_an_engine(
    spark: SparkSession, tmp_path: Path, seed: int, files: int | None
) -> None:
    """In one epoch, or file by file with a restart before the last."""
    rng = Random(seed)
    ends, left, right = _held(rng)
    text, names = query(ends)
    run = Query(spark, tmp_path, text)
    for name, values in (("a", left), ("b", right)):
        for k, x in enumerate(values):
            run.write(name, [f'{{"ts": {x}, "k": {k}}}'])
    run.go_on(run.executor(files), 0)
    for name in "ab":
        run.write(name, [END])
    executor = run.executor(files)
    run.go_on(executor, 1)
    outputs = {
        n: read_output(run.root / "out" / emit.name, Decimal)
        for n, emit in zip(names, executor.plan.emits, strict=True)
    }
    check(ends, left, right, outputs)
