"""From the lines of a slice to canonical tuples, and to the quarantine what is none (theory D0, G34)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from attrs import frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler import regions, sql
from cedilla.compiler.affine import IDENTITY
from cedilla.compiler.evolution import ABSENT, PRESENT, Presence
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import POSITION, Tree
from cedilla.compiler.types import Type, column
from cedilla.runtime.control import SourceState
from cedilla.runtime.sources.base import CORRUPT, FILE, Format, InputFile
from cedilla.runtime.sources.marker import NEXT_FILE, file_of

REJECT = "$reject"
CODES = ("RQ301", "RQ302", "RQ303", "RQ304", "RQ305", "RQ306")
"""Why a tuple can be rejected; `quarantine.REASONS` says it in words."""


@frozen
class Slice:
    """Part of a source: files in stream order, and the places between which lines count (high excluded)."""

    format: Format
    files: tuple[InputFile, ...]
    low: int | None = None
    high: int | None = None


@frozen
class Tally:
    """What one pass over a slice counted: tuples kept, tuples rejected by code, greatest heartbeat value."""

    kept: int
    rejected: Mapping[str, int]
    greatest: Fraction | None = None


@frozen
class Read:
    """One source's part of an epoch, read and counted."""

    frame: DataFrame
    part: Slice
    tally: Tally


def tuples(
    spark: SparkSession, source: Source, state: SourceState, part: Slice, undeclared: Sequence[str] = ()
) -> DataFrame:
    """Every tuple of a slice in canonical values, with its place, file, and the code that rejects it if any.

    `state` is the source's after all markers of the slice; its trees with positions tell what held where.
    """
    extra = {name: Type("string") for name in undeclared}
    lines = part.format.rows(spark, part.files, {**state.types, **extra})
    bounds = [f"{column(POSITION)} >= {part.low}L"] if part.low is not None else []
    bounds += [f"{column(POSITION)} < {part.high}L"] if part.high is not None else []
    is_tuple = " AND ".join(["`$accent` IS NULL", "`$punctuation` IS NULL", *bounds])
    raw = lines.where(is_tuple)
    canonical = raw.select(
        *(F.expr(_decoded(name, state)).alias(name) for name in state.types),
        *(F.col(column(name)) for name in (*undeclared, CORRUPT, FILE, POSITION)),
    )
    return canonical.withColumn(REJECT, F.expr(_rejection(source, state, undeclared)))


def _decoded(name: str, state: SourceState) -> str:
    """Canonical from raw: one flat expression over regions and places (design, section 9)."""
    tree = state.placed_original.get(name, IDENTITY)
    return sql.expression(tree, state.types, lambda f: f.sql(column(name)), _PLACE)


_PLACE = {POSITION: column(POSITION)}


def _rejection(source: Source, state: SourceState, undeclared: Sequence[str]) -> str:
    def inside(region: Tree) -> str:
        return sql.predicate(region, state.types, _PLACE)

    cases = [f"WHEN {column(CORRUPT)} IS NOT NULL THEN 'RQ301'"]
    for attribute in source.attributes:
        name = column(attribute.name)
        if not attribute.optional:
            there = _where(state, attribute.name, lambda leaf: leaf is PRESENT)
            if there is not False:
                cases.append(f"WHEN {name} IS NULL AND {inside(there)} THEN 'RQ302'")
        if attribute.domain is not None:
            members = regions.union(
                attribute.domain_members(), regions.complement(regions.defined(attribute.name))
            )
            cases.append(f"WHEN NOT {inside(members)} THEN 'RQ303'")
    for name in state.types:
        absent = _where(state, name, lambda leaf: leaf is ABSENT)
        if absent is not False:
            cases.append(f"WHEN {column(name)} IS NOT NULL AND {inside(absent)} THEN 'RQ304'")
    if state.placed_closed is not False:
        cases.append(f"WHEN {inside(state.placed_closed)} THEN 'RQ305'")
    cases += [f"WHEN {column(name)} IS NOT NULL THEN 'RQ306'" for name in undeclared]
    return f"CASE {' '.join(cases)} END"


def _where(state: SourceState, name: str, wanted: Callable[[Presence], bool]) -> Tree:
    return regions.map_leaves(state.placed_present.get(name, ABSENT), wanted)


def tally(frame: DataFrame, heartbeat: tuple[str, Type] | None) -> Tally:
    """Count a slice in one pass; `heartbeat` is the attribute whose greatest value is wanted.

    One Spark job; only counters reach the driver.
    """
    counted = [F.count_if(F.col(REJECT).isNull()).alias("kept")]
    counted += [F.count_if(F.col(REJECT) == code).alias(code) for code in CODES]
    if heartbeat is not None:
        name, type_ = column(heartbeat[0]), heartbeat[1]
        axis = f"unix_micros({name})" if type_.name == "timestamp" else name
        counted.append(F.max(F.expr(f"CASE WHEN `{REJECT}` IS NULL THEN {axis} END")).alias("greatest"))
    row = frame.agg(*counted).first()
    assert row is not None
    greatest = row["greatest"] if heartbeat is not None else None
    rejected = {code: row[code] for code in CODES if row[code]}
    return Tally(row["kept"], rejected, None if greatest is None else Fraction(greatest))


def lines_before(spark: SparkSession, part: Slice, position: int) -> int:
    """How many rows a file has before a place in it. One Spark job."""
    file = F.col(column(FILE)) == part.files[file_of(position)].uri
    return part.format.rows(spark, part.files, {}).where(file & (F.col(column(POSITION)) < position)).count()


def place_after(spark: SparkSession, part: Slice, lines: int) -> int:
    """The place of the row after so many rows of the first file; of the next file where there is none."""
    first = part.format.rows(spark, part.files, {}).where(F.col(column(FILE)) == part.files[0].uri)
    place = first.select(column(POSITION)).orderBy(column(POSITION)).offset(lines).first()
    return NEXT_FILE if place is None else int(place[0])


def line_number(spark: SparkSession, part: Slice, file: InputFile, lines: int) -> int:
    """The line, as people count them, of the row after so many rows of a file, for a message."""
    found = part.format.lines(spark, [file]).where(F.col("ordinal") == lines + 1).select("line").first()
    assert found is not None
    return int(found[0])
