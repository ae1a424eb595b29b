"""A run under `set changes` ends at what it does not take, and continues there once that is allowed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from attrs import field, frozen
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.control.markers.allowed import NotAllowed
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.hosts.terminal.console import Console
from cedilla.runtime.hosts.terminal.program import with_approvals
from tests.kit.lines import write_lines
from tests.kit.query import Query
from tests.kit.stream import Item, decode, read_output

QUERY = """
set changes = {};
stream pumps(ts: long, pump: int in {{1, 2, 3}}, litres: double unit L) from json "in" punctuated on ts;
windows := window[10 on ts as wid](pumps);
sums := aggregate[sum(litres) as litres by wid](windows);
emit sums to json "out";
"""
STREAM: list[Item] = [
    {"ts": 1, "pump": 1, "litres": 5.0},
    {"$accent": "[[pump = 1, unit(litres, m3)]]"},
    {"ts": 2, "pump": 1, "litres": 0.5},
    {"$accent": "[[pump = 2, rename(l, litres)]]"},
    {"ts": 3, "pump": 2, "l": 5.0},
    {"$accent": "[[rename(liter, litres)]]"},
    {"ts": 12, "pump": 3, "liter": 1.0},
    {"$punctuation": "[]"},
]


@pytest.mark.either_engine
@pytest.mark.parametrize("files", [1, len(STREAM)])
def test_it_ends_at_the_accent_and_continues_there(spark: SparkSession, tmp_path: Path, files: int) -> None:
    """The results are those of a run that takes any change, in one epoch or in one for each line."""
    run = Query(spark, tmp_path, QUERY.format("allow {unit}"), yes=True)
    if files == 1:
        run.write("pumps", STREAM)
    else:
        for item in STREAM:
            run.write("pumps", [item])
    with pytest.raises(DiagnosticError) as ended:
        run.run()
    (error,) = ended.value.diagnostics
    assert isinstance(error, NotAllowed)
    assert (error.code, error.wider) == ("RQ570", "allow {unit, rename(litres)}")
    assert any("is committed" in note for note in error.notes)
    assert not any("delete" in note for note in error.notes)
    assert sum(report.tuples for report in run.reports) == 2
    run.query = QUERY.format(error.wider)
    run.run()
    assert sorted(decode(read_output(tmp_path / "out" / "sums")), key=lambda row: row["wid"]) == [
        {"wid": 0, "litres": 510.0},
        {"wid": 1, "litres": 1.0},
    ]


@frozen
class Answers(Console):
    """A console at which somebody answers."""

    answers: list[bool] = field(factory=list[bool])
    questions: list[str] = field(factory=list[str])

    @property
    def can_ask(self) -> bool:
        return bool(self.answers)

    def ask(self, question: str) -> bool:
        self.questions.append(question)
        return self.answers.pop(0)


def refusal(kind: str, wider: str) -> DiagnosticError:
    return DiagnosticError([NotAllowed("RQ570", "error", "no", kind=kind, wider=wider)])


def test_a_person_is_asked_until_one_answer_is_no() -> None:
    policies: list[str | None] = []
    ends = iter([refusal("unit(t)", "allow {unit(t)}"), refusal("+(p)", "allow {unit(t), +(p)}"), None])

    def run(options: Options) -> None:
        policies.append(options.settings.get("changes"))
        if (end := next(ends)) is not None:
            raise end

    console = Answers([True, False])
    with pytest.raises(DiagnosticError):
        with_approvals(run, Options(approve=True), console)
    assert console.questions == ["take unit(t) from here on?", "take +(p) from here on?"]
    assert policies == [None, "allow {unit(t)}"]


def test_without_a_terminal_it_is_refused() -> None:
    with pytest.raises(DiagnosticError) as error:
        with_approvals(lambda options: None, Options(approve=True), Answers())
    assert error.value.diagnostics[0].code == "RQ477"


@pytest.mark.rest
def test_the_command_asks_at_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(QUERY.format("allow {}"))
    write_lines(tmp_path / "in" / "a.jsonl", STREAM)
    shown = at_a_terminal(tmp_path, ["y", "y"], "run", "q.rq", "--once", "--engine", "sail", "--approve")
    assert "take unit(litres) from here on?" in shown
    assert "take rename(litres) from here on?" in shown
    assert "edited" not in shown
    assert len(decode(read_output(tmp_path / "out"))) == 2
    shown = at_a_terminal(tmp_path, [], "run", "q.rq", "--once", "--engine", "sail", "--approve")
    assert "edited" not in shown  # the answers of the run before are no edit
    (tmp_path / "q.rq").write_text(QUERY.format("allow {}").replace("sum(", "max("))
    shown = at_a_terminal(tmp_path, ["n"], "run", "q.rq", "--once", "--engine", "sail", "--approve")
    assert "max" in shown
    assert "RQ402" in shown


def at_a_terminal(folder: Path, answers: list[str], *arguments: str) -> str:
    """What `cedilla` writes to a terminal, at which somebody answers its questions."""
    import pty

    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover
        os.chdir(folder)
        os.execve(
            sys.executable,
            [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", *arguments],
            {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"},
        )
    shown = b""
    while part := _read(terminal):
        shown += part
        if b"[y/N]: " in part:
            os.write(terminal, f"{answers.pop(0)}\n".encode())
    os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""
