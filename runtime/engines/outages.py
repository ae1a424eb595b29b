"""Engines that are lost during a run: the time to wait for a Spark Connect server, and the errors afterwards."""

from __future__ import annotations

import re
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define, evolve, field
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.engines.failures import refusal
from cedilla.runtime.engines.frames import is_connect
from cedilla.runtime.engines.spark import java_process
from cedilla.runtime.storage.system_errors import refused

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


_GOES_ON = "run the query again: the run continues after the last commit"
_ENDING = 1.0
"""Seconds in which the end of a killed process shows."""


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
    hint = f"{_GOES_ON}; where the machine had no memory left, `--conf spark.driver.memory=...` bounds Java's"
    return failure("RQ324", f"the Java that runs Spark has ended, {how}", hint=hint)


@contextmanager
def failures_told(session: SparkSession | None = None) -> Iterator[None]:
    """Turns the exceptions of an engine, of the system and of a lack of memory into diagnostics, whose cause they are.

    As `refusal`; RQ427 if a server is away, RQ324 if the Java of the session has ended, RQ431 or RQ323 if the system
    refuses something, RQ325 if the engine has failed otherwise. Faults in Cedilla itself pass.
    """
    try:
        yield
    except (DiagnosticError, BrokenPipeError):  # whoever reads the output has gone
        raise
    except Exception as problem:
        if (diagnostic := _told(problem, session)) is None:
            raise
        for note in getattr(problem, "__notes__", ()):
            diagnostic.add_note(note)
        raise diagnostic from problem
    except BaseException as problem:
        if type(problem).__name__ != _PANIC:
            raise
        raise (refusal(problem) or _failed(problem)) from problem


_PANIC = "PanicException"
"""The name of the exceptions of Rust, as of Sail; they are not `Exception`."""


@contextmanager
def afterwards(first: BaseException) -> Iterator[None]:
    """Notes on the exception that came first what else fails while a run ends, so that the first one is raised."""
    try:
        yield
    except Exception as problem:
        diagnostic = problem if isinstance(problem, DiagnosticError) else _told(problem, None)
        words = f"{type(problem).__name__}: {problem}" if diagnostic is None else _message(diagnostic)
        first.add_note(f"then another error came: {words}")


def _message(error: DiagnosticError) -> str:
    return f"{error.diagnostics[0].code}, {error.diagnostics[0].message}"


def with_commit(error: DiagnosticError, epoch: int) -> DiagnosticError:
    """Returns an error that no input explains, with a note of the last committed epoch."""
    committed = "no epoch is committed" if epoch < 0 else f"epoch {epoch} is the last that is committed"
    return DiagnosticError(
        evolve(d, notes=(*d.notes, committed)) if d.code in _OF_MACHINES else d for d in error.diagnostics
    )


_OF_MACHINES = ("RQ322", "RQ323", "RQ327")


def _told(problem: Exception, session: SparkSession | None) -> DiagnosticError | None:
    if (loss := lost_server(problem) or (session and lost_java(session)) or refusal(problem)) is not None:
        return loss
    if isinstance(problem, OSError):
        return refused(problem)
    return _failed(problem) if isinstance(problem, PySparkException | Py4JError) else None


def _failed(problem: BaseException) -> DiagnosticError:
    message = str(problem).strip().partition("\n")[0] or type(problem).__name__
    return failure("RQ325", f"the engine has failed: {message}", hint=_GOES_ON)


def killed() -> DiagnosticError:
    """Returns RQ327: the process of a run has ended without a word."""
    hint = f"{_GOES_ON}; the system kills processes where the machine has no memory left (`dmesg` tells)"
    return failure("RQ327", "the process of the run was killed", hint=hint)
