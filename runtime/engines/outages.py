"""Outages of a Spark Connect server: the time to wait, and the error afterwards."""

from __future__ import annotations

import re
import time
import warnings

from attrs import define, field
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError, failure

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
