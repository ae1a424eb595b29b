"""Reads an output: a folder, or a topic whose partitions are streams with all markers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

from cedilla.compiler.expressions.types import Type
from cedilla.runtime.connectors.records.entries import Entry, entries_in, entries_of
from cedilla.runtime.connectors.records.lines import files_of
from cedilla.runtime.connectors.topics.topic_lines import Place, RecordedTopic

Entries = Callable[[Callable[[], Mapping[str, Type]]], Iterator[Entry]]
"""Yields items, the same each time; gets a function that returns the types of the attributes so far."""


class Output(Protocol):
    """An output as one or several ordered streams."""

    @property
    def parts(self) -> Sequence[int]:
        """The numbers of the streams."""
        ...

    def new(self, part: int) -> Entries:
        """Returns the items that came in a stream since the last call, or since its beginning."""
        ...


class FolderOutput:
    """The files of a folder: one stream."""

    parts = (0,)

    def __init__(self, folder: str, *, with_provisional: bool = False) -> None:
        self._folder = folder
        self._with_provisional = with_provisional
        self._earlier: set[Path] = set()

    def new(self, part: int) -> Entries:
        """Returns the items of new files."""
        files = files_of(self._folder, with_provisional=self._with_provisional)
        files = [file for file in files if file not in self._earlier]
        self._earlier.update(files)
        return lambda types: chain.from_iterable(entries_of(file, types) for file in files)


class TopicOutput:
    """The partitions of a topic. Raises `DiagnosticError` as `RecordedTopic` does."""

    def __init__(self, target: Place, *, with_provisional: bool = False) -> None:
        self._topic = RecordedTopic(target, with_provisional=with_provisional)
        self._next: dict[int, int] = {}

    @property
    def parts(self) -> Sequence[int]:
        """The partitions of the topic, or the one that the place names."""
        return self._topic.partitions

    def new(self, part: int) -> Entries:
        """Returns the items of new records."""
        low, end = self._topic.ends(part)
        begin, self._next[part] = self._next.get(part, low), end
        return lambda types: entries_in(self._topic.lines(part, begin, end))
