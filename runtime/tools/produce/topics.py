"""Writes to a topic: chooses the partitions of a line, and sends lines in transactions (theory D1, N9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from attrs import evolve

from cedilla.compiler.expressions.types import patterns
from cedilla.compiler.facts.quantities import has_units
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import Level
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.parser import parse_accent, parse_punctuation
from cedilla.runtime.connectors.topics.topic_lines import Place
from cedilla.runtime.connectors.topics.topic_writer import Dealer, Record, TopicWriter, key_bytes
from cedilla.runtime.tools.produce.files import Target


class Sent(Target):
    """Lines that wait in memory until `flush` sends them in one transaction.

    A marker for several partitions is then in all of them or in none. Raises `DiagnosticError`: RQ410 if the
    topic lacks the partition, RQ442 to RQ445.
    """

    def __init__(self, target: Place) -> None:
        self._key = target.topic.key
        self._writer = TopicWriter(evolve(target.topic, key=None), f"cedilla-{uuid4().hex}")
        self.parts = target.partitions(self._writer.partitions())
        self._dealer = Dealer(self.parts)
        self._records: list[Record] = []

    def check_key(self, source: Source) -> None:
        """Raises RQ449 if the key of records is not an attribute of the stream."""
        names = [attribute.name for attribute in source.attributes]
        if self._key is not None and self._key not in names:
            message = f"`{self._key}` is the key of records, and is not an attribute of the stream"
            raise failure("RQ449", message, hint=f"attributes: {', '.join(names)}")

    def dealt(self, row: Mapping[str, Any], text: str) -> Record:
        return self._dealer.record(row.get(self._key) if self._key else None, text.encode())

    def parts_of(self, marker: str, source: Source) -> Sequence[int]:
        """Returns the partitions that a marker goes to.

        These are the partitions of its keys if `partitioned by` assigns keys to partitions and the marker
        lists some; else all.
        """
        if self._key is None or source.partitioned != self._key:
            return self.parts
        keys = _keys_in(marker, source)
        return self.parts if keys is None else sorted({self._dealer.of_key(key_bytes(key)) for key in keys})

    def take(self, record: Record) -> None:
        """Keeps a record for the next `flush`."""
        self._records.append(record)

    def write(self, text: str) -> None:
        """Adds a line to every partition."""
        self._records += ((part, None, text.encode()) for part in self.parts)

    def flush(self) -> None:
        if self._records:
            self._writer.send(self._records)
            self._records = []

    def close(self) -> None:
        self.flush()
        self.abandon()

    def abandon(self) -> None:
        self._writer.close()


def _keys_in(marker: str, source: Source) -> list[int | str] | None:
    """Returns the keys that a marker lists; `None` if it covers all keys, or is malformed."""
    name = source.partitioned
    type_ = next(attribute.type for attribute in source.attributes if attribute.name == name)
    if name is None or type_.name not in ("int", "long", "string"):
        return None
    try:
        is_accent = marker.lstrip().startswith("[[")
        conditions = parse_accent(marker).description if is_accent else parse_punctuation(marker).conditions
        of_key = tuple(condition for condition in conditions if condition.attribute == name)
        if any(map(has_units, of_key)):
            return None
        region = patterns.region_of(of_key, {name: type_})
    except DiagnosticError:  # the check of the marker reports the error
        return None
    if not isinstance(region, Level) or region.undefined or any(region.pieces):
        return None
    return [key for key, leaf in region.points.items() if leaf and isinstance(key, int | str)]
