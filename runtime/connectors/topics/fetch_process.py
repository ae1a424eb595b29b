"""Starts the process that fetches records (`fetch_worker`), asks it, and starts it again if it dies."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from attrs import define, evolve, field

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.record_files import record_file
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.topics.fetch_protocol import (
    Answer,
    Begin,
    Connect,
    Position,
    Take,
    TopicSubscription,
)

_DEATHS = 3
"""The number of times in a row that the process may die before the run ends with RQ450."""
_SECONDS = 10.0
"""The time that the process may take to end."""


@define(eq=False)
class FetchProcess:
    """A process that fetches the records of all topics of a query.

    The process keeps no state that is not here, too. After a crash another one starts and continues after the records
    that were handed over.
    """

    subscriptions: tuple[TopicSubscription, ...]
    files: Files
    positions: dict[str, Position] = field(init=False, factory=dict[str, Position])
    """The position of each topic, by source, after all records that were handed over."""
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    _connection: Connection | None = field(init=False, default=None)
    _begun: bool = field(init=False, default=False)
    _deaths: int = field(init=False, default=0)
    _thread: ThreadPoolExecutor = field(init=False, factory=lambda: ThreadPoolExecutor(1, "topics"))

    def connect(self) -> None:
        """Starts the process. Raises `DiagnosticError`: RQ442 to RQ445."""
        self._start()
        self._accept(self._ask(Connect(self.subscriptions)))

    def begin(self, offsets: Mapping[str, Mapping[int, int]], identities: Mapping[str, str | None]) -> Answer:
        """Starts reading at offsets. Raises as `TopicReader.begin` does."""
        answer = self._accept(self._ask(Begin(offsets, identities, {})))
        self._begun = True
        return answer

    def take(self, *, urgent: bool) -> Future[Answer]:
        """Asks for the records that were fetched since the last call.

        Returns a future: its answer may have no files. An `urgent` request is answered earlier, with fewer records. The
        future raises `DiagnosticError`: RQ444 to RQ447, RQ450 where the process dies again and again.
        """
        return self._thread.submit(lambda: self._accept(self._ask(Take(urgent))))

    def close(self) -> None:
        """Kills the process and closes the connection."""
        process = self._process
        if process is not None and self._connection is not None:
            # A thread that waits for an answer then raises.
            self._process = None
            self._end(process)
        self._thread.shutdown(cancel_futures=True)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def pid(self) -> int | None:
        """The process id, `None` if no process runs."""
        return None if self._process is None else self._process.pid

    def _start(self) -> None:
        ours, other = socket.socketpair()
        with ours, other:
            # Ctrl-C must not reach the process: the run closes it. Hence a new session.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "cedilla.runtime.connectors.topics.fetch_worker"],
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._connection = Connection(ours.detach())

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait(_SECONDS)

    def _ask(self, request: Any) -> Answer:
        """Returns the answer to a request. Starts another process where one dies before it answers."""
        while True:
            try:
                assert self._connection is not None
                self._connection.send(request)
                answer = self._connection.recv()
            except (EOFError, OSError):
                self._restart()
                continue
            self._deaths = 0
            return answer

    def _restart(self) -> None:
        """Starts another process at the positions of the last one. Raises RQ450."""
        process = self._process
        if process is None:
            raise RuntimeError("the run is over")
        self._deaths += 1
        assert self._connection is not None
        self._connection.close()
        self._end(process)
        if self._deaths > _DEATHS:
            status = f"exit status {process.returncode}"
            message = f"the process that fetches records has ended {self._deaths} times ({status})"
            hint = "its own messages, and the memory of the machine; the next run continues where the last commit ends"
            raise failure("RQ450", message, hint=hint)
        self._start()
        if self.positions:
            self._repeat(Connect(self.subscriptions))
        if self._begun:
            self._delete_files_not_handed_over()
            offsets = {name: at.offsets for name, at in self.positions.items()}
            identities = {name: at.identity for name, at in self.positions.items()}
            goals = {name: at.goals for name, at in self.positions.items()}
            self._repeat(Begin(offsets, identities, goals))

    def _repeat(self, request: Any) -> None:
        """Sends a request again that the last process has answered. The next request notices a crash."""
        assert self._connection is not None
        with suppress(EOFError, OSError):
            self._connection.send(request)
            answer = self._connection.recv()
            if answer.failure:
                raise DiagnosticError(answer.failure)

    def _delete_files_not_handed_over(self) -> None:
        for subscription in self.subscriptions:
            offsets = self.positions[subscription.source].offsets
            for file in self.files.tree(subscription.folder):
                records = record_file(file.path)
                if records is not None and records.begin >= offsets.get(records.partition, 0):
                    self.files.delete(file.path)
                    self.files.delete(records.offsets_path(subscription.folder))

    def _accept(self, answer: Answer) -> Answer:
        """Returns an answer after noting its positions. Raises the failure that it contains."""
        if answer.failure:
            raise DiagnosticError(answer.failure)
        for name, position in answer.positions.items():
            before = self.positions.get(name, position)
            # The first offset of a partition is that of the first process.
            self.positions[name] = evolve(position, first={**position.first, **before.first})
        return answer
