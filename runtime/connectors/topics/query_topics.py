"""The topics that a query reads: another process fetches their records while epochs run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, Protocol

from attrs import define, evolve, field

from cedilla.compiler.plan import Plan
from cedilla.compiler.plan.record_fields import record_fields
from cedilla.compiler.plan.topics import Topic, topic_of
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.records.record_files import folder_of, record_file
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.topics import kafka_client
from cedilla.runtime.connectors.topics.fetch_process import FetchProcess
from cedilla.runtime.connectors.topics.fetch_protocol import Answer, Position, TopicSubscription
from cedilla.runtime.connectors.topics.imported_schemas import Importer
from cedilla.runtime.connectors.topics.kafka_client import library
from cedilla.runtime.connectors.topics.topic_reader import MAX_BYTES

Fetched = Mapping[str, list[FoundFile]]
Read = Mapping[str, Any]
"""Source -> its topic's `id`, and the `offsets` of the records that come next, by partition: as JSON values."""
_MAX_RECORDS = 500_000
"""The default of the greatest number of records of a topic in an epoch."""
_SILENCE = 30.0
"""The time in seconds that `--once` waits for records that the topic has."""
_POLL = 0.1


class Sized(Protocol):
    """A file with its length in bytes."""

    @property
    def path(self) -> str: ...

    @property
    def length(self) -> int: ...


@define(eq=False)
class Topics:
    """The topics of a plan, none for a plan without topics. `folder`: the folder of the fetched files."""

    files: Files = field(factory=Files)
    folder: str = ""
    process: FetchProcess | None = None
    most: int = _MAX_RECORDS
    """The greatest number of records of a topic in an epoch."""
    _notes: list[str] = field(init=False, factory=list[str])
    _had_some: bool = field(init=False, default=False)
    """True if the last answer had files."""
    _heard: float = field(init=False, default=0.0)
    _answer: Future[Answer] | None = field(init=False, default=None)
    """The answer to the last request, until it is taken."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        checkpoint: str,
        files: Files,
        most: int | None,
        importers: Mapping[str, Importer] | None = None,
    ) -> Topics:
        """Connects to the topics of a plan. `importers`: of sources whose unknown schemas are imported. Raises
        `DiagnosticError`: RQ440, RQ442 to RQ445."""
        folder = f"{checkpoint.rstrip('/')}/topics"
        skips = plan.settings["gaps"] == "skip"
        subscriptions = tuple(
            TopicSubscription(
                s.name,
                topic_of(s.path, s.span),
                f"{folder}/{s.name}",
                most or _MAX_RECORDS,
                skips,
                kafka_client.SECONDS,
                record_fields(s),
                s.registry,
                f"{checkpoint.rstrip('/')}/schemas/{s.name}",
                (importers or {}).get(s.name),
            )
            for s in plan.sources
            if s.is_topic
        )
        if not subscriptions:
            return cls(files, folder)
        library()
        process = FetchProcess(subscriptions, files)
        try:
            process.connect()
        except BaseException:
            process.close()
            raise
        return cls(files, folder, process, most or _MAX_RECORDS)

    def __bool__(self) -> bool:
        return self.process is not None

    def close(self) -> None:
        """Closes the connections to the brokers."""
        if self.process is not None:
            self.process.close()

    @property
    def positions(self) -> Mapping[str, Position]:
        """The positions of the topics, by source."""
        return {} if self.process is None else self.process.positions

    @property
    def _subscriptions(self) -> tuple[TopicSubscription, ...]:
        return () if self.process is None else self.process.subscriptions

    # --- the control plane ---

    def known(self, plan: Plan) -> Plan:
        """Returns the plan with the numbers of partitions."""
        if not self.positions:
            return plan
        return evolve(
            plan,
            sources=[
                evolve(s, partitions=self.positions[s.name].partitions) if s.is_topic else s
                for s in plan.sources
            ],
        )

    def note_growth(self, source: str) -> None:
        """Notes once that the topic of a source has more partitions."""
        note = (
            f"`{self._topic(source).name}` has {self.positions[source].partitions} partitions now; a new one is in the "
            "units of the stream's start until an accent in it says otherwise"
        )
        self._notes += [] if note in self._notes else [note]

    def read_to(self, before: Read, paths: Mapping[str, Iterable[str]]) -> Read:
        """Returns the offsets for a commit: those of the last commit, moved on by the files that were read since."""
        after = dict(before)
        for name, position in self.positions.items():
            offsets = {str(partition): offset for partition, offset in position.first.items()}
            offsets |= before[name]["offsets"] if name in before else {}
            for records in map(record_file, paths.get(name, ())):
                assert records is not None
                offsets[str(records.partition)] = max(records.end, offsets.get(str(records.partition), 0))
            # Files left of the last batch may be of a topic that was made again since: `begin` then refuses it.
            identity = before[name]["id"] if name in before else position.identity
            after[name] = {"id": identity, "offsets": offsets}
        return after

    def left(self, read: Read) -> dict[str, int]:
        """Returns the records of each topic that are not read yet, by the last answers of the brokers. Offsets count,
        so the marks of transactions do, too. `read`: the offsets of a commit."""
        return {
            name: sum(
                max(0, end - read[name]["offsets"].get(str(partition), end))
                for partition, end in position.ends.items()
            )
            for name, position in self.positions.items()
            if name in read
        }

    def notes(self) -> tuple[str, ...]:
        """Returns the messages to the user since the last call."""
        notes = tuple(self._notes)
        self._notes.clear()
        return notes

    def _topic(self, name: str) -> Topic:
        (subscription,) = (candidate for candidate in self._subscriptions if candidate.source == name)
        return subscription.topic

    # --- records ---

    def begin(self, read: Read) -> None:
        """Continues after a commit. Deletes all fetched files. Raises as `TopicReader.begin` does."""
        assert self.process is not None
        self.files.delete(self.folder)
        offsets = {
            name: {int(partition): offset for partition, offset in recorded["offsets"].items()}
            for name, recorded in read.items()
        }
        identities = {name: recorded["id"] for name, recorded in read.items()}
        self._notes += self.process.begin(offsets, identities).notes
        self._heard = time.monotonic()

    def fetch(self, check: Callable[[], None]) -> Fetched:
        """Returns the next files of records, by source: those of several epochs if enough records came.

        Calls `check` every 0.1 seconds while it waits: it may raise `KeyboardInterrupt`.
        Raises `DiagnosticError`: RQ444 to RQ447, RQ450.
        """
        assert self.process is not None
        if self._had_some:  # the epoch that ran since does not count as waiting
            self._heard = time.monotonic()
        answer = self._answer or self.process.take(urgent=True)
        while not answer.done():
            check()
            wait([answer], _POLL)
        self._answer = None
        return self._fetched(answer.result())

    def fetched(self) -> Fetched:
        """Returns the next files that are there, without waiting. Leaves a failure to `fetch`, which raises it."""
        if self.process is None:
            return {}
        self._answer = self._answer or self.process.take(urgent=False)
        if not self._answer.done() or self._answer.exception() is not None:
            return {}
        answer, self._answer = self._answer, None
        return self._fetched(answer.result())

    def _fetched(self, answer: Answer) -> Fetched:
        self._had_some = any(answer.files.values())
        self._notes += answer.notes
        return {
            subscription.source: answer.files.get(subscription.source, [])
            for subscription in self._subscriptions
        }

    def in_epoch(self, files: Sequence[Sized]) -> int:
        """Returns how many of a topic's next files an epoch takes: at least one."""
        records = size = 0
        for number, file in enumerate(files):
            held = record_file(file.path)
            records, size = records + (held.end - held.begin if held else 0), size + file.length
            if number and (records > self.most or size > MAX_BYTES):
                return number
        return len(files)

    def is_done(self) -> bool:
        """Returns True once all records that the topics had at the start are fetched.

        Raises RQ444 where the brokers send none of them for half a minute.
        """
        late = [name for name, position in self.positions.items() if not position.is_at_end]
        # After files came, epochs have run: that does not count as waiting.
        if late and not self._had_some and time.monotonic() - self._heard > _SILENCE:
            topic = self._topic(late[0])
            message = f"{topic.servers}: no record of `{topic.name}` in {_SILENCE:.0f} seconds"
            hint = (
                "check the brokers' address and state; their other requirements belong into the file of "
                f"{kafka_client.PROPERTIES}"
            )
            raise failure("RQ444", message, hint=hint)
        # An answer that is not taken yet may have records.
        return not late and self._answer is None

    def forget(self, paths: Iterable[str]) -> None:
        """Deletes the files of committed epochs."""
        for path in paths:
            if (records := record_file(path)) is not None:
                self.files.delete(path)
                self.files.delete(records.offsets_path(folder_of(path)))
