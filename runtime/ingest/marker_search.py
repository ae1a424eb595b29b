"""The search for the markers of an epoch's files, and, while it runs, of the next epoch's (design, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial

from attrs import define, evolve, field
from pyspark.sql import SparkSession

from cedilla.runtime.engines.jobs import Jobs
from cedilla.runtime.formats.source import Scan
from cedilla.runtime.ingest.slices import Slice


@define(eq=False)
class MarkerSearch:
    """First looks at files: at those of an epoch, and, while it runs, at those of the next."""

    spark: SparkSession
    jobs: Jobs
    declared: Mapping[str, frozenset[str]] = field(factory=dict[str, frozenset[str]])
    """The attributes of each source that the query declares."""
    _ahead: tuple[Mapping[str, Slice], Future[dict[str, Slice]]] | None = field(init=False, default=None)

    def at(self, slices: Mapping[str, Slice]) -> dict[str, Slice]:
        """The slices of an epoch by source, with what there is to know of them."""
        if self._ahead and self._ahead[0] == slices:
            return self._ahead[1].result()
        return self._look(slices)

    def prefetch(self, slices: Mapping[str, Slice]) -> None:
        """Begin to look, if there is anything, before somebody asks."""
        self._ahead = (slices, self.jobs.prefetch(partial(self._look, slices))) if slices else None

    def forget(self) -> None:
        """Look anew when asked next."""
        self._ahead = None

    def _look(self, slices: Mapping[str, Slice]) -> dict[str, Slice]:
        """All sources of a format together: a job that has hardly any work costs as much as one that has."""
        found: dict[str, Scan] = {}
        for format_ in {part.format for part in slices.values()}:
            files = {name: part.numbered for name, part in slices.items() if part.format is format_}
            found.update(zip(files, format_.scans(self.spark, list(files.values())), strict=True))
        return {
            name: evolve(part, scan=found[name].without(self.declared.get(name, frozenset())))
            for name, part in slices.items()
        }
