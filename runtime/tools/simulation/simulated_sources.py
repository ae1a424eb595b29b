"""Reads the sources of a plan as ordered items: local folders, and topics up to their present end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.plan.record_fields import record_fields
from cedilla.compiler.regions import PARTITION
from cedilla.runtime.connectors.records.file_lines import lines_in
from cedilla.runtime.connectors.records.file_names import disorder_note
from cedilla.runtime.connectors.records.lines import Line, files_of, stream_files
from cedilla.runtime.connectors.records.tuple_lines import tuples_of
from cedilla.runtime.connectors.topics.topic_lines import RecordedTopic, place_of
from cedilla.runtime.control.schemas.importer import importers
from cedilla.runtime.tools.simulation.inputs import Input, is_marker, keys_of_file, parsed, with_keys

if TYPE_CHECKING:
    from cedilla.runtime.connectors.formats.parquet.local_tables import LocalTable

Offsets = Mapping[str, Mapping[int, int]]
"""Source -> partition of its topic -> the offset up to which records are read, excluded."""
_Part = Any
"""A function that returns the items of a file or a partition."""


@frozen
class SimulatedSources:
    """The sources of a plan, with the numbers of partitions of their topics (theory N9).

    `ends`: the first offset of each partition and the offset after the last one that is read.
    """

    plan: Plan
    topics: Mapping[str, RecordedTopic]
    ends: Mapping[str, Mapping[int, tuple[int, int]]]

    @classmethod
    def of(cls, plan: Plan, until: Offsets | None = None) -> SimulatedSources:
        """Returns the present sources; `until`: the end of reading for topics, else their present end.

        Raises `DiagnosticError`: RQ440, RQ442 to RQ445.
        """
        topics: dict[str, RecordedTopic] = {}
        ends: dict[str, dict[int, tuple[int, int]]] = {}
        importer_of = importers(plan)
        for source in plan.sources:
            if source.is_topic and (address := place_of(source.path)) is not None:
                topic = topics[source.name] = RecordedTopic(
                    address, source.registry, importer_of.get(source.name)
                )
                offsets = {n: topic.ends(n) for n in topic.partitions}
                chosen = None if until is None else until.get(source.name, {})
                ends[source.name] = {
                    n: (begin, end if chosen is None else chosen.get(n, begin))
                    for n, (begin, end) in offsets.items()
                }
        sources = (
            evolve(s, partitions=len(topics[s.name].partitions)) if s.name in topics else s
            for s in plan.sources
        )
        return cls(evolve(plan, sources=tuple(sources)), topics, ends)

    def inputs(self) -> Iterator[Input]:
        """Yields tables first; then streams, one file or partition of each in turn, in the order of
        declaration.
        """
        longest = self.plan.longest_line
        for source in self.plan.sources:
            if source.table:
                for file in files_of(source.path, allowed=self.plan.allowed):
                    lines = tuples_of(lines_in(file, source.format, _names(source), longest), source)
                    keys = keys_of_file(source, file)
                    yield from (with_keys(parsed(source, line), keys) for line in lines)
                yield Input(source.name, {"$punctuation": "[]"}, Line("[]", source.path))
        waiting = {s.name: list(self._parts(s)) for s in self.plan.sources if not s.table}
        while any(waiting.values()):
            for name, parts in waiting.items():
                if parts:
                    yield from parts.pop(0)()
                    if self.plan.source_of[name].heartbeat is not None:
                        yield Input(name, {"$end": True}, Line("", self.plan.source_of[name].path))

    def _parts(self, source: Source) -> Iterator[_Part]:
        if source.name in self.topics:
            yield from (partial(self._records, source, n) for n in self.ends[source.name])
            return
        allowed, table = self.plan.allowed, None
        if source.format_kind.is_table:
            from cedilla.runtime.connectors.formats.parquet.local_tables import local_table

            skips = self.plan.settings["gaps"] == "skip"
            table = local_table(
                source.path, source.name, source.format, allowed=allowed, skips=skips, hidden=source.paths
            )
        data = None if table is None else table.times
        for file, is_markers in stream_files(
            source.path, source.markers, by_name=source.by_name, allowed=allowed, data=data
        ):
            yield partial(_lines, source, table, file, self.plan.longest_line, is_markers=is_markers)

    def _records(self, source: Source, partition: int) -> Iterator[Input]:
        topic, (begin, end) = self.topics[source.name], self.ends[source.name][partition]
        if begin < end:
            fields = record_fields(source)
            lines = topic.requests if source.format_kind.has_requests else topic.lines
            for line in tuples_of(lines(partition, begin, end, self.plan.longest_line, fields), source):
                read = parsed(source, line)
                item: Any = copy(read.item)
                item[PARTITION] = partition
                yield evolve(read, item=item)


def _lines(
    source: Source, table: LocalTable | None, file: Any, longest: int, *, is_markers: bool
) -> Iterator[Input]:
    if table is not None and not is_markers:
        keys, lines = table.keys[file], table.lines(file)
    else:
        keys = {} if is_markers else keys_of_file(source, file)
        lines = lines_in(file, "json" if is_markers else source.format, _names(source), longest)
    for line in lines if is_markers else tuples_of(lines, source):
        read = parsed(source, line)
        if source.markers_only and not is_markers and is_marker(read.item) and not line.is_header:
            read = evolve(read, item={"$foreign": line.text})
        if is_markers and not is_marker(read.item):  # ends the query (RQ224)
            read = evolve(read, item={"$stray": line.text})
        yield with_keys(read, keys)


def order_notes(plan: Plan) -> Iterator[str]:
    """Yields the notes on the order of files that `run` also gives."""
    for source in plan.sources:
        if source.format_kind.place == "folder" and not source.table and source.path != "-":
            files = files_of(source.path, by_name=source.by_name)
            note = disorder_note(source.name, (str(file) for file in files), by_name=source.by_name)
            if note is not None:
                yield note


def _names(source: Source) -> frozenset[str]:
    return source.columns(attribute.name for attribute in source.attributes)
