"""Sinks: what an executor tells of each epoch, and folders that take it (design, section 6)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from pyspark.sql import DataFrame

from cedilla.runtime.control.sinks.announce import Markers
from cedilla.runtime.storage.files import Files, FoundFile, name_of
from cedilla.runtime.storage.written import written

_STAGING = "_staging"


def epoch_name(number: int) -> str:
    """The folder of an epoch in an output."""
    return f"epoch={number:012d}"


class Sink(ABC):
    """Takes the epochs of an emit: the tuples first, then the markers, then word that the epoch is committed."""

    @abstractmethod
    def stage(self, number: int, tuples: DataFrame | None) -> int | None:
        """Take an epoch's tuples, `None` if there are none; how many they are, where that is known.

        An epoch that did not commit comes again.
        """

    @abstractmethod
    def stage_markers(self, number: int, markers: Markers) -> None:
        """Take an epoch's markers."""

    @abstractmethod
    def publish(self, number: int) -> None:
        """Make a committed epoch visible. Done again after a crash, it changes nothing."""

    @abstractmethod
    def tidy(self, last: int) -> None:
        """Leave nothing behind of epochs that were given up; none is under way, `last` is committed."""

    @abstractmethod
    def check_fresh(self) -> bool:
        """Whether no epoch was ever published here."""

    def close(self) -> None:
        """Let go of what was opened to publish."""
        return


class FolderSink(Sink):
    """An output folder. An epoch is staged aside, and appears in one rename once it is committed."""

    extension: ClassVar[str]
    """Of the files' names."""

    def __init__(self, files: Files, path: str, relation: str) -> None:
        self._files = files
        self._path = path.rstrip("/")
        self._relation = relation

    @abstractmethod
    def write(self, tuples: DataFrame, folder: str) -> None:
        """Write tuples into a new folder, as files that in the order of their names hold them in their order."""

    @abstractmethod
    def write_markers(self, path: str, kind: str, texts: Sequence[str]) -> None:
        """Write a file of markers in the wire format; `kind`: accent or punctuation."""

    def marker_file(self, name: str) -> str:
        """The name of a file of markers, `2-punctuations`."""
        return f"{name}.{self.extension}"

    @abstractmethod
    def count(self, file: FoundFile) -> int:
        """The tuples in a file that `write` has left."""

    def _staged(self, number: int) -> str:
        return f"{self._path}/{_STAGING}/{epoch_name(number)}"

    def stage(self, number: int, tuples: DataFrame | None) -> int | None:
        """Write an epoch's tuples aside, over the leftovers of a run that did not commit."""
        staged = self._staged(number)
        self._files.delete(staged)
        if tuples is None:
            return 0
        aside = f"{staged}/_tuples"
        self.write(tuples, self._files.for_engine(aside))
        counts = {file.path: self.count(file) for file in written(tuples.sparkSession, self._files, aside)}
        some = [path for path, count in counts.items() if count]
        for index, path in enumerate(some):
            self._files.rename(path, f"{staged}/1-tuples-{index:05d}.{self.extension}")
        self._files.delete(aside if some else staged)
        return sum(counts.values())

    def stage_markers(self, number: int, markers: Markers) -> None:
        """Write an epoch's markers aside, beside its tuples."""
        staged = self._staged(number)
        for name, kind, texts in (
            ("0-adds", "accent", markers.adds),
            ("2-punctuations", "punctuation", markers.punctuations),
            ("3-alters", "accent", markers.alters),
            ("4-drops", "accent", markers.drops),
        ):
            if texts:
                self._files.make(staged)
                self.write_markers(f"{staged}/{self.marker_file(name)}", kind, texts)

    def publish(self, number: int) -> None:
        """Make a committed epoch visible. Done again after a crash, it changes nothing."""
        staged = self._staged(number)
        self._files.publish(staged, f"{self._path}/{name_of(staged)}")

    def tidy(self, last: int) -> None:
        """Leave nothing behind of epochs that were given up; none is under way, `last` is committed."""
        staging = f"{self._path}/{_STAGING}"
        found = self._files.folders(staging, "epoch=")
        given_up = [name for name in found if name > epoch_name(last)]
        for name in given_up:
            self._files.delete(f"{staging}/{name}")
        if len(given_up) == len(found):
            self._files.delete(staging)

    def check_fresh(self) -> bool:
        """Whether no epoch was ever published here."""
        return not self._files.folders(self._path, "epoch=")


class TextSink(FolderSink):
    """An output folder of texts, where a tuple and a marker end with a line."""

    @property
    def end(self) -> str:
        """What every tuple ends with, and nothing inside one is."""
        return "\n"

    def count(self, file: FoundFile) -> int:
        return self._files.count(file.path, self.end.encode()) if file.length else 0

    @abstractmethod
    def accent(self, text: str) -> str:
        """An accent in the wire format as a line of a file."""

    @abstractmethod
    def punctuation(self, text: str) -> str:
        """A punctuation in the wire format as a line of a file."""

    def write_markers(self, path: str, kind: str, texts: Sequence[str]) -> None:
        line = self.accent if kind == "accent" else self.punctuation
        self._files.write(path, "".join(line(text) + "\n" for text in texts))
