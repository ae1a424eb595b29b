"""Counts the tuples of a slice in one pass: those that are kept, and those that a code rejects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import Type, column, quote
from cedilla.compiler.regions import POSITION
from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.connectors.records.rejections import FOREIGN, LATE, OF_DRIFT, REASONS
from cedilla.runtime.epochs.ingest.heartbeats import Times, axis_sql

REJECT = "$reject"
"""A column: null for a tuple; else the code that rejects it, followed by a blank and the invalid attribute, if any."""
CODE, ATTRIBUTE = f"left(`{REJECT}`, 5)", f"substr(`{REJECT}`, 7)"
"""SQL for the two parts."""
CODES = ("RQ301", *sorted(REASONS.keys() - {FOREIGN}))
"""Codes that can reject a tuple."""

FILE = f"CAST({column(POSITION)} div {NEXT_FILE}L AS INT)"
"""SQL for the number of a tuple's file in the slice."""


@frozen
class ReadCounts:
    """The counts of one pass over a slice: tuples kept, tuples rejected by code, and under a heartbeat the times of
    each file that has some, and the late tuples of each file."""

    kept: int
    rejected: Mapping[str, int]
    times: Mapping[int, Times] = field(factory=dict[int, Times])
    late: Mapping[int, int] = field(factory=dict[int, int])


def counted(frame: DataFrame, heartbeat: tuple[str, Type] | None = None) -> ReadCounts:
    """Counts a slice in one pass. `heartbeat`: the attribute, with its type, whose times are also returned.

    Runs one Spark job; only counters, and for a heartbeat those of each file, reach the driver.
    """
    counts = [F.count_if(F.col(REJECT).isNull()).alias("kept")]
    counts += [F.count_if(F.expr(f"{CODE} = '{code}'")).alias(code) for code in CODES]
    if heartbeat is None:
        rows = frame.agg(*counts).collect()
    else:
        rows = frame.groupBy(F.expr(FILE).alias("file")).agg(*counts, *_ends(*heartbeat)).collect()
    of_files = [row for row in rows if heartbeat is not None and row["least"] is not None]
    times = {row["file"]: Times.of(row["least"], row["greatest"]) for row in of_files}
    rejected = {code: n for code in CODES if (n := sum(row[code] for row in rows))}
    late = {row["file"]: row[LATE] for row in rows if heartbeat is not None and row[LATE]}
    return ReadCounts(sum(row["kept"] for row in rows), rejected, times, late)


def _ends(name: str, type_: Type) -> Iterator[Column]:
    """Yields the least time of tuples that may be late, and the greatest finite one of valid tuples: infinities and NaN
    do not beat. Of a late tuple with an unknown field, RQ305 is the code."""
    axis = axis_sql(name, type_)
    is_valid = f"`{REJECT}` IS NULL"
    may_be_late = f"{is_valid} OR {CODE} IN ({', '.join(map(quote, OF_DRIFT))})"
    yield F.min(F.expr(f"CASE WHEN {may_be_late} THEN {axis} END")).alias("least")
    if type_.name == "double":
        is_valid += f" AND {axis} > double('-Infinity') AND {axis} < double('Infinity')"
    yield F.max(F.expr(f"CASE WHEN {is_valid} THEN {axis} END")).alias("greatest")
