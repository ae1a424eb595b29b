"""Filters standard error of Spark's Java: errors pass, remarks about itself do not."""

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
"""Lines that belong to the remark before them: the trace of an exception."""

_LAST_WORDS = 2.0
"""Seconds for the messages of a Java that could not start."""

_silenced = Event()


def silence() -> None:
    """Stops all forwarding: after a user stops a run, Java's messages about it are not useful."""
    _silenced.set()


@contextmanager
def without_remarks() -> Iterator[None]:
    """Filters remarks from the standard error of a Java that is started inside the context, for its whole life.

    Python's own output in the meantime passes. Without a standard error, it does nothing.
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
        os.dup2(real, 2)  # only Java holds the pipe now, which closes when Java ends
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
    """Yields lines without remarks and their traces."""
    left_out = False
    for line in lines:
        left_out = bool(_REMARK.match(line) or (left_out and _CONTINUED.match(line)))
        if not left_out:
            yield line
