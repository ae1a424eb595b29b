"""A topic as a source: its records, from the offsets where the last commit ends, in files of the checkpoint."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import define, field

from cedilla.compiler.plan.topics import Topic
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.items.record_files import RecordFile
from cedilla.runtime.storage.files import Files, FoundFile
from cedilla.runtime.topics.client import (
    READER,
    SECONDS,
    asked,
    identity_of,
    library,
    made,
    missing,
    partitions_of,
    refused,
)
from cedilla.runtime.topics.messages import Share

_TOGETHER = 10_000
_IDLE, _BUSY, _LONGEST = 0.05, 1.0, 10.0
"""So many seconds nobody waits for records; for more where they come slowly; and where there is no end of them."""
MOST_BYTES = 128 << 20
"""So long an epoch's records of a topic are at most, and one more."""
_STEP = 100_000
"""So many records whoever waits for some gets at once; else they are those of an epoch, as few files cost less."""
_MARKER, _FEW = b'"$', 4
"""What markers begin with, as good as always, and how many of them part the file that they are in."""
_ANEW = "was deleted and made anew since"
_OWN = {
    **READER,
    "reconnect.backoff.max.ms": 1000,
    "fetch.wait.max.ms": 50,
    "fetch.queue.backoff.ms": 10,
    "queued.max.messages.kbytes": 65536,
}


@define
class _Records:
    """What has come of a partition, not yet in a file: texts of some lines each, and the offsets of these lines."""

    texts: list[bytes] = field(factory=list[bytes])
    offsets: list[Sequence[int]] = field(factory=list[Sequence[int]])

    def add(self, values: list[Any], offsets: Sequence[int]) -> int:
        """The values of records, bytes or `None`, one for each offset: how many bytes they have."""
        lines = [value for value in values if value is not None] if None in values else values
        if len(lines) < len(values):
            offsets = [offset for value, offset in zip(values, offsets, strict=True) if value is not None]
        if not lines:
            return 0
        text = b"\n".join(lines)
        if text.count(b"\n") != len(lines) - 1 or b"\r" in text:
            text = b"\n".join(map(one_line, lines))
        self.texts.append(text)
        self.offsets.append(offsets)
        return len(text)

    def gaps(self, begin: int) -> np.ndarray | None:
        """The offset of each line, if they do not count up from the first one."""
        if all(
            isinstance(each, range) and each[0] == after
            for each, after in zip(self.offsets, self._ends(begin), strict=False)
        ):
            return None
        return np.concatenate([np.asarray(each, np.int64) for each in self.offsets])

    def _ends(self, begin: int) -> Iterator[int]:
        yield begin
        yield from (each[-1] + 1 for each in self.offsets)


@define(eq=False)
class TopicReader:
    """Fetches the records of a topic. `source`: that of the query; `folder`: where its files are put; `offsets`: the
    next one of each partition that is read; `skips`: whether a gap is passed over."""

    source: str
    topic: Topic
    folder: str
    files: Files
    most: int
    skips: bool = False
    seconds: float = SECONDS
    """So long brokers may take to answer."""
    offsets: dict[int, int] = field(factory=dict[int, int])
    share: Share = field(init=False, factory=Share)
    """The partitions that are read, of those that there are."""
    notes: list[str] = field(factory=list[str])
    """What people are to be told."""
    first: dict[int, int] = field(factory=dict[int, int])
    """Where each partition was begun."""
    goals: dict[int, int] = field(factory=dict[int, int])
    """Where each partition ended when the run began."""
    partitions: int = field(init=False)
    identity: str = field(init=False, default="")
    _consumer: Any = field(init=False)
    _assigned: set[int] = field(init=False, factory=set[int])
    _ended: set[int] = field(init=False, factory=set[int])
    _failure: DiagnosticError | None = field(init=False, default=None)
    _written_at: int = field(init=False, default=0)
    _pending: dict[int, _Records] = field(init=False, factory=dict[int, _Records])

    def __attrs_post_init__(self) -> None:
        """Raises `DiagnosticError`: RQ442, RQ443, RQ444, RQ445 where there is no such topic."""
        self._consumer = made("Consumer", self.topic.servers, _OWN)
        self.look()

    def look(self) -> None:
        """Ask how many partitions there are. Raises RQ444, RQ445, RQ447 where it is another topic by now."""
        partitions = partitions_of(self._consumer, self.topic, self._use, self.seconds)
        identity = identity_of(self.topic, self.seconds)
        if identity != (self.identity or identity):
            raise self._another(_ANEW)
        self.partitions, self.identity = partitions, identity

    @property
    def _use(self) -> str:
        return f"stream `{self.source}` reads"

    # --- where it goes on ---

    def begin(self, offsets: Mapping[int, int], identity: str | None) -> None:
        """Go on at offsets, of partitions without one at the first record that is there. `identity`: that of the topic
        they are of. Raises `DiagnosticError`: RQ446 where records between are gone, RQ447 where it is another topic."""
        if identity is not None and identity != self.identity:
            raise self._another(_ANEW)
        self.offsets = {p: offset for p, offset in offsets.items() if self.share.has(p)}
        self.assign(is_known=identity is not None)

    def assign(self, *, is_known: bool = True) -> None:
        """Read all partitions that there are; if the topic was read before, new ones from their beginning. Raises as
        `begin` does."""
        mine = filter(self.share.has, range(self.partitions))
        ends = {p: self._ends(p) for p in mine if p not in self._assigned}
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
        kind = library().TopicPartition
        if ends:
            parts = [kind(self.topic.name, p, self.offsets[p]) for p in ends]
            asked(self.topic.servers, lambda: self._consumer.incremental_assign(parts))
            self._assigned |= ends.keys()

    def _ends(self, partition: int) -> tuple[int, int]:
        part = library().TopicPartition(self.topic.name, partition)
        return asked(
            self.topic.servers, lambda: self._consumer.get_watermark_offsets(part, timeout=self.seconds)
        )

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
    def at_once(self) -> int:
        """So many records an epoch has of these partitions at most."""
        return max(1, self.most // self.share.of)

    @property
    def is_at_end(self) -> bool:
        """Whether all has been fetched that was there when the first record was asked for."""
        return all(p in self._ended or self.offsets[p] >= self.goals[p] for p in self._assigned)

    def fetch(self, is_urgent: Callable[[], bool] = lambda: False) -> list[FoundFile]:
        """The next records, in files of the partitions that have some. `is_urgent`: whether somebody waits for them.
        Raises RQ444 to RQ447, once what came before is in files."""
        if self._failure is not None:
            raise self._failure
        count = size = 0
        begun, before = time.monotonic(), dict(self.offsets)
        most, most_bytes = self.at_once, MOST_BYTES // self.share.of
        while count < most and size < most_bytes and not (count >= _STEP and is_urgent()):
            wanted = min(_TOGETHER, most - count)
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
        return [f for partition in sorted(self._pending) for f in self._written(partition, before[partition])]

    def _consumed(self, most: int) -> list[Any]:
        return asked(self.topic.servers, lambda: self._consumer.consume(most, _IDLE))

    def _take(self, messages: list[Any]) -> tuple[int, int]:
        """Keep what has come: how many records, and bytes. It costs three calls a record."""
        kind, told = library().Message, list[Any]()
        if any(map(kind.error, messages)):
            told = [m for m in messages if m.error() is not None]
            messages = [m for m in messages if m.error() is None]
        partitions = list(map(kind.partition, messages))
        values = list(map(kind.value, messages))
        cuts = [0, *(np.flatnonzero(np.diff(partitions)) + 1).tolist(), len(messages)] if messages else []
        size = 0
        for begin, end in pairwise(cuts):
            partition = partitions[begin]
            first, last = messages[begin].offset(), messages[end - 1].offset()
            offsets: Sequence[int] = range(first, last + 1)
            if len(offsets) != end - begin:
                offsets = list(map(kind.offset, messages[begin:end]))
            self._ended.discard(partition)
            size += self._pending.setdefault(partition, _Records()).add(values[begin:end], offsets)
            self.offsets[partition] = last + 1
        for message in told:
            self._told(message)
        return len(messages), size

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
            asked(self.topic.servers, lambda: self._consumer.seek(part))
        elif error.code() in (errors.UNKNOWN_TOPIC_OR_PART, errors._UNKNOWN_PARTITION, errors._UNKNOWN_TOPIC):
            raise missing(self.topic, self._use, errors(errors.UNKNOWN_TOPIC_OR_PART))
        elif error.fatal() or not (error.retriable() or error.code() in _passing(errors)):
            raise refused(self.topic.servers, library().KafkaException(error))

    def _written(self, partition: int, begin: int) -> Iterator[FoundFile]:
        """Put what has come of a partition into files: one that ends behind each marker, if these are few, and one with
        the rest. What a file says of its tuples is then enough to know that a punctuation in it excludes none."""
        pending = self._pending.pop(partition)
        text = b"\n".join([*pending.texts, b""]) or b"\n"
        offsets, line, start = pending.gaps(begin), 0, 0
        for end in [*_behind_markers(text), len(text)]:
            piece = text[start:end]
            count = piece.count(b"\n")
            some = None if offsets is None else offsets[line : line + count]
            after = begin + count if some is None else int(some[-1]) + 1
            records = RecordFile(
                self.topic.name, partition, begin, after if end < len(text) else self.offsets[partition]
            )
            yield self._file(records, piece, some)
            begin, line, start = records.end, line + count, end

    def _file(self, records: RecordFile, text: bytes, offsets: np.ndarray | None) -> FoundFile:
        if offsets is not None and (offsets[0] != records.begin or len(offsets) <= offsets[-1] - offsets[0]):
            stream = io.BytesIO()
            np.save(stream, offsets)
            self.files.write(records.offsets_path(self.folder), stream.getvalue())
        path = records.path(self.folder)
        self.files.write(path, text)
        # Files go by their times: no clock that is put back may change their order.
        self._written_at = max(self._written_at, time.time_ns() // 1_000_000)
        return FoundFile(self.files.absolute(path), self._written_at, len(text))


def _behind_markers(text: bytes) -> list[int]:
    """Where the lines of markers end, but for the last line; none where there are many."""
    ends: list[int] = []
    at = text.find(_MARKER)
    while at >= 0 and len(ends) <= _FEW:
        ends.append(text.find(b"\n", at) + 1)
        at = text.find(_MARKER, ends[-1])
    return [end for end in ends if end < len(text)] if len(ends) <= _FEW else []


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
