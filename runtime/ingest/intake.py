"""From the lines of a slice to canonical tuples, and to the quarantine what is none (theory D0, G34)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from typing import Any

from attrs import define, frozen
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LARGEST, Type, column, quote
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import POSITION
from cedilla.compiler.regions.affine import IDENTITY, sql_over
from cedilla.runtime.control.source_state import SourceState
from cedilla.runtime.control.validity import Rejection, rejections
from cedilla.runtime.engines.jobs import Jobs
from cedilla.runtime.engines.lookups import Lookups, Tables
from cedilla.runtime.formats.source import CORRUPT, FILE, InputFile, Scan
from cedilla.runtime.ingest.file_statistics import are_all_valid
from cedilla.runtime.ingest.slices import Slice
from cedilla.runtime.items.marker import NEXT_FILE, MarkerLine, file_of
from cedilla.runtime.items.values import near_digits_sql

REJECT = "$reject"
"""A column: null in a tuple; else the code that rejects it, and behind a blank the attribute that is wrong, if any."""
CODE, ATTRIBUTE = f"left(`{REJECT}`, 5)", f"substr(`{REJECT}`, 7)"
"""The two as SQL."""
CODES = ("RQ301", "RQ302", "RQ303", "RQ304", "RQ305", "RQ306", "RQ307", "RQ310")
"""Why a tuple can be rejected; `rejections.REASONS` says it in words."""

_NOTHING: Mapping[str, str] = {}

_BEYOND = "$beyond"
"""A column: the first attribute whose value is one that a double may not keep (RQ310)."""

_MARKER = "$marker"
"""In the place of a code: the row is no tuple."""
_MARKERS = f"count_if({column(REJECT)} = '{_MARKER}')"


@frozen
class ReadCounts:
    """What one pass over a slice counted: tuples kept, tuples rejected by code, markers, greatest heartbeat value."""

    kept: int
    rejected: Mapping[str, int]
    markers: int = 0
    greatest: Fraction | None = None


class CountMismatch(Exception):
    """A slice has more markers than the first look at its files has found."""


@define(eq=False)
class Read:
    """One source's part of an epoch. `frame`: its tuples, with the code that rejects them if any.

    `markers`: how many there are by a look that may have overlooked some, `None` after one that cannot. Tuples
    and markers are counted by whatever reads them first, unless they are `counted` already.
    """

    frame: DataFrame
    part: Slice
    is_busy: bool
    markers: int | None
    _count: Callable[[], ReadCounts]
    _counted: ReadCounts | None = None
    _uncounted: DataFrame | None = None

    @property
    def uncounted(self) -> DataFrame:
        """The frame for a job that counts nothing, so that it may leave rows unread."""
        return self.frame if self._uncounted is None else self._uncounted

    @property
    def read_counts(self) -> ReadCounts:
        """What was counted, when all is read that is going to be. Raises `CountMismatch`."""
        if self._counted is None:
            self._counted = self._count()
        if self.markers not in (None, self._counted.markers):
            raise CountMismatch
        return self._counted


def _observed(seen: Observation, scan: Scan) -> ReadCounts | None:
    """What an observation has found, if it is of all rows and leaves out the known markers only.

    `None` too where no job has read all the rows, so that `get` would wait for ever. Of rows that several jobs read
    from memory, an observation has what was counted when the first of them was done, which may be too little: there
    the number of rows has to be known from elsewhere (`Plan.streamed`).
    """
    java: Any = seen._jo  # type: ignore[attr-defined]
    if not java.future().isCompleted() or not java.getRow().length():
        return None
    rows, left_out = seen.get["counts"]
    markers = len(scan.markers)
    is_all = scan.ends_only or rows == scan.rows
    return ReadCounts(rows - markers, {}, markers) if is_all and left_out == markers else None


def read(
    spark: SparkSession,
    source: Source,
    state: SourceState,
    part: Slice,
    undeclared: Mapping[str, str],
    cached: ExitStack,
    jobs: Jobs,
) -> Read:
    """A slice's tuples. Nobody counts them where the files vouch for them. Else they are counted by the jobs of the
    epoch itself where it can be told whether all were counted; or by a Spark job: at once for a heartbeat, and beside
    the others elsewhere.
    """
    scan = part.scan
    contents = None if undeclared or part.is_cut else part.format.contents(spark, part.files, state.types)
    all_valid = contents is not None and are_all_valid(source, state, contents, scan.empty)
    frame = tuples(spark, source, state, part, undeclared, all_valid=all_valid)
    is_busy = len(scan.empty) < len(part.files)
    markers = None if part.format.exact else len(scan.markers)
    beat = source.heartbeat and (source.heartbeat.attribute, state.types[source.heartbeat.attribute])
    if not is_busy:
        return Read(frame, part, False, None, lambda: ReadCounts(0, {}))
    if beat is not None:
        if not part.format.columnar:
            frame = frame.persist()
            cached.callback(frame.unpersist)
        read_counts = counted(frame, beat)
        return Read(frame, part, read_counts.kept > 0, markers, lambda: read_counts)
    if contents is not None and all_valid:
        read_counts = ReadCounts(sum(content.rows for content in contents) - len(scan.markers), {})
        return Read(frame, part, True, markers, lambda: read_counts)
    if scan.rows is None and not scan.ends_only:
        return Read(frame, part, True, markers, jobs.start(partial(counted, frame)).result)
    seen = Observation()
    counts = f"struct(count(1) AS rows, count({column(REJECT)}) AS left_out) AS counts"
    watched = frame.observe(seen, F.expr(counts))
    # A job of its own where none has read all, or where some were rejected.
    return Read(watched, part, True, markers, lambda: _observed(seen, scan) or counted(frame), None, frame)


def tuples(
    spark: SparkSession,
    source: Source,
    state: SourceState,
    part: Slice,
    undeclared: Mapping[str, str] = _NOTHING,
    *,
    all_valid: bool = False,
) -> DataFrame:
    """Every tuple of a slice in canonical values, with its place, file, and the code that rejects it if any; a
    format that has to count its markers leaves them in, with a code of their own. `all_valid`: none is rejected.

    `state` is the source's after all markers of the slice; its trees with positions tell what held where.
    """
    extra = {name: Type("string") for name in undeclared}
    lines = part.format.rows_but_of(part.scan.empty, spark, part.files, {**state.types, **extra})
    bounds = [f"{column(POSITION)} >= {part.low}L"] if part.low is not None else []
    bounds += [f"{column(POSITION)} < {part.high}L"] if part.high is not None else []
    counts = not part.format.exact
    wanted = bounds if counts else ["`$accent` IS NULL", "`$punctuation` IS NULL", *bounds]
    raw = lines.where(" AND ".join(wanted)) if wanted else lines
    tables = Tables.of(spark)
    decoding = Lookups(tables, state.types, _PLACE)
    decoded = {name: _decoded(source.name, name, state, decoding) for name in state.types}
    raw = decoding.joined(raw)
    kept = [*map(column, (*undeclared, CORRUPT, FILE, POSITION))]
    if counts:
        kept += ["`$accent`", "`$punctuation`"]
    if beyond := [
        f"WHEN {test} THEN {quote(n)}"
        for n in sorted(state.inexact)
        for test in _beyond(column(n), decoded[n])
    ]:
        kept.append(f"CASE {' '.join(beyond)} END AS {column(_BEYOND)}")
    if beyond or any(text != column(name) for name, text in decoded.items()):
        raw = raw.selectExpr(*(f"{text} AS {column(name)}" for name, text in decoded.items()), *kept)
        if state.digits:
            near = {n: F.expr(near_digits_sql(column(n), digits)) for n, digits in state.digits.items()}
            raw = raw.withColumns(near)
    if all_valid:
        return raw.selectExpr(*map(column, state.types), *kept, f"CAST(NULL AS STRING) AS {column(REJECT)}")
    checking = Lookups(tables, state.types, _PLACE)
    is_marker = part.format.is_marker if counts else None
    rejection = f"{_rejection(source, state, undeclared, checking, is_marker)} AS {column(REJECT)}"
    return checking.joined(raw).selectExpr(*map(column, state.types), *kept, rejection)


def _decoded(source: str, name: str, state: SourceState, lookups: Lookups) -> str:
    """Canonical from raw: one flat expression over regions, places and tables of points (design, section 9)."""
    tree = state.placed_original.get(name, IDENTITY)
    value = column(name)
    return lookups.expression(
        ("decoded", source, name),
        tree,
        lambda f: f.sql(value),
        partial(sql_over, value),
    )


def _beyond(raw: str, decoded: str) -> Iterable[str]:
    """Whether a value, as it is written or canonical, is beyond what a double keeps; null where it is undefined."""
    return (f"abs({value}) >= {LARGEST}D" for value in dict.fromkeys((raw, decoded)))


_PLACE = {POSITION: column(POSITION)}


def _rejection(
    source: Source, state: SourceState, undeclared: Mapping[str, str], lookups: Lookups, is_marker: str | None
) -> str:
    found: list[tuple[str, str]] = [] if is_marker is None else [(is_marker, quote(_MARKER))]
    found.append((f"{column(CORRUPT)} IS NOT NULL", quote("RQ301")))
    if state.inexact:
        found.append((f"{column(_BEYOND)} IS NOT NULL", f"concat('RQ310 ', {column(_BEYOND)})"))
    for each in rejections(source, state, state.placed_present, state.placed_closed):
        if (test := _rejects(each, source.name, lookups)) is not None:
            found.append((test, _of(each.code, each.attribute)))
    found += [(f"{column(name)} IS NOT NULL", _of(code, name)) for name, code in undeclared.items()]
    return f"CASE {' '.join(f'WHEN {test} THEN {said}' for test, said in found)} END"


def _of(code: str, attribute: str) -> str:
    return quote(f"{code} {attribute}".rstrip())


def _rejects(each: Rejection, source: str, lookups: Lookups) -> str | None:
    """A rejection as SQL; `None` where it rejects nothing."""
    if each.wrong not in regions.leaves(each.tree):
        return None
    purpose = (each.code, source, each.attribute)
    where = lookups.expression(purpose, each.tree, lambda leaf: "true" if leaf is each.wrong else "false")
    if not each.attribute:
        return where
    there = f"{column(each.attribute)} IS {'NOT ' if each.is_defined else ''}NULL"
    return there if where == "true" else f"{there} AND {where}"


def counted(frame: DataFrame, heartbeat: tuple[str, Type] | None = None) -> ReadCounts:
    """Count a slice in one pass; `heartbeat` is the attribute whose greatest value is wanted.

    One Spark job; only counters reach the driver.
    """
    counts = [F.count_if(F.col(REJECT).isNull()).alias("kept")]
    counts += [F.count_if(F.expr(f"{CODE} = '{code}'")).alias(code) for code in CODES]
    counts.append(F.expr(_MARKERS).alias("markers"))
    if heartbeat is not None:
        name, type_ = column(heartbeat[0]), heartbeat[1]
        axis = f"unix_micros({name})" if type_.name == "timestamp" else name
        beats = f"`{REJECT}` IS NULL"
        if type_.name == "double":  # infinities and NaN are no times
            beats += f" AND {axis} > double('-Infinity') AND {axis} < double('Infinity')"
        counts.append(F.max(F.expr(f"CASE WHEN {beats} THEN {axis} END")).alias("greatest"))
    row = frame.agg(*counts).first()
    assert row is not None
    greatest = row["greatest"] if heartbeat is not None else None
    rejected = {code: row[code] for code in CODES if row[code]}
    return ReadCounts(row["kept"], rejected, row["markers"], None if greatest is None else Fraction(greatest))


def lines_before(spark: SparkSession, part: Slice, position: int) -> int:
    """How many rows a file has before a place in it. One Spark job."""
    file = F.col(column(FILE)) == part.files[file_of(position)].uri
    return part.format.rows(spark, part.files, {}).where(file & (F.col(column(POSITION)) < position)).count()


def place_after(spark: SparkSession, part: Slice, lines: int) -> int:
    """The place of the row after so many rows of the first file; of the next file where there is none."""
    first = part.format.rows(spark, part.files, {}).where(F.col(column(FILE)) == part.files[0].uri)
    place = first.select(column(POSITION)).orderBy(column(POSITION)).offset(lines).first()
    return NEXT_FILE if place is None else int(place[0])


def line_of(spark: SparkSession, part: Slice, marker: MarkerLine) -> int | None:
    """The line of a marker as people count them; `None` where it is not found again. Two Spark jobs, three where only
    the ends of files were seen."""
    position = marker.position
    if part.scan.ends_only:
        same = [
            _alike(marker, markers) for markers in (part.scan.markers, part.format.markers(spark, part.files))
        ]
        which = same[0].index(position)
        if which >= len(same[1]):
            return None
        position = same[1][which]
    return line_number(spark, part, part.files[marker.file], lines_before(spark, part, position))


def _alike(marker: MarkerLine, markers: Iterable[MarkerLine]) -> list[int]:
    """The places of the markers of the same text in the same file."""
    return [each.position for each in markers if (each.file, each.text) == (marker.file, marker.text)]


def line_number(spark: SparkSession, part: Slice, file: InputFile, lines: int) -> int:
    """The line, as people count them, of the row after so many rows of a file, for a message."""
    found = part.format.lines(spark, [file]).where(F.col("ordinal") == lines + 1).select("line").first()
    assert found is not None
    return int(found[0])
