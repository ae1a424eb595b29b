"""Reads the records of a topic, from the offsets of the last commit on, into files of the checkpoint."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from attrs import define, field

from cedilla.compiler.plan.record_fields import RecordField
from cedilla.compiler.plan.topics import Topic
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.record_files import RecordFile
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.topics.batch_client import BatchClient
from cedilla.runtime.connectors.topics.imported_schemas import ImportedSchemas
from cedilla.runtime.connectors.topics.kafka_client import (
    READER,
    SECONDS,
    TopicState,
    asked,
    compacted,
    library,
    made,
    missing,
    partitions_of,
    refused,
)
from cedilla.runtime.connectors.topics.record_runs import (
    MessageClient,
    PendingRecords,
    Problem,
    RecordClient,
    Run,
)
from cedilla.runtime.connectors.topics.registry import FramedRecords

_CONSUMED_AT_ONCE = 10_000
_IDLE_SECONDS, _SLOW_SECONDS, _MAX_SECONDS = 0.05, 1.0, 10.0
"""A batch ends after this time without a record, with few records, and in any case."""
MAX_BYTES = 128 << 20
"""The greatest length of an epoch's records of a topic; the last record may exceed it."""
_URGENT_RECORDS = 100_000
"""Batch size for a waiting caller; otherwise a whole epoch is fetched, because fewer files are cheaper."""
_MARKER, _MAX_CUTS = b'"$', 4
"""The first bytes of nearly all markers, and the greatest number of markers after which a file is cut."""
_MADE_AGAIN = "was deleted and made again since"
_OWN = {
    **READER,
    "reconnect.backoff.max.ms": 1000,
    "fetch.wait.max.ms": 50,
    "fetch.queue.backoff.ms": 10,
    "queued.max.messages.kbytes": 65536,
}


@define(eq=False)
class TopicReader:
    """Fetches the records of a topic into files."""

    source: str
    """The stream of the query."""
    topic: Topic
    folder: str
    files: Files
    most: int
    """The greatest number of records in an epoch."""
    skips: bool = False
    """Continues after a gap instead of raising RQ446."""
    seconds: float = SECONDS
    """The time that brokers may take to answer."""
    fields: tuple[RecordField, ...] = ()
    """The fields of records that tuples get."""
    offsets: dict[int, int] = field(factory=dict[int, int])
    """The next offset of each partition."""
    notes: list[str] = field(factory=list[str])
    """Messages to the user."""
    first: dict[int, int] = field(factory=dict[int, int])
    """The offset at which the run began to read each partition."""
    goals: dict[int, int] = field(factory=dict[int, int])
    """The end offset of each partition when the run began."""
    frames: FramedRecords | None = None
    """Reads the records of a topic with a registry."""
    imported: ImportedSchemas | None = None
    """Imports schemas that the query does not name."""
    partitions: int = field(init=False)
    identity: str = field(init=False, default="")
    _consumer: Any = field(init=False)
    """Answers questions about the topic."""
    _records: RecordClient = field(init=False)
    _assigned: set[int] = field(init=False, factory=set[int])
    _ended: set[int] = field(init=False, factory=set[int])
    _state: TopicState = field(init=False)
    _is_noted: bool = field(init=False, default=False)
    _failure: DiagnosticError | None = field(init=False, default=None)
    _written_at: int = field(init=False, default=0)
    _pending: dict[int, PendingRecords] = field(init=False, factory=dict[int, PendingRecords])

    def __attrs_post_init__(self) -> None:
        """Connects. Raises `DiagnosticError`: RQ442, RQ443, RQ444, RQ445 if the topic does not exist, RQ504."""
        self._consumer = made("Consumer", self.topic.servers, _OWN)
        of_values = not self.fields and self.frames is None and self.imported is None
        self._records = (of_values and BatchClient.of(self.topic, _OWN)) or MessageClient(
            self.topic, self._consumer, self.fields, self.frames, self.imported
        )
        self._state = TopicState(self.topic, self._use, self.seconds)
        self.look()

    def look(self) -> None:
        """Asks for the number of partitions. Raises as `check` does, and RQ504 where the topic is compacted."""
        partitions = partitions_of(self._consumer, self.topic, self._use, self.seconds)
        self.check()
        self._check_policy()
        self.partitions = partitions

    def check(self) -> None:
        """Raises RQ444, RQ445, RQ447 where the topic was deleted and made again."""
        identity = self._state.identity()
        if identity != (self.identity or identity):
            raise self._another(_MADE_AGAIN)
        self.identity = identity

    def _check_policy(self) -> None:
        if self.skips:
            return
        is_compacted = self._state.is_compacted()
        if is_compacted:
            why = (
                f"stream `{self.source}` would miss records that it has not read yet, and accents among them"
            )
            raise compacted(self.topic, why, "`--set gaps=skip` reads it all the same; otherwise ")
        if is_compacted is None and not self._is_noted:
            self._is_noted = True
            what = f"it is not known if `{self.topic.name}` is compacted"
            self.notes.append(f"{what}: the account may not describe its configuration")

    @property
    def _use(self) -> str:
        return f"stream `{self.source}` reads"

    # --- positions ---

    def begin(self, offsets: Mapping[int, int], identity: str | None) -> None:
        """Continues at offsets; a partition without one begins at its first record.

        `identity`: the topic that the offsets are of. Raises `DiagnosticError`: RQ446 where records from an offset on
        are gone, RQ447 where it is another topic.
        """
        if identity is not None and identity != self.identity:
            raise self._another(_MADE_AGAIN)
        self.offsets = dict(offsets)
        if self.imported is not None:
            self.imported.begin(self.offsets)
        self.assign(is_known=identity is not None)

    def assign(self, *, is_known: bool = True) -> None:
        """Starts reading the partitions that are not read yet. Raises as `begin` does.

        If the topic `is_known`, a partition without an offset is new and begins at 0.
        """
        ends = {p: self._ends(p) for p in range(self.partitions) if p not in self._assigned}
        for partition, (low, high) in ends.items():
            at = self.offsets.get(partition, 0 if is_known else low)
            if at > high:
                raise self._another(
                    f"ends at offset {high} of partition {partition}, before {at}, the next one"
                )
            if at < low:
                self._gap(partition, at, low)
                at = low
            self.offsets[partition] = self.first[partition] = at
            self.goals.setdefault(partition, high)
        if (before := max(self.offsets, default=-1) + 1) > self.partitions:
            raise self._another(f"has {self.partitions} partitions, of {before}")
        if ends:
            self._records.assign({partition: self.offsets[partition] for partition in ends})
            self._assigned |= ends.keys()

    def _ends(self, partition: int) -> tuple[int, int]:
        part = library().TopicPartition(self.topic.name, partition)
        return asked(
            self.topic.servers, lambda: self._consumer.get_watermark_offsets(part, timeout=self.seconds)
        )

    @property
    def ends(self) -> dict[int, int]:
        """The end offset of each partition, by the last answers of the brokers: it asks nothing."""
        return {
            partition: max(at, self._records.last_end(partition), self.goals.get(partition, 0))
            for partition, at in self.offsets.items()
        }

    def _another(self, why: str) -> DiagnosticError:
        message = f"the topic `{self.topic.name}` of stream `{self.source}` {why}"
        hint = "it holds another stream now: use a new checkpoint and other outputs"
        return failure("RQ447", message, hint=hint)

    def _gap(self, partition: int, at: int, low: int) -> None:
        """Raises RQ446, or notes the gap where gaps are skipped."""
        gone = f"records {at} to {low - 1} of {self.topic.name}/{partition} are gone"
        message = f"{gone}, and stream `{self.source}` has not read them"
        if not self.skips:
            hint = (
                "`--set gaps=skip` continues after them: accents among them are lost, so check which are in force "
                "(`cedilla status`); a longer retention keeps records until they are read"
            )
            raise failure("RQ446", message, hint=hint)
        self.notes.append(f"{message}: passed over")

    # --- records ---

    @property
    def is_at_end(self) -> bool:
        """True once all records are fetched that the topic had when the run began."""
        return all(p in self._ended or self.offsets[p] >= self.goals[p] for p in self._assigned)

    def fetch(self, is_urgent: Callable[[], bool] = lambda: False) -> list[FoundFile]:
        """Returns the files of the next records. `is_urgent` says whether the run waits for them.

        Raises RQ444 to RQ447, after a call that returned the records before the failure.
        """
        if self._failure is not None:
            raise self._failure
        count = size = 0
        begun, before = time.monotonic(), dict(self.offsets)
        while count < self.most and size < MAX_BYTES and not (count >= _URGENT_RECORDS and is_urgent()):
            wanted = min(_CONSUMED_AT_ONCE, self.most - count)
            got, is_idle = 0, bool(count)
            try:
                for taken in self._records.take(wanted, _IDLE_SECONDS):
                    got += len(taken.offsets) if isinstance(taken, Run) else 0
                    size, is_idle = size + self._add(taken), False
            except DiagnosticError as failure_:
                if not self._pending:
                    raise
                self._failure = failure_
                break
            count += got
            seconds = time.monotonic() - begun
            is_slow = seconds > _SLOW_SECONDS and got < wanted
            if is_idle or self._assigned <= self._ended or is_slow or seconds > _MAX_SECONDS:
                break
        return [f for partition in sorted(self._pending) for f in self._write(partition, before[partition])]

    def _add(self, taken: Run | Problem) -> int:
        """Adds records to those that are not in a file yet. Returns the number of bytes."""
        if isinstance(taken, Problem):
            self._handle_error(taken)
            return 0
        self._ended.discard(taken.partition)
        self.offsets[taken.partition] = taken.end
        return self._pending.setdefault(taken.partition, PendingRecords()).add(taken)

    def _handle_error(self, problem: Problem) -> None:
        """Notes the end of a partition or a gap; raises what the client does not mend by itself."""
        errors, error, partition = library().KafkaError, problem.error, problem.partition
        if error.code() == errors._PARTITION_EOF:
            if problem.offset >= self.offsets[partition]:  # else a record came after it
                self._ended.add(partition)
        elif error.code() in (errors._AUTO_OFFSET_RESET, errors.OFFSET_OUT_OF_RANGE):
            low, high = self._ends(partition)
            at = self.offsets[partition]
            if at > high:
                raise self._another(f"ends at offset {high} of partition {partition}, before {at}")
            self._gap(partition, at, low)
            self.offsets[partition] = low
            self._records.unassign(partition)  # the client refuses to move one that it has given up
            self._records.assign({partition: low})
        elif error.code() in (errors.UNKNOWN_TOPIC_OR_PART, errors._UNKNOWN_PARTITION, errors._UNKNOWN_TOPIC):
            raise missing(self.topic, self._use, errors(errors.UNKNOWN_TOPIC_OR_PART))
        elif error.fatal() or not (error.retriable() or error.code() in _passing(errors)):
            raise refused(self.topic.servers, library().KafkaException(error))

    def _write(self, partition: int, begin: int) -> Iterator[FoundFile]:
        """Writes the pending records of a partition into files: where markers are few, a file ends after each.

        The statistics of such a file then show that its punctuation excludes none of its tuples.
        """
        pending = self._pending.pop(partition)
        text = b"\n".join([*pending.texts, b""]) or b"\n"
        offsets, line, start = pending.gaps(begin), 0, 0
        cuts = [end for end in _ends_of_markers(pending.texts) if end < len(text)]
        for end in [*cuts, len(text)]:
            piece = text[start:end]
            count = pending.lines - line if end == len(text) else piece.count(b"\n")
            last = line + count - 1
            if offsets is not None and end < len(text) and offsets[last] == offsets[last + 1]:
                continue  # an accent of a schema stays with the record that it precedes
            some = None if offsets is None else offsets[line : line + count]
            after = begin + count if some is None else int(some[-1]) + 1
            records = RecordFile(
                self.topic.name, partition, begin, after if end < len(text) else self.offsets[partition]
            )
            yield self._file(records, piece, some)
            begin, line, start = records.end, line + count, end

    def _file(self, records: RecordFile, text: bytes, offsets: np.ndarray | None) -> FoundFile:
        if offsets is not None and (offsets[0] != records.begin or np.any(np.diff(offsets) != 1)):
            stream = io.BytesIO()
            np.save(stream, offsets)
            self.files.write(records.offsets_path(self.folder), stream.getvalue())
        path = records.path(self.folder)
        self.files.write(path, text)
        # Files are ordered by time, which a clock that is set back must not change.
        self._written_at = max(self._written_at, time.time_ns() // 1_000_000)
        return FoundFile(self.files.absolute(path), self._written_at, len(text))


def _ends_of_markers(texts: Iterable[bytes]) -> list[int]:
    """Returns the ends of lines with markers in texts of some lines each, as if they were one text; nothing where there
    are many."""
    ends, start = list[int](), 0
    for text in texts:
        at = text.find(_MARKER) if b"$" in text else -1  # to look for one byte takes a tenth
        while at >= 0:
            end = text.find(b"\n", at) + 1 or len(text) + 1
            ends.append(start + end)
            if len(ends) > _MAX_CUTS:
                return []
            at = text.find(_MARKER, end)
        start += len(text) + 1
    return ends


def _passing(errors: Any) -> Iterable[int]:
    """Returns the errors of connections that the client mends by itself."""
    return (errors._TRANSPORT, errors._ALL_BROKERS_DOWN, errors._RESOLVE, errors._TIMED_OUT)
