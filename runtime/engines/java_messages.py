"""What Spark's Java writes to standard error while it starts and runs: errors pass, remarks about itself do not."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

_REMARK = re.compile(
    rb"WARNING: "  # of Java: incubator modules, restricted methods
    rb"|(\d\d/\d\d/\d\d )?\d\d:\d\d:\d\d (WARN|INFO|DEBUG) "  # of Spark's logging
    rb"|Using Spark's default log4j profile"
    rb"|Setting default log level to"
    rb"|To adjust logging level use"
    rb"|Picked up (JAVA_TOOL|_JAVA)_OPTIONS"
)
_CONTINUED = re.compile(rb"\s+at |\s+\.\.\. \d+ more|Caused by: |java\.|\t")
"""What follows a remark and belongs to it: the trace of an exception."""

_LAST_WORDS = 2.0
"""Seconds that a Java which could not start has to say why."""

_silenced = Event()


def silence() -> None:
    """From here on nothing is forwarded: who has stopped a run need not know what Java makes of it."""
    _silenced.set()


@contextmanager
def without_remarks() -> Iterator[None]:
    """A Java that is started inside writes to standard error without remarks about itself, for all its life.

    What Python writes there meanwhile passes. Where there is no standard error, nothing happens.
    """
    try:
        real = os.dup(2)
    except OSError:
        yield
        return
    reading, writing = os.pipe()
    forwarding = Thread(target=_forward, args=(reading, real), name="cedilla-java-messages", daemon=True)
    forwarding.start()
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield
    except KeyboardInterrupt:
        silence()
        raise
    except Exception:
        os.dup2(real, 2)  # only Java holds the pipe now: it ends with it
        forwarding.join(_LAST_WORDS)
        raise
    finally:
        os.dup2(real, 2)


def _forward(reading: int, real: int) -> None:
    with open(reading, "rb") as lines:
        for line in without_remark_lines(lines):
            if not _silenced.is_set():
                os.write(real, line)


def without_remark_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines but for remarks, and for the traces that belong to them."""
    left_out = False
    for line in lines:
        left_out = bool(_REMARK.match(line) or (left_out and _CONTINUED.match(line)))
        if not left_out:
            yield line
