"""The run's side of a process that fetches (`fetcher`): it is started, asked, and started again if it dies."""

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
from cedilla.runtime.items.record_files import record_file
from cedilla.runtime.storage.files import Files
from cedilla.runtime.topics.messages import Answer, Begin, Connect, Position, Share, Take, Wanted

_DEATHS = 3
"""So often the process may die without having handed over anything."""
_SECONDS = 10.0
"""So long it may take to end."""


@define(eq=False)
class FetchProcess:
    """A process that fetches the records of topics. It holds nothing that is not known here: one that dies is followed
    by another, which goes on behind the records that were handed over."""

    wanted: tuple[Wanted, ...]
    files: Files
    share: Share = field(init=False, factory=Share)
    """The partitions that it reads."""
    positions: dict[str, Position] = field(init=False, factory=dict[str, Position])
    """Where each topic stands, behind all that was handed over."""
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    _connection: Connection | None = field(init=False, default=None)
    _begun: bool = field(init=False, default=False)
    _deaths: int = field(init=False, default=0)
    _thread: ThreadPoolExecutor = field(init=False, factory=lambda: ThreadPoolExecutor(1, "topics"))

    def connect(self) -> None:
        """Start it. Raises `DiagnosticError`: RQ442 to RQ445."""
        self._start()
        self._took(self._asked(Connect(self.wanted)))

    def begin(self, offsets: Mapping[str, Mapping[int, int]], identities: Mapping[str, str | None]) -> Answer:
        """Let it read. Raises as `TopicReader.begin` does."""
        answer = self._took(self._asked(Begin(offsets, identities, {}, self.share)))
        self._begun = True
        return answer

    def take(self, *, urgent: bool) -> Future[Answer]:
        """What it has fetched since, nothing if nothing has come; it may be some seconds until that is known, fewer
        where it is `urgent`. It raises `DiagnosticError`: RQ444 to RQ447, RQ450 where the process dies again and
        again."""
        return self._thread.submit(lambda: self._took(self._asked(Take(urgent))))

    def close(self) -> None:
        """End it."""
        process = self._process
        if process is not None and self._connection is not None:
            # Whoever waits for an answer is told that none will come.
            self._process = None
            self._end(process)
        self._thread.shutdown(cancel_futures=True)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def pid(self) -> int | None:
        """The number of the process that fetches, if there is one."""
        return None if self._process is None else self._process.pid

    def _start(self) -> None:
        ours, other = socket.socketpair()
        with ours, other:
            # A session of its own: Ctrl-C is for the run, which then ends it.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "cedilla.runtime.topics.fetcher"],
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._connection = Connection(ours.detach())

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait(_SECONDS)

    def _asked(self, request: Any) -> Answer:
        """The answer to a request, of another process where one dies over it."""
        while True:
            try:
                assert self._connection is not None
                self._connection.send(request)
                answer = self._connection.recv()
            except (EOFError, OSError):
                self._go_on_in_another()
                continue
            self._deaths = 0
            return answer

    def _go_on_in_another(self) -> None:
        """Start one that stands where the last one was to go on. Raises RQ450."""
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
            hint = "its own messages, and the memory of the machine; the next run goes on where the last commit ends"
            raise failure("RQ450", message, hint=hint)
        self._start()
        if self.positions:
            self._repeat(Connect(self.wanted))
        if self._begun:
            self._delete_what_nobody_knows()
            offsets = {name: at.offsets for name, at in self.positions.items()}
            identities = {name: at.identity for name, at in self.positions.items()}
            goals = {name: at.goals for name, at in self.positions.items()}
            self._repeat(Begin(offsets, identities, goals, self.share))

    def _repeat(self, request: Any) -> None:
        """Ask what another process has been asked. One that dies over it is found out by the next request."""
        assert self._connection is not None
        with suppress(EOFError, OSError):
            self._connection.send(request)
            answer = self._connection.recv()
            if answer.failure:
                raise DiagnosticError(answer.failure)

    def _delete_what_nobody_knows(self) -> None:
        """Files of records that were fetched and not handed over."""
        for each in self.wanted:
            at = self.positions[each.source].offsets
            for file in self.files.tree(each.folder):
                records = record_file(file.path)
                if records is None or not self.share.has(records.partition):
                    continue
                if records.begin >= at.get(records.partition, 0):
                    self.files.delete(file.path)
                    self.files.delete(records.offsets_path(each.folder))

    def _took(self, answer: Answer) -> Answer:
        if answer.failure:
            raise DiagnosticError(answer.failure)
        for name, position in answer.positions.items():
            before = self.positions.get(name, position)
            # Partitions begin where the first process began them.
            self.positions[name] = evolve(position, first={**position.first, **before.first})
        return answer
