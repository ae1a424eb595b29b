"""The rest of a micro-batch after an epoch: the slices of the next epochs, and what their markers do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import Future

from attrs import field, frozen
from pyspark.sql import SparkSession

from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.formats.source import MAX_FILES, InputFile
from cedilla.runtime.connectors.formats.source_formats import format_of
from cedilla.runtime.connectors.records.field_names import OWN_NAMES, FieldNames
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.connectors.records.near_names import NearNames
from cedilla.runtime.connectors.records.path_keys import UnreadKeys
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.topics.query_topics import Read, Topics
from cedilla.runtime.control.domains.growth import with_new_partitions
from cedilla.runtime.control.markers.advance import MarkerEffects, Stop, advance
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.commits import Commit, Progress
from cedilla.runtime.epochs.ingest.marker_search import MarkerSearch
from cedilla.runtime.epochs.ingest.path_keys import keys_of_files
from cedilla.runtime.epochs.ingest.slices import Slice, place_after, rows_before
from cedilla.runtime.epochs.ingest.unrelated_files import near_names, unread_keys, unrelated_files
from cedilla.runtime.epochs.pipeline.epoch_messages import LocatedStop
from cedilla.runtime.epochs.pipeline.table_domains import TableDomains

Listed = Mapping[str, Sequence[InputFile]]
"""The files of a micro-batch in stream order, by source."""


@frozen(eq=False)
class PlannedEpoch:
    """The input of an epoch. `parts`: the slice of each source; `effects`: those of their markers; `stops`: the markers
    that end the query after it. `progress`, `topics`: the positions that are then read; `files_left`: the number of
    files after them. `is_empty`: nothing comes before the markers, so they have no epoch to end. `ahead`:
    the slices of the epoch after it, while they are searched for markers."""

    parts: Mapping[str, Slice]
    effects: MarkerEffects
    stops: Sequence[LocatedStop]
    progress: Mapping[str, Progress]
    topics: Read
    files_left: int
    is_empty: bool
    ahead: Future[dict[str, Slice]] | None


@frozen(eq=False)
class BatchCursor:
    """Returns what is left after an epoch, whose commit is the `base` of the next one."""

    spark: SparkSession
    plan: Plan
    files: Files
    topics: Topics
    tables: TableDomains
    search: MarkerSearch
    files_per_epoch: int | None
    tests_texts: bool = False
    """True if the texts of the next epoch are tested, because one of them is not UTF-8."""
    base: Commit = field(factory=Commit)
    fields: Mapping[str, FieldNames] = field(factory=dict[str, FieldNames])
    """The names of the fields of tables, by source; a look at their logs adds to them."""
    near: NearNames = field(factory=NearNames)
    unread: UnreadKeys = field(factory=UnreadKeys)

    def of(self, name: str) -> Progress:
        """Returns the position up to which a source is read."""
        return self.base.progress.get(name, Progress())

    def has_files(self, files: Listed) -> bool:
        return any(self.of(name).files < len(listed) for name, listed in files.items())

    def is_short(self, files: Listed) -> bool:
        """Returns True if the files do not suffice for two epochs: the next one, and one whose markers are searched
        ahead."""
        return not self.next(files, self.next(files))

    def next(self, files: Listed, taken: Mapping[str, Slice] | None = None) -> dict[str, Slice]:
        """Returns the slices of the next epoch, or if some are taken, of the one after it."""
        slices: dict[str, Slice] = {}
        for name, listed in files.items():
            source = self.plan.source_of[name]
            done = self.of(name).files + (len(taken[name].files) if taken and name in taken else 0)
            limit = None if source.table or source.is_topic else self.files_per_epoch
            part = listed[done : done + min(limit or MAX_FILES, MAX_FILES)]
            if part := tuple(part[: self.topics.in_epoch(part)] if source.is_topic else part):
                format_ = format_of(self.plan, source, self.fields.get(name, OWN_NAMES))
                format_ = format_.with_tests_of_texts() if self.tests_texts else format_
                slices[name] = Slice(format_, part, keys=keys_of_files(self.files, source, part))
        return slices

    def looked(self, slices: Mapping[str, Slice]) -> tuple[dict[str, Slice], MarkerEffects]:
        """Returns the rest of the slices of an epoch, and the effects of their markers."""
        whole = {name: self._undone(name, part) for name, part in self.search.at(slices).items()}
        return whole, self._advanced(whole)

    def planned(
        self, files: Listed, slices: Mapping[str, Slice], whole: Mapping[str, Slice], effects: MarkerEffects
    ) -> PlannedEpoch:
        """Returns the next epoch, from the results of `next` and `looked`, and searches ahead for the markers of the
        one after it."""
        ends = self._ends(whole, effects.stops)
        if first := {name for name, end in ends.items() if end == self.of(name)}:
            effects = self._advanced(whole, first)  # a domain that grows there, does so now
            ends = self._ends(whole, effects.stops)
        positions = {n: stop.marker.position for n, stop in effects.stops.items()}
        parts = {n: p.ending(positions.get(n)).leaving_out(effects.lines_of(n)) for n, p in whole.items()}
        ahead = None if effects.stops else self.search.prefetch(self.next(files, slices))
        all_read = {name: Progress(self.of(name).files + len(part.files)) for name, part in whole.items()}
        progress = {**self.base.progress, **all_read, **ends}
        done = {name: progress.get(name, Progress()).files for name in files}
        paths = {name: [file.path for file in listed[: done[name]]] for name, listed in files.items()}
        return PlannedEpoch(
            parts,
            effects,
            [LocatedStop(stop, whole[stop.source]) for stop in effects.failures],
            progress,
            self.topics.read_to(self.base.topics, paths),
            sum(len(listed) - done[name] for name, listed in files.items()),
            bool(parts) and all(name in ends and ends[name] == self.of(name) for name in parts),
            ahead,
        )

    def unrelated_files(self, parts: Mapping[str, Slice]) -> Iterator[Diagnostic]:
        """Yields warnings about files of an epoch without tuples that have an attribute, and about names that are not
        read."""
        drift = self.plan.settings["drift"]
        for name, part in parts.items():
            source, types = self.plan.source_of[name], self.base.sources[name].field_types
            yield from unread_keys(source, types, part, self.unread)
            if drift == "infer":
                continue
            yield from unrelated_files(self.files, source, types, part)
            if drift == "ignore":
                yield from near_names(self.files, source, types, part, self.near)

    def _undone(self, name: str, part: Slice) -> Slice:
        """Returns a slice without the lines of its first file that are done."""
        done = self.of(name).lines
        return part.starting(place_after(self.spark, part, done)) if done else part

    def _advanced(self, whole: Mapping[str, Slice], first: Set[str] = frozenset()) -> MarkerEffects:
        """Returns the effects of the markers of slices. `first`: the sources whose first marker precedes all of their
        tuples."""
        markers = {name: part.scan.markers for name, part in whole.items()}

        def place(source: str, marker: MarkerLine) -> str:
            return whole[source].files[marker.file].shown

        states = self._with_partitions(self.tables.grown(self.plan, self.base.sources, self.base.state_facts))
        leading = {name: part.leading(markers[name]) for name, part in whole.items()}
        return advance(self.plan, states, markers, place, first, self.base.state_facts, leading)

    def _with_partitions(self, states: Mapping[str, SourceState]) -> Mapping[str, SourceState]:
        """Returns the states of the sources with the partitions that topics have now."""
        numbers = {name: position.partitions for name, position in self.topics.positions.items()}
        after = with_new_partitions(states, numbers)
        for name in numbers:
            if after[name] is not states[name]:
                self.topics.note_growth(name)
        return after

    def _ends(self, whole: Mapping[str, Slice], stops: Mapping[str, Stop]) -> dict[str, Progress]:
        """Returns the positions at which sources stop at a marker."""
        ends: dict[str, Progress] = {}
        for name, stop in stops.items():
            lines = rows_before(self.spark, whole[name], stop.marker.position)
            ends[name] = Progress(self.of(name).files + stop.marker.file, lines)
        return ends
