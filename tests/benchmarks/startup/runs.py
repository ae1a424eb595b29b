"""What the processes of the competitors call, for the suite `startup`: commands, from their start to their end."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from tests.benchmarks.contest import ROOT, outcome

FIRST_EPOCH = "epoch 0"


def command(session: None, folder: str, arguments: list[str]) -> dict[str, Any]:
    """Python with these arguments; `{folder}` in them is the folder."""
    command_line = [argument.replace("{folder}", folder) for argument in arguments]
    start = time.monotonic()
    subprocess.run([sys.executable, *command_line], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return outcome({"seconds": time.monotonic() - start})


def first_epoch(session: None, folder: str, arguments: list[str]) -> dict[str, Any]:
    """The time until the command says on standard error that its first epoch is done, and until its end."""
    command_line = [argument.replace("{folder}", folder) for argument in arguments]
    start = time.monotonic()
    first = None
    with subprocess.Popen(
        [sys.executable, *command_line], cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if first is None and FIRST_EPOCH in line:
                first = time.monotonic() - start
            sys.stderr.write(line)
    if process.returncode or first is None:
        raise RuntimeError(f"exit status {process.returncode}, first epoch: {first}")
    return outcome({"first_epoch_s": first, "total_s": time.monotonic() - start}, f"{folder}/out")
