"""Decimals are exact on every engine, as in the reference: values, types, comparisons, texts."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from math import floor
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from cedilla.compiler import compile_query
from cedilla.compiler.expressions import expression_sql, expressions
from cedilla.grammar.parser import parse_expression
from cedilla.runtime.engines.columns import type_named
from cedilla.runtime.reference.evaluate import evaluate
from cedilla.runtime.reference.reference import Reference
from tests.kit import decimal_expressions as made
from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item, is_tuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {name: type_named(kind) for name, kind in made.SCHEMA.items()}


def mismatches(spark: SparkSession, texts: list[str], rows: list[dict[str, Any]]) -> list[str]:
    """The expressions whose type or value is another one on the engine than in the reference, bit by bit."""
    schema = ", ".join(f"{name} {kind}" for name, kind in made.SCHEMA.items())
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], schema)
    parsed = [parse_expression(text) for text in texts]
    written = [f"{expression_sql.sql(e, TYPES)} AS x{i}" for i, e in enumerate(parsed)]
    result = frame.selectExpr(*written)
    wrong = [
        f"{text}: {field.dataType.simpleString()}, said to be {said}"
        for text, e, field in zip(texts, parsed, result.schema.fields, strict=True)
        if (said := expressions.type_of(e, TYPES)) != type_named(field.dataType.simpleString())
    ]
    for row, values in zip(rows, result.collect(), strict=True):
        for text, e, value in zip(texts, parsed, values, strict=True):
            expected = evaluate(e, row, TYPES)
            if not same(value, expected):
                wrong.append(f"{text} of {row}: {value!r}, {expected!r} in the reference")
    return wrong


def same(value: Any, expected: Any) -> bool:
    if value is None or expected is None or isinstance(value, bool | str):
        return value == expected
    if isinstance(value, float):
        return value == expected or (math.isnan(value) and math.isnan(expected))
    return not isinstance(expected, float) and Fraction(value) == expected


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", range(4))
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
    ("long(v) = 5", True),
    ("not (int(w) = 5)", None),
    ("int(0.3 * 60 - b * 0.000000000000000001)", 17),
    ("long(0.3 * 60 - b * 0.000000000000000001)", 17),
    ("string(d * 10)", "2.9"),
    ("string(v * 2)", "11"),
    ("d * x", 0.29 * 0.1),
    # What has no place in 37 digits is undefined, or a double where few would be left before the point.
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
    found = {text: evaluate(parse_expression(text), ROW, TYPES) for text, _ in WORTH}
    assert found == dict(WORTH)


@pytest.mark.either_engine
def test_engines_compute_as_on_paper(spark: SparkSession) -> None:
    assert mismatches(spark, [text for text, _ in WORTH], [ROW]) == []


# --- in a query ---

QUERY = """
stream r(k: long, d: decimal(10, 2), n: long) from json "r" punctuated on k;
p := project[k, long(d * 100) as cents, d % 0.01 as rest, n * 0.1 as tenth, d * n as product,
             case when d * 3 = 0.87 then d * 2 else n end as chosen, d / 100 as hundredth](r);
emit p to json "p";
emit select[d * 100 = 29 or n * 0.1 in {0.3, 0.7}](r) to json "chosen";
windows := window[0.1 on tenth as w](p);
emit aggregate[count() as count, sum(product) as total, min(product) as least by w](windows) to json "windows";
emit aggregate[count() as count by tenth](p) to json "keys";
emit project[k, tenth](p) semi join project[k as j, d](r) on tenth = d to json "met";
emit distinct(project[d * 10 - n as difference](r)) to json "different";
"""
OUTPUTS = ("p", "chosen", "windows", "keys", "met", "different")
VALUES = [
    ("0.29", 3),
    ("0.57", 7),
    ("2.30", 23),
    ("0.30", 6),
    ("-1.10", -11),
    ("0.70", 3),
    ("4.35", 7),
    ("0.60", -3),
]


def expected() -> dict[str, list[dict[str, Any]]]:
    rows = [(k, Fraction(d), n) for k, (d, n) in enumerate(VALUES)]
    windows = {floor(Fraction(n, 10) / Fraction(1, 10)) for _, _, n in rows}

    def products(w: int) -> list[Fraction]:
        return [d * n for _, d, n in rows if n == w]

    return {
        "p": [
            {
                "k": k,
                "cents": d * 100,
                "rest": 0,
                "tenth": Fraction(n, 10),
                "product": d * n,
                "chosen": d * 2 if d * 3 == Fraction("0.87") else n,
                "hundredth": Fraction(repr(float(d / 100))),
            }
            for k, d, n in rows
        ],
        "chosen": [{"k": k, "d": d, "n": n} for k, d, n in rows if d * 100 == 29 or n in (3, 7)],
        "windows": [
            {"w": w, "count": len(products(w)), "total": sum(products(w)), "least": min(products(w))}
            for w in windows
        ],
        "keys": [{"tenth": Fraction(w, 10), "count": len(products(w))} for w in windows],
        "met": [
            {"k": k, "tenth": Fraction(n, 10)} for k, _, n in rows if any(d * 10 == n for _, d, _ in rows)
        ],
        "different": [{"difference": each} for each in {d * 10 - n for _, d, n in rows}],
    }


def bag(rows: list[Item]) -> list[list[tuple[str, Any]]]:
    return sorted(
        sorted(
            (name, value if isinstance(value, str) else Fraction(str(value))) for name, value in row.items()
        )
        for row in rows
    )


def decimal_items() -> list[Item]:
    rows: list[Item] = [{"k": k, "d": float(d), "n": n} for k, (d, n) in enumerate(VALUES)]
    return [*rows, {"$punctuation": "[]"}]


def test_a_query_of_decimals_is_exact_in_the_reference() -> None:
    reference = Reference(compile_query(QUERY).plan)
    found: dict[str, list[Item]] = {name: [] for name in OUTPUTS}
    for item in decimal_items():
        for outputs in reference.step([("r", item)]):
            for name, emit in zip(OUTPUTS, reference.plan.emits, strict=True):
                found[name] += filter(is_tuple, outputs[emit.name].items())
    assert {name: bag(rows) for name, rows in found.items()} == {n: bag(r) for n, r in expected().items()}


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", [None, 1])
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
    found = {
        name: [json.loads(line, parse_float=Decimal) for line in output_lines(tmp_path / "out" / emit.name)]
        for name, emit in zip(OUTPUTS, executor.plan.emits, strict=True)
    }
    assert {n: bag([*filter(is_tuple, rows)]) for n, rows in found.items()} == {
        n: bag(rows) for n, rows in expected().items()
    }


def output_lines(folder: Path) -> list[str]:
    files = [file for epoch in sorted(folder.glob("epoch=*")) for file in sorted(epoch.iterdir())]
    return [line for file in files for line in file.read_text().splitlines()]
