"""Processes that a test starts: waiting for what they do, and finding the ones below them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Waits while a process runs; fails where it ends before the condition holds."""
    end = time.monotonic() + 600
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def java_below(process: int) -> list[int]:
    """Returns the processes of Java below a process."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            text = stat.read_text()
            parents[int(stat.parent.name)] = int(text.rpartition(")")[2].split()[1])
    below, level = list[int](), {process}
    while level:
        level = {child for child, parent in parents.items() if parent in level}
        below += level
    return [child for child in below if _is_java(child)]


def _is_java(process: int) -> bool:
    with suppress(OSError):
        command = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0]
        return "java" in command.decode()
    return False
