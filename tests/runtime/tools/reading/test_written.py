"""Outputs as CSV and Parquet, and in units by name, for programs that know neither accents nor JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from cedilla import read
from tests.kit.command import cedilla
from tests.kit.lines import write_lines

QUERY = """
stream r(ts: long, at: timestamp, t: double unit degC, name?: string) from json "in" punctuated on ts;
emit r to json "out";
"""
OUTPUT = [
    {"ts": 1, "at": "2020-01-01T00:00:00.000000Z", "t": 20.0, "name": 'a "b", c\n'},
    {"$accent": "[[alter(t, y -> y * 9/5 + 32, unit degF)]]"},
    {"ts": 2, "at": "2020-01-01T00:00:01.500000Z", "t": 212.0},
]


@pytest.fixture(autouse=True)
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    return write_lines(tmp_path / "out" / "epoch=000000000000" / "1.jsonl", OUTPUT).parent


def test_csv_has_a_header_and_empty_fields() -> None:
    done = cedilla("read", "out", "--query", "q.rq", "--format", "csv")
    assert [*csv.reader(io.StringIO(done.stdout))] == [
        ["ts", "at", "t", "name"],
        ["1", "2020-01-01T00:00:00Z", "20.0", 'a "b", c\n'],
        ["2", "2020-01-01T00:00:01.500000Z", "100.0", ""],
    ]


def test_parquet_is_the_table_of_arrow() -> None:
    done = cedilla("read", "out", "--query", "q.rq", "--format", "parquet")
    assert parquet.read_table(pa.BufferReader(done.stdout_bytes)) == read("out", query="q.rq").arrow()


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "table"])
def test_units_by_name(form: str) -> None:
    done = cedilla("read", "out", "--query", "q.rq", "--units", "t in K", "--format", form)
    assert done.exit_code == 0, done.output
    match form:
        case "jsonl":
            values = [json.loads(line)["t"] for line in done.stdout.splitlines()]
        case "csv":
            values = [float(row["t"]) for row in csv.DictReader(io.StringIO(done.stdout))]
        case "parquet":
            values = parquet.read_table(pa.BufferReader(done.stdout_bytes))["t"].to_pylist()
        case _:
            values = [float(line.split()[2]) for line in done.stdout.splitlines()[1:]]
    assert values == [293.15, 373.15]


@pytest.mark.parametrize(
    ("options", "status", "text"),
    [
        (("--units", "t in K"), 1, "RQ490"),
        (("--units", "t in bar", "--query", "q.rq"), 1, "RQ490"),
        (("--units", "x in K", "--query", "q.rq"), 1, "attributes with units: t in degC"),
        (("--units", "kelvin"), 2, "canonical, original, latest, or `t in degF`"),
        (("--follow", "--format", "csv"), 2, "--follow is for lines and tables"),
    ],
)
def test_what_cannot_be_written(options: tuple[str, ...], status: int, text: str) -> None:
    done = cedilla("read", "out", *options)
    assert (done.exit_code, text in done.stderr) == (status, True), done.output
