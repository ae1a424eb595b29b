"""Messages about an epoch: its report, and the markers that end the query, with their places."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen
from pyspark.sql import SparkSession

from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Diagnostic, in_stream
from cedilla.runtime.connectors.formats.jsonl.records import copy_of
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.control.markers.advance import (
    MarkerEffects,
    MarkerWarning,
    Stop,
)
from cedilla.runtime.control.markers.allowed import NOT_ALLOWED
from cedilla.runtime.control.sources import active_accents
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.ingest.slices import Slice, line_of
from cedilla.runtime.epochs.ingest.source_input import SourceInput
from cedilla.runtime.epochs.pipeline.report import MAX_WARNINGS, EpochReport


@frozen
class LocatedStop:
    """A marker that ends the query, and the whole slice that it is in."""

    stop: Stop
    part: Slice


def located(spark: SparkSession, stopped: LocatedStop, epoch: int) -> list[Diagnostic]:
    """Returns the errors of a marker that ends the query, with its file, line and text, and the way to continue.
    `epoch`: the last that is committed, -1 before the first. One Spark job."""
    marker = stopped.stop.marker
    file = stopped.part.files[marker.file]
    line = line_of(spark, stopped.part, marker)
    position = f"{file.shown}:{line}: {marker.text}"
    copy = copy_of(file, marker.position - marker.file * NEXT_FILE)
    copied = () if copy is None else (f"its copy, which can be mended or left empty: {copy}",)
    removal = (
        f"delete line {line} of {local_path(file.path) or file.shown}" if copy is None else f"empty {copy}"
    )
    repair = f"repair or {removal}; then run the same command again"
    is_file = not marker.is_meant and line == 0  # rows of Parquet are counted from 0, lines of a text from 1

    def noted_at(error: Diagnostic) -> Diagnostic:
        is_right = error.code == NOT_ALLOWED
        ways = (position,) if is_file or is_right else (repair, position, *copied)
        return evolve(error, notes=(*error.notes, _committed(epoch, "file" if is_file else "marker"), *ways))

    noted = [noted_at(error) for error in stopped.stop.diagnostics]
    # The columns of a marker that its format translates are those of the translation.
    return noted if marker.translate else [in_stream(d, marker.text, file.shown, line) for d in noted]


def _committed(epoch: int, what: str) -> str:
    if epoch < 0:
        return "nothing is committed yet, and nothing is lost"
    return f"everything before this {what} is committed, up to epoch {epoch}, and nothing is lost"


def report(
    spark: SparkSession,
    plan: Plan,
    record: Commit,
    read: Mapping[str, SourceInput],
    effects: MarkerEffects,
    files_left: int,
    notes: tuple[str, ...],
) -> EpochReport:
    """Returns the messages of an epoch when it starts."""
    return EpochReport(
        number=record.epoch,
        tuples=0,
        seconds=0.0,
        files=sum(len(part.slice.files) for part in read.values()),
        files_left=files_left,
        accents=effects.accents,
        punctuations=effects.punctuations,
        in_force=sum(active_accents.count(source, record.sources[source.name]) for source in plan.sources),
        held=tuple(
            f"-({attribute}) in {node}: state still has it"
            for node, facts in record.state_facts.items()
            for attribute in facts.retained
        ),
        notes=notes,
        warnings=tuple(
            _warned(spark if number < MAX_WARNINGS else None, warning, read[warning.source].slice)
            for number, warning in enumerate(effects.warnings)
        ),
    )


def _warned(spark: SparkSession | None, warning: MarkerWarning, part: Slice) -> Diagnostic:
    """Returns the warning about a marker, with its file and text, and its line if there is a session to look for it."""
    position = part.files[warning.marker.file].shown
    if spark is not None:
        position += f":{line_of(spark, part, warning.marker)}"
    note = f"now: {position}: {warning.marker.text}"
    return evolve(warning.diagnostic, span=None, notes=(*warning.diagnostic.notes, note))
