"""The search for the markers of an epoch's files, and, while it runs, of the next epoch's (design, section 5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from functools import partial
from uuid import uuid4

from attrs import define, evolve, field
from pyspark.sql import SparkSession

from cedilla.runtime.engines import costs
from cedilla.runtime.engines.files import Files
from cedilla.runtime.engines.jobs import Jobs
from cedilla.runtime.formats.source import Scan
from cedilla.runtime.ingest.slices import Slice


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
        if sum(len(part.files) for part in edged.values()) > costs.FILES_READ_BY_DRIVER:
            edged = {}
        glanced = {name: part.format.scan_ends(self.files, part.files) for name, part in edged.items()}
        found = {name: scan for name, scan in glanced.items() if scan is not None}
        left = {name: part for name, part in slices.items() if name not in found}
        for format_ in {part.format for part in left.values()}:
            files = {name: part.files for name, part in left.items() if part.format is format_}
            found.update(zip(files, format_.scans(self.spark, list(files.values())), strict=True))
        return found
