"""Texts of timestamps and dates: every command takes the same ones, of JSON and of XML, and all others are RQ301."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler.expressions.types import TIMESTAMP, Type
from cedilla.runtime import simulate
from cedilla.runtime.items.values import value_of_json
from cedilla.runtime.reference.simulation import Input
from cedilla.runtime.reference.values import read_value
from cedilla.runtime.streams.places import stream_lines
from cedilla.runtime.streams.schema import declared_schema
from cedilla.runtime.streams.validate import validate
from cedilla.runtime.terminal.options import Options
from tests.pipeline import Run
from tests.stream import read_output

pytestmark = pytest.mark.either_engine

DATE = Type("date")


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type]


MOMENTS: dict[Any, datetime | None] = {
    "2020-01-02": at(2020, 1, 2),
    "2020-01-02T03:04": at(2020, 1, 2, 3, 4),
    "2020-01-02T03:04Z": at(2020, 1, 2, 3, 4),
    "2020-01-02 03:04+01:00": at(2020, 1, 2, 2, 4),
    "2020-01-02T03:04:05": at(2020, 1, 2, 3, 4, 5),
    "2020-01-02 03:04:05Z": at(2020, 1, 2, 3, 4, 5),
    "2020-01-02T03:04:05.6Z": at(2020, 1, 2, 3, 4, 5, 600000),
    "2020-01-02T03:04:05.123456Z": at(2020, 1, 2, 3, 4, 5, 123456),
    "2020-01-02T03:04:05.123456000Z": at(2020, 1, 2, 3, 4, 5, 123456),
    "2020-01-02T03:04:05+01": at(2020, 1, 2, 2, 4, 5),
    "2020-01-02T03:04:05+0130": at(2020, 1, 2, 1, 34, 5),
    "2020-01-02T03:04:05-01:30": at(2020, 1, 2, 4, 34, 5),
    "2020-01-02T03:04:05-00:00": at(2020, 1, 2, 3, 4, 5),
    "2020-01-02T03:04:05+18:00": at(2020, 1, 1, 9, 4, 5),
    "1582-10-10T00:00:00Z": at(1582, 10, 10),
    "0001-01-01T00:00:00Z": at(1, 1, 1),
    "0001-01-01T10:00:00+09:00": at(1, 1, 1, 1),
    "9999-12-31T23:59:59.999999Z": at(9999, 12, 31, 23, 59, 59, 999999),
    "9999-12-31T22:59:59-01:00": at(9999, 12, 31, 23, 59, 59),
    **dict.fromkeys(
        (
            *("2020", "2020-05", "2020-1-2", "20200102", "2020-W01-1", "2020-01-02T", "2020-01-02T03", "T05"),
            *("12:00", "T12:00:00", "2020-01-02T3:04:05Z", "2020-01-02T03:04:5Z", "2020-01-02T03:04:05.Z"),
            *("2020-01-02T03:04:05.1234567Z", "2020-01-02T03:04:05,5Z", "2020-01-02T03:04:05.1234560000Z"),
            *(
                "2020-01-02t03:04:05Z",
                "2020-01-02T03:04:05z",
                "2020-01-02T03:04:05 Z",
                "2020-01-02T03:04:05 UTC",
            ),
            *("2020-01-02T03:04:05Europe/Paris", "2020-01-02T03:04:05+1", "2020-01-02T03:04:05+18:01"),
            *("2020-01-02T03:04:05+01:30:00", "2020-01-02T03:04:05+01:3", "2020-01-02T03:04:05GMT+1"),
            *("2020-02-30T00:00:00Z", "2020-13-01T00:00:00Z", "2020-00-01T00:00:00Z", "2020-01-00"),
            *("2020-01-02T24:00:00Z", "2020-01-02T03:60:00Z", "2020-01-02T03:04:60Z", "0000-01-01T00:00:00Z"),
            *("0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "+10000-01-01T00:00:00Z"),
            *("10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z", "+2020-01-02", "now", "today", "epoch"),
            *(" 2020-01-02", "2020-01-02 ", "2020-01-02\n", "", "-", "٢٠٢٠-٠١-٠٢"),
            *(0, 5, -1, 1.5, 20200102, True, False),
        )
    ),
}
DAYS: dict[Any, date | None] = {
    **{text: date.fromisoformat(text) for text in ("2020-01-02", "0001-01-01", "9999-12-31", "1582-10-10")},
    **dict.fromkeys(
        (
            *(
                "2020",
                "2020-05",
                "2020-1-2",
                "20200102",
                "2020-W01-1",
                "2020-01-02T05",
                "2020-01-02T00:00:00Z",
            ),
            *(
                "2020-02-30",
                "2020-13-01",
                "2020-00-01",
                "2020-01-00",
                "2020-01-32",
                "0000-01-01",
                "10000-01-01",
            ),
            *(
                "-0001-01-01",
                "+2020-01-02",
                "2020-01-02 ",
                " 2020-01-02",
                "2020-01-02\n",
                "1",
                "",
                "today",
                "T05",
            ),
            *("٢٠٢٠-٠١-٠٢", 1, 0, -1, 20200102, True),
        )
    ),
}

QUERY = """
stream r(n: long, at?: timestamp, day?: date) from json "r";
emit r to json "out";
"""
TEXTS = [("at", text, value) for text, value in MOMENTS.items()]
TEXTS += [("day", text, value) for text, value in DAYS.items()]


def written(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value.isoformat()


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
    assert value_of_json(type_, text) == value_of_json(type_, written(expected))


def judged(spark: SparkSession, root: Path, lines: list[str]) -> list[Any]:
    """What `run` passes on of each line, `None` where it is set aside; `simulate` and `validate` do the same."""
    run = Run(spark, root, QUERY)
    run.write("r", lines)
    executor = run.process()
    rejected = run.quarantine("r")
    assert {(row["code"], row["raw"]) for row in rejected} == {
        ("RQ301", lines[row["position"]["line"] - 1]) for row in rejected
    }
    bad = [row["position"]["line"] for row in rejected]
    assert executor.last.counters.get("RQ301", 0) == len(bad)
    aside: list[tuple[Input, str]] = []
    options = Options(sources={"r": str(root / "in" / "r")}, sinks={"r": str(root / "simulated")})
    simulate(QUERY, options, lambda line, code: aside.append((line, code)))
    assert [(line.line.place.rpartition(":")[2], code) for line, code in aside] == [
        (str(n), "RQ301") for n in bad
    ]
    wrong: list[str] = []
    schema = declared_schema("n: long, at?: timestamp, day?: date")
    validate(
        stream_lines(str(root / "in" / "r")),
        schema,
        lambda found: wrong.append(f"{found.code} {found.notes[-1].split(': ')[0].rpartition(':')[2]}"),
    )
    assert wrong == [f"RQ301 {n}" for n in bad]
    found: list[Any] = [None] * len(lines)
    for item in run.output("r"):
        found[item.pop("n")] = item
    simulated = [item for item in read_output(root / "simulated") if "n" in item]
    assert [item | {"n": n} for n, item in enumerate(found) if item is not None] == simulated
    return found


def test_every_command_takes_the_same_texts(spark: SparkSession, tmp_path: Path) -> None:
    """Also where nothing reads the attribute, and beside a line that is bad for something else."""
    lines = [json.dumps({"n": n, name: text}) for n, (name, text, _) in enumerate(TEXTS)]
    found = judged(spark, tmp_path, [*lines, '{"n": "x", "at": "2020-01-02"}'])
    assert found == [None if value is None else {name: written(value)} for name, _, value in TEXTS] + [None]


def test_random_texts(spark: SparkSession, tmp_path: Path) -> None:
    rng = Random(1)
    good = [text for text, value in MOMENTS.items() if value is not None]
    lines: list[str] = []
    for n in range(600):
        text = list(rng.choice(good))
        for _ in range(rng.choice([0, 1, 1, 2])):
            place = rng.randrange(len(text))
            text[place : place + rng.choice([0, 1])] = rng.choice(["", *"0123459TZ:-+. /"])
        lines.append(json.dumps({"n": n, rng.choice(["at", "day"]): "".join(text)}))
    found = judged(spark, tmp_path, lines)
    assert 100 < found.count(None) < 550


def test_elements_of_xml_take_them_too(spark: SparkSession, tmp_path: Path) -> None:
    """But for white space around them, which is left out of every value."""
    texts = [each for each in TEXTS if isinstance(each[1], str) and each[1] == each[1].strip() != ""]
    folder = tmp_path / "in" / "r"
    folder.mkdir(parents=True)
    rows = [f"<r><n>{n}</n><{name}>{text}</{name}></r>" for n, (name, text, _) in enumerate(texts)]
    (folder / "1.xml").write_text("\n".join(rows))
    run = Run(spark, tmp_path, QUERY.replace("from json", "from xml"))
    run.process()
    found = {item.pop("n"): item for item in run.output("r")}
    assert found == {n: {name: written(v)} for n, (name, _, v) in enumerate(texts) if v is not None}
    assert {row["code"] for row in run.quarantine("r")} == {"RQ301"}
    assert len(run.quarantine("r")) == len(texts) - len(found)
