"""A topic as a sink: an epoch is staged in the checkpoint, and written in one transaction after its commit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar
from uuid import uuid4

from cedilla.compiler.plan import Emit
from cedilla.compiler.plan.topics import Topic, topic_of
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.connectors.records.json_objects import number_of
from cedilla.runtime.connectors.records.marker_files import is_provisional_file, is_tuple_file
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.topics.topic_writer import Dealer, Record, TopicWriter


class KafkaSink(JsonLinesSink):
    """A tuple is a record of one partition, chosen by its key if it has one; a marker is a record of each partition
    (theory N9).

    The partitions are those that the topic had when the output began. A later partition would lack the accents before
    it.
    """

    hides_provisional: ClassVar[bool] = False

    def __init__(
        self, files: Files, path: str, relation: str, topic: Topic, latest: Sequence[str] = ()
    ) -> None:
        """`latest`: the attributes that are the key of records if the output is updated."""
        super().__init__(files, path, relation)
        self._topic = topic
        self._latest = latest
        self._dealer: Dealer | None = None
        self._made: TopicWriter | None = None
        self._next = 0  # the first epoch that is not written; 0 if it is not known

    @classmethod
    def of(cls, files: Files, checkpoint: str, emit: Emit) -> KafkaSink:
        """Returns the sink of an emit; epochs are staged in a folder of the checkpoint."""
        topic = topic_of(emit.path, emit.span)
        return cls(files, f"{checkpoint}/produced/{topic.name}", emit.relation, topic, emit.latest)

    def publish(self, number: int, run: int) -> None:
        """Writes a committed epoch, unless its transaction is done. Raises `DiagnosticError`: RQ442 to RQ445, RQ447,
        RQ448."""
        staged = self.staged_files(number, run)
        if not staged:
            return
        if not self._files.exists(record := f"{self._path}/output.json"):
            raise self._another("holds records of another output")
        output = json.loads(self._files.read(record))
        writer = self._writer(output["name"])
        self._check(writer, output["topic"])
        self._next = self._next or writer.next_epoch()
        if self._next <= number:
            records = self._records(staged, output["partitions"])
            writer.write(number, records, lambda: self._check(writer, output["topic"]))
            self._next = number + 1
        self.forget(number, run, staged)

    def _check(self, writer: TopicWriter, identity: str) -> None:
        if writer.identity() != identity:
            raise self._another("was deleted and created again since the output began")

    def _another(self, why: str) -> DiagnosticError:
        hint = "a new checkpoint, and a topic without records, begin a new output"
        return failure("RQ447", f"the topic `{self._topic.name}` {why}", hint=hint)

    def check_fresh(self) -> bool:
        """Returns True if the topic contains no record; then starts the output. Raises `DiagnosticError`: RQ442 to
        RQ445, RQ504."""
        name = f"cedilla-{uuid4().hex}"
        writer = self._writer(name)
        writer.check_policy()
        if not writer.is_empty():
            return False
        output = {"name": name, "topic": writer.identity(), "partitions": writer.partitions()}
        self._files.write(f"{self._path}/output.json", json.dumps(output))
        return True

    def _writer(self, name: str) -> TopicWriter:
        if self._made is None or self._made.name != name:
            self.close()
            self._made = TopicWriter(self._topic, name)
        return self._made

    def close(self) -> None:
        if self._made is not None:
            self._made.close()

    def _records(self, staged: Mapping[str, FoundFile], partitions: int) -> Iterator[Record]:
        dealer = self._dealer = self._dealer or Dealer(range(partitions))
        for name, file in staged.items():
            are_rows = is_tuple_file(name) or is_provisional_file(name)
            for line in b"".join(self._files.blocks(file.path, file.length)).split(b"\n"):
                if not line:
                    continue
                if are_rows:
                    yield dealer.record(self._key(line), line)
                else:
                    yield from ((partition, None, line) for partition in range(partitions))

    def _key(self, line: bytes) -> Any:
        """Returns the key of a record: the value of an attribute, or all values of the key of rows that are updated."""
        if self._topic.key is None and not self._latest:
            return None
        row = json.loads(line, parse_float=number_of)
        if not self._latest:
            return row.get(self._topic.key)
        values = [_whole(row.get(name)) for name in self._latest]
        # An undefined value alone is not a key: Kafka would spread its rows over the partitions.
        return values[0] if len(values) == 1 and values[0] is not None else values


def _whole(value: Any) -> Any:
    """Returns a number without a fraction as a whole one: accents make doubles of whole numbers, and a key stays."""
    is_whole = isinstance(value, float | Decimal) and value == value // 1
    return int(value) if is_whole else value
