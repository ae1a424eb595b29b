"""A topic that a sender writes to: which partitions a line goes to, and when readers see it (theory D1, N9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from attrs import evolve

from cedilla.compiler.expressions import patterns
from cedilla.compiler.facts.quantities import has_units
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import Level
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.parser import parse_accent, parse_punctuation
from cedilla.runtime.produce.files import Target
from cedilla.runtime.topics.recorded import Place
from cedilla.runtime.topics.writer import Dealer, Record, TopicWriter, key_bytes


class Sent(Target):
    """Lines that wait in memory until each `flush` sends them in one transaction: a marker that goes to several
    partitions is in all of them or in none.

    Raises `DiagnosticError`: RQ410 where the topic has no such partition, RQ442 to RQ445.
    """

    def __init__(self, place: Place) -> None:
        self._key = place.topic.key
        self._writer = TopicWriter(evolve(place.topic, key=None), f"cedilla-{uuid4().hex}")
        self.parts = place.partitions(self._writer.partitions())
        self._dealer = Dealer(self.parts)
        self._records: list[Record] = []

    def check_key(self, source: Source) -> None:
        """Raise RQ449 where the key of records is no attribute of the stream."""
        names = [attribute.name for attribute in source.attributes]
        if self._key is not None and self._key not in names:
            message = f"`{self._key}` is to be the key of records, and is no attribute of the stream"
            raise failure("RQ449", message, hint=f"attributes: {', '.join(names)}")

    def dealt(self, row: Mapping[str, Any], text: str) -> Record:
        """The record of a tuple."""
        return self._dealer.record(row.get(self._key) if self._key else None, text.encode())

    def parts_of(self, marker: str, source: Source) -> Sequence[int]:
        """The partitions that a marker goes to: where `partitioned by` says that a key lives in one, and the marker
        speaks of some keys, those of these keys; else all."""
        if self._key is None or source.partitioned != self._key:
            return self.parts
        keys = _keys_in(marker, source)
        return self.parts if keys is None else sorted({self._dealer.of_key(key_bytes(key)) for key in keys})

    def take(self, record: Record) -> None:
        """Keep a record for the next `flush`."""
        self._records.append(record)

    def write(self, text: str) -> None:
        """A line of every partition."""
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
    """The keys that a marker lists; `None` where it speaks of all, or cannot be understood."""
    name = source.partitioned
    type_ = next(attribute.type for attribute in source.attributes if attribute.name == name)
    if name is None or type_.name not in ("int", "long", "string"):
        return None
    try:
        is_accent = marker.lstrip().startswith("[[")
        conditions = parse_accent(marker).description if is_accent else parse_punctuation(marker).conditions
        of_key = tuple(each for each in conditions if each.attribute == name)
        if any(map(has_units, of_key)):
            return None
        region = patterns.region_of(of_key, {name: type_})
    except DiagnosticError:  # the check of the marker says it
        return None
    if not isinstance(region, Level) or region.undefined or any(region.pieces):
        return None
    return [key for key, leaf in region.points.items() if leaf and isinstance(key, int | str)]
