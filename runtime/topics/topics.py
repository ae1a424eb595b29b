"""The topics that a query reads: one reader each, one fetch ahead of the epoch that runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from attrs import define, evolve, field

from cedilla.compiler import regions
from cedilla.compiler.plan import Plan
from cedilla.compiler.plan.topics import topic_of
from cedilla.compiler.regions import PARTITION
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.control.source_state import SourceState
from cedilla.runtime.engines.files import Files, FoundFile
from cedilla.runtime.items.record_files import folder_of, record_file
from cedilla.runtime.topics.client import PROPERTIES
from cedilla.runtime.topics.reader import TopicReader

Fetched = Mapping[str, list[FoundFile]]
Read = Mapping[str, Any]
"""Source -> its topic's `id`, and the `offsets` of the records that come next, by partition: as JSON values."""
_MOST = 500_000
"""So many records of a topic an epoch has at most, if nobody says how many."""
_SILENCE = 30.0
"""So many seconds a run that is to end waits for records that are there."""
_LOOK = 5.0
"""How often it is asked whether there are more partitions, in seconds."""
_POLL = 0.1


@define(eq=False)
class Topics:
    """The readers of a plan's topics, by source; none where it has none. `folder`: that of their files."""

    files: Files = field(factory=Files)
    folder: str = ""
    readers: dict[str, TopicReader] = field(factory=dict[str, TopicReader])
    _ahead: Future[Fetched] | None = field(init=False, default=None)
    _thread: ThreadPoolExecutor | None = field(init=False, default=None)
    _looked: float = field(init=False, default=0.0)
    _heard: float = field(init=False, default=0.0)

    @classmethod
    def of(cls, plan: Plan, checkpoint: str, files: Files, most: int | None) -> Topics:
        """Connect to the topics of a plan. Raises `DiagnosticError`: RQ440, RQ442 to RQ445."""
        topics = cls(files, f"{checkpoint.rstrip('/')}/topics")
        skips = plan.settings["gaps"] == "skip"
        for source in plan.sources:
            if source.is_topic:
                topic, home = topic_of(source.path, source.span), f"{topics.folder}/{source.name}"
                reader = TopicReader(source.name, topic, home, files, most or _MOST, skips)
                topics.readers[source.name] = reader
        return topics

    def __bool__(self) -> bool:
        return bool(self.readers)

    def close(self) -> None:
        """Let the brokers go, once nothing is fetched any more."""
        for reader in self.readers.values():
            reader.is_closing = True
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
        for reader in self.readers.values():
            reader.close()

    # --- the control plane ---

    def known(self, plan: Plan) -> Plan:
        """The plan with the numbers of partitions."""
        if not self.readers:
            return plan
        return evolve(
            plan,
            sources=[
                evolve(s, partitions=self.readers[s.name].partitions) if s.name in self.readers else s
                for s in plan.sources
            ],
        )

    def grown(self, states: Mapping[str, SourceState]) -> Mapping[str, SourceState]:
        """The sources with the partitions that have been added (theory N1, N9), at the beginning of an epoch."""
        after = dict(states)
        for name, reader in self.readers.items():
            domain = after[name].universe[PARTITION]
            new = regions.difference(regions.values(PARTITION, range(reader.partitions)), domain.members)
            if not regions.is_empty(new, {}):
                after[name] = after[name].grow(PARTITION, new)
                note = (
                    f"`{reader.topic.name}` has {reader.partitions} partitions now; a new one is in the units of the "
                    "stream's start until an accent in it says otherwise"
                )
                reader.notes += [] if note in reader.notes else [note]
        return after

    def read_to(self, before: Read, paths: Mapping[str, Iterable[str]]) -> Read:
        """What a commit says of topics, from the one before it and from the paths of the files that are read since."""
        after = dict(before)
        for name, reader in self.readers.items():
            offsets = {str(partition): offset for partition, offset in reader.first.items()}
            offsets |= before[name]["offsets"] if name in before else {}
            for records in map(record_file, paths.get(name, ())):
                assert records is not None
                offsets[str(records.partition)] = max(records.end, offsets.get(str(records.partition), 0))
            # What is left of the last batch may be of a topic that was made anew since: `begin` is to see that.
            identity = before[name]["id"] if name in before else reader.identity
            after[name] = {"id": identity, "offsets": offsets}
        return after

    def notes(self) -> tuple[str, ...]:
        """What people are to be told; told once."""
        told = tuple(note for reader in self.readers.values() for note in reader.notes)
        for reader in self.readers.values():
            reader.notes.clear()
        return told

    # --- records ---

    def begin(self, read: Read) -> None:
        """Go on behind a commit, of which no file is needed any more. Raises as `TopicReader.begin` does."""
        self.files.delete(self.folder)
        for name, reader in self.readers.items():
            known = read.get(name, {"id": None, "offsets": {}})
            reader.begin(
                {int(partition): offset for partition, offset in known["offsets"].items()}, known["id"]
            )
        self._thread = ThreadPoolExecutor(1, "topics")
        self._looked = self._heard = time.monotonic()

    def fetch(self, check: Callable[[], None]) -> Fetched:
        """The files of records that come next; while their epoch runs, those behind them are fetched.

        `check` is called now and then, to raise `KeyboardInterrupt`. Raises `DiagnosticError`: RQ444 to RQ447.
        """
        assert self._thread is not None
        if self._ahead is not None:  # an epoch has run since, in which nobody waited
            self._heard = time.monotonic()
        ahead = self._ahead or self._thread.submit(self._fetch)
        while not ahead.done():
            check()
            time.sleep(_POLL / 10)
        self._ahead = None
        fetched = ahead.result()
        if any(fetched.values()):
            self._ahead = self._thread.submit(self._fetch)
        return fetched

    def _fetch(self) -> Fetched:
        if time.monotonic() - self._looked > _LOOK:
            for reader in self.readers.values():
                reader.look()
                reader.assign()
            self._looked = time.monotonic()
        return {name: reader.fetch() for name, reader in self.readers.items()}

    def is_done(self) -> bool:
        """Whether all is fetched that was there at the start. Raises RQ444 where brokers do not give it."""
        if self._ahead is not None:
            return False
        if all(reader.is_at_end for reader in self.readers.values()):
            return True
        if time.monotonic() - self._heard > _SILENCE:
            (first, *_) = (r for r in self.readers.values() if not r.is_at_end)
            message = f"{first.topic.servers}: no record of `{first.topic.name}` in {_SILENCE:.0f} seconds"
            hint = f"the brokers' address and state; what they ask for beside it stands in the file of {PROPERTIES}"
            raise failure("RQ444", message, hint=hint)
        return False

    def forget(self, paths: Iterable[str]) -> None:
        """Delete files of records whose epochs are committed."""
        for path in paths:
            if (records := record_file(path)) is not None:
                self.files.delete(path)
                self.files.delete(records.offsets_path(folder_of(path)))
