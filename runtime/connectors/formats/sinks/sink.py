"""Sinks: the interface for each epoch's output, and folders as sinks (design, section 6)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import ClassVar

from pyspark.sql import DataFrame

from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.records.marker_files import (
    ADDS,
    ALTERS,
    DROPS,
    PROVISIONAL,
    PUNCTUATIONS,
    TUPLES,
    Markers,
)
from cedilla.runtime.connectors.storage.engine_failures import writing
from cedilla.runtime.connectors.storage.files import Files, FoundFile, epoch_name, name_of
from cedilla.runtime.connectors.storage.written import written
from cedilla.runtime.engines.spark.columns import Columns

_STAGING = "_staging"
_RUN = "run="


class Sink(ABC):
    """Takes the epochs of an emit: first the tuples, then the markers, then the call after the commit."""

    @abstractmethod
    def stage(self, number: int, tuples: DataFrame | None, columns: Columns) -> int | None:
        """Takes an epoch's tuples, `None` without tuples. Returns their number if it is known.

        An epoch that was not committed is staged again.
        """

    @abstractmethod
    def stage_provisional(self, number: int, rows: DataFrame, columns: Columns) -> None:
        """Takes an epoch's provisional rows, after its tuples."""

    @abstractmethod
    def stage_markers(self, number: int, markers: Markers) -> None:
        """Takes an epoch's markers."""

    @abstractmethod
    def publish(self, number: int, run: int) -> None:
        """Makes an epoch visible that a `run` has committed. Repeated after a crash, it changes nothing."""

    @abstractmethod
    def tidy(self, last: int) -> None:
        """Removes the remains of abandoned epochs. No epoch is in progress, and `last` is committed."""

    @abstractmethod
    def check_fresh(self) -> bool:
        """Returns True if no epoch was ever published here."""

    def last_epoch(self) -> int:
        """Returns the last epoch that was published here, -1 for none and where it is not known."""
        return -1

    def close(self) -> None:
        """Closes everything that publishing has opened."""
        return


class FolderSink(Sink):
    """An output folder. An epoch is staged in a subfolder, and one rename publishes it after its commit."""

    extension: ClassVar[str]
    """The extension of the files' names."""

    hides_provisional: ClassVar[bool] = True
    """True if readers of a folder see its files, and are not to take provisional rows for tuples."""

    run: int = 0
    """The number of the run: it is in the names of what the run stages, so that no other run writes over that."""

    def __init__(self, files: Files, path: str, relation: str) -> None:
        self._files = files
        self._path = path.rstrip("/")
        self._relation = relation

    @abstractmethod
    def write(self, tuples: DataFrame, columns: Columns, folder: str) -> None:
        """Writes tuples into a new folder; the order of the files' names is the order of the tuples."""

    def marker(self, kind: str, text: str) -> str:
        """Returns a marker in the wire format, as a line of a file. `kind`: accent or punctuation."""
        return json.dumps({f"${kind}": text}, ensure_ascii=False)

    def marker_file(self, name: str) -> str:
        """Returns the name of a file of markers, such as `2-punctuations.jsonl`."""
        return f"{name}.{self.extension}"

    @abstractmethod
    def count(self, file: FoundFile) -> int:
        """Returns the number of tuples in a file written by `write`."""

    def _staged(self, number: int, run: int) -> str:
        """Returns the folder where a run stages an epoch."""
        return f"{self._path}/{_STAGING}/{_RUN}{run:06d}/{epoch_name(number)}"

    def stage(self, number: int, tuples: DataFrame | None, columns: Columns) -> int | None:
        """Writes an epoch's tuples into staging, and replaces remains of an epoch that did not commit."""
        self._files.delete(self._staged(number, self.run))
        return 0 if tuples is None else self._stage(number, TUPLES, tuples, columns)

    def stage_provisional(self, number: int, rows: DataFrame, columns: Columns) -> None:
        """Writes an epoch's provisional rows into staging, next to its tuples."""
        self._stage(number, f"{'_' if self.hides_provisional else ''}{PROVISIONAL}", rows, columns)

    def _stage(self, number: int, name: str, rows: DataFrame, columns: Columns) -> int:
        """Writes rows into files of a name. Returns their number."""
        staged = self._staged(number, self.run)
        aside = f"{staged}/_{name}"
        with writing(aside):
            self.write(rows, columns, self._files.for_engine(aside))
        counts = {file.path: self.count(file) for file in written(rows.sparkSession, self._files, aside)}
        some = [path for path, count in counts.items() if count]
        places = [f"{staged}/{name}-{index:05d}.{self.extension}" for index in range(len(some))]
        for path, path_inside in zip(some, places, strict=True):
            self._files.rename(path, path_inside)
        is_empty = not some and not self._files.list(staged)
        self._files.delete(staged if is_empty else aside)
        self._files.sync(places, self._path)
        return sum(counts.values())

    def stage_markers(self, number: int, markers: Markers) -> None:
        """Writes an epoch's markers into staging, next to its tuples."""
        staged, places = self._staged(number, self.run), list[str]()
        for name, kind, texts in (
            (ADDS, "accent", markers.adds),
            (PUNCTUATIONS, "punctuation", markers.punctuations),
            (ALTERS, "accent", markers.alters),
            (DROPS, "accent", markers.drops),
        ):
            if texts:
                self._files.make(staged)
                places.append(f"{staged}/{self.marker_file(name)}")
                lines = (f"{self.marker(kind, text)}\n" for text in texts)
                self._files.write(places[-1], "".join(lines), durable=False)
        self._files.sync(places, self._path)

    def publish(self, number: int, run: int) -> None:
        """Renames a committed epoch into the output. Repeated after a crash, it changes nothing."""
        staged = self._staged(number, run)
        self._files.publish(staged, f"{self._path}/{name_of(staged)}")

    def tidy(self, last: int) -> None:
        """Removes staged epochs after `last`, and the staging folder if it is then empty."""
        staging = f"{self._path}/{_STAGING}"
        folders = self._files.folders(staging, "")
        # A run that has lost its checkpoint leaves alone what the new owner stages.
        abandoned = [name for name in folders if self._is_abandoned(name, last)]
        for name in abandoned:
            self._files.delete(f"{staging}/{name}")
        if len(abandoned) == len(folders) and local_path(staging) is not None:
            self._files.delete(staging)

    def _is_abandoned(self, name: str, last: int) -> bool:
        if name.startswith(_RUN):
            return name <= f"{_RUN}{self.run:06d}"
        return name.startswith("epoch=") and name > epoch_name(last)

    def check_fresh(self) -> bool:
        """Returns True if the folder contains no epoch."""
        return not self._files.folders(self._path, "epoch=")

    def last_epoch(self) -> int:
        names = self._files.folders(self._path, "epoch=")
        return int(names[-1].removeprefix("epoch=")) if names else -1


class TextSink(FolderSink):
    """An output folder of text files where a line end follows each tuple and marker."""

    @property
    def end(self) -> str:
        """Returns the end of every tuple, a text that no tuple contains elsewhere."""
        return "\n"

    def count(self, file: FoundFile) -> int:
        return self._files.count(file.path, self.end.encode()) if file.length else 0
