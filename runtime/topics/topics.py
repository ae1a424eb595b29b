"""The topics that a query reads: records that processes of their own fetch while epochs run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, Protocol

from attrs import define, evolve, field

from cedilla.compiler import regions
from cedilla.compiler.plan import Plan
from cedilla.compiler.plan.topics import Topic, topic_of
from cedilla.compiler.regions import PARTITION
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.items.record_files import folder_of, record_file
from cedilla.runtime.storage.files import Files, FoundFile
from cedilla.runtime.topics import client
from cedilla.runtime.topics.client import library
from cedilla.runtime.topics.messages import Answer, Position, Wanted
from cedilla.runtime.topics.processes import FetchProcesses, most_processes
from cedilla.runtime.topics.reader import MOST_BYTES

Fetched = Mapping[str, list[FoundFile]]
Read = Mapping[str, Any]
"""Source -> its topic's `id`, and the `offsets` of the records that come next, by partition: as JSON values."""
_MOST = 500_000
"""So many records of a topic an epoch has at most, if nobody says how many."""
_SILENCE = 30.0
"""So many seconds a run that is to end waits for records that are there."""
_POLL = 0.1


class Sized(Protocol):
    """A file, and how many bytes it has."""

    @property
    def path(self) -> str: ...

    @property
    def length(self) -> int: ...


@define(eq=False)
class Topics:
    """The topics of a plan, by source; none where it has none. `folder`: that of their files."""

    files: Files = field(factory=Files)
    folder: str = ""
    processes: FetchProcesses | None = None
    most: int = _MOST
    """So many records of a topic an epoch has at most."""
    _notes: list[str] = field(init=False, factory=list[str])
    _had_some: bool = field(init=False, default=False)
    """Whether the last files that were asked for were some."""
    _heard: float = field(init=False, default=0.0)
    _answer: Future[Answer] | None = field(init=False, default=None)
    """What has been asked for and not been taken yet."""

    @classmethod
    def of(cls, plan: Plan, checkpoint: str, files: Files, most: int | None) -> Topics:
        """Connect to the topics of a plan. Raises `DiagnosticError`: RQ440, RQ442 to RQ445."""
        folder = f"{checkpoint.rstrip('/')}/topics"
        skips = plan.settings["gaps"] == "skip"
        wanted = tuple(
            Wanted(
                s.name, topic_of(s.path, s.span), f"{folder}/{s.name}", most or _MOST, skips, client.SECONDS
            )
            for s in plan.sources
            if s.is_topic
        )
        if not wanted:
            return cls(files, folder)
        library()
        processes = FetchProcesses(wanted, files, most_processes())
        try:
            processes.connect()
        except BaseException:
            processes.close()
            raise
        return cls(files, folder, processes, most or _MOST)

    def __bool__(self) -> bool:
        return self.processes is not None

    def close(self) -> None:
        """Let the brokers go."""
        if self.processes is not None:
            self.processes.close()

    @property
    def positions(self) -> Mapping[str, Position]:
        """Where the topics stand, by source."""
        return {} if self.processes is None else self.processes.positions

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """The topics and how they are read."""
        return () if self.processes is None else self.processes.wanted

    # --- the control plane ---

    def known(self, plan: Plan) -> Plan:
        """The plan with the numbers of partitions."""
        if not self.positions:
            return plan
        return evolve(
            plan,
            sources=[
                evolve(s, partitions=self.positions[s.name].partitions) if s.is_topic else s
                for s in plan.sources
            ],
        )

    def grown(self, states: Mapping[str, SourceState]) -> Mapping[str, SourceState]:
        """The sources with the partitions that have been added (theory N1, N9), at the beginning of an epoch."""
        after = dict(states)
        for name, position in self.positions.items():
            domain = after[name].universe[PARTITION]
            new = regions.difference(regions.values(PARTITION, range(position.partitions)), domain.members)
            if not regions.is_empty(new, {}):
                after[name] = after[name].grow(PARTITION, new)
                note = (
                    f"`{self._topic(name).name}` has {position.partitions} partitions now; a new one is in the units "
                    "of the stream's start until an accent in it says otherwise"
                )
                self._notes += [] if note in self._notes else [note]
        return after

    def read_to(self, before: Read, paths: Mapping[str, Iterable[str]]) -> Read:
        """What a commit says of topics, from the one before it and from the paths of the files that are read since."""
        after = dict(before)
        for name, position in self.positions.items():
            offsets = {str(partition): offset for partition, offset in position.first.items()}
            offsets |= before[name]["offsets"] if name in before else {}
            for records in map(record_file, paths.get(name, ())):
                assert records is not None
                offsets[str(records.partition)] = max(records.end, offsets.get(str(records.partition), 0))
            # What is left of the last batch may be of a topic that was made anew since: `begin` is to see that.
            identity = before[name]["id"] if name in before else position.identity
            after[name] = {"id": identity, "offsets": offsets}
        return after

    def notes(self) -> tuple[str, ...]:
        """What people are to be told; told once."""
        told = tuple(self._notes)
        self._notes.clear()
        return told

    def _topic(self, name: str) -> Topic:
        (wanted,) = (each for each in self.wanted if each.source == name)
        return wanted.topic

    # --- records ---

    def begin(self, read: Read) -> None:
        """Go on behind a commit, of which no file is needed any more. Raises as `TopicReader.begin` does."""
        assert self.processes is not None
        self.files.delete(self.folder)
        offsets = {
            name: {int(partition): offset for partition, offset in known["offsets"].items()}
            for name, known in read.items()
        }
        self._notes += self.processes.begin(
            offsets, {name: known["id"] for name, known in read.items()}
        ).notes
        self._heard = time.monotonic()

    def fetch(self, check: Callable[[], None]) -> Fetched:
        """The files of records that come next, by source, of some epochs if there are so many; those behind them are
        fetched meanwhile.

        `check` is called now and then, to raise `KeyboardInterrupt`. Raises `DiagnosticError`: RQ444 to RQ447, RQ450.
        """
        assert self.processes is not None
        if self._had_some:  # an epoch has run since, in which nobody waited
            self._heard = time.monotonic()
        answer = self._answer or self.processes.take(urgent=True)
        while not answer.done():
            check()
            wait([answer], _POLL)
        self._answer = None
        return self._taken(answer.result())

    def fetched(self) -> Fetched:
        """What of these files is there by now, without waiting; what went wrong is left for `fetch` to raise."""
        if self.processes is None:
            return {}
        self._answer = self._answer or self.processes.take(urgent=False)
        if not self._answer.done() or self._answer.exception() is not None:
            return {}
        answer, self._answer = self._answer, None
        return self._taken(answer.result())

    def _taken(self, taken: Answer) -> Fetched:
        self._had_some = any(taken.files.values())
        self._notes += taken.notes
        return {each.source: taken.files.get(each.source, []) for each in self.wanted}

    def in_epoch(self, files: Sequence[Sized]) -> int:
        """How many of a topic's next files an epoch takes: one at least."""
        records = size = 0
        for number, file in enumerate(files):
            held = record_file(file.path)
            records, size = records + (held.end - held.begin if held else 0), size + file.length
            if number and (records > self.most or size > MOST_BYTES):
                return number
        return len(files)

    def is_done(self) -> bool:
        """Whether all is fetched that was there at the start. Raises RQ444 where brokers do not give it."""
        late = [name for name, position in self.positions.items() if not position.is_at_end]
        # Behind files that were some, epochs have run, in which nobody waited.
        if late and not self._had_some and time.monotonic() - self._heard > _SILENCE:
            topic = self._topic(late[0])
            message = f"{topic.servers}: no record of `{topic.name}` in {_SILENCE:.0f} seconds"
            hint = (
                "the brokers' address and state; what they ask for beside it stands in the file of "
                f"{client.PROPERTIES}"
            )
            raise failure("RQ444", message, hint=hint)
        # What has been asked for may be records: the process knows that they come before anybody takes them.
        return not late and self._answer is None

    def forget(self, paths: Iterable[str]) -> None:
        """Delete files of records whose epochs are committed."""
        for path in paths:
            if (records := record_file(path)) is not None:
                self.files.delete(path)
                self.files.delete(records.offsets_path(folder_of(path)))
