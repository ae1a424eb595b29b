"""Adds that say a unit: by files and epochs, without Spark, and what they refuse (theory N4)."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler.compile import compile_query
from cedilla.grammar import DiagnosticError
from cedilla.produce import Stream
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.tools.reading.units import Units
from tests.kit.command import cedilla
from tests.kit.lines import write_lines
from tests.kit.query import Query
from tests.kit.stream import Item, decode, read_output
from tests.kit.tiers import rest
from tests.runtime.epochs.checkpoint.plan_edits import edited, ran

QUERY = """
stream r(ts: long, s: int in {1, 2}, p?: double unit hPa) from json "in/r";
emit r to json "out/r";
emit r to json "out/fixed" with p in kPa;
emit project[s, p * 2 as twice](r) to json "out/twice";
"""
ITEMS: list[Item] = [
    {"ts": 1, "s": 1},
    {"$accent": "[[s = 1, -(p)]]"},
    {"$accent": "[[s = 1, +(p: long unit kPa)]]"},
    {"$accent": '[[+(v: double unit "km/h")]]'},
    {"ts": 2, "s": 1, "p": 100.0, "v": 36.0},
    {"$accent": "[[s = 1, -(v)]]"},
    {"ts": 3, "s": 2, "p": 1000.0, "v": 36.0},
    {"$accent": '[[s = 1, +(v: double unit "m/s")]]'},
    {"ts": 4, "s": 1, "p": 100.0, "v": 10.0},
    {"$accent": '[[unit(v, "m/s")]]'},
    {"ts": 5, "s": 2, "p": 1000.0, "v": 10.0},
    {"$punctuation": "[]"},
]


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", [3, rest(12)])
def test_adds_in_units_on_an_engine(spark: SparkSession, tmp_path: Path, per_epoch: int) -> None:
    run = Query(spark, tmp_path, QUERY)
    for start in range(0, len(ITEMS), per_epoch):
        run.write("r", ITEMS[start : start + per_epoch])
        run.go_on(run.executor(), start)
    assert run.quarantine("r") == []
    rows = {row["ts"]: row for row in decode(read_output(tmp_path / "out" / "r"))}
    assert [float(rows[ts]["p"]) for ts in (2, 3, 4, 5)] == [1000] * 4
    assert [round(float(rows[ts]["v"]), 9) for ts in (2, 3, 4, 5)] == [36] * 4
    fixed = run.output("r_2")
    assert [line["p"] for line in fixed if "p" in line] == [100] * 4
    texts = [line["$accent"] for name in ("r", "r_2") for line in run.output(name) if "$accent" in line]
    adds = {text[text.index("+(") : -2] for text in texts if "+(" in text}
    assert adds <= {f"+(p: double unit {unit})" for unit in ("hPa", "kPa")} | {'+(v: double unit "km/h")'}
    assert len(adds) == 3
    assert {line["$accent"] for line in run.output("project") if "+(" in line.get("$accent", "")} <= {
        "[[s = 1, +(twice: double unit hPa)]]"
    }


UNDECLARED = """
stream r(ts: long, s: int in {1, 2}, w?: double) from json "in/r";
stream o(ts: long, s: int in {3}, d?: double unit degC) from json "in/o";
emit r union o to json "out/both";
"""


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (["[[+(p: double unit parrot)]]"], "RQ143"),
        (["[[+(p: string unit hPa)]]"], "RQ144"),
        (["[[s = 1, +(p: double unit hPa)]]", "[[s = 2, +(p: double unit degC)]]"], "RQ142"),
        (["[[s = 1, +(p: double)]]", "[[s = 2, +(p: double unit hPa)]]"], "RQ142"),
        (["[[s = 1, +(p: double)]]", "[[unit(p, hPa)]]"], "RQ142"),
        (["[[+(d: double unit metre)]]"], "RQ142"),
    ],
)
def test_adds_that_cannot_be(texts: list[str], code: str) -> None:
    reference = Reference(compile_query(UNDECLARED).plan)
    for text in texts[:-1]:
        reference.step([("r", {"$accent": text})])
    with pytest.raises(DiagnosticError) as caught:
        reference.step([("r", {"$accent": texts[-1]})])
    assert caught.value.diagnostics[0].code == code


def test_an_attribute_that_is_declared_without_a_unit_takes_numbers_as_they_are() -> None:
    """A query that reads an output therefore continues when the output begins to name units."""
    reference = Reference(compile_query(UNDECLARED).plan)
    reference.step([("r", {"$accent": "[[s = 1, -(w)]]"})])
    (outputs,) = reference.step([("r", {"$accent": "[[s = 1, +(w: double unit hPa)]]"})])
    assert outputs["union"].markers.adds in ((), ("[[s = 1, +(w: double unit hPa)]]",))
    (outputs,) = reference.step([("r", {"ts": 1, "s": 1, "w": 5.0})])
    assert outputs["union"].canonical[0]["w"] == 5


def test_two_streams_that_bring_an_attribute_in_two_units() -> None:
    """Whichever comes first; in one unit they may."""
    units = ["hPa", "mbar", "kPa"]
    for names in (("r", "o"), ("o", "r")):
        for unit in units:
            reference = Reference(compile_query(UNDECLARED).plan)
            reference.step([(names[0], {"$accent": "[[+(p: double unit hPa)]]"})])
            accent = {"$accent": f"[[+(p: double unit {unit})]]"}
            if unit == "kPa":
                with pytest.raises(DiagnosticError) as caught:
                    reference.step([(names[1], accent)])
                assert caught.value.diagnostics[0].code == "RQ142"
            else:
                reference.step([(names[1], accent)])


def test_a_reader_follows_adds_in_units() -> None:
    units = Units({})
    for text in ("[[s = 1, +(p: double unit hPa)]]", "[[s = 2, +(p: double unit kPa)]]"):
        units.accent(text)
    assert [float(units.decoded({"s": s, "p": 100})["p"]) for s in (1, 2)] == [100, 1000]


def test_a_sender_adds_in_a_unit() -> None:
    out = StringIO()
    with Stream(out, schema="ts: long, s: int in {1, 2}") as stream:
        stream.add("v", "double", "s = 1", unit="km/h")
        stream.unit("v", "m/s", "s = 1")
        stream.tuple(ts=1, s=1, v=2.5)
        with pytest.raises(DiagnosticError):
            stream.add("v", "double", "s = 2", unit="kg")
    assert [json.loads(line).get("$accent") for line in out.getvalue().splitlines()] == [
        '[[s = 1, +(v: double unit "km/h")]]',
        '[[s = 1, unit(v, "m/s")]]',
        None,
    ]


def test_one_stream_tools_read_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    write_lines(tmp_path / "r.jsonl", ITEMS)
    schema = "ts: long, s: int in {1, 2}, p?: double unit hPa"
    valid = cedilla("validate", "r.jsonl", "--schema", schema)
    assert valid.exit_code == 0, valid.output
    traced = cedilla("trace", "q.rq", "--on", "r", "[[s = 1, +(x: double unit kPa)]]")
    assert "[[s = 1, +(x: double unit kPa)]]" in traced.output


@pytest.mark.parametrize(("unit", "effect"), [("hPa", "continues"), ("kPa", "new checkpoint")])
def test_an_edited_query_declares_what_an_add_has_brought(unit: str, effect: str) -> None:
    text = 'stream r(ts: long, s: int in {1, 2}%s) from json "in/r"; emit r to json "out/r";'
    reference = ran(compile_query(text % "").plan, [("r", {"$accent": "[[s = 1, +(p: double unit hPa)]]"})])
    changes, _ = edited(reference, text % f", p?: double unit {unit}")
    assert any(effect == change.effect for change in changes.items)
    assert (changes.effect == "new checkpoint") == (effect == "new checkpoint")
