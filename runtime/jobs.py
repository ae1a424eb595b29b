"""Spark jobs beside each other: an epoch's writes do not wait for one another (design, section 9)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

_THREADS = 4


class Jobs:
    """Runs functions that start Spark jobs in threads of their own. What fails there is raised by `settle`."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, "cedilla-job")
        self._running: list[Future[object]] = []

    def start(self, job: Callable[[], T]) -> Future[T]:
        """Start a job that `settle` waits for."""
        future = self._pool.submit(job)
        self._running.append(future)  # type: ignore[arg-type]
        return future

    def ahead(self, job: Callable[[], T]) -> Future[T]:
        """Start a job that nothing waits for but who asks for its result."""
        return self._pool.submit(job)

    def settle(self) -> None:
        """Wait for all jobs; raise what the first of them raised that failed."""
        running, self._running = self._running, []
        wait(running)
        for future in running:
            future.result()

    def abandon(self) -> None:
        """Wait for all jobs, whatever becomes of them: their epoch has failed already, and will be done anew."""
        running, self._running = self._running, []
        wait(running)

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown()
