"""Takes records from the client of Kafka as runs: records of one partition that follow each other.

`MessageClient` takes an object of Python for each record. `BatchClient` takes none, for topics of which a query reads
the values alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, pairwise
from typing import Any, Protocol

import numpy as np
from attrs import define, field, frozen

from cedilla.compiler.plan.record_fields import RecordField
from cedilla.compiler.plan.topics import Topic
from cedilla.runtime.connectors.records.marker_files import MARKED_LINE
from cedilla.runtime.connectors.records.record_files import one_line
from cedilla.runtime.connectors.topics.imported_schemas import ImportedSchemas
from cedilla.runtime.connectors.topics.kafka_client import asked, library
from cedilla.runtime.connectors.topics.record_lines import has_frames, with_fields, without_frames
from cedilla.runtime.connectors.topics.registry import FramedRecords


@frozen
class Run:
    """Records of a partition that follow each other. `values`: their values, `None` for a record without one; or their
    text, if each of them is a line as it is. `offsets`: those of the values. `end`: the offset after the last
    record."""

    partition: int
    offsets: Sequence[int]
    values: Sequence[bytes | None] | bytes
    end: int


@frozen
class Problem:
    """An error of a partition that the client reports among its records."""

    partition: int
    offset: int
    error: Any


class RecordClient(Protocol):
    """A client that reads partitions of a topic from given offsets on."""

    def assign(self, offsets: Mapping[int, int]) -> None:
        """Starts reading partitions at offsets. Raises `DiagnosticError` RQ444."""
        ...

    def unassign(self, partition: int) -> None:
        """Stops reading a partition. Raises `DiagnosticError` RQ444."""
        ...

    def last_end(self, partition: int) -> int:
        """Returns the end offset of a partition by the last answer of its broker; a negative number before the
        first."""
        ...

    def take(self, most: int, seconds: float) -> Iterator[Run | Problem]:
        """Yields the next records, at most so many, and waits for the first. Raises `DiagnosticError`: RQ444; as
        `ImportedSchemas.lines`."""
        ...


@define(eq=False)
class MessageClient:
    """Takes records as objects, by three calls a record."""

    topic: Topic
    consumer: Any
    fields: tuple[RecordField, ...] = ()
    """The fields of records that tuples get."""
    frames: FramedRecords | None = None
    """Reads the records of a topic with a registry."""
    imported: ImportedSchemas | None = None
    """Imports schemas that the query does not name."""

    def assign(self, offsets: Mapping[int, int]) -> None:
        kind, name = library().TopicPartition, self.topic.name
        parts = [kind(name, partition, offset) for partition, offset in offsets.items()]
        asked(self.topic.servers, lambda: self.consumer.incremental_assign(parts))

    def unassign(self, partition: int) -> None:
        parts = [library().TopicPartition(self.topic.name, partition)]
        asked(self.topic.servers, lambda: self.consumer.incremental_unassign(parts))

    def last_end(self, partition: int) -> int:
        part = library().TopicPartition(self.topic.name, partition)
        ends = asked(self.topic.servers, lambda: self.consumer.get_watermark_offsets(part, cached=True))
        return ends[1] if ends else -1

    def take(self, most: int, seconds: float) -> Iterator[Run | Problem]:
        kind, errors = library().Message, list[Any]()
        messages = asked(self.topic.servers, lambda: self.consumer.consume(most, seconds))
        if any(map(kind.error, messages)):
            errors = [m for m in messages if m.error() is not None]
            messages = [m for m in messages if m.error() is None]
        partitions = np.fromiter(map(kind.partition, messages), np.int32, len(messages))
        values = self._values(messages)
        cuts = [0, *(np.flatnonzero(np.diff(partitions)) + 1).tolist(), len(messages)] if messages else []
        for begin, end in pairwise(cuts):
            first, last = messages[begin].offset(), messages[end - 1].offset()
            offsets: Sequence[int] = range(first, last + 1)
            if len(offsets) != end - begin:
                offsets = list(map(kind.offset, messages[begin:end]))
            partition, lines = int(partitions[begin]), values[begin:end]
            if self.imported is not None:
                lines, offsets = self.imported.lines(messages[begin:end], lines, offsets, partition)
            yield Run(partition, offsets, lines, last + 1)
        for message in errors:
            yield Problem(message.partition(), message.offset(), message.error())

    def _values(self, messages: Sequence[Any]) -> Sequence[bytes | None]:
        values = None if self.frames is None else self.frames.lines(messages)
        if self.fields:
            return with_fields(messages, self.fields, values)
        return [*map(library().Message.value, messages)] if values is None else values


@define
class PendingRecords:
    """The records of a partition that are not in a file yet: texts of some lines each, and the offsets of the lines."""

    texts: list[bytes] = field(factory=list[bytes])
    offsets: list[Sequence[int]] = field(factory=list[Sequence[int]])

    def add(self, run: Run) -> int:
        """Adds the records of a run. Returns the number of bytes."""
        text, offsets = (
            (run.values, run.offsets) if isinstance(run.values, bytes) else _lines(run.values, run.offsets)
        )
        if offsets:
            self.texts.append(text)
            self.offsets.append(offsets)
        return len(text)

    @property
    def lines(self) -> int:
        return sum(map(len, self.offsets))

    def gaps(self, begin: int) -> np.ndarray | None:
        """Returns the offset of each line, `None` where they count up from `begin`."""
        if all(
            isinstance(offsets, range) and offsets[0] == after
            for offsets, after in zip(self.offsets, self._ends(begin), strict=False)
        ):
            return None
        return np.concatenate([np.asarray(offsets, np.int64) for offsets in self.offsets])

    def _ends(self, begin: int) -> Iterator[int]:
        yield begin
        yield from (offsets[-1] + 1 for offsets in self.offsets)


def _lines(values: Sequence[bytes | None], offsets: Sequence[int]) -> tuple[bytes, Sequence[int]]:
    """Returns values as lines, and the offset of each line. Leaves out records without a value, and provisional rows of
    another query, which are not part of its output."""
    lines = [value for value in values if value is not None]
    if len(lines) < len(values):
        offsets = [offset for value, offset in zip(values, offsets, strict=True) if value is not None]
    text = b"\n".join(lines)
    if has_frames(text):
        lines = without_frames(lines)
        text = b"\n".join(lines)
    if MARKED_LINE in text:
        read = [not line.startswith(MARKED_LINE) for line in lines]
        lines, offsets = [*compress(lines, read)], [*compress(offsets, read)]
        text = b"\n".join(lines)
    if lines and (text.count(b"\n") != len(lines) - 1 or b"\r" in text):
        text = b"\n".join(map(one_line, lines))
    return text, offsets
