"""Numbers that are written in texts, `from text "state"`: at once and line by line, on engines and without one."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan.field_paths import TextPath
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_query
from cedilla.runtime import simulate
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches
from cedilla.runtime.connectors.formats.lines.blocks import Block
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.load import load
from tests.kit.command import cedilla
from tests.kit.otlp import request
from tests.kit.query import Query
from tests.kit.stream import Item, decode, is_tuple, read_output
from tests.kit.tiers import rest
from tests.runtime.connectors.formats.text_rows import row_of

TYPES = {
    "ts": Type("long"),
    "t": Type("double"),
    "n": Type("int"),
    "big": Type("long"),
    "d": Type("decimal", (5, 2)),
    "s": Type("string"),
}
PATHS = {name: TextPath((name, "v")) for name in ("t", "n", "big", "d")}
BATCHES = JsonBatches(TYPES, paths=PATHS)
TEXTS = [
    *("68.0", "5", "-0.5", "1e3", "007", "0", "-0", "1.10", "0.1"),
    *("+5", ".5", "5.", " 5 ", "5.0", "1E-2", "NaN", "-Infinity", "9223372036854775807", "2147483648"),
    *(
        "",
        " ",
        "unavailable",
        "unknown",
        "0x10",
        "1_000",
        "1,5",
        "5 °C",
        "½",
        "٥",
        "1e",
        "--1",
        "5\n",
        "inf",
        "nan",
    ),
    *("1.005", "1000.00", "999.99", "1" * 45, "1e400", "true", "null", "[1]", "1\u00a0"),
]


@pytest.mark.parametrize("seed", range(4))
def test_all_at_once_is_the_same_as_line_by_line(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(seed)
    at_once = bad = 0
    for _ in range(60):
        odd, are_numbers = chance.choice([0, 0.02, 0.2]), chance.random() < 0.2
        lines = []
        for _ in range(chance.choice([1, 5, 40])):
            item: dict[str, Any] = {"ts": 1, "s": chance.choice(["a", "7"])}
            for name in PATHS:
                text = chance.choice(TEXTS) if chance.random() < odd else chance.choice(["5", "17", "-3"])
                item[name] = {"v": chance.choice([text] * 20 + [None])}
                if are_numbers:
                    item[name] = {"v": chance.choice([5, 17, -3] + [1.25, 1e300] * (name == "t"))}
            lines.append(json.dumps(item))
        block = Block("\n".join(lines).encode(), 7)
        rows = BATCHES.batch(block, 1000).to_pylist()
        at_once += BATCHES.parsed(block.text, *block.lines()) is not None
        with monkeypatch.context() as patch:
            patch.setattr(JsonBatches, "parsed", lambda *_: None)
            expected = BATCHES.batch(block, 1000).to_pylist()
        assert repr(rows).replace("-0.0,", "0.0,") == repr(expected).replace("-0.0,", "0.0,")
        bad += sum(row["$corrupt"] is not None for row in rows)
    assert at_once > 30
    assert bad > 20


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        *(
            ("t", "68.0", 68.0),
            ("t", "1e3", 1000.0),
            ("t", "-0.5", -0.5),
            ("t", "+5", 5.0),
            ("t", " 5 ", 5.0),
        ),
        *(
            ("n", "5", 5),
            ("n", "007", 7),
            ("big", "9223372036854775807", 2**63 - 1),
            ("d", "1.10", Decimal("1.10")),
        ),
    ],
)
def test_a_text_is_the_number_that_it_says(name: str, text: str, value: Any) -> None:
    actual = row_of(BATCHES, json.dumps({"ts": 1, name: {"v": text}}))
    assert actual["$corrupt"] is None
    assert actual[name] == value
    assert row_of(BATCHES, json.dumps({"ts": 1, name: {"v": 5}}))[name] == 5  # a number as well


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(
            ("t", "unavailable"),
            ("t", ""),
            ("t", "0x10"),
            ("t", "1,5"),
            ("t", "5 °C"),
            ("t", "٥"),
            ("t", "1_0"),
        ),
        *(("n", "5.5"), ("n", "2147483648"), ("d", "1000.00"), ("d", "NaN"), ("t", "5\n"), ("t", "true")),
    ],
)
def test_a_text_that_is_no_number_is_rejected_by_name(name: str, text: str) -> None:
    fault = row_of(BATCHES, json.dumps({"ts": 1, name: {"v": text}}))["$corrupt"]
    assert fault.startswith(f"`{name}` must be {'an' if name == 'n' else 'a'} {TYPES[name]}, found ")
    assert fault.endswith(f"(read from {name}.v)")


QUERY = """
stream states(ts: long, u: string, t: double from text "state.value" unit from u in {degF, degC},
              n?: int from text "count")
  from json "in/states"
  punctuated on ts;
warm := select[t > 20 degC](states);
emit states to json "out/states";
emit warm to json "out/warm";
"""
STATES: list[Item] = [
    {"ts": 1, "u": "degF", "state": {"value": "68.0"}, "count": "3"},
    {"ts": 2, "u": "degF", "state": {"value": "68.1"}},
    {"ts": 3, "u": "degC", "state": {"value": "20.0"}, "count": "4"},
    {"ts": 4, "u": "degC", "state": {"value": "unavailable"}},
    {"ts": 5, "u": "degC", "state": {"value": "20.5"}, "count": "few"},
    {"ts": 6, "u": "degC", "state": {"value": None}},
    {"ts": 7, "u": "degC", "state": {"value": 20.5}},
    {"$accent": "[[alter(t, y -> y * 2)]]"},
    {"ts": 8, "u": "degC", "state": {"value": "40.0"}},
    {"$punctuation": "[ts < 8]"},
    {"ts": 7, "u": "degC", "state": {"value": "30"}},
    {"$punctuation": "[]"},
]
REASONS = [
    ("RQ301", '`t` must be a double, found "unavailable" (read from state.value)'),
    ("RQ301", '`n` must be an int, found "few" (read from count)'),
    ("RQ302", "`t` is required, but missing (read from state.value)"),
    ("RQ305", "the tuple is late, because a punctuation or a heartbeat promised that none like it follows"),
]


def check_states(root: Path) -> None:
    states = read_output(root / "out" / "states")
    assert [(item["ts"], item.get("n")) for item in states if is_tuple(item)] == [
        (1, 3),
        (2, None),
        (3, 4),
        (7, None),
        (8, None),
    ]
    assert [float(row["t"]) for row in decode(states)] == [68.0, 68.1, 68.0, 68.9, 68.0]
    warm = read_output(root / "out" / "warm")
    assert [item["ts"] for item in warm if is_tuple(item)] == [2, 7]


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", [1, rest(None)])
def test_numbers_in_texts_on_an_engine(spark: SparkSession, tmp_path: Path, per_epoch: int | None) -> None:
    run = Query(spark, tmp_path, QUERY)
    for item in STATES:
        run.write("states", [item])
    run.process(per_epoch)
    check_states(tmp_path)
    assert [(rejected["code"], rejected["reason"]) for rejected in run.quarantine("states")] == REASONS


def test_numbers_in_texts_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Query.without_engine(tmp_path, QUERY).write("states", STATES)
    aside: list[str] = []
    sinks = {name: f"out/{name}" for name in ("states", "warm")}
    simulate(QUERY, Options(sinks=sinks), lambda line, code: aside.append(code))
    check_states(tmp_path)
    assert aside == [code for code, _ in REASONS]
    schema = 'ts: long, u: string, t: double from text "state.value" unit from u in {degF, degC}'
    checked = cedilla("validate", "in/states", "--schema", f'{schema}, n?: int from text "count"')
    assert "4 errors" in checked.output
    assert all(reason in checked.output for code, reason in REASONS if code == "RQ301")


@pytest.mark.either_engine
def test_numbers_in_attributes_of_data_points(spark: SparkSession, tmp_path: Path) -> None:
    query = """stream r(size: long from text "attribute.size", part: double from text "resource.`a.b`", value: double)
      from otlp "in/r"; emit r to json "out/r";"""
    run = Query(spark, tmp_path, query)
    points = [
        {"metric": "m", "time": 1, "double": 1.5, "attributes": {"size": s}, "resource": {"a.b": "0.5"}}
        for s in ("17", "x")
    ]
    run.write("r", [request(points)])
    run.process()
    (row,) = [item for item in run.output("r") if is_tuple(item)]
    assert row == {"size": 17, "part": 0.5, "value": 1.5}
    assert [rejected["reason"] for rejected in run.quarantine("r")] == [
        '`size` must be a long, found "x" (read from attribute.size)'
    ]


def test_a_program_and_a_text_keep_the_clause() -> None:
    plan, _ = load(compile_query(QUERY))
    assert [a.in_text for a in plan.sources[0].attributes] == [False, False, True, True]
    assert 't: double from text "state.value" unit from u' in str(plan.sources[0].attributes[2])
    assert 'n?: int from text "count"' in format_query(parse_query(QUERY))


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ('s: string from text "x"', "RQ164"),
        ('s: timestamp from text "x"', "RQ164"),
        ('s: double from text "x..y"', "RQ145"),
    ],
)
def test_a_text_is_read_as_a_number_only(declared: str, code: str) -> None:
    with pytest.raises(DiagnosticError, match=code):
        compile_query(f'stream r(ts: long, {declared}) from json "r"; emit r to json "o";')


@pytest.mark.parametrize("format", ["csv", "xml", "parquet"])
def test_flat_formats_have_no_texts_in_paths(format: str) -> None:
    with pytest.raises(DiagnosticError, match="RQ146") as caught:
        compile_query(f'stream r(ts: long, t: double from text "x") from {format} "r"; emit r to json "o";')
    assert "`t: double`" in (caught.value.diagnostics[0].help or "")
