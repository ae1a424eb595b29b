"""The log of a run for people and for programs, and the hooks that get its messages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve

from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.grammar.diagnostics.printable import without_secrets
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.hosts.terminal.run_console import RunConsole
from tests.kit.foreign_text import TEXTS
from tests.kit.lines import write_lines

WARNING = Diagnostic("RQ218", "warning", "converted twice", notes=("4.jsonl:1: [[...]]",), help="undo it")
REPORT = EpochReport(number=3, tuples=5, seconds=0.5, warnings=(WARNING,), phases={"plan": 0.1})
QUERY = """
stream pumps(ts: long, pump: int in {1, 2}, litres: double) from json "pumps" punctuated on ts;
emit pumps to json "out";
"""


def test_plain_lines_begin_with_the_time_of_day(capsys: pytest.CaptureFixture[str]) -> None:
    console = RunConsole()
    console.note("waiting for files")
    console.epoch(REPORT)
    first, second, *rest = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d waiting for files", first)
    assert re.match(r"\d\d:\d\d:\d\d epoch 3 · 5 tuples in", second)
    assert rest[0] == "warning[RQ218]: converted twice"


def test_a_json_log_keeps_one_object_a_line_whatever_texts_it_gets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In messages, notes, helps, names and values, without the secrets of any of them."""
    for text in TEXTS.values():
        console = RunConsole("json", about={"query": text})
        console.note(text)
        warning = Diagnostic("RQ218", "warning", text, notes=(text,), help=text)
        console.epoch(evolve(REPORT, written={text: 1}, notes=(text,), held=(text,), warnings=(warning,)))
        console.failed(failure("RQ203", text, hint=text, notes=(text,)), {})
        lines = capsys.readouterr().err.split("\n")
        assert [json.loads(line)["level"] for line in lines if line] == ["info", "info", "warning", "error"]
        assert not any(secret in line for line in lines for secret in ("hunter2", "key:secret", "user:pass"))
        if text == without_secrets(text):
            assert all(json.loads(line)["query"] == text for line in lines if line)


def test_a_json_log_has_an_object_a_line_with_time_level_and_code(capsys: pytest.CaptureFixture[str]) -> None:
    console = RunConsole("json", about={"query": "q.rq"})
    console.note("ends \x1b[0m\nof s3://key:secret@bucket")
    console.epoch(REPORT)
    assert console.failed(failure("RQ203", "it falls", hint="mend it"), {}) == 1
    note, epoch, warning, error = map(json.loads, capsys.readouterr().err.splitlines())
    assert [(record["level"], record["code"]) for record in (note, epoch, warning, error)] == [
        ("info", None),
        ("info", None),
        ("warning", "RQ218"),
        ("error", "RQ203"),
    ]
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["time"]) for record in (note, error)
    )
    assert note["message"] == "ends \x1b[0m\nof s3://***@bucket"
    assert (epoch["epoch"], epoch["tuples"], epoch["phases"], epoch["query"]) == (3, 5, {"plan": 0.1}, "q.rq")
    assert (warning["notes"], warning["help"], error["help"]) == (
        ["4.jsonl:1: [[...]]"],
        "undo it",
        "mend it",
    )


def test_hooks_get_messages_in_order_and_a_failure_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "told"
    hooks = [("warning", f"cat >> {log}"), ("stop", f"cat >> {log}; echo no >&2; exit 3")]
    console = RunConsole("text", hooks)
    console.epoch(REPORT)
    console.epoch(REPORT)
    console.failed(failure("RQ203", "it falls"), {})
    assert [json.loads(line)["code"] for line in log.read_text().splitlines()] == ["RQ218", "RQ218", "RQ203"]
    assert "warning[RQ493]: a hook of --on failed" in (output := capsys.readouterr().err)
    assert "with exit status 3: no" in output


def test_a_wrong_option_is_no_stop(tmp_path: Path) -> None:
    log = tmp_path / "told"
    console = RunConsole("text", [("stop", f"cat >> {log}")])
    assert console.failed(DiagnosticError([Diagnostic("RQ477", "error", "unknown")]), {}) == 2
    console.close()
    assert not log.exists()


@pytest.mark.rest
def test_a_run_that_a_marker_ends_logs_objects_and_calls_its_hook(tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(QUERY)
    (tmp_path / "out").mkdir()
    bad = {"$accent": "[[pump = 1, alter(litres, y -> y * y)]]"}
    write_lines(tmp_path / "pumps" / "1.jsonl", [{"ts": 1, "pump": 1, "litres": 2.0}, bad])
    arguments = ["run", "q.rq", "--once", "--engine", "sail", "--log", "json", "--on", "stop", "cat > told"]
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_CONNECT_MODE_ENABLED"}
    done = subprocess.run(
        [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", *arguments],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    logged = [json.loads(line) for line in done.stderr.splitlines()]
    (epoch,) = [record for record in logged if "epoch" in record]
    assert (epoch["tuples"], set(epoch["phases"])) == (1, {"plan", "compute", "write", "commit"})
    assert logged[-1]["code"] == "RQ202"
    assert json.loads((tmp_path / "told").read_text())["code"] == "RQ202"
