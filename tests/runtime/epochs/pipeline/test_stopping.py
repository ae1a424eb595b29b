"""Signals end a run of the command line: the first at the end of its epoch, a second one at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kit.processes import until
from tests.kit.stream import read_output
from tests.kit.tiers import rest, soak, tiered

pytest.importorskip("pysail")

QUERY = """
stream r(k: long) from json "r" punctuated on k;
operator slow(R) foundation {k} from "slow:slow";
emit slow(r) to json "out";
"""
SLOW = """
import time
from pathlib import Path


def slow(r):
    number = len(list(Path("out").glob("epoch=*")))
    Path(f"started-{number}").touch()
    while Path("wait").exists() and number > 0:
        time.sleep(0.05)
    return r
"""
COMMAND = [
    *(sys.executable, "-m", "cedilla.runtime.hosts.cli.main", "run", "q.rq"),
    *("--files-per-epoch", "1", "--checkpoint", "ck", "--allow-module", "slow", "--engine"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "q.rq").write_text(QUERY)
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "wait").touch()
    (tmp_path / "r").mkdir()
    for number in range(3):
        file = tmp_path / "r" / f"{number}.jsonl"
        file.write_text(json.dumps({"k": number}) + "\n")
        os.utime(file, (number + 1, number + 1))
    return tmp_path


@contextmanager
def running(folder: Path, engine: str) -> Iterator[subprocess.Popen[str]]:
    """A run whose second epoch waits as long as a file is there, once it does so."""
    process = subprocess.Popen([*COMMAND, engine], cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        until((folder / "started-1").exists, process)
        yield process
    finally:
        process.kill()
        process.wait()


def goes_on(folder: Path, engine: str = "sail") -> None:
    """The next run gives every tuple once."""
    (folder / "wait").unlink(missing_ok=True)
    subprocess.run([*COMMAND, engine, "--once"], cwd=folder, check=True, capture_output=True)
    assert sorted(row["k"] for row in read_output(folder / "out")) == [0, 1, 2]


@pytest.mark.rest
@pytest.mark.parametrize(
    ("number", "status", "engine"),
    tiered(
        [
            (signal.SIGTERM, 143, "sail"),
            (signal.SIGINT, 130, "sail"),
            (signal.SIGTERM, 143, "spark"),
            (signal.SIGINT, 130, "spark"),
        ],
        most=3,
    ),
)
def test_a_signal_ends_a_run_at_the_end_of_its_epoch(
    folder: Path, number: signal.Signals, status: int, engine: str
) -> None:
    with running(folder, engine) as process:
        process.send_signal(number)
        time.sleep(0.3)
        assert process.poll() is None, "the epoch is under way"
        (folder / "wait").unlink()
        _, output = process.communicate(timeout=60)
    assert process.returncode == status
    assert "stopping at the end of the epoch; a second signal ends the run at once\n" in output
    assert "stopped; the next run continues after epoch 1, the last that is committed\n" in output
    assert [row["k"] for row in read_output(folder / "out")] == [0, 1]
    goes_on(folder, engine)


@pytest.mark.parametrize(
    ("numbers", "status", "engine"),
    [
        rest((signal.SIGTERM, signal.SIGINT), 143, "sail"),
        ((signal.SIGINT, signal.SIGTERM), 130, "sail"),
        rest((signal.SIGTERM, signal.SIGTERM), 143, "sail"),
        rest((signal.SIGINT, signal.SIGINT), 130, "sail"),
        soak((signal.SIGTERM, signal.SIGTERM), 143, "spark"),
    ],
)
def test_a_second_signal_ends_a_run_at_once(
    folder: Path, numbers: tuple[signal.Signals, signal.Signals], status: int, engine: str
) -> None:
    with running(folder, engine) as process:
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.3)
        _, output = process.communicate(timeout=10)
    assert process.returncode == status
    assert output.endswith("stopped at once; the next run continues after the last committed epoch\n")
    assert [row["k"] for row in read_output(folder / "out")] == [0]
    goes_on(folder, engine)


@pytest.mark.rest
def test_a_run_that_waits_for_files_ends_at_once(folder: Path) -> None:
    (folder / "wait").unlink()
    process = subprocess.Popen([*COMMAND, "sail"], cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: len(list((folder / "out").glob("epoch=*"))) == 3, process)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        _, output = process.communicate(timeout=10)
    finally:
        process.kill()
    assert process.returncode == 143
    assert "stopped; the next run continues after epoch 2, the last that is committed\n" in output
    goes_on(folder)
