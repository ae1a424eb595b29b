"""A topic as a source: its records, from the offsets where the last commit ends, in files of the checkpoint."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import define, field

from cedilla.compiler.plan.topics import Topic
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.engines.files import Files, FoundFile
from cedilla.runtime.items.record_files import RecordFile
from cedilla.runtime.topics.client import (
    SECONDS,
    identity_of,
    library,
    made,
    missing,
    partitions_of,
    refused,
)

_TOGETHER = 10_000
_IDLE, _BUSY, _LONGEST = 0.05, 1.0, 10.0
"""So many seconds nobody waits for records; for more where they come slowly; and where there is no end of them."""
_MOST_BYTES = 128 << 20
_ANEW = "was deleted and made anew since"
_OWN = {
    "group.id": "cedilla",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "reconnect.backoff.max.ms": 1000,
    "fetch.wait.max.ms": 50,
    "fetch.queue.backoff.ms": 10,
    "queued.max.messages.kbytes": 65536,
}


@define
class _Records:
    """What has come of a partition, not yet in a file."""

    values: list[Any] = field(factory=list[Any])
    offsets: list[int] = field(factory=list[int])


@define(eq=False)
class TopicReader:
    """Fetches the records of a topic. `source`: that of the query; `folder`: where its files are put; `offsets`: the
    next one of each partition that was read; `skips`: whether a gap is passed over."""

    source: str
    topic: Topic
    folder: str
    files: Files
    most: int
    skips: bool = False
    offsets: dict[int, int] = field(factory=dict[int, int])
    notes: list[str] = field(factory=list[str])
    """What people are to be told."""
    is_closing: bool = False
    first: dict[int, int] = field(factory=dict[int, int])
    """Where each partition was begun."""
    partitions: int = field(init=False)
    identity: str = field(init=False, default="")
    _consumer: Any = field(init=False)
    _assigned: set[int] = field(init=False, factory=set[int])
    _ended: set[int] = field(init=False, factory=set[int])
    _goals: dict[int, int] = field(init=False, factory=dict[int, int])
    _failure: DiagnosticError | None = field(init=False, default=None)
    _pending: dict[int, _Records] = field(init=False, factory=dict[int, _Records])

    def __attrs_post_init__(self) -> None:
        """Raises `DiagnosticError`: RQ442, RQ443, RQ444, RQ445 where there is no such topic."""
        self._consumer = made("Consumer", self.topic.servers, _OWN)
        self.look()

    def close(self) -> None:
        """Let the brokers go."""
        self._consumer.close()

    def look(self) -> None:
        """Ask how many partitions there are. Raises RQ444, RQ445, RQ447 where it is another topic by now."""
        partitions, identity = partitions_of(self._consumer, self.topic, self._use), identity_of(self.topic)
        if identity != (self.identity or identity):
            raise self._another(_ANEW)
        self.partitions, self.identity = partitions, identity

    @property
    def _use(self) -> str:
        return f"stream `{self.source}` reads"

    def _asked(self, ask: Any) -> Any:
        try:
            return ask()
        except library().KafkaException as problem:
            raise refused(self.topic.servers, problem) from None

    # --- where it goes on ---

    def begin(self, offsets: Mapping[int, int], identity: str | None) -> None:
        """Go on at offsets, of partitions without one at the first record that is there. `identity`: that of the topic
        they are of. Raises `DiagnosticError`: RQ446 where records between are gone, RQ447 where it is another topic."""
        if identity is not None and identity != self.identity:
            raise self._another(_ANEW)
        self.offsets = dict(offsets)
        self.assign(is_known=identity is not None)

    def assign(self, *, is_known: bool = True) -> None:
        """Read all partitions that there are; if the topic was read before, new ones from their beginning. Raises as
        `begin` does."""
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
            self._goals[partition] = high
        if self.partitions < len(self.offsets):
            raise self._another(f"has {self.partitions} partitions, of {len(self.offsets)}")
        kind = library().TopicPartition
        if ends:
            parts = [kind(self.topic.name, p, self.offsets[p]) for p in ends]
            self._asked(lambda: self._consumer.incremental_assign(parts))
            self._assigned |= ends.keys()

    def _ends(self, partition: int) -> tuple[int, int]:
        part = library().TopicPartition(self.topic.name, partition)
        return self._asked(lambda: self._consumer.get_watermark_offsets(part, timeout=SECONDS))

    def _another(self, why: str) -> DiagnosticError:
        message = f"the topic `{self.topic.name}` of stream `{self.source}` {why}"
        hint = "what it holds now is another stream: a new checkpoint, and other outputs, begin with it"
        return failure("RQ447", message, hint=hint)

    def _gap(self, partition: int, at: int, low: int) -> None:
        """Raise RQ446, or tell of it."""
        gone = f"records {at} to {low - 1} of {self.topic.name}/{partition} are gone"
        message = f"{gone}, and stream `{self.source}` has not read them"
        if not self.skips:
            hint = (
                "`--set gaps=skip` goes on behind them: accents among them are lost, so look at what is in force "
                "(`cedilla status`); a longer retention keeps records until they are read"
            )
            raise failure("RQ446", message, hint=hint)
        self.notes.append(f"{message}: passed over")

    # --- records ---

    @property
    def is_at_end(self) -> bool:
        """Whether all has been fetched that was there when the first record was asked for."""
        return all(p in self._ended or self.offsets[p] >= self._goals[p] for p in self._assigned)

    def fetch(self) -> list[FoundFile]:
        """The next records, in a file for each partition that has some. Raises RQ444 to RQ447, once what came before is
        in files."""
        if self._failure is not None:
            raise self._failure
        count = size = 0
        begun, before = time.monotonic(), dict(self.offsets)
        while count < self.most and size < _MOST_BYTES and not self.is_closing:
            wanted = min(_TOGETHER, self.most - count)
            some = self._consumed(wanted)
            try:
                got, length = self._take(some)
            except DiagnosticError as failure_:
                if not self._pending:
                    raise
                self._failure = failure_
                break
            count, size = count + got, size + length
            seconds = time.monotonic() - begun
            is_slow = seconds > _BUSY and len(some) < wanted
            if (not some and count) or self._assigned <= self._ended or is_slow or seconds > _LONGEST:
                break
        return [self._written(partition, before[partition]) for partition in sorted(self._pending)]

    def _consumed(self, most: int) -> list[Any]:
        return self._asked(lambda: self._consumer.consume(most, _IDLE))

    def _take(self, messages: list[Any]) -> tuple[int, int]:
        """Keep what has come: how many records, and bytes."""
        errors = [m.error() for m in messages]
        told: list[Any] = []
        if any(errors):
            told = [m for m, error in zip(messages, errors, strict=True) if error is not None]
            messages = [m for m, error in zip(messages, errors, strict=True) if error is None]
        partitions = [m.partition() for m in messages]
        offsets = [m.offset() for m in messages]
        values = [m.value() for m in messages]
        cuts = [0, *(np.flatnonzero(np.diff(partitions)) + 1).tolist(), len(messages)] if messages else []
        for begin, end in pairwise(cuts):
            partition = partitions[begin]
            self._ended.discard(partition)
            pending = self._pending.setdefault(partition, _Records())
            pending.values += values[begin:end]
            pending.offsets += offsets[begin:end]
            self.offsets[partition] = offsets[end - 1] + 1
        for message in told:
            self._told(message)
        return len(messages), sum(map(len, filter(None, values)))

    def _told(self, message: Any) -> None:
        """What comes in place of a record."""
        errors, error, partition = library().KafkaError, message.error(), message.partition()
        if error.code() == errors._PARTITION_EOF:
            if message.offset() >= self.offsets[partition]:  # else a record came behind it
                self._ended.add(partition)
        elif error.code() in (errors._AUTO_OFFSET_RESET, errors.OFFSET_OUT_OF_RANGE):
            low, high = self._ends(partition)
            at = self.offsets[partition]
            if at > high:
                raise self._another(f"ends at offset {high} of partition {partition}, before {at}")
            self._gap(partition, at, low)
            self.offsets[partition] = low
            part = library().TopicPartition(self.topic.name, partition, low)
            self._asked(lambda: self._consumer.seek(part))
        elif error.code() in (errors.UNKNOWN_TOPIC_OR_PART, errors._UNKNOWN_PARTITION, errors._UNKNOWN_TOPIC):
            raise missing(self.topic, self._use, errors(errors.UNKNOWN_TOPIC_OR_PART))
        elif error.fatal() or not (error.retriable() or error.code() in _passing(errors)):
            raise refused(self.topic.servers, library().KafkaException(error))

    def _written(self, partition: int, begin: int) -> FoundFile:
        """Put what has come of a partition into a file."""
        pending = self._pending.pop(partition)
        lines, offsets = pending.values, pending.offsets
        if None in lines:
            offsets = [offset for value, offset in zip(lines, offsets, strict=True) if value is not None]
            lines = [value for value in lines if value is not None]
        text = b"\n".join(lines) + b"\n"
        if text.count(b"\n") != max(len(lines), 1) or b"\r" in text:
            text = b"\n".join(map(one_line, lines)) + b"\n"
        records = RecordFile(self.topic.name, partition, begin, self.offsets[partition])
        if offsets and (offsets[0] != begin or offsets[-1] - offsets[0] + 1 != len(offsets)):
            stream = io.BytesIO()
            np.save(stream, np.array(offsets, np.int64))
            self.files.write(records.offsets_path(self.folder), stream.getvalue())
        path = records.path(self.folder)
        self.files.write(path, text)
        return FoundFile(self.files.absolute(path), time.time_ns() // 1_000_000, len(text))


def _passing(errors: Any) -> Iterable[int]:
    """The errors of connections that the client mends by itself."""
    return (errors._TRANSPORT, errors._ALL_BROKERS_DOWN, errors._RESOLVE, errors._TIMED_OUT)


_BREAKS = bytes.maketrans(b"\n\r", b"  ")


def one_line(value: bytes) -> bytes:
    """A record as a line: JSON takes a line break for a blank, but inside of texts, where it makes none of it."""
    if b"\n" not in value and b"\r" not in value:
        return value
    try:
        json.loads(value)
    except ValueError:
        return value.replace(b"\n", b"\x00").replace(b"\r", b"\x00")
    return value.translate(_BREAKS)
