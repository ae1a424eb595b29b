"""The files of an epoch, and what a first look at them has found (design, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial

from attrs import define, evolve, field, frozen
from pyspark.sql import SparkSession

from cedilla.compiler.plan import Plan
from cedilla.runtime.jobs import Jobs
from cedilla.runtime.sources.base import PACKED, Format, InputFile, Scan
from cedilla.runtime.sources.formats import FORMATS

Chosen = Mapping[str, tuple[InputFile, ...]]
"""The files of an epoch in stream order, by source."""


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
class Looks:
    """First looks at files: at those of an epoch, and, while it runs, at those of the next."""

    spark: SparkSession
    plan: Plan
    jobs: Jobs
    careful: bool = False
    """Whether markers are looked for with all care, as one was overlooked."""
    _ahead: tuple[Chosen, Future[dict[str, Scan]]] | None = field(init=False, default=None)

    def slices(self, chosen: Chosen) -> dict[str, Slice]:
        """The files of an epoch, not looked at."""
        return {name: Slice(self._format(name), files) for name, files in chosen.items()}

    def at(self, chosen: Chosen) -> dict[str, Slice]:
        """The same, looked at."""
        known = self._ahead[1].result() if self._ahead and self._ahead[0] == chosen else self._look(chosen)
        return {name: evolve(part, scan=known[name]) for name, part in self.slices(chosen).items()}

    def ahead(self, chosen: Chosen) -> None:
        """Begin to look at files, if there are any, before somebody asks."""
        self._ahead = (chosen, self.jobs.ahead(partial(self._look, chosen))) if chosen else None

    def forget(self) -> None:
        """Look anew when asked next."""
        self._ahead = None

    def _look(self, chosen: Chosen) -> dict[str, Scan]:
        """All sources of a format together: a job that has hardly any work costs as much as one that has."""
        if self.careful:
            return {n: Scan(tuple(self._format(n).markers(self.spark, part))) for n, part in chosen.items()}
        found: dict[str, Scan] = {}
        for format_ in {self._format(name) for name in chosen}:
            names = [name for name in chosen if self._format(name) is format_]
            found.update(zip(names, format_.scans(self.spark, [chosen[name] for name in names]), strict=True))
        return found

    def _format(self, name: str) -> Format:
        return FORMATS[self.plan.source_of[name].format]
