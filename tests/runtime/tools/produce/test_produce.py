"""A stream's sender: what it writes is valid, and what is wrong never leaves it (theory G34)."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from errno import ENOSPC
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cedilla.grammar import Diagnostic, DiagnosticError
from cedilla.produce import Stream
from cedilla.runtime.tools.stream_tools.places import stream_lines
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.command import cedilla
from tests.kit.errors import code_of
from tests.kit.stream import decode

SCHEMA = "ts: long, s: int in {1, 2}, t: double unit degF, at?: timestamp, m?: decimal(5, 2)"


def findings(path: Path, markers: Path | None = None, schema: str = SCHEMA) -> list[str]:
    """Returns the findings of `cedilla validate` on a stream."""
    diagnostics: list[Diagnostic] = []
    lines = stream_lines(str(path), None if markers is None else str(markers))
    validate(lines, declared_schema(schema), diagnostics.append)
    return [diagnostic.code for diagnostic in diagnostics]


def produced(path: Path) -> list[dict[str, Any]]:
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_every_method_writes_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "new" / "1.jsonl"
    with Stream(file, schema=SCHEMA) as stream:
        stream.tuple({"ts": 0}, s=2, t=77.0, at=datetime(2026, 1, 2, tzinfo=UTC), m=Decimal("1.50"))
        stream.unit("t", "degC", {"s": 2})
        stream.tuple(ts=1, s=2, t=25, at=None)
        stream.add("p", "string", "s in {1, 2}")
        stream.tuple(ts=2, s=1, t=float("inf"), p='a "b"')
        stream.alter("t", "y -> y * 10", {"s": [2, 1]})
        stream.rename("temp", "t", {"s": 1})
        stream.tuple(ts=3, s=1, temp=770.0)
        stream.drop("p")
        stream.accent("grow(s, {3})")
        stream.tuple(ts=4, s=3, t=1.0)
        stream.punctuate("ts < 5")
        stream.punctuate({"at": datetime(2026, 1, 2, tzinfo=UTC), "p": "a"})
        stream.punctuate("")
    assert findings(file) == []
    assert produced(file) == [
        {"ts": 0, "s": 2, "t": 77.0, "at": "2026-01-02T00:00:00Z", "m": 1.5},
        {"$accent": "[[s = 2, unit(t, degC)]]"},
        {"ts": 1, "s": 2, "t": 25},
        {"$accent": "[[s in {1, 2}, +(p: string)]]"},
        {"ts": 2, "s": 1, "t": "Infinity", "p": 'a "b"'},
        {"$accent": "[[s in {1, 2}, alter(t, y -> y * 10)]]"},
        {"$accent": "[[s = 1, rename(temp, t)]]"},
        {"ts": 3, "s": 1, "temp": 770.0},
        {"$accent": "[[-(p)]]"},
        {"$accent": "[[grow(s, {3})]]"},
        {"ts": 4, "s": 3, "t": 1.0},
        {"$punctuation": "[ts < 5]"},
        {"$punctuation": '[at = "2026-01-02T00:00:00Z", p = "a"]'},
        {"$punctuation": "[]"},
    ]


WRONG: dict[str, Callable[[Stream], None]] = {
    "RQ207": lambda stream: stream.alter("x", "y -> y * 2"),
    "RQ142": lambda stream: stream.unit("t", "kg"),
    "RQ205": lambda stream: stream.add("t", "double"),
    "RQ001": lambda stream: stream.punctuate("ts <"),
    "RQ216": lambda stream: stream.alter("t", "y -> y * 2", {"s": 7}),
    "RQ301": lambda stream: stream.tuple(ts="x", s=1, t=1.0),
    "RQ302": lambda stream: stream.tuple(ts=20, s=1),
    "RQ303": lambda stream: stream.tuple(ts=20, s=3, t=1.0),
    "RQ305": lambda stream: stream.tuple(ts=9, s=1, t=1.0),
    "RQ306": lambda stream: stream.tuple(ts=20, s=1, t=1.0, new=1),
    "RQ212": lambda stream: stream.tuple({"$accent": "[[-(t)]]"}),
}


@pytest.mark.parametrize("form", ["file", "folder"])
@pytest.mark.parametrize("again", [False, True])
def test_what_is_wrong_is_raised_and_never_written(tmp_path: Path, form: str, again: bool) -> None:
    """Also by a sender that continues a stream: closed regions and units are read first."""
    to = tmp_path / "1.jsonl" if form == "file" else tmp_path / "in"
    to.mkdir() if form == "folder" else None
    stream = Stream(to, schema=SCHEMA)
    stream.alter("t", "y -> (y - 32) * 5/9")
    stream.punctuate("ts < 10")
    if again:
        stream.close()
        stream = Stream(to, schema=SCHEMA)
    for code, call in WRONG.items():
        assert code_of(lambda call=call: call(stream)) == code
    stream.tuple(ts=10, s=1, t=25.0)
    stream.close()
    assert findings(to) == []
    assert decode(produced(to)) == [{"ts": 10, "s": 1, "t": pytest.approx(77.0)}]
    assert len(produced(to)) == 3


@pytest.mark.parametrize("seed", range(5))
def test_random_senders_that_stop_and_go_on_write_valid_streams(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    to, markers = tmp_path / "in", tmp_path / "ops"
    to.mkdir()
    schema = "ts: long, s: int in {1, 2}, t?: double"
    refused = sent = 0
    for _ in range(4):
        with Stream(to, schema=schema, markers=markers, on_warning=lambda _: None) as stream:
            for _ in range(30):
                where: dict[str, Any] = chance.choice([{}, {"s": 1}, {"s": [1, 2]}])
                name = chance.choice("tpq")
                ts = chance.randrange(40)
                calls = [
                    lambda ts=ts: stream.tuple(ts=ts, s=chance.choice([1, 2, 3]), t=1.0),
                    lambda ts=ts, name=name: stream.tuple({"ts": ts + 20, "s": 2, name: 2.0}),
                    lambda name=name, where=where: stream.add(name, "double", where),
                    lambda name=name, where=where: stream.drop(name, where),
                    lambda name=name, where=where: stream.alter(name, "y -> y * 2 + 1", where),
                    lambda ts=ts: stream.punctuate(f"ts < {ts // 3}"),
                ]
                try:
                    chance.choice([calls[0], *calls])()
                    sent += 1
                except DiagnosticError:
                    refused += 1
    assert min(refused, sent) > 10
    diagnostics: list[Diagnostic] = []
    verdict = validate(stream_lines(str(to), str(markers)), declared_schema(schema), diagnostics.append)
    assert [diagnostic.code for diagnostic in diagnostics if diagnostic.severity == "error"] == []
    assert verdict.lines == sent


def test_a_doubtful_accent_is_written_with_a_warning() -> None:
    diagnostics: list[Diagnostic] = []
    lines = io.StringIO()
    stream = Stream(lines, schema="s: int, t: double", on_warning=diagnostics.append)
    stream.alter("t", "y -> y * 2")
    stream.alter("t", "y -> y * 2")
    assert [diagnostic.code for diagnostic in diagnostics] == ["RQ218"]
    assert len(lines.getvalue().splitlines()) == 2
    other = Stream(io.StringIO(), schema="s: int, t: double")
    other.alter("t", "y -> y * 2")
    with pytest.warns(UserWarning, match="RQ218"):
        other.alter("t", "y -> y * 2")


def test_a_line_that_could_not_be_written_has_changed_nothing() -> None:
    class Full(io.StringIO):
        is_full = False

        def write(self, text: str, /) -> int:
            if self.is_full:
                raise OSError("no space")
            return super().write(text)

    stream = Stream(lines := Full(), schema="s: int, t: double")
    lines.is_full = True
    with pytest.raises(OSError, match="no space"):
        stream.add("p", "double")
    lines.is_full = False
    assert code_of(lambda: stream.tuple(s=1, t=1.0, p=1.0)) == "RQ306"
    stream.add("p", "double")
    assert lines.getvalue() == '{"$accent": "[[+(p: double)]]"}\n'


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "1.jsonl"
    with Stream(file, schema="a: int") as first:
        first.tuple(a=1)
        assert code_of(lambda: Stream(file, schema="a: int")) == "RQ437"
        assert file.read_text() == '{"a": 1}\n'  # a reader sees it at once
    for name in ("1.csv", "1.jsonl.gz"):
        assert code_of(lambda name=name: Stream(tmp_path / name, schema="a: int")) == "RQ435"
    assert code_of(lambda: Stream("-", schema="a: int")) == "RQ435"
    assert code_of(lambda: Stream(file, schema="a: int", markers=tmp_path / "ops")) == "RQ435"
    assert code_of(lambda: Stream("/proc/no/1.jsonl", schema="a: int")) == "RQ431"


@pytest.mark.parametrize("form", ["csv", "xml"])
def test_a_folder_whose_readers_would_not_see_a_line_of_json(tmp_path: Path, form: str) -> None:
    """The line would be lost in silence: as the header of a CSV file, or beside the elements of XML."""
    query = f'stream r(a: int, x: double) from {form} "r" markers "ops"; emit r to json "out";'
    for folder in ("r", "ops"):
        (tmp_path / folder).mkdir()
    with Stream(tmp_path / "r", query=query) as stream, pytest.raises(DiagnosticError) as caught:
        stream.alter("x", "y -> y * 2")
    assert [d.code for d in caught.value.diagnostics] == ["RQ435"]
    assert list((tmp_path / "r").iterdir()) == []
    with Stream(tmp_path / "r", query=query, markers=tmp_path / "ops") as stream:
        stream.alter("x", "y -> y * 2", "a = 1")
    assert len(list((tmp_path / "ops").iterdir())) == 1


def test_a_full_disk_leaves_the_stream_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line, or a part of one, is written: the line is refused, and comes again."""
    file = tmp_path / "1.jsonl"
    with Stream(file, schema="a: int") as stream:
        stream.tuple(a=1)
        write = os.write

        def full(opened: int, data: bytes) -> int:
            raise OSError(ENOSPC, os.strerror(ENOSPC))

        for wrong in (full, lambda opened, data: write(opened, data[:3])):
            with monkeypatch.context() as patch:
                patch.setattr(os, "write", wrong)
                assert code_of(lambda: stream.tuple(a=2)) == "RQ431"
        stream.tuple(a=2)
    assert file.read_text() == '{"a": 1}\n{"a": 2}\n'
    with pytest.raises(TypeError, match="one of"):
        Stream(file)
    file.write_text('{"a": 1}\n{"a": ')  # who wrote it died
    assert code_of(lambda: Stream(file, schema="a: int")) == "RQ436"
    file.write_text('{"a": 1}')
    with Stream(file, schema="a: int") as stream:  # and lets go of it
        stream.tuple(a=2)
    assert file.read_text() == '{"a": 1}\n{"a": 2}\n'


def test_of_a_query_with_paths_and_several_sources(tmp_path: Path) -> None:
    query = tmp_path / "q.rq"
    query.write_text(
        'stream a(k: int, city?: string from "address.city") from json "a";\n'
        'stream b(k: int) from json "b"; emit a to json "o"; emit b to json "p";'
    )
    lines = io.StringIO()
    stream = Stream(lines, query=query, source="a")
    stream.tuple(k=1, address={"city": "Paris"})
    assert code_of(lambda: stream.tuple(k=1, address={"city": 5}, b=1)) == "RQ306"
    assert code_of(lambda: stream.tuple(k=1, address=5)) == "RQ301"
    assert lines.getvalue() == '{"k": 1, "address": {"city": "Paris"}}\n'
    with pytest.raises(TypeError, match="a, b"):
        Stream(lines, query=query)


@pytest.mark.rest
def test_it_needs_neither_pyspark_nor_arrow(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom cedilla.produce import Stream\n"
        f"with Stream({str(tmp_path / '1.jsonl')!r}, schema='a: int') as stream: stream.tuple(a=1)\n"
        "heavy = {'pyspark', 'pandas', 'pyarrow', 'numpy'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# --- by hand ---


def test_the_command_writes_what_is_right_and_nothing_else(tmp_path: Path) -> None:
    folder, ops = tmp_path / "in", tmp_path / "ops"
    folder.mkdir()
    (folder / "1.jsonl").write_text('{"s": 1, "t": 77.0}\n')
    result = cedilla("accent", folder, "[[s = 1, alter(t, y -> y * 2)]]", "[s = 2]")
    assert (result.exit_code, "2 markers written to" in result.stderr) == (0, True)
    assert cedilla("accent", folder, "[[-(x)]]").exit_code == 1
    ops.mkdir()
    assert (
        cedilla("accent", folder, "[[-(t)]]", "--markers", ops, "--schema", "s: long, t: double").exit_code
        == 0
    )
    assert produced(ops) == [{"$accent": "[[-(t)]]"}]
    assert [len(produced(folder)), findings(folder, ops, "s: long, t: double")] == [3, []]
    doubtful = cedilla("accent", folder / "1.jsonl", "[[alter(t, y -> y * 2)]]", "[[alter(t, y -> y * 2)]]")
    assert (doubtful.exit_code, "warning[RQ218]" in doubtful.stderr) == (0, True)
    assert cedilla("accent", tmp_path / "none", "[[-(t)]]").exit_code == 1
    assert "RQ410" in cedilla("accent", tmp_path / "none", "[[-(t)]]").stderr
