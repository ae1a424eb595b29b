"""A server of Spark Connect that is away: how long is waited for it, and what a run says then."""

from __future__ import annotations

import re
import time
import warnings

from attrs import define, field
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError, failure

_PATIENCE = 30.0
"""Seconds that a server may be away; PySpark would wait for ten minutes at each call."""
_LOST = re.compile(
    r"StatusCode\.UNAVAILABLE|\[NO_ACTIVE_SESSION\]|\[INVALID_HANDLE\.(?:SESSION|OPERATION)_[A-Z_]+\]"
)
_DETAILS = re.compile(r'details = "(.*)"')


@define(eq=False)
class _Outage:
    """When the calls of a session have begun to fail, one after the other."""

    began: float = field(factory=time.monotonic)
    last: float = field(factory=time.monotonic)

    def lasts(self) -> bool:
        """Whether a call that fails now is one of an outage that goes on for too long."""
        now = time.monotonic()
        if now - self.last > _PATIENCE:
            self.began = now
        self.last = now
        return now - self.began > _PATIENCE


def limit_waiting(session: SparkSession) -> None:
    """A server that is away for a short time is waited for, then not: as long in all as an outage lasts, not for each
    call."""
    from pyspark.sql.connect.client.retries import DefaultPolicy  # which not every installation has

    class Patience(DefaultPolicy):
        outage = _Outage()

        def can_retry(self, e: BaseException) -> bool:
            return super().can_retry(e) and not self.outage.lasts()

    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")
    session.client.set_retry_policies([Patience(max_backoff=5000)])


def lost_server(problem: BaseException) -> DiagnosticError | None:
    """RQ427, where a call has failed because a server of Spark Connect is away, or has forgotten the session."""
    text = str(problem)
    if not type(problem).__module__.startswith("pyspark.") or not _LOST.search(text):
        return None
    details = _DETAILS.search(text)
    said = details[1] if details else text.partition("\n")[0]
    hint = "start it, and run the query again: what is committed stays, and the run goes on behind it"
    return failure("RQ427", f"the server of Spark Connect has gone away: {said}", hint=hint)
