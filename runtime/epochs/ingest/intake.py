"""Converts the lines of a slice into canonical tuples and rejects invalid ones (theory D0, G34)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial

import pyarrow as pa
from attrs import evolve
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type, column, quote
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import PARTITION, POSITION, Tree
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.formats.jsonl.change_events import GONE
from cedilla.runtime.connectors.formats.jsonl.records import partition_of
from cedilla.runtime.connectors.formats.source import (
    CORRUPT,
    Conditions,
    Scan,
    StatisticsByFile,
    Types,
)
from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.connectors.records.rejections import OF_VALUES, REPLACED
from cedilla.runtime.connectors.records.values import near_digits_sql
from cedilla.runtime.control.sources import wall_clock
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.undecodable import undecodable
from cedilla.runtime.control.sources.validity import Rejection, rejections
from cedilla.runtime.engines.spark.frames import in_one_part, is_connect, of_table, partition_keys, row_number
from cedilla.runtime.engines.spark.jobs import Jobs
from cedilla.runtime.engines.spark.lookups import Lookups, Tables
from cedilla.runtime.engines.spark.spark import observed
from cedilla.runtime.epochs.ingest.decoding import (
    beyond_tests,
    decoded_value,
    depends_on_places,
    in_its_place,
    without_sentinels,
)
from cedilla.runtime.epochs.ingest.file_statistics import proven_valid, region_of_raw, region_of_tuples
from cedilla.runtime.epochs.ingest.heartbeats import (
    LATE_FILE,
    NO_BEATS,
    NOT_LATE,
    Beats,
    axis_sql,
    late_table,
    times_in,
)
from cedilla.runtime.epochs.ingest.late_tuples import LateTuples
from cedilla.runtime.epochs.ingest.path_keys import PathKeys
from cedilla.runtime.epochs.ingest.raw_names import by_attributes, came, misnamed
from cedilla.runtime.epochs.ingest.read_ahead import Asked, ReadAhead
from cedilla.runtime.epochs.ingest.read_counts import FILE, REJECT, ReadCounts, counted
from cedilla.runtime.epochs.ingest.slices import Slice
from cedilla.runtime.epochs.ingest.source_input import SourceInput

_NOTHING: Mapping[str, str] = {}

_BEYOND = "$beyond"
"""A column: the first attribute with a value that a double may not keep (RQ310)."""
_UNCODED = "$uncoded"
"""A column: the code, and the first attribute with a value that its recode (RQ314), its bent function (RQ315) or its
declared decimal (RQ334) does not take."""


def _observed(observed_counts: Mapping[str, int] | None, scan: Scan) -> ReadCounts | None:
    """Returns the counts that jobs made while reading, if they cover all tuples and none was rejected.

    If several jobs read the rows from memory, the counts are those of the first finished job, which may be too low.
    """
    if observed_counts is None or observed_counts["rows"] != scan.tuples or observed_counts["rejected"]:
        return None
    return ReadCounts(observed_counts["rows"], {})


def read(
    spark: SparkSession,
    source: Source,
    state: SourceState,
    part: Slice,
    undeclared: Mapping[str, str],
    jobs: Jobs,
    ahead: ReadAhead,
    scratch: str,
    counted_fields: Sequence[str] = (),
) -> SourceInput:
    """Reads a slice's tuples once; all jobs of the epoch use the result. A job counts only if statistics do not prove
    all tuples valid. A heartbeat waits for that job. `scratch`: a folder for tuples that are too many for memory.
    `counted_fields`: the fields whose values are counted.
    """
    types = _files_and_types(source, state, undeclared)
    asked = Asked(part.format, part.with_tuples, types, part.counted(counted_fields), part.scan.searched)
    batch = ahead.read(source.name, asked, scratch)
    if keys := PathKeys.of(part.keys, state.field_types, part.format.paths):
        batch = keys.batch(spark, batch)
    members = jobs.start(batch.members).result if counted_fields else dict
    is_whole, now = not (undeclared or part.is_cut or source.latest), wall_clock.now()
    valid = _valid(source, state, part, batch.statistics, now) if is_whole else None

    around = partial(region_of_raw, state, batch.statistics)

    def canonical(narrowed: DataFrame | None = None, *, all_valid: bool) -> DataFrame:
        taken = batch.rows if narrowed is None else narrowed
        rows = in_one_part(spark, taken) if isinstance(taken, pa.Table) else taken
        late = beats.late
        return _canonical(
            spark, source, state, part, rows, undeclared, around, all_valid=all_valid, late=late, now=now
        )

    def of_rows(read_rows: Callable[..., DataFrame], *conditions: Conditions) -> DataFrame:
        return canonical(read_rows(*conditions), all_valid=True)

    known_counts, beats = _known_counts(source, part, valid), NO_BEATS
    if source.heartbeat is not None:
        axis = source.heartbeat.attribute, state.types[source.heartbeat.attribute]
        if known_counts is None:
            known_counts = counted(canonical(all_valid=False), axis)
        beats = Beats.of(source.heartbeat, state, part, known_counts.times)
        if beats.late:
            valid, known_counts = None, counted(canonical(all_valid=False), axis)
        beats = beats.counting(known_counts.late)
    frame = cache(partial(canonical, all_valid=valid is not None))

    def result(
        has_rows: bool, counts: Callable[[], ReadCounts], rows: Callable[[], DataFrame] = frame
    ) -> SourceInput:
        region = partial(region_of_tuples, state, valid) if valid else lambda: True
        is_canonical = valid is not None and _is_canonical(state)
        table = batch.rows if is_canonical and isinstance(batch.rows, pa.Table) else None
        narrowed = partial(of_rows, batch.narrowed) if is_canonical and batch.narrowed else None
        late = None
        if source.heartbeat is not None and beats.latest is not None:
            late = LateTuples(spark, source.name, source.heartbeat, state, part.format, beats.latest)
        scan = None if valid is None or depends_on_places(state) else batch.unplaced
        scan = None if scan is None else evolve(scan, rows=partial(of_rows, scan.rows))
        return SourceInput(
            part,
            has_rows,
            types,
            region,
            rows,
            counts,
            table,
            members,
            beats,
            narrowed,
            late,
            scan,
            is_valid=valid is not None,
            is_as_read=is_canonical and batch.is_parsed,
        )

    if known_counts is not None:
        return result(known_counts.kept > 0, lambda: known_counts)
    if part.scan.tuples is None or is_connect(spark):
        return result(True, jobs.start(partial(counted, frame())).result)
    watched, observation = observed(frame(), {"rows": "count(1)", "rejected": f"count({column(REJECT)})"})
    # Runs a separate job if none has read all rows, or if some were rejected.
    return result(True, lambda: _observed(observation(), part.scan) or counted(frame()), lambda: watched)


def _is_canonical(state: SourceState) -> bool:
    """Returns True if values, as read, are canonical and under the names of attributes."""
    are_decoded = any(tree != IDENTITY for tree in state.originals.placed.values())
    otherwise = (
        *(state.names.of, state.codes, state.numbers.raw_types, state.sentinels.here, state.swaps.here),
        state.inexact,
    )
    return not (are_decoded or any(otherwise))


def _files_and_types(source: Source, state: SourceState, undeclared: Mapping[str, str]) -> Types:
    """Returns the types of the fields to read."""
    others = (*undeclared, GONE) if source.latest else undeclared
    return {**state.field_types, **{name: Type("string") for name in others}}


def _valid(
    source: Source, state: SourceState, part: Slice, statistics: StatisticsByFile | None, now: int
) -> StatisticsByFile | None:
    """Returns the statistics of files if they prove all of their tuples valid."""
    partitions = {n: p for n, file in part.numbered.items() if (p := partition_of(file)) is not None}
    if statistics is None:
        return None
    return proven_valid(source, state, statistics, part.scan.empty, partitions, now)


def _known_counts(source: Source, part: Slice, statistics: StatisticsByFile | None) -> ReadCounts | None:
    """Returns the counts of a slice if they are known without a pass. `statistics`: the result of `_valid`."""
    if len(part.scan.empty) == len(part.files):
        return ReadCounts(0, {})
    if statistics is None:
        return None
    kept = part.scan.tuples
    if kept is None:
        # If positions are known, all rows are tuples; else rows include markers.
        mixed = {number for number, of_file in statistics.items() if of_file.rows and of_file.places is None}
        kept = sum(of_file.rows for of_file in statistics.values()) - sum(
            m.file in mixed for m in part.scan.markers
        )
    if source.heartbeat is None:
        return ReadCounts(kept, {})
    times = times_in(statistics, source.heartbeat.attribute)
    return None if times is None else ReadCounts(kept, {}, times)


def tuples(
    spark: SparkSession,
    source: Source,
    state: SourceState,
    part: Slice,
    undeclared: Mapping[str, str] = _NOTHING,
) -> DataFrame:
    """Returns every tuple of a slice in canonical values, with its position, and the code that rejects it.

    `state`: the source's state after all markers of the slice; its trees with positions say what applied at each one.
    """
    lines = part.format.tuples(spark, part.with_tuples, _files_and_types(source, state, undeclared))
    if keys := PathKeys.of(part.keys, state.field_types, part.format.paths):
        lines = keys.frame(spark, lines)
    now = wall_clock.now()
    return _canonical(spark, source, state, part, lines, undeclared, all_valid=False, late={}, now=now)


def _canonical(
    spark: SparkSession,
    source: Source,
    state: SourceState,
    part: Slice,
    lines: DataFrame,
    undeclared: Mapping[str, str],
    around: Callable[[], Tree] = lambda: True,
    *,
    all_valid: bool,
    late: Mapping[int, Fraction],
    now: int,
) -> DataFrame:
    """Returns the canonical tuples of a slice from its raw ones, as `tuples` does. `around`: returns a region
    around them. `all_valid`: no tuple is rejected, and none gets a code. `late`: that of `Beats`; `now`: the clock of
    the run."""
    raw = lines.where(condition) if (condition := part.condition(column(POSITION))) else lines
    kept = [*map(column, (*undeclared, *([GONE] if source.latest else []), CORRUPT, POSITION))]
    if state.names.of:
        raw = by_attributes(raw, state.names, state.types, kept)
    noted = [*map(came, state.names.here)]
    tables = Tables.of(spark)
    places, raw_types = _places(part), state.types_of_raw
    if state.swaps.here:
        testing = Lookups(tables, raw_types, places)
        in_place = [in_its_place(source.name, name, state, testing) for name in state.types]
        raw = testing.joined(raw).selectExpr(*in_place, *kept, *noted)
    for layer in state.sentinels.layers:
        testing = Lookups(tables, raw_types, places)
        defined = [
            without_sentinels(source.name, name, state, testing) if name in layer else column(name)
            for name in state.types
        ]
        raw = testing.joined(raw).selectExpr(*defined, *kept, *noted)
    decoding = Lookups(tables, raw_types, places)
    decoded = {name: decoded_value(source.name, name, state, decoding, around) for name in state.types}
    raw = decoding.joined(raw)
    if beyond := [
        f"WHEN {test} THEN {quote(n)}"
        for n in sorted(state.inexact)
        for test in beyond_tests(column(n), decoded[n])
    ]:
        noted.append(f"CASE {' '.join(beyond)} END AS {column(_BEYOND)}")
    if uncoded := [
        f"WHEN {column(n)} IS NOT NULL AND {decoded[n]} IS NULL THEN {quote(f'{code} {n}')}"
        for code, names in undecodable(state)
        for n in sorted(names)
    ]:
        noted.append(f"CASE {' '.join(uncoded)} END AS {column(_UNCODED)}")
    if beyond or uncoded or any(text != column(name) for name, text in decoded.items()):
        raw = raw.selectExpr(*(f"{text} AS {column(name)}" for name, text in decoded.items()), *kept, *noted)
        if state.numbers.digits:
            near = {
                n: F.expr(near_digits_sql(column(n), digits)) for n, digits in state.numbers.digits.items()
            }
            raw = raw.withColumns(near)
    if all_valid:
        return raw
    checking = Lookups(tables, state.types, places)
    judged = _rejection(
        source, state, undeclared, checking, late=bool(late), has_keys=bool(part.keys), now=now
    )
    rejection = f"{judged} AS {column(REJECT)}"
    raw = checking.joined(raw)
    if late:
        assert source.heartbeat is not None
        bounds = of_table(spark, late_table(late, state.types[source.heartbeat.attribute]))
        raw = raw.join(F.broadcast(bounds), F.expr(f"{FILE} = {column(LATE_FILE)}"), "left")
    judged_rows = raw.selectExpr(*map(column, state.types), *kept, rejection)
    return _last_states(source, state, part, judged_rows) if source.latest else judged_rows


def _last_states(source: Source, state: SourceState, part: Slice, rows: DataFrame) -> DataFrame:
    """Returns the last state of each row, without those that were deleted, and all rejected rows. Raises
    `DiagnosticError` RQ545 if an epoch has only a part of the table."""
    if part.low is not None or part.high is not None:
        hint = "state the accents in the query, so that they come before the first row"
        message = f"the last states of `{source.name}` are those of all its files, and a marker in them ends an epoch"
        raise failure("RQ545", message, source.span, hint=hint)
    number, rejected = "$number", F.col(column(REJECT)).isNotNull()
    last = row_number(partition_keys(source.changes, state.types), [rejected, F.col(column(POSITION)).desc()])
    is_state = F.expr(f"{column(number)} = 1 AND {column(GONE)} <> 'd'")
    return rows.withColumn(number, last).where(rejected | is_state).drop(number, GONE).orderBy(POSITION)


def _places(part: Slice) -> dict[str, str]:
    """Returns SQL for the further attributes in trees: a tuple's position, and the partition of its file."""
    position = column(POSITION)
    of_files = list(map(partition_of, part.files))
    cases = [
        f"WHEN {position} < {(n + 1) * NEXT_FILE}L THEN {p}" for n, p in enumerate(of_files) if p is not None
    ]
    partition = {PARTITION: f"CASE {' '.join(cases)} END"} if cases else {}
    return {POSITION: position, **partition}


def _rejection(
    source: Source,
    state: SourceState,
    undeclared: Mapping[str, str],
    lookups: Lookups,
    *,
    late: bool,
    has_keys: bool,
    now: int,
) -> str:
    coded = [(f"{column(CORRUPT)} = {quote(REPLACED)}", quote(REPLACED))] if source.over else []
    if has_keys or state.forms or source.changes or any(a.others for a in source.attributes):
        coded += ((f"{column(CORRUPT)} LIKE '{code} %'", column(CORRUPT)) for code in OF_VALUES)
    cases = [*coded, (f"{column(CORRUPT)} IS NOT NULL", quote("RQ301"))]
    if state.codes or state.bent or state.numbers.raw_types:
        cases.append((f"{column(_UNCODED)} IS NOT NULL", column(_UNCODED)))
    if state.inexact:
        cases.append((f"{column(_BEYOND)} IS NOT NULL", f"concat('RQ310 ', {column(_BEYOND)})"))
    cases += misnamed(state.names, source.name, lookups)
    for rejection in rejections(source, state, state.presence.placed, state.placed_closed, now):
        if (test := _rejects(rejection, source.name, lookups)) is not None:
            cases.append((test, _of(rejection.code, rejection.attribute)))
    if late and source.heartbeat is not None:
        name = source.heartbeat.attribute
        cases.append((f"{axis_sql(name, state.types[name])} < {column(NOT_LATE)}", quote("RQ305")))
    cases += [(f"{column(name)} IS NOT NULL", _of(code, name)) for name, code in undeclared.items()]
    if source.latest:  # a deleted row may have its key only
        keys = [(f"{column(key)} IS NULL", _of("RQ302", key)) for key in source.changes]
        in_force = [*coded, (f"{column(CORRUPT)} IS NOT NULL", quote("RQ301")), *keys]
        cases = [*in_force, (f"{column(GONE)} = 'd'", "CAST(NULL AS STRING)"), *cases]
    return f"CASE {' '.join(f'WHEN {test} THEN {value}' for test, value in cases)} END"


def _of(code: str, attribute: str) -> str:
    return quote(f"{code} {attribute}" if attribute else code)


def _rejects(rejection: Rejection, source: str, lookups: Lookups) -> str | None:
    """Returns a rejection as SQL; `None` if it rejects nothing."""
    if rejection.wrong not in regions.leaves(rejection.tree):
        return None
    purpose = (rejection.code, source, rejection.attribute)
    where = lookups.expression(
        purpose, rejection.tree, lambda leaf: "true" if leaf is rejection.wrong else "false"
    )
    if not rejection.attribute:
        return where
    test = f"{column(rejection.attribute)} IS {'NOT ' if rejection.is_defined else ''}NULL"
    return test if where == "true" else f"{test} AND {where}"
