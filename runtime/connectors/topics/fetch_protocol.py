"""The messages between a run and the process that fetches records for it."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from cedilla.compiler.plan.record_fields import RecordField
from cedilla.compiler.plan.topics import Topic
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.storage.files import FoundFile
from cedilla.runtime.connectors.topics.imported_schemas import Importer


@frozen
class TopicSubscription:
    """A topic that the query reads, with the arguments of its `TopicReader`."""

    source: str
    topic: Topic
    folder: str
    most: int
    skips: bool
    seconds: float
    fields: tuple[RecordField, ...] = ()
    registry: str | None = None
    schemas: str = ""
    """The folder that keeps the schemas of the registry."""
    importer: Importer | None = None
    """States the changes of schemas that the query does not name."""


@frozen
class Connect:
    """The first request: connects to the topics."""

    subscriptions: tuple[TopicSubscription, ...]


@frozen
class Begin:
    """Starts reading. By source: the next offset of each partition, the topic's identity if the checkpoint has one, and
    the end offsets that an earlier process saw at its start."""

    offsets: Mapping[str, Mapping[int, int]]
    identities: Mapping[str, str | None]
    goals: Mapping[str, Mapping[int, int]]


@frozen
class Take:
    """Asks for the fetched records. `urgent`: the run waits for them, so a smaller batch is enough."""

    urgent: bool = True


@frozen
class Position:
    """The offsets of a topic after all records that were handed over. `ends`: those after the last records, if the
    brokers have reported them."""

    partitions: int
    identity: str
    offsets: Mapping[int, int]
    first: Mapping[int, int]
    goals: Mapping[int, int]
    is_at_end: bool
    ends: Mapping[int, int] = field(factory=dict[int, int])


@frozen
class Answer:
    """The answer to a request. `files`: the files of fetched records by source, in order. `failure` is empty where the
    request succeeded."""

    positions: Mapping[str, Position] = field(factory=dict[str, Position])
    files: Mapping[str, list[FoundFile]] = field(factory=dict[str, list[FoundFile]])
    notes: tuple[str, ...] = ()
    failure: tuple[Diagnostic, ...] = ()
