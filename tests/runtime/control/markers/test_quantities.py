"""Constants with units in descriptions and punctuations: what they are at a place, and what is refused (theory G22)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler.compile import compile_query
from cedilla.grammar import DiagnosticError
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.tools.produce.topics import _keys_in  # pyright: ignore[reportPrivateUsage]
from cedilla.runtime.tools.reading.units import Units
from tests.kit.command import cedilla
from tests.kit.marker_runs import compare
from tests.kit.query import Query
from tests.kit.reference import stepped
from tests.kit.stream import Item, decode

STREAM = """
stream r(ts: long unit ms, s: int in {1, 2}, t: double unit degF, p: double, at: timestamp)
  from json "in/r" punctuated on ts;
"""
QUERY = STREAM + 'emit r to json "out/r";'
CELSIUS = "[[s = 1, unit(t, degC)]]"


def announced(texts: list[str], query: str = QUERY) -> list[str]:
    """Returns the markers of an output for the last of some markers."""
    markers = stepped(query, texts).outputs[-1]["r"].markers
    return [*markers.adds, *markers.punctuations, *markers.alters, *markers.drops]


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (["[[t > 30 degC, alter(p, y -> y * 2)]]"], ["[[t > 86, alter(p, y -> y * 2)]]"]),
        (
            [CELSIUS, "[[t > 30 degC, alter(p, y -> y * 2)]]"],
            ["[[s >= 2, t > 86, alter(p, y -> y * 2)]]", "[[s = 1, t > 30, alter(p, y -> y * 2)]]"],
        ),
        (
            [CELSIUS, "[[t >= -5 degC, t < 10, s = 1, alter(p, y -> y * 2)]]"],
            ["[[s = 1, t in [-5, 10), alter(p, y -> y * 2)]]"],
        ),
        ([CELSIUS, "[t in [0 degC, 10 degC), s = 1]"], ["[s = 1, t in [0, 10)]"]),
        ([CELSIUS, "[s = 2, t in {0 degC, 50 degF}]"], ["[s = 2, t in {32, 50}]"]),
        (["[ts < 5 minutes]"], ["[ts < 300000]"]),
        (["[ts <= 0.5 ms]"], ["[ts < 1]"]),
        (["[t in [100 degF, 50 degC)]"], ["[t in [100, 122)]"]),
        (["[[+(v: double unit hPa)]]", "[[v > 1 kPa, -(p)]]"], ["[[v > 10, -(p)]]"]),
        (["[[rename(temp, t)]]", "[[temp > 30 degC, -(p)]]"], ["[[t > 86, -(p)]]"]),
    ],
)
def test_what_a_condition_is_at_its_place(texts: list[str], result: list[str]) -> None:
    assert announced(texts) == result


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [
        ("[[p > 30 degC, -(t)]]", "RQ142", "30 degC"),
        ("[[at < 5 minutes, -(t)]]", "RQ144", "5 minutes"),
        ("[t > 3 hPa]", "RQ142", "3 hPa"),
        ("[t in [30 degC, 40)]", "RQ142", "40"),
        ("[t in {40, 30 degC}]", "RQ142", "40"),
        ("[t > 30 parrot]", "RQ143", "30 parrot"),
        ("[t in [100 degF, 20 degC)]", "RQ006", "[100 degF, 20 degC)"),
        ("[[t > 30 degC, unit(t, kelvin)]]", "RQ201", None),
        ("[[t > 5000 degC, t < 5, -(p)]]", "RQ216", None),
        ("[tss > 5 m]", "RQ207", "tss > 5 m"),
        ("[[ts < 300 s = 2, -(p)]]", "RQ001", ""),
        ("[[s = 2 alter(t, y -> y * 2)]]", "RQ001", ""),
        ("[[recode(s, {1 m: 2})]]", "RQ001", None),
        ("[[grow(s, {3 m})]]", "RQ001", None),
    ],
)
def test_what_is_refused(text: str, code: str, marked: str | None) -> None:
    with pytest.raises(DiagnosticError) as caught:
        announced([text])
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert marked is None or (
        diagnostic.span is not None and text[diagnostic.span.start : diagnostic.span.end] == marked
    )


def test_a_unit_that_depends_on_what_changes() -> None:
    query = STREAM.replace("p: double", "p: int") + 'emit r to json "out/r";'
    with pytest.raises(DiagnosticError, match="RQ201"):
        announced(["[[p > 5, unit(t, degC)]]", "[[t > 30 degC, alter(p, y -> y * 2)]]"], query)


def test_runs_of_them_are_what_they_are_one_by_one() -> None:
    """A run has one reading for the conditions of all its markers: not where these differ by what has changed."""
    query = 'stream r(ts: long, s: int, t: double unit degF, n: double) from json "r"; emit r to json "out";'
    plan = compile_query(query).plan
    texts = [f"[[s = {s}, unit(t, degC)]]" for s in range(0, 12, 2)]
    texts += [f"[[s = {s}, t > 30 degC, alter(n, y -> y * 2)]]" for s in range(12)]
    for chosen in (texts, texts[6:], [*texts[6:], *texts[:6]]):
        lines = [MarkerLine("accent", text, number, next=number + 1) for number, text in enumerate(chosen)]
        compare(plan, [*lines])
        closing = [f"[s = {s}, t < 0 degC]" for s in range(12)]
        lines += [MarkerLine("punctuation", text, 99 + n, next=100 + n) for n, text in enumerate(closing)]
        compare(plan, [*lines])


ITEMS: list[list[Item]] = [
    [{"ts": 1, "s": 1, "t": 77.0, "p": 1.0, "at": "2020-01-01"}, {"$accent": CELSIUS}],
    [
        {"$accent": "[[t > 30 degC, alter(p, y -> y * 2)]]"},
        {"ts": 2, "s": 1, "t": 40.0, "p": 2.0, "at": "2020-01-01"},
        {"ts": 3, "s": 1, "t": 20.0, "p": 1.0, "at": "2020-01-01"},
        {"ts": 4, "s": 2, "t": 100.0, "p": 2.0, "at": "2020-01-01"},
        {"ts": 5, "s": 2, "t": 80.0, "p": 1.0, "at": "2020-01-01"},
    ],
    [
        {"$punctuation": "[t < 0 degC]"},
        {"ts": 6, "s": 1, "t": 5.0, "p": 1.0, "at": "2020-01-01"},
        {"ts": 7, "s": 2, "t": 5.0, "p": 1.0, "at": "2020-01-01"},
    ],
]


@pytest.mark.either_engine
def test_conditions_with_units_on_an_engine(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, QUERY)
    for items in ITEMS:
        run.write("r", items)
    run.process(1)
    assert {row["p"] for row in decode(run.output("r"))} == {1}
    assert [json.loads(item["raw"])["ts"] for item in run.quarantine("r")] == [7]


def test_tools_read_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    lines = "".join(f"{json.dumps(item)}\n" for part in ITEMS for item in part)
    (tmp_path / "r.jsonl").write_text(lines)
    schema = STREAM[STREAM.index("(") + 1 : STREAM.index(")")]
    valid = cedilla("validate", "r.jsonl", "--schema", schema)
    assert "1 error (RQ305: 1)" in valid.output
    (tmp_path / "r.jsonl").write_text("".join(lines.splitlines(True)[:-1]))
    result = cedilla("canonize", "r.jsonl", "--schema", schema)
    canonical = [json.loads(line) for line in result.output.splitlines()]
    assert {line["p"] for line in canonical if "p" in line} == {1}
    assert {"$punctuation": "[t < 32]"} in canonical
    traced = cedilla("trace", "q.rq", "--on", "r", "[t > 30 degC]")
    assert "[t > 86]" in traced.output


def test_a_reader_of_outputs_reads_them() -> None:
    units = Units({})
    for text in ("[[+(v: double unit hPa)]]", "[[v > 1 kPa, alter(n, y -> y * 2)]]"):
        units.accent(text)
    assert [float(units.decoded({"v": v, "n": 4})["n"]) for v in (5, 20)] == [4, 2]
    with pytest.raises(DiagnosticError, match="RQ142"):
        units.accent("[[w > 1 kPa, alter(n, y -> y * 2)]]")


def test_markers_about_keys_with_units_go_to_all_partitions() -> None:
    plan = compile_query(
        'stream r(ts: long, k: long unit km) from kafka "h:9092/t" partitioned by k; emit r to json "out";'
    ).plan
    assert _keys_in("[k = 3]", plan.sources[0]) == [3]
    assert _keys_in("[k = 3 m]", plan.sources[0]) is None
    state = SourceState.start(plan.sources[0], frozenset())
    after = advance(plan, {"r": state}, {"r": [MarkerLine("punctuation", "[k = 3000 m]", 1)]})
    assert not after.failures
    assert after.states["r"].closed != state.closed
