"""Starts the process that serves the page and the metrics of a run.

It reads the checkpoint, so the run does no more work. It ends when its standard input ends: with the run, however that
ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cedilla.runtime.hosts.terminal.addresses import Address, bound, check_extra

_SECONDS = 5
"""The most seconds that the process gets for its end."""


@contextmanager
def watched(
    checkpoint: str, page: Address | None, metrics: Address | None, tell: Callable[[str], None]
) -> Iterator[None]:
    """Serves a run within the context. `tell` gets the addresses.

    Raises `DiagnosticError`: RQ494 without the extra `[ui]`, RQ495 where an address cannot be used.
    """
    if page is None and metrics is None:
        yield
        return
    check_extra("--ui" if page is not None else "--metrics")
    for address in (page, metrics):
        if address is not None:
            bound(address).close()
    process = _started(checkpoint, page, metrics)
    assert process.stdin is not None
    telling = threading.Thread(target=_tell, args=(process, tell), daemon=True)
    telling.start()
    try:
        yield
    finally:
        process.stdin.close()
        try:
            process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()


def _started(checkpoint: str, page: Address | None, metrics: Address | None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", "ui", checkpoint, "--of-run"]
    command += ["--no-page"] if page is None else ["--port", page.shown]
    command += [] if metrics is None else ["--metrics", metrics.shown]
    # A session of its own: Ctrl-C is for the run, whose end it then shows.
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, env=dict(os.environ)
    )


def _tell(process: subprocess.Popen[bytes], tell: Callable[[str], None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        tell(line.decode().strip())
