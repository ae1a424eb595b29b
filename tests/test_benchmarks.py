"""The inputs of the benchmarks (docs/benchmarks.md)."""

import sys
from pathlib import Path

from tests.benchmarks.inputs import MARKER_SUFFIX, set_times
from tests.benchmarks.workers import Worker


def test_markers_of_a_file_come_right_behind_it(tmp_path: Path) -> None:
    """In Parquet they have files of their own; before their tuples they would make all of these late."""
    wanted = [f"00000{n}{end}.parquet" for n in range(3) for end in ("", MARKER_SUFFIX)]
    for name in reversed(wanted):
        (tmp_path / name).touch()
    set_times(tmp_path)
    found = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime)
    assert [path.name for path in found] == wanted


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


def test_a_fork_does_not_count_as_memory(tmp_path: Path) -> None:
    """A JVM forks to set the rights of a file; for a moment there are two processes that hold all of its heap."""
    worker = Worker.start([sys.executable, "-c", FORKS], tmp_path / "log")
    answer = worker.ask({}, 60)
    worker.close()
    assert 150 < answer["rss_mb"] < 250
