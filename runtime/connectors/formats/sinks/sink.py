"""Sinks: the interface for each epoch's output, and folders as sinks (design, section 6)."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import ClassVar

from pyspark.sql import DataFrame, SparkSession

from cedilla.runtime.connectors.formats.file_sums import counts
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.records.marker_files import (
    ADDS,
    ALTERS,
    DROPS,
    PROVISIONAL,
    PUNCTUATIONS,
    TUPLES,
    Markers,
    in_stream_order,
)
from cedilla.runtime.connectors.storage.engine_failures import writing
from cedilla.runtime.connectors.storage.files import Files, FoundFile, epoch_name, name_of
from cedilla.runtime.connectors.storage.written import folders_made, written
from cedilla.runtime.engines.spark.columns import Columns

_STAGING = "_staging"
_RUN = "run="
_NUMBER = re.compile(r"-\d{5}\.")


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
    """An output folder. An epoch is staged in a subfolder, and one rename publishes it after its commit.

    A store without a rename keeps the staged files as the engine has written them. After the commit, one copy gives
    each of them its name."""

    extension: ClassVar[str]
    """The extension of the files' names."""

    hides_provisional: ClassVar[bool] = True
    """True if readers of a folder see its files, and are not to take provisional rows for tuples."""

    run: int = 0
    """The number of the run: it is in the names of what the run stages, so that no other run writes over that."""

    is_ordered: bool = True
    """True if the order of the tuples of an epoch counts."""

    _is_tidy = False
    """True after the first look for remains of runs before."""

    def __init__(self, files: Files, path: str, relation: str) -> None:
        self._files = files
        self._path = path.rstrip("/")
        self._relation = relation
        self._staged_files: dict[int, dict[str, FoundFile]] = {}
        """The files of epochs that are staged and not published, by name, in a store without a rename."""

    @abstractmethod
    def write(self, tuples: DataFrame, columns: Columns, folder: str) -> None:
        """Writes tuples into an empty or new folder; the order of the files' names is the order of the tuples."""

    def marker(self, kind: str, text: str) -> str:
        """Returns a marker in the wire format, as a line of a file. `kind`: accent or punctuation."""
        return json.dumps({f"${kind}": text}, ensure_ascii=False)

    def marker_file(self, name: str) -> str:
        """Returns the name of a file of markers, such as `2-punctuations.jsonl`."""
        return f"{name}.{self.extension}"

    @abstractmethod
    def counts(self, spark: SparkSession, files: Sequence[FoundFile]) -> list[int]:
        """Returns the numbers of tuples in files written by `write`."""

    @property
    def _copies(self) -> bool:
        return not self._files.renames(self._path)

    def _staged(self, number: int, run: int) -> str:
        """Returns the folder where a run stages an epoch."""
        return f"{self._path}/{_STAGING}/{_RUN}{run:06d}/{epoch_name(number)}"

    def stage(self, number: int, tuples: DataFrame | None, columns: Columns) -> int | None:
        """Writes an epoch's tuples into staging, and replaces remains of an epoch that did not commit."""
        # What other runs have left has other names, and a store takes its time to look.
        if not self._copies or self._staged_files.pop(number, None) is not None:
            self._files.delete(self._staged(number, self.run))
        if self._copies:
            self._staged_files[number] = {}
        return 0 if tuples is None else self._stage(number, TUPLES, tuples, columns)

    def stage_provisional(self, number: int, rows: DataFrame, columns: Columns) -> None:
        """Writes an epoch's provisional rows into staging, next to its tuples."""
        self._stage(number, f"{'_' if self.hides_provisional else ''}{PROVISIONAL}", rows, columns)

    def _stage(self, number: int, name: str, rows: DataFrame, columns: Columns) -> int:
        """Writes rows into files of a name. Returns their number."""
        staged = self._staged(number, self.run)
        aside = f"{staged}/_{name}"
        with writing(aside):
            folders_made(rows.sparkSession, self._files, aside)
            self.write(rows, columns, self._files.for_engine(aside))
        files = written(rows.sparkSession, self._files, aside)
        rows_of = dict(zip(files, self.counts(rows.sparkSession, files), strict=True))
        if self._copies:
            for file, count in rows_of.items():
                if not count:
                    self._files.delete_file(file.path)
            self._staged_files[number] |= self._named(
                aside, [file for file, count in rows_of.items() if count]
            )
            return sum(rows_of.values())
        some = [file.path for file, count in rows_of.items() if count]
        places = [f"{staged}/{name}-{index:05d}.{self.extension}" for index in range(len(some))]
        for path, path_inside in zip(some, places, strict=True):
            self._files.rename(path, path_inside)
        is_empty = not some and not self._files.list(staged)
        self._files.delete(staged if is_empty else aside)
        self._files.sync(places, self._path)
        return sum(rows_of.values())

    def _named(self, aside: str, files: Sequence[FoundFile]) -> dict[str, FoundFile]:
        """Returns the files of a folder that the engine has written, by the names that they have in the output."""
        name = name_of(aside).removeprefix("_")
        return {f"{name}-{index:05d}.{self.extension}": file for index, file in enumerate(files)}

    def staged_files(self, number: int, run: int) -> Mapping[str, FoundFile]:
        """Returns the files of an epoch that a run has staged, by name, in stream order."""
        files = self._staged_files.get(number) if run == self.run else None
        if files is None:
            staged = self._staged(number, run)
            files = {name_of(file.path): file for file in self._files.list(staged)}
            for name in self._files.folders(staged, "_"):
                files |= self._named(name, self._files.list(f"{staged}/{name}"))
        return dict(sorted(files.items(), key=lambda item: in_stream_order(f"epoch=0/{item[0]}")))

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
                content = "".join(lines).encode()
                self._files.write(places[-1], content, durable=False)
                if number in self._staged_files:
                    file = FoundFile(places[-1], 0, len(content))
                    self._staged_files[number][name_of(file.path)] = file
        self._files.sync(places, self._path)

    def publish(self, number: int, run: int) -> None:
        """Renames a committed epoch into the output. Repeated after a crash, it changes nothing.

        A store without a rename copies the files in stream order, those of unordered tuples side by side. Readers see
        an Add before its tuples, and a punctuation after all that it closes. The staged folder goes last.
        """
        staged = self._staged(number, run)
        epoch = f"{self._path}/{name_of(staged)}"
        if not self._copies:
            self._files.publish(staged, epoch)
            return
        is_own = run == self.run and number in self._staged_files
        files = self.staged_files(number, run)
        # Deleting begins after the last copy. What a process has left of it would get the names of others.
        if is_own or len(files) > len(self._files.names(epoch)):
            for _, names in groupby(files, key=None if self.is_ordered else _kind):
                self._files.copy([(files[name], f"{epoch}/{name}") for name in names])
        self.forget(number, run, files)

    def forget(self, number: int, run: int, files: Collection[object]) -> None:
        """Deletes the files of a staged epoch, if it has any."""
        self._staged_files.pop(number, None)
        if files:
            self._files.delete(self._staged(number, run))

    def tidy(self, last: int) -> None:
        """Removes staged epochs after `last`, and the staging folder if it is then empty. A store is asked once, and
        again if an epoch was given up."""
        if self._is_tidy and self._copies and not self._staged_files:
            return
        self._is_tidy = True
        self._staged_files.clear()
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


def _kind(name: str) -> str:
    """Returns the name of a file without its number."""
    return _NUMBER.split(name)[0]


class TextSink(FolderSink):
    """An output folder of text files where a line end follows each tuple and marker."""

    @property
    def end(self) -> str:
        """Returns the end of every tuple, a text that no tuple contains elsewhere."""
        return "\n"

    def counts(self, spark: SparkSession, files: Sequence[FoundFile]) -> list[int]:
        return counts(spark, self._files, files, self.end.encode())
