"""Casts of texts in expressions: one table of spellings for both engines and the reference, and nothing but it."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler.expressions import expression_sql
from cedilla.compiler.expressions.types import STRING
from cedilla.grammar.parser import parse_expression
from cedilla.runtime.reference.evaluate import evaluate
from tests.kit.lines import time_text
from tests.kit.query import Query
from tests.runtime.records.moment_texts import DAYS, MOMENTS

pytestmark = pytest.mark.either_engine

CASTS = ("int", "long", "double", "boolean", "date", "timestamp")
NUMBERS = [
    *(
        "12",
        "+12",
        "-12",
        " 12 ",
        "\t12\r\n",
        "007",
        "0" * 50 + "7",
        "1.5",
        "5.0",
        "5.",
        ".5",
        "1e3",
        "+.5e-3",
    ),
    *("1e400", "-1e400", "1e-400", "inf", "-INF", "Infinity", "+infinity", "-0", "2147483648", "-2147483648"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1" * 400),
]
NO_NUMBERS = [
    *("", " ", "+", "-", ".", "1e", "e5", "1 2", "1_000", "1,000", "0x10", "0x1p3", "1d", "1f", "1L", "1.5D"),
    *(
        "nan",
        "NaN",
        "infinit",
        "٣",
        "२.५",
        "１２",
        "²",
        "\u00a012",
        "12\u3000",
        "\v12",
        "\f12",
        "\x0012",
        "12\x1f",
    ),
    *("12\x7f", "12\x85", "12\u2028", "1e٣", "\u202812", "++1", "1e+-3", "1.2.3", "null"),
]
WORDS = [
    *(
        "t",
        "TRUE",
        "Yes",
        "y",
        "1",
        "f",
        "False",
        "no",
        "N",
        "0",
        " true\n",
        "\vtrue",
        "ｔｒｕｅ",
        "true\u00a0",
    ),
    *("on", "2", "ye", "ﬀalse", "NO\x85"),
]
ODD_MOMENTS = [
    *("2020-01-01T00:00:00 Europe/Berlin", "2020-01-01T00:00:00+19:00", "2020-01-01T00:00:00.1234567890123Z"),
    *("12020-01-01T00:00:00Z", " 2020-01-02T03:04Z\n", "\u00a02020-01-02", "２０２０-01-01", "2020-01-02\v"),
    *("2021-02-29", "2021-02-29T00:00:00Z", "9999-12-31T23:59+00:00", "9999-12-31T23:59:59.9-00:01"),
    *("0001-01-01T00:00:00.000000999Z", "1960-01-01T00:00:00.999999999Z", "9999-12-31T23:59:59.999999999Z"),
    *("0001-01-01T17:59:59+18:00", "0001-01-01T18:00:00+18:00", "9999-12-31T05:59:59-18:00"),
    *("9999-12-31T06:00:00-18:00", "2020-01-02T03:04:05\x85", "2020-01-02\u2028", "1900-02-29", "2000-02-29"),
]
TEXTS = [*NUMBERS, *NO_NUMBERS, *WORDS, *ODD_MOMENTS]
TEXTS += [text for text in (*MOMENTS, *DAYS) if isinstance(text, str)]


def mutations(count: int) -> list[str]:
    """Texts of the table with a sign or two that are others."""
    chance, found = Random(3), list[str]()
    for _ in range(count):
        text = list(chance.choice(TEXTS))
        for _ in range(chance.choice([1, 1, 2])):
            place = chance.randrange(len(text) + 1)
            text[place : place + chance.choice([0, 1])] = chance.choice(
                ["", *"0159TZ:-+. eE\t", "٣", "\u00a0"]
            )
        found.append("".join(text))
    return found


def cast(name: str, text: str) -> Any:
    return evaluate(parse_expression(f"{name}(s)"), {"s": text})


def test_engines_take_the_texts_that_the_reference_takes(spark: SparkSession) -> None:
    texts = [*TEXTS, *mutations(1500)]
    frame = spark.createDataFrame([(n, text) for n, text in enumerate(texts)], "n int, s string")
    chosen = [expression_sql.sql(parse_expression(f"{name}(s)"), {"s": STRING}) for name in CASTS]
    moment = (
        f"unix_micros({chosen[-1]})"  # whole, as Python's own calendar ends where this one must not go on
    )
    rows = frame.selectExpr("n", *chosen[:-1], moment).orderBy("n").collect()
    wrong = [
        (text, name, value, expected)
        for text, row in zip(texts, rows, strict=True)
        for name, value in zip(CASTS, row[1:], strict=True)
        if value != (expected := engine_value(cast(name, text)))
    ]
    assert wrong == []
    taken = [sum(row[n] is not None for row in rows) for n in range(1, 7)]
    assert all(15 < count < len(texts) / 2 for count in taken), taken


def engine_value(value: Any) -> Any:
    start = datetime(1970, 1, 1, tzinfo=UTC)
    if not isinstance(value, datetime):
        return value
    since = value - start
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_undefined(text: str) -> None:
    assert [cast(name, text) for name in ("int", "long", "double")] == [None] * 3


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_what_it_says(text: str) -> None:
    value = cast("double", text)
    assert value == float(text)
    assert math.copysign(1, value) == math.copysign(1, float(text))
    whole = int(text) if text.strip().lstrip("+-").isdecimal() else None
    assert cast("long", text) == (whole if whole is not None and -(2**63) <= whole < 2**63 else None)


@pytest.mark.parametrize(("text", "expected"), MOMENTS.items())
def test_a_cast_takes_the_moments_that_a_source_takes(text: Any, expected: datetime | None) -> None:
    if isinstance(text, str) and text == text.strip():
        assert cast("timestamp", text) == expected


@pytest.mark.parametrize(("text", "expected"), DAYS.items())
def test_a_cast_takes_the_days_that_a_source_takes(text: Any, expected: date | None) -> None:
    if isinstance(text, str) and text == text.strip():
        assert cast("date", text) == expected


def test_outputs_have_the_moments_of_the_reference(spark: SparkSession, tmp_path: Path) -> None:
    query = """
    stream r(n: long, s: string) from json "r" punctuated on n;
    t := project[n, timestamp(s) as t, date(s) as d](r);
    emit t to json "t";
    """
    texts = [text for text in TEXTS if text.isprintable()]
    run = Query(spark, tmp_path, query)
    run.write("r", [*({"n": n, "s": text} for n, text in enumerate(texts)), {"$punctuation": "[]"}])
    run.process()
    found = {item["n"]: item for item in run.output("t") if "n" in item}
    for n, text in enumerate(texts):
        expected = {"t": cast("timestamp", text), "d": cast("date", text)}
        assert found[n] == {"n": n} | {name: time_text(v) for name, v in expected.items() if v is not None}, (
            text
        )
