"""Two runs never share a checkpoint or an output folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from attrs import asdict, evolve
from pyspark.sql import SparkSession

from cedilla import run
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import seal
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.ownership import Owner, has_ended, owned, read_owner, run_state
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.tools.inspect.run_model import RunModel
from tests.kit.query import Query
from tests.kit.stream import read_output
from tests.kit.tiers import tiered

QUERY = """
stream r(k: long) from json "in" punctuated on k;
emit r to json "out";
"""
HOLD = """
import sys, time
from cedilla.runtime.epochs.checkpoint.ownership import owned
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import seal
with owned(Files(), sys.argv[1], sys.argv[2:]):
    print("owned", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns the checkpoint `ck` and the output `out`."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "ck"), str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "owned\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def refused(checkpoint: Path, *outputs: Path) -> str:
    """The message of the refusal."""
    with (
        pytest.raises(DiagnosticError, match="RQ475") as caught,
        owned(Files(), str(checkpoint), list(map(str, outputs))),
    ):
        pass
    return str(caught.value)


def test_a_second_run_is_refused_by_the_name_of_the_first(
    other: subprocess.Popen[str], tmp_path: Path
) -> None:
    message = refused(tmp_path / "ck")
    assert f"process {other.pid} on host {os.uname().nodename} since " in message


def test_an_output_of_another_checkpoint_is_refused(other: subprocess.Popen[str], tmp_path: Path) -> None:
    message = refused(tmp_path / "ck2", tmp_path / "out")
    assert f"process {other.pid}" in message
    assert str(tmp_path / "ck") in message


def test_another_spelling_of_the_folder_is_the_same_folder(
    other: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "ck")
    monkeypatch.chdir(tmp_path)
    for spelling in ("ck", "./ck/", "link", f"file:{tmp_path}/ck"):
        with (
            pytest.raises(DiagnosticError, match="RQ475"),
            owned(Files(), spelling, []),
        ):
            pass


def test_a_lock_that_a_kill_left_behind_is_taken_over(other: subprocess.Popen[str], tmp_path: Path) -> None:
    other.kill()
    other.wait()
    with owned(Files(), str(tmp_path / "ck"), [str(tmp_path / "out")]) as ownership:
        assert ownership.number == 1
        ownership.check()


def test_a_run_that_ends_leaves_a_mark_and_a_killed_one_none(
    other: subprocess.Popen[str], tmp_path: Path
) -> None:
    files, home = Files(), str(tmp_path / "ck")

    def ended() -> bool:
        owner = read_owner(files, home)
        assert owner is not None
        return has_ended(files, home, owner)

    def state() -> str:
        return run_state(files, home, read_owner(files, home))

    assert state() == "running"
    other.kill()
    other.wait()
    assert (ended(), state()) == (False, "died")
    with owned(files, home, []) as ownership:
        assert (ended(), state()) == (False, "running")
        ownership.end()
    assert (ended(), state()) == (True, "stopped")
    with owned(files, home, []):
        assert not ended()
    (tmp_path / "ck/commits/ended").write_text("{")
    assert not ended()


def test_a_run_that_lost_its_checkpoint_leaves_no_mark(tmp_path: Path) -> None:
    with owned(Files(), str(tmp_path), []) as ownership:
        taken = evolve(ownership.owner, number=1, token="other")
        (tmp_path / "commits/owner").write_text(seal("owner", json.dumps(asdict(taken))))
        ownership.end()
        (tmp_path / "commits").rename(tmp_path / "away")
        ownership.end()
    assert not (tmp_path / "commits").exists()
    assert [path.name for path in (tmp_path / "away").iterdir()] == ["owner"]


@pytest.mark.parametrize(
    ("problem", "is_marked"),
    tiered(
        [
            (None, True),
            (ZeroDivisionError(), False),
            (KeyboardInterrupt(), True),
            (failure("RQ202", "bad"), True),
        ],
        2,
    ),
)
def test_a_run_that_ends_with_a_fault_of_a_program_leaves_no_mark(
    sail: SparkSession, tmp_path: Path, problem: BaseException | None, is_marked: bool
) -> None:
    query = Query(sail, tmp_path, QUERY)
    query.write("r", [{"k": 1}])

    def on_report(report: EpochReport) -> None:
        if problem is not None:
            raise problem

    with suppress(KeyboardInterrupt, DiagnosticError, ZeroDivisionError):
        run(QUERY, query.options(), spark=sail, on_report=on_report)
    assert (tmp_path / "checkpoint/commits/ended").exists() is is_marked
    assert RunModel(str(tmp_path / "checkpoint")).read()["run"]["state"] == (
        "stopped" if is_marked else "running"
    )


def test_a_run_that_lost_its_checkpoint_commits_nothing(tmp_path: Path) -> None:
    with owned(Files(), str(tmp_path), []) as ownership:
        checkpoint = Checkpoint(Files(), str(tmp_path), ownership)
        checkpoint.commit(Commit(0))
        taken = evolve(ownership.owner, number=1, host="elsewhere", token="other")
        (tmp_path / "commits/owner").write_text(seal("owner", json.dumps(asdict(taken))))
        with pytest.raises(DiagnosticError, match=r"RQ476.*elsewhere"):
            checkpoint.commit(Commit(1))
    assert [path.name for path in (tmp_path / "commits").glob("*.json")] == ["000000000000.json"]


def test_a_run_whose_checkpoint_is_gone_commits_nothing(tmp_path: Path) -> None:
    with owned(Files(), str(tmp_path), []) as ownership:
        (tmp_path / "commits").rename(tmp_path / "away")
        with pytest.raises(DiagnosticError, match="RQ451"):
            Checkpoint(Files(), str(tmp_path), ownership).commit(Commit(0))
    assert not (tmp_path / "commits").exists()


def test_of_two_runs_one_commits_an_epoch(tmp_path: Path) -> None:
    first, second = (Checkpoint(Files(), str(tmp_path)) for _ in range(2))
    first.commit(Commit(0, batch=1))
    with pytest.raises(DiagnosticError, match="RQ476"):
        second.commit(Commit(0, batch=2))
    assert json.loads((tmp_path / "commits/000000000000.json").read_text())["batch"] == 1


def test_a_record_of_a_dead_process_is_no_owner(tmp_path: Path) -> None:
    gone = Owner(4, os.uname().nodename, 2**22 + 1, "", str(tmp_path), "")
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits/owner").write_text(seal("owner", json.dumps(asdict(gone))))
    with owned(Files(), str(tmp_path), []) as ownership:
        assert ownership.number == 5


@pytest.mark.rest
@pytest.mark.parametrize("apart", tiered([0.8, 0.0, 0.3, 1.5, 2.5]))
def test_of_two_runs_at_once_one_is_refused_and_no_row_is_lost(tmp_path: Path, apart: float) -> None:
    (tmp_path / "q.rq").write_text(QUERY)
    (tmp_path / "in").mkdir()
    for number in range(24):
        (tmp_path / f"in/{number:03d}.jsonl").write_text(json.dumps({"k": number}) + "\n")
    command = [
        *(sys.executable, "-m", "cedilla.runtime.hosts.cli.main"),
        *("run", "q.rq", "--once", "--engine", "sail", "--files-per-epoch", "1", "--checkpoint", "ck"),
    ]
    runs: list[subprocess.Popen[str]] = []
    for _ in range(2):
        runs.append(subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True))
        time.sleep(apart)
    errors = [run.communicate()[1] for run in runs]
    statuses = [run.returncode for run in runs]
    assert 0 in statuses, errors
    for status, error in zip(statuses, errors, strict=True):
        assert status == 0 or "RQ475" in error, error
    rows = [item["k"] for item in read_output(tmp_path / "out")]
    assert sorted(rows) == list(range(24))
