"""The rest of a micro-batch after an epoch: the slices of the next epochs, and how far they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen
from pyspark.sql import SparkSession

from cedilla.compiler.plan import Plan
from cedilla.runtime.checkpoint.commits import Progress
from cedilla.runtime.control.markers.advance import Stop
from cedilla.runtime.formats.source import MAX_FILES, InputFile
from cedilla.runtime.formats.source_formats import format_of
from cedilla.runtime.ingest.slices import Slice, place_after, rows_before
from cedilla.runtime.topics.query_topics import Topics

Listed = Mapping[str, Sequence[InputFile]]
"""The files of a micro-batch in stream order, by source."""


@frozen(eq=False)
class BatchCursor:
    """Returns the slices that are left after some `progress`, by source."""

    spark: SparkSession
    plan: Plan
    topics: Topics
    files_per_epoch: int | None
    progress: Mapping[str, Progress]

    def of(self, name: str) -> Progress:
        """How far a source is read."""
        return self.progress.get(name, Progress())

    def has_files(self, files: Listed) -> bool:
        """True if files are left."""
        return any(self.of(name).files < len(listed) for name, listed in files.items())

    def is_short(self, files: Listed) -> bool:
        """True if the files do not suffice for two epochs: the next one, and one whose markers are searched ahead."""
        return not self.next(files, self.next(files))

    def next(self, files: Listed, taken: Mapping[str, Slice] | None = None) -> dict[str, Slice]:
        """The slices of the next epoch, or if some are taken, of the one after it."""
        slices: dict[str, Slice] = {}
        for name, listed in files.items():
            source = self.plan.source_of[name]
            done = self.of(name).files + (len(taken[name].files) if taken and name in taken else 0)
            limit = None if source.table or source.is_topic else self.files_per_epoch
            part = listed[done : done + min(limit or MAX_FILES, MAX_FILES)]
            if part := tuple(part[: self.topics.in_epoch(part)] if source.is_topic else part):
                slices[name] = Slice(format_of(self.plan, source), part)
        return slices

    def undone(self, name: str, part: Slice) -> Slice:
        """A slice without what is done of its first file."""
        done = self.of(name).lines
        return part.starting(place_after(self.spark, part, done)) if done else part

    def ends(self, whole: Mapping[str, Slice], stops: Mapping[str, Stop]) -> dict[str, Progress]:
        """Returns the positions at which sources stop at a marker."""
        ends: dict[str, Progress] = {}
        for name, stop in stops.items():
            lines = rows_before(self.spark, whole[name], stop.marker.position)
            ends[name] = Progress(self.of(name).files + stop.marker.file, lines)
        return ends

    def all_read(self, whole: Mapping[str, Slice]) -> dict[str, Progress]:
        """How far the sources are read once slices are done whole."""
        return {**self.progress, **{n: Progress(self.of(n).files + len(p.files)) for n, p in whole.items()}}
