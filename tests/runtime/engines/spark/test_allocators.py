"""What a process takes again and again is cleared by the kernel once."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from cedilla.runtime.engines.spark import allocators
from tests.kit import ROOT

PROGRAM = """
import resource
from cedilla.runtime.engines.spark.allocators import keep_memory
{setting}
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    blocks = [b"x" * (30 << 20) for _ in range(3)]
    del blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(setting: str) -> int:
    """The pages that the kernel hands out."""
    program = PROGRAM.format(setting=setting)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_memory_that_is_given_back_is_taken_again_without_the_kernel() -> None:
    if platform.libc_ver()[0] == "glibc":
        assert faults("keep_memory()") < faults("pass") / 5
    else:
        assert faults("keep_memory()") > 0


def test_another_library_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(allocators.ctypes, "CDLL", None)
    allocators.keep_memory()
