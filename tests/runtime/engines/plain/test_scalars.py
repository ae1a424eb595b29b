"""Every scalar function on real Spark and on Sail: its type, and its values against plain Python."""

from __future__ import annotations

import math
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler.expressions import expression_sql, expressions
from cedilla.compiler.expressions.engines import refused
from cedilla.compiler.expressions.scalars.scalar_functions import FUNCTIONS
from cedilla.compiler.expressions.types import Type
from cedilla.grammar.parser import parse_expression
from cedilla.grammar.syntax import Expression, Scalar
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.spark.columns import types_of
from tests.kit import ROOT
from tests.kit.columns import columns_in
from tests.kit.query import Query
from tests.kit.stream import Item, complaints, decode, is_tuple
from tests.runtime.engines.plain.scalar_expressions import (
    EXPRESSIONS,
    ITEMS,
    NAMES,
    ROWS,
    check_types_and_values,
    expected,
)

ROWS += [(*ROWS[0][:n], None, *ROWS[0][n + 1 :]) for n in range(len(NAMES))]


def called(expression: Expression) -> set[str]:
    here = {FUNCTIONS[expression.name].name} if isinstance(expression, Scalar) else set[str]()
    return here.union(*(called(part) for part in expressions.parts(expression)))


def test_every_function_is_tried() -> None:
    tried = set[str]().union(*(called(parse_expression(text)) for text in EXPRESSIONS))
    # No constant is a list of numbers: `test_function_sweep.py` has columns of them.
    of_lists = {"histogram_quantile", "list_sum", "list_avg", "list_min", "list_max"}
    assert tried | of_lists == {function.name for function in FUNCTIONS.values()}


def test_the_manual_lists_every_function() -> None:
    text = (ROOT / "docs/reference/functions.md").read_text(encoding="utf-8")
    code = " ".join(re.findall(r"`([^`]+)`", text))
    assert set(FUNCTIONS) <= set(re.findall(r"[a-z_0-9]+", code))


@pytest.mark.rest
def test_spark_agrees_with_types_and_values(spark: SparkSession) -> None:
    check_types_and_values(spark, EXPRESSIONS)


def test_sail_agrees_with_types_and_values(sail: SparkSession) -> None:
    portable = [text for text in EXPRESSIONS if not list(refused(parse_expression(text), "sail"))]
    assert len(EXPRESSIONS) - len(portable) == 2
    check_types_and_values(sail, portable)


@pytest.mark.rest
def test_an_alter_that_makes_a_double_of_a_whole_number_changes_nothing(spark: SparkSession) -> None:
    """An altered attribute is a double: what is computed from it stays the same."""
    texts = [
        "string(n)", "hash(n, s)", "substring(s, n)", "repeat(s, n)", "floor(n / 7)", "date_add(dt, n)", "abs(n)",
        "n % 5", "n + 1", "long(n)", "coalesce(n, 0)", "concat(s, string(n * 2))", "case when n > 3 then n else 0 end",
    ]  # fmt: skip
    whole = spark.createDataFrame(
        [(2, "abc", date(2013, 1, 31)), (100, "x", None), (None, "é", None)], "n bigint, s string, dt date"
    )
    broken = whole.withColumn("n", whole.n.cast("double"))
    first, second = (
        frame.selectExpr(
            *(expression_sql.sql(parse_expression(text), types_of(columns_in(frame))) for text in texts)
        ).collect()
        for frame in (whole, broken)
    )
    assert [tuple(row) for row in first] == [tuple(row) for row in second]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("string(a)", "1.0E16"),
        ("string(x)", "Infinity"),
        ("floor(x)", None),
        ("exp(a)", math.inf),
        ("x - x = 0", False),
    ],
)
def test_infinity_is_a_number(text: str, expected: Any) -> None:
    assert evaluate(parse_expression(text), {"a": 1e16, "x": math.inf}) == expected


def test_types_are_those_of_the_language() -> None:
    assert expressions.type_of(parse_expression("string(1)"), {}) == Type("string")


# --- in a query ---

QUERY = f"""
stream r(ts: long, s: int in {{1, 2}}, t: double, p?: double) from json "in" punctuated on ts;
computed := project[{", ".join(f"{text} as {name}" if text != name else name for name, text in ITEMS.items())}](
  select[not startswith(string(s), 'x') and isnotnull(t)](r));
emit computed to json "o";
emit aggregate[avg(u) as mean, count(w) as n by bucket](computed) to json "p";
emit project[floor(ts / 10) as bucket, s, t](r) to json "q";
"""
CANONICAL: list[Item] = [
    {"ts": ts, "s": 1 + ts % 2, "t": float(ts * 7 % 11), **({"p": float(ts % 9)} if ts % 4 else {})}
    for ts in range(40)
]


def raw_tuple(item: Item) -> Item:
    """The tuple as its stream has it: p ends for s = 1 at ts = 28; t and p change their units."""
    ts, s = item["ts"], item["s"]
    item = dict(item)
    if ts >= 28 and s == 1:
        item.pop("p", None)
    if ts >= 15:
        item["t"] = item["t"] * 2 + 3
    if ts >= 20 and "p" in item:
        item["p"] = item["p"] / 2
    return item


@pytest.mark.rest
def test_a_query_computes_across_alters_and_a_drop_of_what_is_optional(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Affine values change their units, others are absorbed; what reads the dropped attribute is gone with it, or not
    (G20); buckets close when all their times have, and accents on times begin with a bucket (theory 1.3, W5)."""
    rows = [raw_tuple(item) for item in CANONICAL]
    stream = [
        *rows[:15], {"$accent": "[[ts >= 15, alter(t, y -> y * 2 + 3)]]"},
        *rows[15:20], {"$accent": "[[alter(p, y -> y / 2)]]"}, {"$punctuation": "[ts < 20]"},
        *rows[20:28], {"$accent": "[[s = 1, -(p)]]"}, {"$punctuation": "[ts < 25]"},
        *rows[28:], {"$punctuation": "[ts < 39]"},
    ]  # fmt: skip
    run = Query(spark, tmp_path, QUERY)
    for start in range(0, len(stream), 12):
        run.write("r", stream[start : start + 12])
    run.process(files_per_epoch=1)
    assert run.quarantine("r") == []

    output = run.output("computed")
    actual = {row["ts"]: row for row in decode(output)}
    assert len(actual) == len(CANONICAL)
    for item in CANONICAL:
        wanted, got = expected(item), actual[item["ts"]]
        assert wanted.keys() == got.keys(), got
        assert all(
            value == got[name]
            if isinstance(value, str | bool)
            else math.isclose(value, got[name], abs_tol=1e-9)
            for name, value in wanted.items()
        ), (wanted, got)
    assert list(complaints(output, set(ITEMS))) == []
    accents = [item["$accent"] for item in output if "$accent" in item]
    assert any(a.startswith("[[s = 1, -(x)") for a in accents)
    assert {n for n in ITEMS if any(f"alter({n}," in a or f"-({n})" in a for a in accents)} == {"u", "x"}

    means = run.output("aggregate")
    assert {row["bucket"]: row["n"] for row in decode(means) if is_tuple(row)} == {0: 10, 1: 10, 2: 10}
    assert list(complaints(means, {"bucket", "mean", "n"})) == []

    buckets = run.output("project")
    assert list(complaints(buckets, {"bucket", "s", "t"})) == []
    assert {"$punctuation": "[bucket < 2]"} in buckets
    assert [item["$accent"] for item in buckets if "$accent" in item] == ["[[alter(t, y -> y * 2 + 3)]]"]
    decoded = sorted((row["bucket"], row["s"], round(float(row["t"]), 9)) for row in decode(buckets))
    assert decoded == sorted((item["ts"] // 10, item["s"], item["t"]) for item in CANONICAL)


def test_a_like_with_many_wildcards_tries_each_place_once() -> None:
    types = {"s": Type("string")}
    like = parse_expression(f"like(s, '{'%a' * 9}%b')")
    expressions.type_of(like, types)
    assert [evaluate(like, {"s": text}, types) for text in ("a" * 3000, "a" * 3000 + "b")] == [False, True]
