"""Queries with units run: by files and epochs, and without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import simulate
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.options.options import Options
from tests.kit.command import cedilla
from tests.kit.lines import write_lines
from tests.kit.query import Query, canonical_rows
from tests.kit.stream import Item
from tests.kit.tiers import rest

ACCENTS: list[Item] = [
    {"ts": 1, "s": 1, "t": 77},
    {"$accent": "[[s = 1, unit(t, degC)]]"},
    {"ts": 2, "s": 1, "t": 25},
    {"$accent": "[[unit(t, degC)]]"},
    {"$accent": "[[unit(t, Cel)]]"},
    {"ts": 3, "s": 1, "t": 25},
    {"ts": 3, "s": 2, "t": 25},
    {"$accent": "[[unit(t, kelvin)]]"},
    {"ts": 4, "s": 1, "t": 298.15},
    {"$accent": "[[unit(t, degF)]]"},
    {"ts": 5, "s": 2, "t": 77},
    {"$punctuation": "[]"},
]
ONE = """
stream r(ts: long, s: int in {1, 2}, t: int unit degF) from json "in/r";
emit r to json "out/r";
"""


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", [1, rest(12)])
def test_unit_accents_on_an_engine(spark: SparkSession, tmp_path: Path, per_epoch: int) -> None:
    """An `int` becomes a double at the first one that changes a unit (RQ310)."""
    items = [
        {**item, "t": item["t"] if number == 0 else float(item["t"])} if "t" in item else item
        for number, item in enumerate(ACCENTS)
    ]
    run = Query(spark, tmp_path, ONE)
    for start in range(0, 12, per_epoch):
        run.write("r", items[start : start + per_epoch])
    run.process(1)
    assert run.quarantine("r") == []
    assert {row["t"] for row in canonical_rows(tmp_path / "out" / "r", 6)} == {77}


def test_one_stream_tools_read_unit_accents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(ONE)
    write_lines(tmp_path / "r.jsonl", ACCENTS)
    schema = "ts: long, s: int in {1, 2}, t: int unit degF"
    valid = cedilla("validate", "r.jsonl", "--schema", schema)
    assert valid.exit_code == 0, valid.output
    result = cedilla("canonize", "r.jsonl", "--schema", schema)
    assert {item["t"] for item in map(json.loads, result.output.splitlines()) if "t" in item} == {77}
    traced = cedilla("trace", "q.rq", "--on", "r", "[[s = 1, unit(t, degC)]]")
    assert "[[s = 1, alter(t, y -> (y * 5 - 160) / 9, unit degC)]]" in traced.output
    refused = cedilla("validate", "r.jsonl", "--schema", schema.replace(" unit degF", ""))
    assert "RQ142" in refused.output


@pytest.mark.either_engine
def test_an_output_with_its_own_units_is_announced_none(spark: SparkSession, tmp_path: Path) -> None:
    """Not even that whole numbers have become doubles: they are doubles from the first tuple on."""
    query = ONE.replace('"out/r";', '"out/r" with t in degF;')
    run = Query(spark, tmp_path, query)
    run.write("r", ACCENTS[:2])
    run.write("r", [{**item, "t": float(item["t"])} if "t" in item else item for item in ACCENTS[2:]])
    run.process(1)
    lines = run.output("r")
    assert [line for line in lines if "$accent" in line] == []
    assert [round(line["t"], 6) for line in lines if "t" in line] == [77] * 6


FROM = """
stream r(ts: long, u: string, t: double unit from u in {degF, Cel}) from json "in/r";
emit r to json "out/r";
emit project[ts, t](r) to json "out/project";
"""
NAMED: list[Item] = [
    {"ts": 1, "u": "degF", "t": 77},
    {"ts": 2, "u": "Cel", "t": 25},
    {"ts": 3, "u": "kelvin", "t": 25},
    {"$accent": "[[ts > 10, unit(t, kelvin)]]"},
    {"ts": 4, "u": "Cel", "t": 25},
    {"ts": 14, "u": "Cel", "t": 298.15},
    {"$punctuation": "[]"},
]


@pytest.mark.either_engine
def test_tuples_name_their_units_on_an_engine(spark: SparkSession, tmp_path: Path) -> None:
    """A tuple with another unit is set aside; a restart in the middle continues."""
    run = Query(spark, tmp_path, FROM)
    for start in (0, 2, 5):
        run.write("r", NAMED[start : start + (2 if not start else 3 if start == 2 else 2)])
        run.go_on(run.executor(), start)
    assert [(item["code"], item["position"]["line"]) for item in run.quarantine("r")] == [("RQ311", 1)]
    for emit in ("r", "project"):
        assert [row["t"] for row in canonical_rows(tmp_path / "out" / emit, 6)] == [77] * 4
    # Of all units together nothing is announced but where an accent covers them.
    texts = [line["$accent"] for line in run.output("project") if "$accent" in line]
    assert len(texts) <= 1


def test_tuples_name_their_units_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    query = FROM
    (tmp_path / "q.rq").write_text(query)
    Query.without_engine(tmp_path, query).write("r", NAMED)
    simulate(query, Options(sinks={name: f"out/{name}" for name in ("r", "project")}))
    assert [row["t"] for row in canonical_rows(tmp_path / "out" / "r", 6)] == [77] * 4
    schema = "ts: long, u: string, t: double unit from u in {degF, Cel}"
    checked = cedilla("validate", "in/r", "--schema", schema)
    assert "RQ311" in checked.output
    assert "1 error " in checked.output
    dropped = cedilla("trace", "q.rq", "--on", "r", "[[-(u)]]")
    assert "RQ209" in dropped.output


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (["[[alter(t, y -> y * 2)]]"], "RQ211"),  # another one for each unit, and none covers all
        (["[[unit(t, degC)]]", "[[alter(t, y -> y * 2)]]"], None),
    ],
)
def test_under_strict_an_alter_of_what_tuples_name_the_unit_of_ends_the_query(
    texts: list[str], code: str | None
) -> None:
    query = """set accents = strict;
    stream r(ts: long, u: string, t: double unit from u in {degF, degC}) from json "in";
    emit project[ts, t](r) to json "out";"""
    reference = Reference(compile_query(query).plan)
    items = [("r", {"$accent": text}) for text in texts]
    if code is None:
        outputs = [out["project"].items() for item in items for out in reference.step([item])]
        assert all(outputs)
        return
    with pytest.raises(DiagnosticError, match=code):
        reference.step(items)
