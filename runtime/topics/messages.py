"""What a run and the process that fetches for it say to each other."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from cedilla.compiler.plan.topics import Topic
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.storage.files import FoundFile


@frozen
class Wanted:
    """A topic that is to be read, and how: what `TopicReader` is made of."""

    source: str
    topic: Topic
    folder: str
    most: int
    skips: bool
    seconds: float


@frozen
class Share:
    """The partitions that one of `of` processes reads."""

    number: int = 0
    of: int = 1

    def has(self, partition: int) -> bool:
        """Whether a partition is one of them."""
        return partition % self.of == self.number


@frozen
class Connect:
    """The first request: what is read."""

    wanted: tuple[Wanted, ...]


@frozen
class Begin:
    """Where reading begins, by source: offsets by partition, the topic's identity if one is known, and where a process
    before this one was to end. `share`: the partitions that are read."""

    offsets: Mapping[str, Mapping[int, int]]
    identities: Mapping[str, str | None]
    goals: Mapping[str, Mapping[int, int]]
    share: Share = Share()


@frozen
class Take:
    """What has been fetched is asked for. `urgent`: whether somebody waits for it, so that fewer records are enough."""

    urgent: bool = True


@frozen
class Position:
    """Where a topic stands, behind all that has been handed over."""

    partitions: int
    identity: str
    offsets: Mapping[int, int]
    first: Mapping[int, int]
    goals: Mapping[int, int]
    is_at_end: bool


@frozen
class Answer:
    """What a request comes to; either `failure` has what went wrong, or nothing went wrong. `files`: those of records,
    by source, in order."""

    positions: Mapping[str, Position] = field(factory=dict[str, Position])
    files: Mapping[str, list[FoundFile]] = field(factory=dict[str, list[FoundFile]])
    notes: tuple[str, ...] = ()
    failure: tuple[Diagnostic, ...] = ()
