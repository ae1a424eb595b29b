"""The process that fetches records: `python -m cedilla.runtime.connectors.topics.fetch_worker`, started by
`FetchProcess`.

It reads topics ahead of the run, so that the client of Kafka takes no time from the process that computes. It takes
requests from the socket that is its standard input, and ends when that closes: a run that is killed leaves no process.
No secret is sent to it: it reads the file of properties itself.
"""

from __future__ import annotations

import gc
import os
import queue
import signal
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from attrs import define, field

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.records.record_files import record_file
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.topics.fetch_protocol import Answer, Begin, Connect, Position, Take
from cedilla.runtime.connectors.topics.imported_schemas import ImportedSchemas
from cedilla.runtime.connectors.topics.registry import FramedRecords
from cedilla.runtime.connectors.topics.topic_reader import TopicReader
from cedilla.runtime.engines.spark.allocators import keep_memory

_LOOK = 5.0
"""The time in seconds between two looks for added partitions."""
_POLL = 1.0
_AHEAD = 4
"""The number of epochs that are fetched ahead."""
_AHEAD_BYTES = 256 << 20
_AHEAD_FILES = 1024


@define(eq=False)
class _Fetcher:
    connection: Connection
    _readers: dict[str, TopicReader] = field(init=False, factory=dict[str, TopicReader])
    _requests: queue.SimpleQueue[Any] = field(init=False, factory=queue.SimpleQueue)
    _ready: dict[str, list[FoundFile]] = field(init=False, factory=dict[str, list[FoundFile]])
    _failure: DiagnosticError | None = field(init=False, default=None)
    _begun: bool = field(init=False, default=False)
    _is_full: bool = field(init=False, default=False)
    _is_urgent: bool = field(init=False, default=False)
    """True while the run waits for the answer to a request in the queue."""
    _looked: float = field(init=False, default=0.0)

    def listen(self, parent: int) -> None:
        """Puts requests into a queue. Ends this process when the run ends."""
        try:
            while True:
                # A forked process may hold a copy of the other end, which then stays open after the run is gone.
                while not self.connection.poll(_POLL):
                    if os.getppid() != parent:
                        os._exit(0)
                request = self.connection.recv()
                self._is_urgent = not isinstance(request, Take) or request.urgent
                self._requests.put(request)
        except (EOFError, OSError):
            os._exit(0)

    def work(self) -> None:
        """Answers requests, and fetches between them, without end."""
        while True:
            may_fetch = self._begun and self._failure is None and not self._is_full
            if may_fetch:
                self._guarded(self._fetch)
            try:
                request = self._requests.get(block=not may_fetch)
            except queue.Empty:
                continue
            self._is_urgent = False  # requests come one at a time
            self.connection.send(self._answer(request))

    def _guarded(self, step: Any, *arguments: Any) -> None:
        try:
            step(*arguments)
        except DiagnosticError as failure:
            self._failure = failure

    def _answer(self, request: Any) -> Answer:
        if isinstance(request, Connect):
            self._guarded(self._connect, request)
        elif isinstance(request, Begin):
            self._guarded(self._begin, request)
        elif self._ready:
            self._guarded(self._check)
        if self._failure is not None and not self._ready:
            return Answer(failure=self._failure.diagnostics)
        return self._hand_over()

    def _connect(self, request: Connect) -> None:
        files = Files()
        for subscription in request.subscriptions:
            frames = imported = None
            if subscription.registry is not None:
                frames = FramedRecords.of(subscription.registry, files, subscription.schemas)
                if subscription.importer is not None:
                    of = subscription.importer, frames.schemas.registry
                    imported = ImportedSchemas(*of, files, subscription.schemas)
            self._readers[subscription.source] = TopicReader(
                subscription.source,
                subscription.topic,
                subscription.folder,
                files,
                subscription.most,
                subscription.skips,
                subscription.seconds,
                subscription.fields,
                frames=frames,
                imported=imported,
            )

    def _begin(self, request: Begin) -> None:
        for name, reader in self._readers.items():
            reader.goals = dict(request.goals.get(name, {}))
            reader.begin(request.offsets.get(name, {}), request.identities.get(name))
        self._looked = time.monotonic()
        self._begun = True

    def _fetch(self) -> None:
        if time.monotonic() - self._looked > _LOOK:
            for reader in self._readers.values():
                reader.look()
                reader.assign()
            self._looked = time.monotonic()

        for name, reader in self._readers.items():
            if fetched := reader.fetch(lambda: self._is_urgent):
                self._ready.setdefault(name, []).extend(fetched)
        self._is_full = any(self._is_enough(name, files) for name, files in self._ready.items())

    def _check(self) -> None:
        """Discards the fetched records if a topic was made again, because some of them may be of the new one."""
        ready, self._ready = self._ready, {}
        for name in ready:
            self._readers[name].check()
        self._ready = ready

    def _is_enough(self, name: str, files: list[FoundFile]) -> bool:
        held = [records_file for file in files if (records_file := record_file(file.path)) is not None]
        records = sum(records_file.end - records_file.begin for records_file in held)
        size = sum(file.length for file in files)
        return (
            records >= _AHEAD * self._readers[name].most or size >= _AHEAD_BYTES or len(files) >= _AHEAD_FILES
        )

    def _hand_over(self) -> Answer:
        positions = {
            name: Position(
                reader.partitions,
                reader.identity,
                dict(reader.offsets),
                dict(reader.first),
                dict(reader.goals),
                self._begun and reader.is_at_end,
                reader.ends,
            )
            for name, reader in self._readers.items()
        }
        notes = tuple(note for reader in self._readers.values() for note in reader.notes)
        for reader in self._readers.values():
            reader.notes.clear()
        files, self._ready = self._ready, {}
        self._is_full = False
        return Answer(positions, files, notes)


def main() -> None:
    """Runs the process until the one that started it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Messages come by the thousand and make no cycles: the search for cycles took a third of the time.
    gc.disable()
    keep_memory()
    fetcher = _Fetcher(Connection(os.dup(0)))
    threading.Thread(target=fetcher.listen, args=(os.getppid(),), daemon=True).start()
    fetcher.work()


if __name__ == "__main__":
    main()
