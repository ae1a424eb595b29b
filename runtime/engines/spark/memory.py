"""Measures the growth of a process with an embedded engine, restarts the run in a new one, and finds a lack of memory.

Sail keeps about 0.1 MB of each SQL text that it parses (https://github.com/lakehq/sail/pull/2528). An epoch has a dozen
of these texts, and the memory is only released when the process ends.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from attrs import define, field

_MAX_GROWTH = 1 << 30
_MIN_EPOCHS = 50
"""Minimum epochs between restarts: a new process costs about two seconds."""
_WARM_EPOCHS = 10
"""Number of first epochs whose memory does not count as growth."""
_STATM = Path("/proc/self/statm")


@define(eq=False)
class MemoryGrowth:
    """The resident memory of this process, measured after each epoch; systems without /proc report no growth."""

    _epochs: int = field(init=False, default=0)
    _first: int = field(init=False, default=0)
    exceeds_limit: bool = field(init=False, default=False)
    """True if it has grown by more than 1 GiB."""

    def look(self) -> None:
        """Measures the memory; called after each epoch."""
        self._epochs += 1
        resident = _resident()
        if self._epochs <= _WARM_EPOCHS:
            self._first = max(self._first, resident)
        self.exceeds_limit = self._epochs >= _MIN_EPOCHS and resident - self._first > _MAX_GROWTH


def _resident() -> int:
    if not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def restart_process() -> None:
    """Restarts this process's command in the same process id; does not return."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def lack_of_memory(problem: BaseException) -> str | None:
    """Returns the words about a lack of memory in an error, or in one that has led to it; `None` for other errors."""
    cause: BaseException | None = problem
    while cause is not None:
        match = _NO_MEMORY.search(str(cause))
        if match is not None or isinstance(cause, MemoryError):
            return match[0] if match else str(cause)
        cause = cause.__cause__ or cause.__context__
    return None


_NO_MEMORY = re.compile(
    r"java\.lang\.OutOfMemoryError: [\w .]+|Resources exhausted: [^\n]+|memory allocation of \d+ bytes failed"
    r"|ArrowMemoryError: [^\n]+|\bMemoryError\b|Cannot allocate memory|OS can't spawn worker thread"
    r"|can't start new thread|failed to map segment from shared object|Python worker exited unexpectedly"
)
"""The words for a lack of memory: of Java, of Sail, of Python and of the operating system."""
