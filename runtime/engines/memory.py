"""How far the process of an embedded engine has grown, and the way out: the run goes on in a new process.

Sail keeps some 0.1 MB of each text of SQL that it parses (https://github.com/lakehq/sail/pull/2528), a dozen of which
an epoch has, and gives nothing back before its process ends.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from attrs import define, field

_MOST_BYTES = 1 << 30
_LEAST_EPOCHS = 50
"""A new process costs some two seconds."""
_WARM_EPOCHS = 10
"""What the first epochs take is not growth."""
_STATM = Path("/proc/self/statm")


@define(eq=False)
class Growth:
    """The resident memory of this process, looked at after each epoch; nothing is told where there is no /proc."""

    _epochs: int = field(init=False, default=0)
    _first: int = field(init=False, default=0)
    is_too_much: bool = field(init=False, default=False)
    """Whether it has grown by more than 1 GiB."""

    def look(self) -> None:
        """To be called after each epoch."""
        self._epochs += 1
        resident = _resident()
        if self._epochs <= _WARM_EPOCHS:
            self._first = max(self._first, resident)
        self.is_too_much = self._epochs >= _LEAST_EPOCHS and resident - self._first > _MOST_BYTES


def _resident() -> int:
    """Bytes."""
    if not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def go_on_in_a_new_process() -> None:
    """Begin this process's command anew, in its place; does not return."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
