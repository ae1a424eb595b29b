"""Every scalar function on real Spark and on Sail: its type, and its values against plain Python."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from cedilla.compiler.expressions import expression_sql, expressions
from cedilla.compiler.expressions.engines import refused
from cedilla.compiler.expressions.scalar_functions import FUNCTIONS
from cedilla.compiler.expressions.types import Type
from cedilla.grammar.parser import parse_expression
from cedilla.grammar.syntax import Expression, Scalar
from cedilla.runtime.engines.frames import types_of
from cedilla.runtime.reference.evaluate import evaluate
from tests.kit import ROOT
from tests.kit.pipeline import Run
from tests.kit.stream import Item, complaints, decode, is_tuple

SCHEMA = "b int, n bigint, a double, c double, d decimal(8,2), s string, w string, f boolean, ts timestamp, dt date"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


ROWS: list[tuple[Any, ...]] = [
    (1, 2, 0.5, 2.0, Decimal("1.25"), "abc", "b", True, at("2013-01-31T12:34:56.789012"), date(2012, 2, 29)),
    (
        -7,
        3,
        -2.5,
        0.25,
        Decimal("-0.10"),
        "  Hello wORLD ",
        "o",
        False,
        at("1969-12-31T23:59:59.999999"),
        date(1970, 1, 1),
    ),
    (0, 0, 0.0, 0.0, Decimal("0.00"), "", "", None, at("2000-02-29T00:00:00"), date(1999, 12, 31)),
    (
        2**31 - 1,
        2**63 - 1,
        1e30,
        1e300,
        Decimal("999999.99"),
        "a,b,,c",
        ",",
        True,
        at("2024-12-29T06:00:00.5"),
        date(2024, 12, 30),
    ),
    (
        -(2**31),
        -(2**63),
        -1e30,
        -3.0,
        Decimal("-999999.99"),
        "ÄÖü ß%_",
        "%",
        False,
        at("1900-01-01T01:02:03"),
        date(1900, 3, 1),
    ),
    (5, 100, 0.1, 1e-5, Decimal("0.29"), " +12 ", "2", True, at("2013-01-06T23:00:00"), date(2013, 1, 6)),
    (
        250,
        -250,
        123456789.125,
        0.7,
        Decimal("2.50"),
        "2013-02-03 04:05:06.5",
        "-",
        False,
        at("2013-01-07T00:00:00"),
        date(2013, 1, 7),
    ),
    (100, 7, 29.0, 100.0, Decimal("7.00"), "-1.5e3", "e", True, at("2016-06-30T23:59:59"), date(2016, 6, 30)),
    (3, 1, 1.0, -1.0, None, "yes", None, False, None, None),
    (None, None, None, None, Decimal("3.00"), None, "x", None, at("2013-01-01T00:00:00"), date(2013, 1, 1)),
    (
        17,
        -3,
        math.inf,
        -math.inf,
        Decimal("0.01"),
        "\t１2 ſK\n",
        "K",
        True,
        at("0005-01-01T00:00:00"),
        date(5, 1, 1),
    ),
    (
        2,
        5,
        math.nan,
        -0.0,
        Decimal("1.01"),
        "1.5d ",
        "on",
        True,
        at("9990-12-31T23:59:59.999999"),
        date(9990, 12, 31),
    ),
    (
        -3,
        5,
        -0.0,
        1.005,
        Decimal("2.00"),
        " 2013-02-03T04:05Z\n",
        "\n",
        False,
        at("1582-10-04T23:59:59"),
        date(1582, 10, 15),
    ),
    (
        9,
        9,
        1e16,
        0.1 + 0.2,
        Decimal("2.00"),
        "YES\r",
        "É",
        False,
        at("1582-10-15T00:00:00"),
        date(1582, 10, 4),
    ),
    (
        9,
        -9,
        12345678.5,
        1.5e-7,
        Decimal("-0.01"),
        "2013-02 x",
        "é_",
        False,
        at("1969-12-31T23:59:59.9"),
        date(1969, 12, 31),
    ),
    (
        9,
        -9,
        -1e15,
        -0.00099,
        Decimal("-0.01"),
        "1e400",
        ".",
        False,
        at("1969-12-31T23:59:59.9"),
        date(1969, 12, 28),
    ),
    (
        9,
        -9,
        1.25e-300,
        1.7976931348623157e308,
        Decimal("-0.01"),
        "a\n",
        "a\r",
        False,
        at("1904-02-29T00:00:00"),
        date(4, 2, 29),
    ),
]
NAMES = [part.split()[0] for part in SCHEMA.split(", ")]
ROWS += [(*ROWS[0][:n], None, *ROWS[0][n + 1 :]) for n in range(len(NAMES))]

NUMBER = (
    *("sign", "sqrt", "cbrt", "exp", "expm1", "ln", "log", "log10", "log2", "log1p", "sin", "cos", "tan"),
    *("asin", "acos", "atan", "sinh", "cosh", "tanh", "degrees", "radians"),
)
TEXT = (
    *("upper", "lower", "initcap", "length", "octet_length", "ascii", "trim", "ltrim", "rtrim", "btrim"),
    *("reverse", "crc32", "md5", "sha1"),
)
DAY = (
    *("year", "quarter", "month", "day", "dayofweek", "weekday", "dayofyear", "weekofyear", "last_day"),
    *("unix_date", "hour", "minute", "second"),
)

EXPRESSIONS = [
    *(f"{name}({x})" for name in NUMBER for x in ("a", "c", "d", "b")),
    *(
        f"{name}({x})"
        for name in ("abs", "floor", "ceil", "round", "bround", "rint", "isnan")
        for x in "abnd"
    ),
    *(
        f"{name}({x})"
        for name in ("floor", "ceil")
        for x in ("b * 0.29", "a * 100", "n / 7", "a / c", "-b / 3 + 1")
    ),
    "round(a, 1)",
    "round(c, 3)",
    "round(b, 2)",
    "bround(a * 5, 0)",
    "round(a * 0.05, 1)",
    "mod(b, n)",
    "mod(a, c)",
    "mod(b, 3)",
    "2 * mod(b, 4)",
    "pmod(n, b)",
    "pmod(a, c)",
    "pmod(b, -3)",
    "pmod(n, 10)",
    "pow(a, c)",
    "pow(b, 2)",
    "pow(c, -1)",
    "log(c, a)",
    "log(2, b)",
    "atan2(a, c)",
    "hypot(a, b)",
    "affine(a, 1000, 0, 1)",
    "affine(b, 5, -160, 9)",
    "affine(c, -1, 3, 1000)",
    "affine(a + b, 5, -160, 9)",
    "pi()",
    "e()",
    "greatest(a, b, c)",
    "least(a, b, c)",
    "greatest(b, n)",
    "least(s, w)",
    "greatest(ts, timestamp('2013-01-01'))",
    "least(dt, date(ts))",
    "greatest(f, b > 2)",
    "greatest(d, 1)",
    "coalesce(b, n)",
    "coalesce(b, a, 0)",
    "coalesce(s, 'none')",
    "coalesce(dt, date('2013-01-01'))",
    "coalesce(d, 0)",
    "ifnull(b, -1)",
    "nvl2(b, s, w)",
    "nvl2(s, b, a)",
    "if(f, b, a)",
    "if(b > 2 and f, s, w)",
    "if(isnull(f), 1, 2)",
    "nullif(b, 0)",
    "nullif(s, '')",
    "nullif(a, b)",
    "isnull(b)",
    "b is not null and n not between 2 and b",
    "isnotnull(s)",
    "isnull(b > 2)",
    "not isnull(f)",
    *(f"{name}(s)" for name in TEXT),
    "btrim(s, 'ab 1')",
    "char(b)",
    "char(b + 64)",
    "concat(s, '-', w)",
    "s || '-' || w",
    "concat_ws(',', s, w)",
    "concat_ws(w, s, s)",
    "substring(s, 2)",
    "substring(s, b)",
    "substring(s, b, 2)",
    "substring(s, -3, 2)",
    "substring(s, 0, 2)",
    "substring(s, a, 3)",
    "left(s, 2)",
    "left(s, b)",
    "right(s, 2)",
    "right(s, b)",
    "replace(s, w, 'zz')",
    "replace(s, w)",
    "translate(s, 'abW ', 'xy')",
    "repeat(w, 3)",
    "repeat(w, b)",
    "lpad(s, 5, '*')",
    "rpad(s, 5, '*-')",
    "lpad(w, b, 'ab')",
    "lpad(s, 4)",
    "startswith(s, w)",
    "endswith(s, 'c')",
    "contains(s, w)",
    "instr(s, w)",
    "locate(w, s)",
    "split_part(s, ',', 2)",
    "split_part(s, w, b)",
    "split_part(s, w, -1)",
    "substring_index(s, ',', 2)",
    "substring_index(s, w, -2)",
    "substring_index(s, ',', b)",
    "levenshtein(s, w)",
    "levenshtein(s, 'Hello')",
    "like(s, 'a%')",
    r"like(s, '%\\%\\_')",
    "like(s, '_b_')",
    "ilike(s, 'A%C')",
    "rlike(s, '^[a-c]+$')",
    r"rlike(s, '\\d{2}|l+o')",
    r"regexp_extract(s, '(\\d+)-(\\d+)', 2)",
    r"regexp_extract(s, '[lL]+', 0)",
    r"regexp_replace(s, '[aeiou]|\\d', '*')",
    *(f"hash({x})" for x in ("b", "n", "a", "d", "s", "f", "ts", "dt", "b, s, dt")),
    r"rlike(w, '^.$')",
    r"rlike(s, 'a$|\\w\\s+$')",
    r"regexp_extract(s, '[^\\d\\s]+', 0)",
    r"regexp_replace(s, '\\W|[\\Wa]', '-')",
    "ilike(s, '%S%')",
    "ilike(w, 'É%')",
    "substring(s, -2, b)",
    "substring(s, 2, n)",
    "round(c, 2)",
    "bround(c, 1)",
    "mod(b + 1, n - 1)",
    "pmod(a - 1, c + 1)",
    "log1p(a - 1)",
    "pow(b - 1, 2)",
    "pow(a - 1, c - 1)",
    "round(a - 1, 2)",
    "substring(s, b - 1, b + 1)",
    "string(a + 0.5)",
    "date_trunc('week', timestamp_seconds(b - 1))",
    "a - c",
    "a + c",
    "a / c",
    "c % 2",
    "a - a = c - c",
    "a - a > c",
    "a != a",
    "-a > c",
    "hash(a - a, -a)",
    "string(a - a)",
    "string(a / 10)",
    "greatest(a - a, c)",
    "sha2(s, 256)",
    "sha2(s, 512)",
    *(f"{name}({x})" for name in DAY for x in ("ts", "dt")),
    "year('2013-01-31')",
    "hour('2013-01-31T12:00:00Z')",
    "date_add(dt, 30)",
    "date_add(ts, b)",
    "date_sub(dt, b)",
    "add_months(dt, 1)",
    "add_months(dt, -13)",
    "add_months(ts, 12)",
    "datediff(ts, dt)",
    "datediff(dt, '2013-01-01')",
    *(
        f"date_trunc('{unit}', ts)"
        for unit in (
            "microsecond",
            "millisecond",
            "second",
            "minute",
            "HOUR",
            "day",
            "week",
            "month",
            "quarter",
            "year",
        )
    ),
    "date_trunc('week', dt)",
    "trunc(dt, 'week')",
    "trunc(ts, 'month')",
    "trunc(dt, 'quarter')",
    "trunc(dt, 'year')",
    "date_format(ts, 'yyyy-MM-dd')",
    "date_format(ts, \"yyyy/MM 'at' HH:mm:ss.SSS\")",
    "date_format(dt, 'MM')",
    "unix_seconds(ts)",
    "unix_millis(ts)",
    "unix_micros(ts)",
    "ts - '2013-01-06T22:59:59.25'",
    "'2013-01-07' - ts > 1 hour",
    "(ts - timestamp_seconds(n)) / 1 day",
    "ts - timestamp(dt) between -0.5 days and 5 minutes",
    "unix_micros(dt)",
    "timestamp_seconds(b)",
    "timestamp_seconds(c)",
    "timestamp_millis(b)",
    "timestamp_micros(n)",
    "timestamp_seconds(0.1)",
    "date_from_unix_date(b)",
    "date_from_unix_date(a)",
    *(
        f"{name}({x})"
        for name in ("int", "long", "double", "boolean", "string")
        for x in ("b", "n", "a", "c", "d", "s", "f")
    ),
    "string(ts)",
    "string(dt)",
    "date(ts)",
    "date(dt)",
    "date(s)",
    "timestamp(dt)",
    "timestamp(s)",
    "timestamp(ts)",
    "timestamp('2013-01-31T12:00:00+02:00')",
    "date('2013-1-5')",
    "timestamp('13')",
    # no functions
    "b + n",
    "b + 1",
    "b * b",
    "-b",
    "-n",
    "n - 1",
    "n * n",
    "b - b",
    "b / 0",
    "n % 7",
    "b % n",
    "a % c",
    "a * c",
    "-5",
    "- a",
    "3000000000 + b",
    "b in [,]",
    "b not in [,]",
    "s not in ['a', 'b']",
    "d = 0.29",
    "a = 0.1",
    "a in {0.1, 0.5}",
    "ts >= '2013-01-01'",
    "dt < '2013-01-01'",
    "date_trunc('day', ts) = '2013-01-07'",
    "floor(a) > 0.5",
    "b = n",
    "a > b",
    "case when b > 2 then 'many' when b > 0 then 'some' end",
    "case when f then b else a end",
    "case when isnull(b) then 0 when b > n then n else -1 end",
    "case when f then ts else timestamp(dt) end",
    "f or b > 2",
    "f and b > 2",
    "not (f and b > 2)",
]


def called(expression: Expression) -> set[str]:
    here = {FUNCTIONS[expression.name].name} if isinstance(expression, Scalar) else set[str]()
    return here.union(*(called(part) for part in expressions.parts(expression)))


def test_every_function_is_tried() -> None:
    tried = set[str]().union(*(called(parse_expression(text)) for text in EXPRESSIONS))
    assert tried == {function.name for function in FUNCTIONS.values()}


def test_the_manual_lists_every_function() -> None:
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    section = text.partition("### Functions")[2].partition("\n## ")[0]
    code = " ".join(re.findall(r"`([^`]+)`", section))
    assert set(FUNCTIONS) <= set(re.findall(r"[a-z_0-9]+", code))


def test_spark_agrees_with_types_and_values(spark: SparkSession) -> None:
    check_types_and_values(spark, EXPRESSIONS)


def test_sail_agrees_with_types_and_values(sail: SparkSession) -> None:
    portable = [text for text in EXPRESSIONS if not list(refused(parse_expression(text), "sail"))]
    assert len(EXPRESSIONS) - len(portable) == 2
    check_types_and_values(sail, portable)


def check_types_and_values(session: SparkSession, texts: Sequence[str]) -> None:
    """No value ends the query, what is undefined agrees too; numbers up to rounding."""
    frame = session.createDataFrame([Row(*row) for row in ROWS], SCHEMA)
    types = types_of(frame)
    parsed = [parse_expression(text) for text in texts]
    result = frame.selectExpr(
        "b", "n", *(f"{expression_sql.sql(e, types)} AS x{i}" for i, e in enumerate(parsed))
    )
    found = list(types_of(result).values())[2:]
    wrong = [
        f"{text}: {got} is said to be {said}"
        for text, e, got in zip(texts, parsed, found, strict=True)
        if (said := expressions.type_of(e, types)) != got
    ]
    rows = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    for row, values in zip(rows, result.collect(), strict=True):
        assert (values[0], values[1]) == (row["b"], row["n"])
        for text, expression, value in zip(texts, parsed, values[2:], strict=True):
            expected = evaluate(expression, row, types)
            if not agree(value, expected):
                wrong.append(f"{text}: {value!r}, {expected!r} in the reference, for {row}")
    assert wrong == [], "\n".join(wrong)


def agree(value: Any, expected: Any) -> bool:
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(value, float) and math.isnan(value)
    if value is None or expected is None or isinstance(value, str | bool):
        return value == expected and isinstance(value, bool) == isinstance(expected, bool)
    if isinstance(value, datetime):
        return isinstance(expected, datetime) and value.astimezone(UTC) == expected
    if isinstance(value, date):
        return value == expected
    return math.isclose(value, expected, rel_tol=1e-12, abs_tol=1e-300)


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
            *(expression_sql.sql(parse_expression(text), types_of(frame)) for text in texts)
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

ITEMS = {
    "bucket": "floor(ts / 10)",
    "ts": "ts",
    "s": "s",
    "u": "t * 2 + 1",
    "v": "sqrt(abs(t))",
    "w": "coalesce(p, -1)",
    "x": "p + 1",
    "y": "case when p > 4 then 'high' when t > 5 then 'warm' end",
    "z": "p > 4 or t > 5",
}
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


def written(item: Item) -> Item:
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


def expected(item: Item) -> Item:
    item = dict(item)
    if item["ts"] >= 28 and item["s"] == 1:
        item.pop("p", None)
    found = {name: evaluate(parse_expression(text), item) for name, text in ITEMS.items()}
    return {name: value for name, value in found.items() if value is not None}


def test_a_query_computes_across_alters_and_a_drop_of_what_is_optional(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Affine values change their units, others are absorbed; what reads the dropped attribute is gone with it, or not
    (G20); buckets close when all their times have, and accents on times begin with a bucket (theory 1.3, W5)."""
    rows = [written(item) for item in CANONICAL]
    stream = [
        *rows[:15], {"$accent": "[[ts >= 15, alter(t, y -> y * 2 + 3)]]"},
        *rows[15:20], {"$accent": "[[alter(p, y -> y / 2)]]"}, {"$punctuation": "[ts < 20]"},
        *rows[20:28], {"$accent": "[[s = 1, -(p)]]"}, {"$punctuation": "[ts < 25]"},
        *rows[28:], {"$punctuation": "[ts < 39]"},
    ]  # fmt: skip
    run = Run(spark, tmp_path, QUERY)
    for start in range(0, len(stream), 12):
        run.write("r", stream[start : start + 12])
    run.process(files_per_epoch=1)
    assert run.quarantine("r") == []

    output = run.output("computed")
    found = {row["ts"]: row for row in decode(output)}
    assert len(found) == len(CANONICAL)
    for item in CANONICAL:
        wanted, got = expected(item), found[item["ts"]]
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
