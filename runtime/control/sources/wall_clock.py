"""The clock of the run, which times in the future are compared with (`heartbeat ... within 1 day of now`)."""

from __future__ import annotations

import time


def now() -> int:
    """Returns the present moment in microseconds since 1970."""
    return time.time_ns() // 1000
