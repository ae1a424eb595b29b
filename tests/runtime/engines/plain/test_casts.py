"""Casts of texts in expressions: one table of spellings for both engines and the reference, and nothing but it."""

from __future__ import annotations

import math
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler.expressions import expression_sql
from cedilla.compiler.expressions.types import STRING
from cedilla.grammar.parser import parse_expression
from tests.kit.lines import time_text
from tests.kit.query import Query
from tests.runtime.connectors.records.moment_texts import DAYS, MOMENTS
from tests.runtime.engines.plain.cast_texts import NO_NUMBERS, NUMBERS, TEXTS, cast, engine_value, mutations

pytestmark = pytest.mark.either_engine

CASTS = ("int", "long", "double", "boolean", "date", "timestamp")
TEXTS += [text for text in (*MOMENTS, *DAYS) if isinstance(text, str)]


@pytest.mark.rest
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


OF_A_MOMENT = {text: moment and moment.date() for text, moment in MOMENTS.items()}
OF_A_MOMENT["2020-01-02T00:00:00Z"] = date(2020, 1, 2)


@pytest.mark.parametrize(("text", "expected"), (DAYS | OF_A_MOMENT).items())
def test_a_cast_takes_the_days_that_a_source_takes_and_those_of_moments(
    text: Any, expected: date | None
) -> None:
    """A text with a time was undefined. The day is that of the moment in UTC, as of `date(timestamp(s))`."""
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
    actual = {item["n"]: item for item in run.output("t") if "n" in item}
    for n, text in enumerate(texts):
        expected = {"t": cast("timestamp", text), "d": cast("date", text)}
        assert actual[n] == {"n": n} | {
            name: time_text(v) for name, v in expected.items() if v is not None
        }, text
