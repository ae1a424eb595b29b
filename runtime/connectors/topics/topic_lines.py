"""Reads the records of a topic as lines, for tools that inspect a stream without a query."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import define, field, frozen

from cedilla.compiler.plan.record_fields import RecordField
from cedilla.compiler.plan.topics import Topic, is_topic, topic_of
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.records.lines import LONGEST_LINE, Line, too_long
from cedilla.runtime.connectors.records.marker_files import MARKED_LINE
from cedilla.runtime.connectors.records.otlp_proto import record_line
from cedilla.runtime.connectors.records.record_files import fault_of, is_binary, is_packed, record_of
from cedilla.runtime.connectors.topics.imported_schemas import ImportedSchemas, Importer
from cedilla.runtime.connectors.topics.kafka_client import (
    READER,
    SECONDS,
    asked,
    library,
    made,
    partitions_of,
    refused,
)
from cedilla.runtime.connectors.topics.record_lines import with_fields
from cedilla.runtime.connectors.topics.registry import FramedRecords

_TOGETHER = 10_000
_WAIT = 1.0
_PARTITION = re.compile(r"(?P<topic>.*/[^/?]+)/(?P<partition>\d+)(?P<key>\?key=.*)?")


@frozen
class Place:
    """The topic that an address names, and one of its partitions or all (`None`)."""

    topic: Topic
    partition: int | None = None

    def partitions(self, count: int) -> Sequence[int]:
        """Returns the named partitions of a topic with `count`. Raises `DiagnosticError` RQ410 for a missing one."""
        if self.partition is None:
            return range(count)
        if self.partition >= count:
            message = f"the topic `{self.topic.name}` has no partition {self.partition}"
            raise failure("RQ410", message, hint=f"it has {count}, from 0 to {count - 1}")
        return (self.partition,)


def place_of(path: str) -> Place | None:
    """Returns what an address names, `host:9092/topic` or `host:9092/topic/2`; `None` for other paths."""
    if (match := _PARTITION.fullmatch(path)) and is_topic(match["topic"] + (match["key"] or "")):
        return Place(topic_of(match["topic"] + (match["key"] or "")), int(match["partition"]))
    return Place(topic_of(path)) if is_topic(path) else None


@define(eq=False)
class RecordedTopic:
    """The partitions that a place names, each an ordered stream of its own (theory G38). `registry`: the address of the
    registry with the schemas of its records. `importer`: imports those that the query does not name.
    `with_provisional`: reads provisional rows, too, which are not part of the stream.

    Raises `DiagnosticError`: RQ442 to RQ445; RQ505 as `SchemaRegistry`; RQ410 where the topic has no such partition.
    """

    place: Place
    registry: str | None = None
    importer: Importer | None = None
    with_provisional: bool = False
    partitions: Sequence[int] = field(init=False)
    _frames: FramedRecords | None = field(init=False)
    _imported: ImportedSchemas | None = field(init=False)
    _consumer: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        topic = self.place.topic
        self._frames = None if self.registry is None else FramedRecords.of(self.registry)
        self._imported = None
        if self._frames is not None and self.importer is not None:
            self._imported = ImportedSchemas(self.importer, self._frames.schemas.registry)
        self._consumer = made("Consumer", topic.servers, READER)
        self.partitions = self.place.partitions(partitions_of(self._consumer, topic, "is to be read"))

    def name(self, partition: int) -> str:
        """Returns the name of a partition for messages: `readings/1`."""
        return f"{self.place.topic.name}/{partition}"

    def ends(self, partition: int) -> tuple[int, int]:
        """Returns the offsets of the first record and of the next one to come."""
        part = library().TopicPartition(self.place.topic.name, partition)
        return asked(
            self.place.topic.servers, lambda: self._consumer.get_watermark_offsets(part, timeout=SECONDS)
        )

    def lines(
        self,
        partition: int,
        begin: int,
        end: int,
        limit: int = LONGEST_LINE,
        fields: Sequence[RecordField] = (),
    ) -> Iterator[Line]:
        """Yields the records of a partition from `begin` up to before `end`, with the place `topic/partition:offset`.

        `fields`: those of records that tuples get. Leaves out blank records and those of aborted transactions.

        Raises `DiagnosticError` RQ444 where the brokers give none for half a minute, or refuse.
        """
        return self._lines(partition, begin, end, limit, self._line, fields)

    def _lines(
        self,
        partition: int,
        begin: int,
        end: int,
        limit: int,
        read: Callable[[int, int, bytes, str], Line],
        fields: Sequence[RecordField],
    ) -> Iterator[Line]:
        consumer = made("Consumer", self.place.topic.servers, READER)
        try:
            part = library().TopicPartition(self.place.topic.name, partition, begin)
            asked(self.place.topic.servers, lambda: consumer.assign([part]))
            for offset, value in self._read(consumer, partition, begin, end, fields):
                fault = too_long(limit) if len(value) > limit else ""
                if fault or value.strip():
                    yield read(partition, offset, value, fault)
        finally:
            consumer.close()

    def _read(
        self, consumer: Any, partition: int, begin: int, end: int, fields: Sequence[RecordField]
    ) -> Iterator[tuple[int, bytes]]:
        if self._imported is not None:
            self._imported.again(partition)
        at, heard = begin, time.monotonic()
        while at < end:
            for message in asked(self.place.topic.servers, lambda: consumer.consume(_TOGETHER, _WAIT)):
                if message.error() is not None:
                    at = end if self._is_end(message.error()) else at
                    continue
                at, heard = message.offset() + 1, time.monotonic()
                if at > end:
                    break
                lines = None if self._frames is None else self._frames.lines([message])
                values: Sequence[bytes | None] = with_fields([message], fields, lines)
                if self._imported is not None:
                    values, _ = self._imported.lines([message], values, [at - 1], partition)
                yield from ((at - 1, value) for value in values if value is not None and self._is_read(value))
            if time.monotonic() - heard > SECONDS:
                error = library().KafkaError(library().KafkaError._TIMED_OUT)
                raise refused(self.place.topic.servers, library().KafkaException(error))

    def _is_read(self, value: bytes) -> bool:
        return self.with_provisional or not value.startswith(MARKED_LINE)

    def _line(self, partition: int, offset: int, value: bytes, fault: str) -> Line:
        position = f"{self.name(partition)}:{offset}"
        if self._frames is not None and is_packed(value):
            fault = fault_of(value) or fault
            value = record_of(value)
        try:
            return Line(value.decode("utf-8"), position, fault=fault)
        except UnicodeDecodeError:
            return Line(value.decode("utf-8", "replace"), position, is_utf8=False, fault=fault)

    def requests(
        self,
        partition: int,
        begin: int,
        end: int,
        limit: int = LONGEST_LINE,
        fields: Sequence[RecordField] = (),
    ) -> Iterator[Line]:
        """Yields the records as `lines` does, requests in protobuf as lines of JSON."""
        return self._lines(partition, begin, end, limit, self._request, fields)

    def _request(self, partition: int, offset: int, value: bytes, fault: str) -> Line:
        if not (is_binary(value) or is_packed(value)):
            return self._line(partition, offset, value, fault)
        return record_line(value, f"{self.name(partition)}:{offset}", fault)

    def _is_end(self, error: Any) -> bool:
        """Returns True at the end of a partition. Raises errors that the client does not mend by itself."""
        errors = library().KafkaError
        if error.code() == errors._PARTITION_EOF:
            return True
        if error.fatal() or error.code() >= 0 or error.code() == errors._AUTO_OFFSET_RESET:
            raise refused(self.place.topic.servers, library().KafkaException(error))
        return False
