"""Texts of timestamps and dates: every command takes the same ones, of JSON and of XML, and all others are RQ301."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler.expressions.types import TIMESTAMP, Type
from cedilla.runtime.connectors.records.values import value_of_json
from cedilla.runtime.engines.plain.values import read_value
from cedilla.runtime.tools.stream_tools.places import stream_lines
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.lines import time_text
from tests.kit.query import Query
from tests.runtime.connectors.records.moment_texts import DAYS, MOMENTS

pytestmark = pytest.mark.either_engine

DATE = Type("date")


QUERY = """
stream r(n: long, at?: timestamp, day?: date) from json "r";
emit r to json "out";
"""
TEXTS = [("at", text, value) for text, value in MOMENTS.items()]
TEXTS += [("day", text, value) for text, value in DAYS.items()]


@pytest.mark.parametrize(("name", "text", "expected"), TEXTS)
def test_the_reference_and_the_stream_tools_take_the_same_texts(name: str, text: Any, expected: Any) -> None:
    type_ = TIMESTAMP if name == "at" else DATE
    if expected is None:
        for reader in (read_value, value_of_json):
            with pytest.raises(ValueError, match=r"timestamp|date"):
                reader(type_, text)
        return
    value = read_value(type_, text)
    assert (type(value), value) == (type(expected), expected)
    assert value_of_json(type_, text) == value_of_json(type_, time_text(expected))


def judged(spark: SparkSession, root: Path, lines: list[str]) -> list[Any]:
    """Returns the tuple of each line in `run`, `None` if it is set aside; `simulate` and `validate` do the same."""
    run = Query(spark, root, QUERY)
    run.write("r", lines)
    tuples, rejections = run.agreed()
    bad = [rejection.line for rejection in rejections]
    assert [(rejection.code, rejection.raw) for rejection in rejections] == [
        ("RQ301", lines[n - 1]) for n in bad
    ]
    assert run.executor().last.counters.get("RQ301", 0) == len(bad)
    wrong: list[str] = []
    schema = declared_schema("n: long, at?: timestamp, day?: date")
    validate(
        stream_lines(str(root / "in" / "r")),
        schema,
        lambda diagnostic: wrong.append(
            f"{diagnostic.code} {diagnostic.notes[-1].split(': ')[0].rpartition(':')[2]}"
        ),
    )
    assert wrong == [f"RQ301 {n}" for n in bad]
    rows: list[Any] = [None] * len(lines)
    for item in tuples:
        rows[item.pop("n")] = item
    return rows


def test_every_command_takes_the_same_texts(spark: SparkSession, tmp_path: Path) -> None:
    """Also where nothing reads the attribute, and beside a line that is bad for something else."""
    lines = [json.dumps({"n": n, name: text}) for n, (name, text, _) in enumerate(TEXTS)]
    actual = judged(spark, tmp_path, [*lines, '{"n": "x", "at": "2020-01-02"}'])
    assert actual == [None if value is None else {name: time_text(value)} for name, _, value in TEXTS] + [
        None
    ]


def test_random_texts(spark: SparkSession, tmp_path: Path) -> None:
    rng = Random(1)
    good = [text for text, value in MOMENTS.items() if value is not None]
    lines: list[str] = []
    for n in range(600):
        text = list(rng.choice(good))
        for _ in range(rng.choice([0, 1, 1, 2])):
            start = rng.randrange(len(text))
            text[start : start + rng.choice([0, 1])] = rng.choice(["", *"0123459TZ:-+. /"])
        lines.append(json.dumps({"n": n, rng.choice(["at", "day"]): "".join(text)}))
    rows = judged(spark, tmp_path, lines)
    assert 100 < rows.count(None) < 550


def test_elements_of_xml_take_them_too(spark: SparkSession, tmp_path: Path) -> None:
    """But for white space around them, which is left out of every value."""
    texts = [case for case in TEXTS if isinstance(case[1], str) and case[1] == case[1].strip() != ""]
    folder = tmp_path / "in" / "r"
    folder.mkdir(parents=True)
    rows = [f"<r><n>{n}</n><{name}>{text}</{name}></r>" for n, (name, text, _) in enumerate(texts)]
    (folder / "1.xml").write_text("\n".join(rows))
    run = Query(spark, tmp_path, QUERY.replace("from json", "from xml"))
    run.process()
    actual = {item.pop("n"): item for item in run.output("r")}
    assert actual == {n: {name: time_text(v)} for n, (name, _, v) in enumerate(texts) if v is not None}
    assert {row["code"] for row in run.quarantine("r")} == {"RQ301"}
    assert len(run.quarantine("r")) == len(texts) - len(actual)
