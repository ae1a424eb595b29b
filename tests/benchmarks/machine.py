"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from cedilla.runtime.engines.spark import java
from tests.benchmarks.contest import ROOT


def describe(cores: int, memory: str) -> dict[str, Any]:
    """Machine, versions and commit; `cores` and `memory` are what each competitor gets."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "java": _line([str(java.ensure() / "bin" / "java"), "-version"]),
        "commit": _line(["git", "rev-parse", "--short", "HEAD"]),
        "changed_since": bool(_line(["git", "status", "--porcelain", "--untracked-files=no"])),
        "used_cores": cores,
        "driver_memory": memory,
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _line(command: list[str]) -> str:
    """The first line that a command prints, nothing where there is no such command."""
    try:
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return next(iter((ran.stdout or ran.stderr).splitlines()), "")
