"""Engines that are lost during a run: the time to wait for a Spark Connect server, and the errors afterwards."""

from __future__ import annotations

import re
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import define, field
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.engines.spark.frames import is_connect
from cedilla.runtime.engines.spark.spark import java_process

_MAX_OUTAGE = 30.0
"""Maximum seconds of an outage; PySpark would wait for ten minutes at each call."""
_LOST = re.compile(
    r"StatusCode\.UNAVAILABLE|\[NO_ACTIVE_SESSION\]|\[INVALID_HANDLE\.(?:SESSION|OPERATION)_[A-Z_]+\]"
)
_DETAILS = re.compile(r'details = "(.*)"')


@define(eq=False)
class _Outage:
    """An outage: the times of its first and last failed call."""

    began: float = field(factory=time.monotonic)
    last: float = field(factory=time.monotonic)

    def lasts(self) -> bool:
        """Returns True if a call that fails now belongs to an outage that has lasted too long."""
        now = time.monotonic()
        if now - self.last > _MAX_OUTAGE:
            self.began = now
        self.last = now
        return now - self.began > _MAX_OUTAGE


def limit_waiting(session: SparkSession) -> None:
    """Limits the time that a session waits for an unavailable server, over all calls together instead of for each
    call."""
    from pyspark.sql.connect.client.retries import DefaultPolicy  # which not every installation has

    class Patience(DefaultPolicy):
        outage = _Outage()

        def can_retry(self, e: BaseException) -> bool:
            return super().can_retry(e) and not self.outage.lasts()

    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")
    session.client.set_retry_policies([Patience(max_backoff=5000)])


def lost_server(problem: BaseException) -> DiagnosticError | None:
    """Returns RQ427 if a call failed because a Spark Connect server is unavailable, or has lost the session."""
    text = str(problem)
    if not type(problem).__module__.startswith("pyspark.") or not _LOST.search(text):
        return None
    details = _DETAILS.search(text)
    reason = details[1] if details else text.partition("\n")[0]
    hint = "start it, and run the query again: the run continues after the last commit"
    return failure("RQ427", f"the server of Spark Connect has gone away: {reason}", hint=hint)


GOES_ON = "run the query again: the run continues after the last commit"
_ENDING = 1.0
"""Seconds until the end of a killed process shows."""


def lost_java(session: SparkSession) -> DiagnosticError | None:
    """RQ324, where the Java that this process has started for a session is no more."""
    if is_connect(session):
        return None
    process = java_process(session)
    try:
        status = None if process is None else process.wait(_ENDING)
    except subprocess.TimeoutExpired:
        status = None
    if status is None:
        return None
    how = f"by signal {-status}" if status < 0 else f"with status {status}"
    hint = f"{GOES_ON}; if the machine had no memory left, `--conf spark.driver.memory=...` bounds Java's"
    return failure("RQ324", f"the Java that runs Spark has ended, {how}", hint=hint)


@contextmanager
def afterwards(
    first: BaseException, known_as: Callable[[Exception], DiagnosticError | None] = lost_server
) -> Iterator[None]:
    """Notes on the exception that came first what else fails while a run ends, so that the first one is raised.

    `known_as`: returns the diagnostic of an exception, if there is one.
    """
    try:
        yield
    except Exception as problem:
        diagnostic = problem if isinstance(problem, DiagnosticError) else known_as(problem)
        words = f"{type(problem).__name__}: {problem}" if diagnostic is None else _message(diagnostic)
        first.add_note(f"then another error came: {words}")


def _message(error: DiagnosticError) -> str:
    return f"{error.diagnostics[0].code}, {error.diagnostics[0].message}"
