"""Scalar expressions, rows for them, and the check of their types and values on a session."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import Row, SparkSession

from cedilla.compiler.expressions import expression_sql, expressions
from cedilla.grammar.parser import parse_expression
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.spark.columns import types_of
from tests.kit.columns import columns_in
from tests.kit.stream import Item

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
    *(f"{name}(n, b)" for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
    *("bitwise_not(n)", "shift_left(n, 3)", "shift_right(n, 1)", "bit(n, 1)", "bit_count(n)"),
    *("from_base(s, 16)", "to_base(n, 16)", "hex(s)", "unhex(hex(s))", "base64(s)", "unbase64(base64(s))"),
    *(
        "base64_to_hex(base64(s))",
        "hex_to_base64(hex(s))",
        "size(split(s, 'l'))",
        "element_at(split(s, 'l'), 1)",
    ),
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


def check_types_and_values(session: SparkSession, texts: Sequence[str]) -> None:
    """No value ends the query, what is undefined agrees too; numbers up to rounding."""
    frame = session.createDataFrame([Row(*row) for row in ROWS], SCHEMA)
    types = types_of(columns_in(frame))
    parsed = [parse_expression(text) for text in texts]
    result = frame.selectExpr(
        "b", "n", *(f"{expression_sql.sql(e, types)} AS x{i}" for i, e in enumerate(parsed))
    )
    kinds = list(types_of(columns_in(result)).values())[2:]
    wrong = [
        f"{text}: {got} is said to be {stated}"
        for text, e, got in zip(texts, parsed, kinds, strict=True)
        if (stated := expressions.type_of(e, types)) != got
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


def expected(item: Item) -> Item:
    item = dict(item)
    if item["ts"] >= 28 and item["s"] == 1:
        item.pop("p", None)
    values = {name: evaluate(parse_expression(text), item) for name, text in ITEMS.items()}
    return {name: value for name, value in values.items() if value is not None}
