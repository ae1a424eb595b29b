"""The files of an epoch, and what a first look at them has found (design, section 5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from functools import partial
from uuid import uuid4

from attrs import define, evolve, field, frozen
from pyspark.sql import SparkSession

from cedilla.runtime.engines.files import Files
from cedilla.runtime.engines.jobs import Jobs
from cedilla.runtime.formats.source import PACKED, Format, InputFile, Scan

_FEW = 8
"""More files than that, of all sources, are quicker looked through by one Spark job than glanced at."""


@frozen
class Slice:
    """Part of a source: files in stream order, the places between which lines count (high excluded), and what is
    known of these lines."""

    format: Format
    files: tuple[InputFile, ...]
    scan: Scan = field(factory=Scan)
    low: int | None = None
    high: int | None = None

    @property
    def length(self) -> int:
        """Bytes of all its files, as JSON would have them."""
        return sum(file.length for file in self.files) * (PACKED if self.format.columnar else 1)

    @property
    def is_cut(self) -> bool:
        """Whether some lines of the files do not count."""
        return self.low is not None or self.high is not None

    def starting(self, place: int) -> Slice:
        """Without what is before a place. All files stay: places hold for reads of the same files only."""
        markers = (marker for marker in self.scan.markers if marker.position >= place)
        return evolve(self, low=place, scan=Scan(tuple(markers)))

    def ending(self, place: int) -> Slice:
        """Without what is at a place and behind it."""
        markers = (marker for marker in self.scan.markers if marker.position < place)
        return evolve(self, high=place, scan=Scan(tuple(markers)))


@define(eq=False)
class MarkerSearch:
    """First looks at files: at those of an epoch, and, while it runs, at those of the next."""

    spark: SparkSession
    jobs: Jobs
    files: Files
    copies: str
    """The folder for copies of files that Spark would misread."""
    ends_suffice: frozenset[str] = frozenset()
    """The sources for whose files a look at both ends will do: all their rows are counted by whoever reads them."""
    declared: Mapping[str, frozenset[str]] = field(factory=dict[str, frozenset[str]])
    """The attributes of each source that the query declares."""
    _careful: bool = field(init=False, default=False)
    _copied: bool = field(init=False, default=True)
    """Whether there are copies, perhaps of a run that was killed."""
    _ahead: tuple[Mapping[str, Slice], Future[dict[str, Slice]]] | None = field(init=False, default=None)

    def at(self, slices: Mapping[str, Slice], *, exactly: bool = False) -> dict[str, Slice]:
        """The slices of an epoch by source, with what there is to know of them; `exactly`: with the places of rows."""
        if self._ahead and self._ahead[0] == slices and not exactly:
            return self._ahead[1].result()
        return self._look(slices, frozenset() if exactly else self.ends_suffice)

    def prefetch(self, slices: Mapping[str, Slice]) -> None:
        """Begin to look, if there is anything, before somebody asks."""
        self._ahead = (
            (slices, self.jobs.prefetch(partial(self._look, slices, self.ends_suffice))) if slices else None
        )

    def forget(self) -> None:
        """Look anew when asked next."""
        self._ahead = None

    def close(self) -> None:
        """Remove the copies; nobody reads them any more."""
        if self._copied:
            self.files.delete(self.copies)
            self._copied = False

    def distrust_ends(self) -> None:
        """Look with more care from now on: a marker was overlooked."""
        self._careful = not self.ends_suffice
        self.ends_suffice = frozenset()

    def _look(self, slices: Mapping[str, Slice], ends_suffice: Collection[str]) -> dict[str, Slice]:
        """All sources of a format together: a job that has hardly any work costs as much as one that has."""
        slices = {name: self._readable(part) for name, part in slices.items()}
        found = self._scans(slices, ends_suffice)
        return {
            name: evolve(part, scan=found[name].without(self.declared.get(name, frozenset())))
            for name, part in slices.items()
        }

    def _readable(self, part: Slice) -> Slice:
        files = part.format.readable(self.spark, part.files, f"{self.copies}/{uuid4()}")
        self._copied = self._copied or any(file.copy_of for file in files)
        return evolve(part, files=tuple(files))

    def _scans(self, slices: Mapping[str, Slice], ends_suffice: Collection[str]) -> dict[str, Scan]:
        if self._careful:
            return {
                name: Scan(tuple(part.format.markers(self.spark, part.files)))
                for name, part in slices.items()
            }
        edged = {name: part for name, part in slices.items() if name in ends_suffice}
        if sum(len(part.files) for part in edged.values()) > _FEW:
            edged = {}
        glanced = {name: part.format.scan_ends(self.files, part.files) for name, part in edged.items()}
        found = {name: scan for name, scan in glanced.items() if scan is not None}
        left = {name: part for name, part in slices.items() if name not in found}
        for format_ in {part.format for part in left.values()}:
            files = {name: part.files for name, part in left.items() if part.format is format_}
            found.update(zip(files, format_.scans(self.spark, list(files.values())), strict=True))
        return found
