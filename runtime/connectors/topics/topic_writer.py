"""Writes outputs into a topic: each epoch is one transaction, which contains the number of the next epoch."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from decimal import Decimal
from itertools import count
from typing import Any

from attrs import define, field

from cedilla.compiler.plan.topics import Topic
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.connectors.topics.kafka_client import (
    SECONDS,
    TopicState,
    asked,
    compacted,
    library,
    made,
    partitions_of,
)

Record = tuple[int, bytes | None, bytes]
"""The partition, the key and the value of a record."""


@define
class Dealer:
    """Assigns records to partitions: by CRC-32 of the key, as librdkafka's `consistent`; in turns without a key."""

    partitions: Sequence[int]
    _turn: count[int] = field(init=False, factory=count)

    def record(self, key: Any, value: bytes) -> Record:
        """Returns the record of a value. `key`: a JSON value or `None`."""
        if key is None:
            return self.partitions[next(self._turn) % len(self.partitions)], None, value
        text = key_bytes(key)
        return self.of_key(text), text, value

    def of_key(self, key: bytes) -> int:
        """Returns the partition of a key."""
        return self.partitions[zlib.crc32(key) % len(self.partitions)]


def key_bytes(key: Any) -> bytes:
    """Returns the key of a record: a string unchanged, any other JSON value as JSON text."""
    text = json_text(key) if isinstance(key, Decimal) else json.dumps(key)
    return (key if isinstance(key, str) else text).encode()


_MINUTES = 10
"""The longest time that a transaction may take."""
_POLLED = 1000
_USE = "an output is written to"


@define(eq=False)
class TopicWriter:
    """Writes epochs into a topic. `name`: the name of this output of this checkpoint, which never changes.

    A transaction also sets the offset of a consumer group of that name to the number of the next epoch. An epoch that
    is written again after a crash is therefore recognised, and a reader of committed records sees each record once.
    """

    topic: Topic
    name: str
    _producer: Any = field(init=False, default=None)
    _group: Any = field(init=False, default=None)
    _state: TopicState = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._state = TopicState(self.topic, _USE)

    def connect(self) -> None:
        """Connects, and aborts the open transaction of a process that died. Raises RQ442, RQ443, RQ444."""
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
        """Closes the connections to the brokers."""
        if self._group is not None:
            self._group.close()
        self._producer = self._group = None

    def partitions(self) -> int:
        """Returns the number of partitions. Raises RQ445 if the topic does not exist."""
        self.connect()
        # The producer's own request would make the brokers create a missing topic, where they do so.
        return partitions_of(self._group, self.topic, _USE)

    def identity(self) -> str:
        """Returns the id of the topic, which another topic of the same name does not have."""
        return self._state.identity()

    def check_policy(self) -> None:
        """Raises RQ504 if brokers delete older records of a key: markers have none, and brokers refuse them."""
        if self._state.is_compacted():
            raise compacted(self.topic, "markers have no key, and brokers refuse them", "")

    def is_empty(self) -> bool:
        """Returns True if no partition has a record."""
        parts = map(self._part, range(self.partitions()))
        ends = [
            asked(self.topic.servers, lambda p=part: self._group.get_watermark_offsets(p, timeout=SECONDS))
            for part in parts
        ]
        return all(low == high for low, high in ends)

    def next_epoch(self) -> int:
        """Returns the number of the epoch after the last one that was written."""
        self.connect()
        (committed,) = asked(
            self.topic.servers, lambda: self._group.committed([self._part(0)], timeout=SECONDS)
        )
        return max(int(committed.offset), 0)

    def write(self, epoch: int, records: Iterable[Record], check: Callable[[], None] = lambda: None) -> None:
        """Writes an epoch as one transaction. Raises `DiagnosticError` RQ448, or the error of `check`, which is asked
        before the records are committed."""
        try:
            self._transaction(records, epoch + 1, check)
        except library().KafkaException as problem:
            raise self._failed(epoch, problem) from None

    def send(self, records: Iterable[Record]) -> None:
        """Writes records that belong to no epoch as one transaction. Raises `DiagnosticError` RQ444."""
        asked(self.topic.servers, lambda: self._transaction(records, None, lambda: None))

    def _transaction(
        self, records: Iterable[Record], next_epoch: int | None, check: Callable[[], None]
    ) -> None:
        self.connect()
        producer = self._producer
        try:
            producer.begin_transaction()
            for number, (partition, key, value) in enumerate(records):
                self._send(partition, key, value)
                if not number % _POLLED:
                    producer.poll(0)
            left = producer.flush(SECONDS)
            check()  # now that all records are in the topic, or in one of its name
            if left:
                raise _timed_out()
            if next_epoch is not None:
                done = [library().TopicPartition(self.topic.name, 0, next_epoch)]
                group = self._group.consumer_group_metadata()
                # The call hangs for good if all brokers are away for some seconds: it forgets its own time limit.
                _in_time(lambda: producer.send_offsets_to_transaction(done, group, SECONDS))
            producer.commit_transaction(SECONDS)
        except DiagnosticError:
            with suppress(library().KafkaException):  # else brokers abort it after its time
                producer.abort_transaction(SECONDS)
            self.close()
            raise
        except library().KafkaException:
            self.close()
            raise

    def _send(self, partition: int, key: bytes | None, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(self.topic.name, value, key, partition)
                return
            except BufferError:  # the client's buffer is full
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


def _timed_out() -> Exception:
    errors = library().KafkaError
    return library().KafkaException(errors(errors._TIMED_OUT))


def _in_time(step: Callable[[], Any]) -> None:
    """Takes a step in a thread. Raises `KafkaException` if it does not end in time; the thread is then left running."""
    done = Future[Any]()

    def take() -> None:
        try:
            done.set_result(step())
        except BaseException as problem:  # is raised in the thread that waits
            done.set_exception(problem)

    threading.Thread(target=take, daemon=True).start()
    try:
        done.result(SECONDS)
    except TimeoutError:
        raise _timed_out() from None
