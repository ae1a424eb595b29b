"""The inputs of the benchmarks (tests/benchmarks/README.md)."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.benchmarks.__main__ import SUITES
from tests.benchmarks.inputs import MARKER_SUFFIX, set_times
from tests.benchmarks.options import Wanted
from tests.benchmarks.workers import Worker


@pytest.mark.parametrize("suite", SUITES)
def test_cedilla_takes_part_on_each_of_its_engines(suite: str) -> None:
    """Whoever asks for one of them finds it in every contest, with the same work."""
    wanted = Wanted(short=False, cores=2, formats=("json", "parquet"))
    contests = list(import_module(f"tests.benchmarks.suites.{suite}").contests(wanted))
    assert len({contest.key for contest in contests}) == len(contests)
    for contest in contests:
        competitors = {competitor.name: competitor for competitor in contest.competitors}
        assert contest.baseline in competitors
        if contest.key != "startup/commands":  # which run no query
            ours, sails = competitors["cedilla"], competitors["cedilla-sail"]
            assert ours.call == sails.call
            assert suite == "startup" or (ours.arguments, ours.warm) == (sails.arguments, sails.warm)


def test_markers_of_a_file_come_right_behind_it(tmp_path: Path) -> None:
    """In Parquet they have files of their own; before their tuples they would make all of these late."""
    wanted = [f"00000{n}{end}.parquet" for n in range(3) for end in ("", MARKER_SUFFIX)]
    for name in reversed(wanted):
        (tmp_path / name).touch()
    set_times(tmp_path)
    files = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime)
    assert [path.name for path in files] == wanted


FORKS = """
import json, os, sys, time
held = bytearray(os.urandom(1 << 20)) * 150
sys.stdin.readline()
until = time.monotonic() + 1.5
while time.monotonic() < until:
    if os.fork() == 0:
        time.sleep(0.05)
        os._exit(0)
    os.wait()
os.write(int(sys.argv[-1]), json.dumps({}).encode() + b"\\n")
sys.stdin.read()
"""


@pytest.mark.rest
def test_a_fork_does_not_count_as_memory(tmp_path: Path) -> None:
    """A JVM forks to set the rights of a file; for a moment there are two processes that hold all of its heap."""
    worker = Worker.start([sys.executable, "-c", FORKS], tmp_path / "log")
    answer = worker.ask({}, 60)
    worker.close()
    assert 150 < answer["rss_mb"] < 250
