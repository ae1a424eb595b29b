"""The content of a commit record: all that the next epoch builds on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from attrs import field, frozen

from cedilla.compiler.facts.facts import StateFacts
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.state.segments import Segment

KEPT_COMMITS = 2
"""The number of last commit records that a checkpoint keeps."""
_MOMENT = "%Y-%m-%d %H:%M:%S UTC"


def moment() -> str:
    """Returns the present moment for people: in UTC, to the second."""
    return datetime.now(UTC).strftime(_MOMENT)


def seconds(moment: str) -> float:
    """Returns a moment as seconds since 1970."""
    return datetime.strptime(moment, _MOMENT).replace(tzinfo=UTC).timestamp()


@frozen
class Progress:
    """The part of a source that is read in the current batch: files done, and lines (without blank ones) of the file
    after those, if the last epoch ended inside it.
    """

    files: int = 0
    lines: int = 0


@frozen
class Commit:
    """All that the next epoch builds on, and what has been counted since the first.

    `counters`: code -> rejected tuples; `read`: source -> tuples that were not rejected; `written`: output -> tuples.
    `suspects`: source -> the record of its watch, as JSON values (`monitor_record`). `time`: when it was committed;
    `engine`: what ran the epoch. `topics`: how far topics are read (`topics.Read`). `inferred`: source ->
    attribute that `set drift = infer` has added -> the epoch that did. `removed`: the sources that edits have removed.
    `run`: the number of the run that committed it.
    """

    epoch: int = -1
    batch: int = -1
    progress: Mapping[str, Progress] = field(factory=dict[str, Progress])
    sources: Mapping[str, SourceState] = field(factory=dict[str, SourceState])
    sinks: Mapping[str, SinkState] = field(factory=dict[str, SinkState])
    state_facts: Mapping[str, StateFacts] = field(factory=dict[str, StateFacts])
    segments: Mapping[str, tuple[Segment, ...]] = field(factory=dict[str, tuple[Segment, ...]])
    counters: Mapping[str, int] = field(factory=dict[str, int])
    read: Mapping[str, int] = field(factory=dict[str, int])
    written: Mapping[str, int] = field(factory=dict[str, int])
    suspects: Mapping[str, Any] = field(factory=dict[str, Any])
    time: str | None = None
    engine: str | None = None
    topics: Mapping[str, Any] = field(factory=dict[str, Any])
    inferred: Mapping[str, Mapping[str, int]] = field(factory=dict[str, Mapping[str, int]])
    removed: tuple[str, ...] = field(default=(), converter=tuple)
    run: int = 0
