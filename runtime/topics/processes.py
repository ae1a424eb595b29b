"""Processes that fetch for a run, as one: each reads some of the partitions of each topic.

One of them brings one to two million short records a second, whatever the engine could take: on machines with many
cores there are several.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from attrs import define, field

from cedilla.runtime.storage.files import Files, FoundFile
from cedilla.runtime.topics.messages import Answer, Position, Share, Wanted
from cedilla.runtime.topics.process import FetchProcess

_CORES = 4
"""For so many cores of this machine there is one process: what it brings, about three of them compute with."""


def most_processes() -> int:
    """How many processes may fetch on this machine."""
    return max(1, (os.cpu_count() or 1) // _CORES)


@define(eq=False)
class FetchProcesses:
    """At most `most` processes, and no more than there are partitions of a topic."""

    wanted: tuple[Wanted, ...]
    files: Files
    most: int
    _members: list[FetchProcess] = field(init=False, factory=list[FetchProcess])
    _threads: ThreadPoolExecutor = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._members = [FetchProcess(self.wanted, self.files)]
        # One thread for each of them, and one for whoever waits for all.
        self._threads = ThreadPoolExecutor(self.most + 1, "topics")

    def connect(self) -> None:
        """Start them. Raises `DiagnosticError`: RQ442 to RQ445."""
        (first,) = self._members
        first.connect()
        count = min(self.most, max((at.partitions for at in first.positions.values()), default=1))
        self._members += [FetchProcess(self.wanted, self.files) for _ in range(1, count)]
        for number, each in enumerate(self._members):
            each.share = Share(number, count)
        self._each(self._members[1:], FetchProcess.connect)

    def begin(self, offsets: Mapping[str, Mapping[int, int]], identities: Mapping[str, str | None]) -> Answer:
        """Let them read. Raises as `TopicReader.begin` does."""
        return _together(self._each(self._members, lambda member: member.begin(offsets, identities)))

    def take(self, *, urgent: bool) -> Future[Answer]:
        """What they have fetched since, nothing if nothing has come; it may be some seconds until that is known, fewer
        where it is `urgent`. It raises `DiagnosticError`: RQ444 to RQ447, RQ450 where a process dies again and again.
        """
        asked = [member.take(urgent=urgent) for member in self._members]
        return self._threads.submit(_taken, asked)

    def close(self) -> None:
        """End them."""
        for member in self._members:
            member.close()
        self._threads.shutdown(cancel_futures=True)

    @property
    def positions(self) -> Mapping[str, Position]:
        """Where each topic stands, behind all that was handed over."""
        return _positions([member.positions for member in self._members])

    def _each(self, members: Sequence[FetchProcess], step: Callable[[FetchProcess], Any]) -> list[Any]:
        """What a step gives for each of some processes; of those that fail, the first is told once all are through."""
        asked = [self._threads.submit(step, member) for member in members]
        for each in asked:
            each.exception()
        return [each.result() for each in asked]


def _taken(asked: Sequence[Future[Answer]]) -> Answer:
    """The answers as one. Where one process fails, what others have brought comes first: it fails again if asked."""
    answers = [each.result() for each in asked if each.exception() is None]
    failed = [each for each in asked if each.exception() is not None]
    if failed and not any(files for answer in answers for files in answer.files.values()):
        return failed[0].result()
    return _together(answers)


def _together(answers: Sequence[Answer]) -> Answer:
    files: dict[str, list[FoundFile]] = {}
    for answer in answers:
        for name, some in answer.files.items():
            files.setdefault(name, []).extend(some)
    # Each process writes the files of a partition one behind the other.
    ordered = {name: sorted(some, key=lambda file: file.modified) for name, some in files.items()}
    notes = tuple(note for answer in answers for note in answer.notes)
    return Answer(_positions([answer.positions for answer in answers]), ordered, notes)


def _positions(members: Sequence[Mapping[str, Position]]) -> dict[str, Position]:
    """Where topics stand, of which each process reads some partitions."""
    found: dict[str, list[Position]] = {}
    for positions in members:
        for name, position in positions.items():
            found.setdefault(name, []).append(position)
    return {name: _position(some) for name, some in found.items()}


def _position(some: Sequence[Position]) -> Position:
    def union(offsets: Callable[[Position], Mapping[int, int]]) -> dict[int, int]:
        return {partition: offset for each in some for partition, offset in offsets(each).items()}

    return Position(
        max(each.partitions for each in some),
        some[0].identity,
        union(lambda each: each.offsets),
        union(lambda each: each.first),
        union(lambda each: each.goals),
        all(each.is_at_end for each in some),
    )
