"""Spark jobs beside each other: an epoch's writes wait neither for one another nor for the next epoch's planning
(design, section 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")

_THREADS = 4


class Jobs:
    """Runs functions that start Spark jobs in threads of their own."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, "cedilla-job")
        self._scans = ThreadPoolExecutor(1, "cedilla-scan")
        self._started: list[Future[Any]] = []

    def start(self, job: Callable[[], T]) -> Future[T]:
        """Start a job of the epoch that is being launched."""
        future = self._pool.submit(job)
        self._started.append(future)
        return future

    def prefetch(self, job: Callable[[], T]) -> Future[T]:
        """Start a job that nothing waits for but who asks for its result."""
        return self._scans.submit(job)

    def take(self) -> tuple[Future[Any], ...]:
        """The jobs that were started since the last call."""
        started, self._started = self._started, []
        return tuple(started)

    def close(self) -> None:
        """Let the threads go; jobs that have not begun never will."""
        for pool in (self._pool, self._scans):
            pool.shutdown(cancel_futures=True)


def settle(jobs: Iterable[Future[Any]]) -> None:
    """Wait for all of some jobs; raise what the first of them raised that failed."""
    jobs = tuple(jobs)
    wait(jobs)
    for future in jobs:
        future.result()
