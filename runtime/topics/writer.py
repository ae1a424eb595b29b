"""A topic as an output: each epoch is one transaction, which says in itself that it is done."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from attrs import define, field

from cedilla.compiler.plan.topics import Topic
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.topics.client import SECONDS, asked, identity_of, library, made, partitions_of

Record = tuple[int, bytes | None, bytes]
"""The partition, the key and the value of a record."""


@define
class Dealer:
    """Deals records to partitions: those of one key to the same one, by CRC-32 as librdkafka's `consistent`, those
    without in turns."""

    partitions: Sequence[int]
    _turn: count[int] = field(init=False, factory=count)

    def record(self, key: Any, value: bytes) -> Record:
        """The record of a value; its key as a JSON value, `None` where there is none."""
        if key is None:
            return self.partitions[next(self._turn) % len(self.partitions)], None, value
        text = key_bytes(key)
        return self.of_key(text), text, value

    def of_key(self, key: bytes) -> int:
        """The partition of a key."""
        return self.partitions[zlib.crc32(key) % len(self.partitions)]


def key_bytes(key: Any) -> bytes:
    """The key of a record from a JSON value: a string as it is, anything else as in JSON."""
    return (key if isinstance(key, str) else json.dumps(key)).encode()


_MINUTES = 10
"""So long a transaction may take."""
_POLLED = 1000


@define(eq=False)
class TopicWriter:
    """Writes epochs into a topic. `name`: that of this output of this checkpoint, for ever the same.

    A transaction moves the offset of a consumer group of that name, too, which nobody reads by: it is the number of the
    next epoch. So an epoch that is written again after a crash is known, and a reader of committed records sees each
    record once.
    """

    topic: Topic
    name: str
    _producer: Any = field(init=False, default=None)
    _group: Any = field(init=False, default=None)

    def connect(self) -> None:
        """Raises `DiagnosticError`: RQ442, RQ443, RQ444. What a process that died has begun is given up."""
        if self._producer is not None:
            return
        own = {
            "transactional.id": self.name,
            "transaction.timeout.ms": _MINUTES * 60_000,
            "linger.ms": 20,
            "queue.buffering.max.messages": 200_000,
        }
        self._group = made(
            "Consumer", self.topic.servers, {"group.id": self.name, "enable.auto.commit": False}
        )
        producer = made("Producer", self.topic.servers, own)
        asked(self.topic.servers, lambda: producer.init_transactions(SECONDS))
        self._producer = producer

    def close(self) -> None:
        """Let the brokers go."""
        if self._group is not None:
            self._group.close()
        self._producer = self._group = None

    def partitions(self) -> int:
        """How many the topic has. Raises RQ445 where there is no such topic."""
        self.connect()
        # Not by the producer: where brokers make topics that they do not have, it would have them make this one.
        return partitions_of(self._group, self.topic, "an output is written to")

    def identity(self) -> str:
        """That of the topic, which another one of its name does not have."""
        return identity_of(self.topic)

    def is_empty(self) -> bool:
        """Whether no partition has a record."""
        parts = map(self._part, range(self.partitions()))
        ends = [
            asked(self.topic.servers, lambda p=part: self._group.get_watermark_offsets(p, timeout=SECONDS))
            for part in parts
        ]
        return all(low == high for low, high in ends)

    def next_epoch(self) -> int:
        """The number of the epoch behind the last one that was written."""
        self.connect()
        (known,) = asked(self.topic.servers, lambda: self._group.committed([self._part(0)], timeout=SECONDS))
        return max(int(known.offset), 0)

    def write(self, epoch: int, records: Iterable[Record]) -> None:
        """Write an epoch, all of it or nothing. Raises `DiagnosticError` RQ448."""
        try:
            self._transaction(records, epoch + 1)
        except library().KafkaException as problem:
            raise self._failed(epoch, problem) from None

    def send(self, records: Iterable[Record]) -> None:
        """Write records, all of them or none, that belong to no epoch. Raises `DiagnosticError` RQ444."""
        asked(self.topic.servers, lambda: self._transaction(records, None))

    def _transaction(self, records: Iterable[Record], next_epoch: int | None) -> None:
        self.connect()
        try:
            self._producer.begin_transaction()
            for number, (partition, key, value) in enumerate(records):
                self._send(partition, key, value)
                if not number % _POLLED:
                    self._producer.poll(0)
            if next_epoch is not None:
                done = [library().TopicPartition(self.topic.name, 0, next_epoch)]
                group = self._group.consumer_group_metadata()
                self._producer.send_offsets_to_transaction(done, group, SECONDS)
            self._producer.commit_transaction(SECONDS)
        except library().KafkaException:
            self.close()
            raise

    def _send(self, partition: int, key: bytes | None, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(self.topic.name, value, key, partition)
                return
            except BufferError:  # more than the client keeps: it is sent first
                self._producer.poll(0.1)

    def _part(self, partition: int) -> Any:
        return library().TopicPartition(self.topic.name, partition)

    def _failed(self, epoch: int, problem: Exception) -> DiagnosticError:
        error: Any = problem.args[0]
        message = f"epoch {epoch} was not written to `{self.topic.name}`: {error.str()}"
        hint = "it is committed, and kept: the next run writes it before all others"
        if error.code() in (library().KafkaError._FENCED, library().KafkaError.INVALID_PRODUCER_EPOCH):
            hint = f"{hint}; another process has the same checkpoint"
        return failure("RQ448", message, hint=hint)
