"""Parallel Spark jobs: an epoch's writes wait neither for each other nor for planning the next epoch (design, section
9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")

_THREADS = 4


class Jobs:
    """Runs functions that start Spark jobs in separate threads."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, "cedilla-job")
        self._scans = ThreadPoolExecutor(1, "cedilla-scan")
        self._steps = ThreadPoolExecutor(_THREADS, "cedilla-step")
        self._started: list[Future[Any]] = []

    def start(self, job: Callable[[], T]) -> Future[T]:
        """Starts a job of the epoch that is being launched."""
        future = self._pool.submit(job)
        self._started.append(future)
        return future

    def prefetch(self, job: Callable[[], T]) -> Future[T]:
        """Starts a job that only the reader of its result waits for."""
        return self._scans.submit(job)

    def together(self, steps: Sequence[Callable[[], object]]) -> None:
        """Runs steps at once and waits for them; a step mostly waits for a disk or a service."""
        list(self._steps.map(lambda step: step(), steps))

    def take(self) -> tuple[Future[Any], ...]:
        """Returns the jobs that were started since the last call."""
        started, self._started = self._started, []
        return tuple(started)

    def close(self) -> None:
        """Closes the thread pools and cancels jobs that have not begun."""
        for pool in (self._pool, self._scans, self._steps):
            pool.shutdown(cancel_futures=True)


def wait_all(jobs: Iterable[Future[Any]]) -> None:
    """Waits for all of the jobs, then raises the error of the first one that failed."""
    jobs = tuple(jobs)
    wait(jobs)
    for future in jobs:
        future.result()
