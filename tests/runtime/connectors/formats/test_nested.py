"""Attributes that come from inside of objects: the fast parser, line by line, engines and tools say the same."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type
from cedilla.runtime import simulate
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches
from cedilla.runtime.connectors.formats.lines.blocks import Block
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.edits.source_changes import compare_source
from cedilla.runtime.epochs.checkpoint.stored_plan import StoredPlans
from cedilla.runtime.epochs.options.options import Options
from tests.kit.command import cedilla
from tests.kit.compare import plain, same
from tests.kit.lines import write_lines
from tests.kit.query import Query
from tests.kit.stream import Item, decode, read_output
from tests.kit.tiers import tiered
from tests.runtime.connectors.formats.nested_texts import line_of
from tests.runtime.connectors.formats.text_rows import row_of

TYPES = {name: Type(kind) for name, kind in (("ts", "long"), ("city", "string"), ("n", "double"))} | {
    "at": Type("timestamp"),
    "team": Type("string"),
    "deep": Type("boolean"),
}
PATHS = {
    "city": ("address", "city"),
    "n": ("address", "geo", "n"),
    "at": ("when",),
    "team": ("labels", "team.name"),
    "deep": ("address", "geo", "more", "deep"),
}
BATCHES = JsonBatches(TYPES, paths=PATHS)


@pytest.mark.parametrize("seed", tiered(range(8), 2))
def test_all_at_once_is_the_same_as_line_by_line(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(seed)
    at_once = bad = 0
    for _ in range(100):
        odd = chance.choice([0, 0.02, 0.2])
        lines = [line_of(chance, odd) for _ in range(chance.choice([1, 3, 17, 40]))]
        block = Block("\n".join(lines).encode(), 7)
        rows = BATCHES.batch(block, 1000).to_pylist()
        at_once += BATCHES.parsed(block.text, *block.lines()) is not None
        with monkeypatch.context() as patch:
            patch.setattr(JsonBatches, "parsed", lambda *_: None)
            expected = BATCHES.batch(block, 1000).to_pylist()
        for row, same_row, line in zip(rows, expected, lines, strict=True):
            assert row["$corrupt"] == same_row["$corrupt"], line
            bad += row["$corrupt"] is not None
            assert row["$corrupt"] is not None or all(same(row[n], same_row[n]) for n in TYPES), line
    assert at_once > 20
    assert bad > 20


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"address": {"city": "Ulm", "geo": {"n": 1.5, "more": {"deep": true}}}}', ("Ulm", 1.5, True)),
        ('{"address": null}', (None, None, None)),
        ("{}", (None, None, None)),
        ('{"address": {"geo": null}}', (None, None, None)),
        ('{"address": {"city": [1, 2.50]}}', ("[1, 2.50]", None, None)),
        ('{"address": {"city": 1.50}}', ("1.50", None, None)),
        ('{"address": {"city": {"a": 1.0}}}', ('{"a": 1.0}', None, None)),
        ('{"address": {"city": "a", "city": "b"}}', ("b", None, None)),
        ('{"address": {"city": "a"}, "address": {"geo": {"n": 1}}}', (None, 1.0, None)),
        ('{"city": "elsewhere", "n": 5}', (None, None, None)),
    ],
)
def test_a_path_leads_to_a_value_or_to_none(line: str, expected: tuple[Any, ...]) -> None:
    actual = row_of(BATCHES, line)
    assert actual["$corrupt"] is None
    assert (actual["city"], actual["n"], actual["deep"]) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            '{"address": 5}',
            "`city` must be a string, found 5, which is not an object (read from address.city)",
        ),
        (
            '{"address": ["Ulm"]}',
            "`city` must be a string, found a list, which is not an object (read from address.city)",
        ),
        ('{"address": {"geo": {"n": "x"}}}', '`n` must be a double, found "x" (read from address.geo.n)'),
        (
            '{"address": {"geo": "x"}}',
            '`n` must be a double, found "x", which is not an object (read from address.geo.n)',
        ),
        (
            '{"labels": true}',
            "`team` must be a string, found true, which is not an object (read from labels.`team.name`)",
        ),
    ],
)
def test_what_cannot_be_followed_says_where(line: str, reason: str) -> None:
    assert row_of(BATCHES, line)["$corrupt"] == reason


QUERY = """
stream people(ts: long, city: string from "address.city" in {"Ulm", "Bonn"}, rent: double from "flat.rent" unit m,
              team?: string from labels "team.name")
  from json "in/people"
  punctuated on ts;
emit people to json "out/people";
"""
PEOPLE: list[Item | str] = [
    {"ts": 1, "address": {"city": "Ulm"}, "flat": {"rent": 5}, "labels": {"team.name": "a"}},
    {"ts": 1, "address": {"city": "Köln"}, "flat": {"rent": 5}},
    {"ts": 1, "address": {"city": "Ulm"}, "flat": {}},
    {"ts": 1, "address": "Ulm", "flat": {"rent": 5}},
    {"$accent": '[[city = "Ulm", unit(rent, km)]]'},
    {"ts": 2, "address": {"city": "Ulm"}, "flat": {"rent": 0.005}, "rent": 77},
    {"ts": 2, "address": {"city": "Bonn"}, "flat": {"rent": 5.0}, "labels": {"team.name": "b"}},
    {"$accent": "[[-(team)]]"},
    {"ts": 3, "address": {"city": "Bonn"}, "flat": {"rent": 5.0}, "labels": {"team.name": "b"}},
    {"$punctuation": '[city = "Ulm", ts < 9]'},
    {"ts": 3, "address": {"city": "Ulm"}, "flat": {"rent": 5.0}},
    {"$punctuation": "[]"},
]
EXPECTED = [
    {"ts": 1, "city": "Ulm", "rent": 5, "team": "a"},
    {"ts": 2, "city": "Bonn", "rent": 5, "team": "b"},
    {"ts": 2, "city": "Ulm", "rent": 5},
]
REASONS = {
    ("RQ301", '`city` must be a string, found "Ulm", which is not an object (read from address.city)'),
    ("RQ302", "`rent` is required, but missing (read from flat.rent)"),
    ("RQ303", "`city` has a value outside of its domain (read from address.city)"),
    (
        "RQ304",
        "tuples like this one have no `team`: they come before its add, or after its drop "
        "(read from labels.`team.name`)",
    ),
    ("RQ305", "the tuple is late, because a punctuation or a heartbeat promised that none like it follows"),
}


@pytest.mark.either_engine
@pytest.mark.parametrize("drift", ["ignore", "quarantine", "infer"])
def test_a_nested_stream_on_an_engine(spark: SparkSession, tmp_path: Path, drift: str) -> None:
    """No field on a declared path is an unannounced field."""
    run = Query(spark, tmp_path, f"set drift = {drift};{QUERY}")
    run.write("people", PEOPLE[:6])
    run.write("people", PEOPLE[6:])
    run.process(1)
    assert (
        sorted(
            plain(decode(read_output(tmp_path / "out" / "people"))), key=lambda row: (row["ts"], row["city"])
        )
        == EXPECTED
    )
    assert {(rejected["code"], rejected["reason"]) for rejected in run.quarantine("people")} == REASONS


def test_a_nested_stream_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Query.without_engine(tmp_path, QUERY).write("people", PEOPLE)
    rejected: list[tuple[str, str]] = []
    simulate(
        QUERY,
        Options(sinks={"people": "out/people"}),
        on_rejected=lambda line, code: rejected.append((code, line.reason)),
    )
    assert (
        sorted(
            plain(decode(read_output(tmp_path / "out" / "people"))), key=lambda row: (row["ts"], row["city"])
        )
        == EXPECTED
    )
    assert set(rejected) == REASONS


def test_a_checkpoint_knows_where_attributes_are_read(tmp_path: Path) -> None:
    plan = compile_query(QUERY).plan
    stored = StoredPlans.load(StoredPlans.start(plan).dump()).plans[0].plan
    assert [(a.name, a.keys) for a in stored.sources[0].attributes] == [
        ("ts", ()),
        ("city", ("address", "city")),
        ("rent", ("flat", "rent")),
        ("team", ("labels", "team.name")),
    ]
    moved = compile_query(QUERY.replace("address.city", "home.city")).plan
    state = SourceState.start(plan.sources[0], plan.droppable["people"])
    changes = compare_source(stored.sources[0], moved, "people", state, 1).items
    assert ("at once", "it is read from there from now on") in [
        (change.effect, change.why) for change in changes
    ]


SCHEMA = 'ts: long, city: string from "address.city", rent: double from flat "rent" unit m'


def test_one_stream_tools_read_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of `canonize` has the attributes by their names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    stream = [
        {"ts": 1, "address": {"city": "Ulm"}, "flat": {"rent": 5}},
        PEOPLE[4],
        {"ts": 2, "address": {"city": "Ulm"}, "flat": {"rent": 0.005}},
    ]
    write_lines(tmp_path / "p.jsonl", stream)
    valid = cedilla("validate", "p.jsonl", "--schema", SCHEMA)
    assert valid.exit_code == 0, valid.output
    output = cedilla("canonize", "p.jsonl", "--schema", SCHEMA).output
    assert [json.loads(line) for line in output.splitlines()] == [
        {"ts": 1, "city": "Ulm", "rent": 5},
        {"ts": 2, "city": "Ulm", "rent": 5},
        {"$accent": '[[city = "Ulm", alter(rent, y -> y / 1000, unit km)]]'},
    ]
    (tmp_path / "bad.jsonl").write_text('{"ts": 1, "address": 5, "flat": {"rent": [], "rents": 5}}\n')
    bad = cedilla("validate", "bad.jsonl", "--schema", SCHEMA)
    assert "`city` must be a string, found 5, which is not an object (read from address.city)" in bad.output
    assert "`rent` must be a double, found a list (read from flat.rent)" in bad.output
    assert "RQ306" in bad.output
    assert "`flat.rents` was never declared or added" in bad.output
    explained = cedilla("explain", "q.rq", "--full")
    assert 'city: string from "address.city" in' in explained.output
