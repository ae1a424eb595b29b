"""Reads the tuples of an epoch once, and those of the next epoch while the engine computes (design, section 5).

Otherwise the thread that plans epochs waits for the parser, and the engine for that thread.
"""

from __future__ import annotations

from concurrent.futures import Future, wait
from functools import partial

from attrs import define, evolve, field, frozen
from pyspark.sql import SparkSession

from cedilla.compiler.plan.field_paths import kinds_of
from cedilla.runtime.connectors.formats.source import Batch, Counted, Format, Numbered, Searched, Types
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.engines.spark.jobs import Jobs
from cedilla.runtime.epochs.ingest.slices import Slice


@frozen
class Asked:
    """The tuples of a source that an epoch reads: their files, the types of their fields, and the fields whose values
    are counted, which become only fewer while types stay. `searched`: that of the scan of the files."""

    format: Format = field(eq=lambda format_: (kinds_of(format_.paths), format_.columns))
    files: Numbered
    types: Types
    counted: Counted = field(eq=lambda counted: (counted.low, counted.high))
    searched: Searched = field(eq=False)

    def read(self, spark: SparkSession, scratch: str) -> Batch:
        """Reads the files. `scratch`: a folder for tuples that are too many for memory."""
        return self.format.read(spark, self.files, self.types, scratch, self.counted, self.searched)


@define(eq=False)
class ReadAhead:
    """Reads the tuples of the epochs of a run, and in the background those of one epoch more. Its planning takes them
    if it asks for the same; otherwise it reads again, because its markers have changed the types."""

    spark: SparkSession
    jobs: Jobs
    files: Files
    _next: tuple[Future[dict[str, Slice]], str] | None = field(init=False, default=None)
    """The scanned slices of the next epoch, and its folder for tuples."""
    _ahead: dict[str, Future[tuple[Asked, Batch] | None]] = field(init=False, factory=dict)
    """The reads that have begun, by source."""

    def expect(self, slices: Future[dict[str, Slice]] | None, scratch: str) -> None:
        """Sets the slices of the epoch after the one that is read next, `None` for none, and its folder for tuples."""
        self._next = None if slices is None else (slices, scratch)

    def read(self, source: str, asked: Asked, scratch: str) -> Batch:
        """Returns the tuples of a source that an epoch asks for, and begins to read those of the expected one.

        `scratch`: the folder of the epoch for tuples that are too many for memory.
        """
        ahead = self._ahead.pop(source, None)
        batch_ahead = None if ahead is None else ahead.result()
        if self._next is not None:
            self._ahead[source] = self.jobs.prefetch(partial(self._read_next, source, asked, *self._next))
        if batch_ahead is not None and batch_ahead[0] == asked:
            return batch_ahead[1]
        return asked.read(self.spark, f"{scratch}/{source}")

    def _read_next(
        self, source: str, asked: Asked, slices: Future[dict[str, Slice]], scratch: str
    ) -> tuple[Asked, Batch] | None:
        """Reads a source as the epoch before did; `None` if the next epoch has no files of it, or accents on it, which
        may change the types."""
        part = slices.result().get(source)
        if part is None or part.has_accents:
            return None
        next_ = evolve(
            asked,
            files=part.with_tuples,
            counted=part.counted(asked.counted.names),
            searched=part.scan.searched,
        )
        return next_, next_.read(self.spark, f"{scratch}/{source}")

    def forget(self) -> None:
        """Discards what was read ahead, once its reads are over."""
        wait(self._ahead.values())
        self._ahead.clear()
        if self._next is not None:
            self.files.delete(self._next[1])
        self._next = None
