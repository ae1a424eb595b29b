"""Decimals are exact on every engine, as in the reference: values, types, comparisons, texts."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from cedilla.compiler import compile_query
from cedilla.compiler.expressions import expressions
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.parser import parse_expression
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit import decimal_expressions as made
from tests.kit.decimal_expressions import TYPES, mismatches
from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item, is_tuple, read_output
from tests.kit.tiers import rest, tiered
from tests.runtime.engines.plain.decimal_query import OUTPUTS, QUERY, decimal_items, exact_bag, expected_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", tiered(range(4)))
def test_random_expressions_are_exact(spark: SparkSession, seed: int) -> None:
    rng = Random(seed)
    texts = [made.expression(rng) for _ in range(60)]
    assert mismatches(spark, texts, [made.row(rng) for _ in range(25)]) == []


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["sail", "spark"])
def test_many_random_expressions_are_exact(request: pytest.FixtureRequest, engine: str) -> None:
    session = request.getfixturevalue(engine)
    for seed in soak_seeds(200):
        rng = Random(seed)
        texts = [made.expression(rng) for _ in range(60)]
        assert mismatches(session, texts, [made.row(rng) for _ in range(25)]) == [], f"seed {seed}"


ROW = {
    "b": 3,
    "n": 2**63 - 1,
    "d": Decimal("0.29"),
    "v": Decimal("5.5"),
    "q": Decimal("9" * 20 + ".5"),
    "w": Decimal("9" * 38),
    "z": Decimal("8.5"),
    "x": 0.1,
    "f": None,
}
WORTH: list[tuple[str, Any]] = [
    ("long(0.29 * 100)", 29),
    ("d * 100 = 29", True),
    ("d % 0.01", 0),
    ("b * 0.1 = 0.3", True),
    ("b * 0.1 in {0.3, 0.7}", True),
    ("d * 100 in [29, 30)", True),
    ("d / 100 = 0.0029", True),
    ("d / 0.01 = 29", True),
    ("floor(d / 0.01)", 29),
    ("floor(b / 2) % 5", 1),
    ("floor(b / 2) * 0.5", Fraction(1, 2)),
    ("mod(floor(b / 2), 5)", 1),
    ("n * 0.1", Fraction(2**63 - 1, 10)),
    ("n < 9223372036854775806.5", False),
    ("-(d * 3)", Fraction(-87, 100)),
    ("abs(-d)", Fraction(29, 100)),
    ("case when d * 3 = 0.87 then d else b end", Fraction(29, 100)),
    ("coalesce(d, 0.5) % 1", Fraction(29, 100)),
    ("coalesce(d, 0.5) * 0 > 0", False),
    ("greatest(d, b * 0.1)", Fraction(3, 10)),
    ("round(v, 0)", 6),
    ("bround(v * 0.1 + 1.95)", 2),
    ("round(d, 0) = 0", True),
    ("round(v, -1)", 10),
    ("round(b, -1) + round(-v, -1)", -10),
    ("round(n, -1)", None),
    ("bround(v - 0.5, -1)", 0),
    ("round(x * 150, -1)", 20.0),
    ("long(v) = 5", True),
    ("not (int(w) = 5)", None),
    ("int(0.3 * 60 - b * 0.000000000000000001)", 17),
    ("long(0.3 * 60 - b * 0.000000000000000001)", 17),
    ("string(d * 10)", "2.9"),
    ("string(v * 2)", "11"),
    ("d * x", 0.29 * 0.1),
    # A result beyond 37 digits is undefined, or a double if few would be left before the point.
    ("w + 1", None),
    ("w * 0", 0),
    ("q * q", 1e40),
    ("q * 10", None),
    ("q * 0.1", None),
    ("v * q", 5.5e20),
    ("q + 1", None),
    ("-w", -(10**38 - 1)),
    ("w > q", True),
    ("w = 0.5", False),
    ("w < 1e40", True),
    ("q * 0.001 > 0", True),
]


def test_the_reference_computes_as_on_paper() -> None:
    actual = {text: evaluate(parse_expression(text), ROW, TYPES) for text, _ in WORTH}
    assert actual == dict(WORTH)


@pytest.mark.either_engine
def test_engines_compute_as_on_paper(spark: SparkSession) -> None:
    assert mismatches(spark, [text for text, _ in WORTH], [ROW]) == []


NUMBERS: dict[str, tuple[Any, ...]] = {
    "b": (2**31 - 1, -(2**31), 5, -5, 14),
    "n": (15, 25, -15, -25, 150, 250, 49, 50, 51, 2**63 - 1, 2**63 - 6, -(2**63), -(2**63) + 5),
    "d": tuple(map(Decimal, ("15.00", "25.00", "-25.00", "24.99", "-15.01", "99999999.99"))),
    "x": (15.0, -25.0, 14.999, 4.9, 0.0, -5e-300, 1e300, 2.0**53 + 5, 2.0**62, 5e18, math.inf, math.nan),
}


@pytest.mark.either_engine
@pytest.mark.parametrize("digits", tiered([[-1, -3], [-2], [-9], [-15]]), ids=str)
def test_numbers_are_rounded_to_tens(spark: SparkSession, digits: list[int]) -> None:
    """Halves too, the greatest numbers, and those that are no number; `round(x, -1)` was refused."""
    rows = [ROW | {name: values[k % len(values)] for name, values in NUMBERS.items()} for k in range(13)]
    of = [f"{name}({x}, {n})" for name in ("round", "bround") for x in (*"bndvx", "n % 100") for n in digits]
    assert mismatches(spark, of, rows) == []


@pytest.mark.parametrize("text", ["round(w, -1)", "bround(q, -2)"])
def test_a_decimal_of_38_digits_is_not_rounded_to_tens(text: str) -> None:
    with pytest.raises(DiagnosticError, match="RQ103"):
        expressions.type_of(parse_expression(text), TYPES)


# --- in a query ---


def test_a_query_of_decimals_is_exact_in_the_reference() -> None:
    reference = Reference(compile_query(QUERY).plan)
    actual: dict[str, list[Item]] = {name: [] for name in OUTPUTS}
    for item in decimal_items():
        for outputs in reference.step([("r", item)]):
            for name, emit in zip(OUTPUTS, reference.plan.emits, strict=True):
                actual[name] += filter(is_tuple, outputs[emit.name].items())
    assert {name: exact_bag(rows) for name, rows in actual.items()} == {
        n: exact_bag(r) for n, r in expected_rows().items()
    }


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", [rest(None), 1])
def test_a_query_of_decimals_is_exact(spark: SparkSession, tmp_path: Path, per_epoch: int | None) -> None:
    """In one epoch, and file by file with a restart in the middle."""
    run, lines = Query(spark, tmp_path, QUERY), decimal_items()
    run.write("r", lines[:2])
    executor = run.executor(per_epoch)
    if per_epoch:
        run.go_on(executor, 0)
        executor = run.executor(per_epoch)
    run.write("r", lines[2:5])
    run.write("r", lines[5:])
    run.go_on(executor, 1 if per_epoch else 0)
    actual = {
        name: read_output(tmp_path / "out" / emit.name, Decimal)
        for name, emit in zip(OUTPUTS, executor.plan.emits, strict=True)
    }
    assert {n: exact_bag([*filter(is_tuple, rows)]) for n, rows in actual.items()} == {
        n: exact_bag(rows) for n, rows in expected_rows().items()
    }
