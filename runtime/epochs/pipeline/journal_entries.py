"""Makes the entry of an epoch in the journal of its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.epochs.checkpoint.journal import EpochEntry, ReadAccent
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.epochs.pipeline.running_epoch import RunningEpoch
from cedilla.runtime.epochs.state.segments import Segments

_MAX_ACCENTS = 20
"""The most accents of an epoch in the journal."""


def _accents(running: RunningEpoch) -> Iterator[ReadAccent]:
    for source, part in ((source, read.slice) for source, read in running.read.items()):
        for marker in part.scan.markers:
            if marker.kind == "accent":
                position = marker.position - marker.file * NEXT_FILE
                file = part.files[marker.file].shown
                yield ReadAccent(source, marker.text, file, position, part.format.by_bytes)


def entry_of(
    running: RunningEpoch, report: EpochReport, segments: Segments, records_left: Mapping[str, int]
) -> EpochEntry:
    """Returns an epoch as the journal records it."""
    kept = [segment for of_relation in segments.values() for segment in of_relation]
    return EpochEntry(
        report.number,
        report.tuples,
        sum(report.written.values()),
        report.seconds,
        report.phases,
        report.quarantined,
        (sum(segment.rows or 0 for segment in kept), sum(segment.length for segment in kept)),
        report.files_left,
        records_left,
        tuple(islice(_accents(running), _MAX_ACCENTS)) if report.accents else (),
        report.accents,
        report.warnings,
        running.members,
        report.undeclared,
    )
