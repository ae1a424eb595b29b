"""Searches for the markers of an epoch's files, and ahead for those of the next epoch (design, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial

from attrs import define, evolve, field
from pyspark.sql import SparkSession

from cedilla.compiler.plan import Plan
from cedilla.runtime.connectors.formats.source import Scan
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.engines.spark.jobs import Jobs
from cedilla.runtime.epochs.ingest.slices import Slice


@define(eq=False)
class MarkerSearch:
    """Scans the files of an epoch, and of the next epoch in the background."""

    spark: SparkSession
    jobs: Jobs
    declared: Mapping[str, frozenset[str]] = field(factory=dict[str, frozenset[str]])
    """The attributes of each source that the query declares."""
    only: Mapping[str, str] = field(factory=dict[str, str])
    """The URI of the marker folder for each source that takes markers only from it."""
    _ahead: tuple[Mapping[str, Slice], Future[dict[str, Slice]]] | None = field(init=False, default=None)

    @classmethod
    def of(cls, spark: SparkSession, jobs: Jobs, plan: Plan, files: Files) -> MarkerSearch:
        """Returns the search in the sources of a plan."""
        declared = {s.name: s.columns(a.name for a in s.attributes) for s in plan.sources}
        only = {s.name: files.absolute(s.markers or "") for s in plan.sources if s.markers_only}
        return cls(spark, jobs, declared, only)

    def at(self, slices: Mapping[str, Slice]) -> dict[str, Slice]:
        """Returns the slices of an epoch by source, with their scans."""
        if self._ahead and self._ahead[0] == slices:
            return self._ahead[1].result()
        return self._look(slices)

    def prefetch(self, slices: Mapping[str, Slice]) -> Future[dict[str, Slice]] | None:
        """Starts to scan slices in the background; returns `None` without slices."""
        self._ahead = (slices, self.jobs.prefetch(partial(self._look, slices))) if slices else None
        return None if self._ahead is None else self._ahead[1]

    def forget(self) -> None:
        """Discards the background scan, so that the next request scans again."""
        self._ahead = None

    def _look(self, slices: Mapping[str, Slice]) -> dict[str, Slice]:
        """Scans all sources of a format together, because a job with little work costs as much as one with more."""
        scans: dict[str, Scan] = {}
        for format_ in {part.format for part in slices.values()}:
            files = {name: part.numbered for name, part in slices.items() if part.format is format_}
            scans.update(zip(files, format_.scans(self.spark, list(files.values())), strict=True))
        scanned = {
            name: evolve(part, scan=scans[name].without(self.declared.get(name, frozenset())))
            for name, part in slices.items()
        }
        return {
            name: part.with_markers_in(self.only[name]) if name in self.only else part
            for name, part in scanned.items()
        }
