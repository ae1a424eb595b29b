"""Files of strangers to commands without an engine: rows or a code, and never a traceback or a hang."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from click.testing import Result

from tests.kit.command import cedilla
from tests.kit.foreign_json import DOCUMENTS, changed
from tests.kit.foreign_text import TEXTS, file_names, json_string, seeded
from tests.kit.fuzz import in_time
from tests.kit.tiers import tiered

QUERY = """
stream s(ts: long, k: int in {1, 2}, t: double unit m, note?: string) from json "s" punctuated on ts;
a := aggregate[avg by w, k](window[10 on ts as w](s));
emit s to json "out";
"""
SCHEMA = "ts: long, k: int in {1, 2}, t: double unit m, note?: string"
LINES = [
    '{"ts": 1, "k": 1, "t": 2.5, "note": "x"}',
    '{"$accent": "[[k = 1, unit(t, km)]]"}',
    '{"$punctuation": "[ts < 9]"}',
    '{"ts": 12, "k": 2, "t": 1e3}',
]
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Signs that a terminal must not get."""


def check(result: Result) -> None:
    """Checks how a command ends: by 0 or 1 with a code, 2 for a wrong option; nothing moves a cursor or colours."""
    assert result.exit_code in (0, 1, 2), result.output
    if result.exit_code == 1 and "would be formatted differently" not in result.output:
        assert re.search(r"RQ\d{3}", result.output), result.output
    assert RAW.search(result.stderr) is None, result.stderr
    assert RAW.search(result.stdout) is None, result.stdout


COMMANDS: dict[str, Callable[[Path, Path], Result]] = {
    "validate": lambda query, file: cedilla("validate", file, "--schema", SCHEMA),
    "validate by a query": lambda query, file: cedilla("validate", file, "--query", query),
    "validate without a schema": lambda query, file: cedilla("validate", file),
    "canonize": lambda query, file: cedilla("canonize", file, "--schema", SCHEMA),
    "canonize without a schema": lambda query, file: cedilla("canonize", file),
    "suspect": lambda query, file: cedilla("suspect", file, "--schema", SCHEMA),
    "suspect without a schema": lambda query, file: cedilla("suspect", file),
    "read": lambda query, file: cedilla("read", file),
    "read by a query": lambda query, file: cedilla("read", file, "--query", query),
    "read in latest units": lambda query, file: cedilla("read", file, "--units", "latest"),
    "simulate": lambda query, file: cedilla("simulate", query, "--source", f"s={file}"),
    "trace": lambda query, file: cedilla(
        "trace", query, "--on", "s", file.read_text("utf-8", "replace")[:5_000].replace("\0", "?")
    ),
    "test": lambda query, file: cedilla("test", file),
    "check": lambda query, file: cedilla("check", file),
    "fmt": lambda query, file: cedilla("fmt", file, "--check"),
    "explain": lambda query, file: cedilla("explain", file),
    "plan": lambda query, file: cedilla("plan", query, file),
    "status": lambda query, file: cedilla("status", file),
    "doctor": lambda query, file: cedilla("doctor", file),
    "replay": lambda query, file: cedilla("replay", file, "--code", "RQ301"),
    "ui": lambda query, file: cedilla("ui", file),
    "accent": lambda query, file: cedilla(
        "accent",
        "--query",
        query,
        "--source",
        "s",
        file.read_text("utf-8", "replace")[:5_000].replace("\0", "?"),
    ),
}


@pytest.fixture
def query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "q.rq"
    path.write_text(QUERY)
    return path


@pytest.mark.parametrize("kind", tiered(sorted(DOCUMENTS, key=lambda kind: kind != "deep objects")))
def test_a_document_of_any_shape(query: Path, kind: str) -> None:
    file = query.parent / "1.jsonl"
    for command, run in COMMANDS.items():
        file.write_bytes(DOCUMENTS[kind])
        with in_time((command, kind), 10):
            check(run(query, file))


@pytest.mark.parametrize("seed", tiered(range(20)))
def test_a_stream_with_other_values_and_texts(query: Path, seed: int) -> None:
    rng = Random(seed)
    texts = [text for text in (*TEXTS.values(), *seeded(seed, 20)) if len(text) < 1_000]
    lines = [*LINES, *(changed(rng, rng.choice(LINES)) for _ in range(20))]
    lines += [f'{{"ts": 13, "k": 1, "t": 1.5, "note": {json_string(rng.choice(texts))}}}' for _ in range(20)]
    lines += [
        f'{{"$accent": {json_string(rng.choice(texts))}, {json_string(rng.choice(texts))}: 1}}'
        for _ in range(20)
    ]
    file = query.parent / "1.jsonl"
    for command, run in COMMANDS.items():
        file.write_text("\n".join(lines), "utf-8")
        with in_time((command, seed), 10):
            check(run(query, file))


@pytest.mark.parametrize("kind", tiered(sorted(file_names(), key=lambda kind: kind != "every control sign")))
def test_a_file_of_any_name(query: Path, kind: str) -> None:
    """Also the query, which is in the folder itself and in one of that name."""
    name = file_names()[kind]
    file = query.parent / "in" / name
    file.parent.mkdir()
    for command, run in COMMANDS.items():
        file.write_text("\n".join([*LINES, "{", '{"ts": "x"}', '{"$accent": "[[-(x)]]"}']))
        with in_time((command, kind), 10):
            check(run(query, file))
    named = query.with_name(f"{name}.rq")
    for text in (QUERY, "a := select[x > 1](", 'stream s(a: int) from json "nowhere"; emit s to json "out";'):
        named.write_text(text)
        for command in ("check", "explain", "simulate", "fmt", "trace"):
            check(cedilla(command, "--", named, *(["[[-(t)]]"] if command == "trace" else [])))
    for command in ("status", "doctor", "read", "validate", "canonize", "suspect", "test", "check", "init"):
        check(cedilla(command, "--", query.with_name(f"no {name}")))


def test_a_line_with_very_many_unknown_names_gets_a_short_answer(query: Path) -> None:
    file = query.parent / "1.jsonl"
    file.write_bytes(DOCUMENTS["many members"])
    result = cedilla("validate", file, "--schema", SCHEMA)
    assert "and 1,980 more attributes of the line were never declared" in result.output
    assert len(result.output) < 50_000


def test_a_number_beyond_doubles_is_no_jump(query: Path) -> None:
    file = query.parent / "1.jsonl"
    file.write_bytes(DOCUMENTS["a great exponent"])
    check(cedilla("suspect", file))
