"""Closes the past of a source with a heartbeat at the end of each of its files (theory 3.1).

A file ends at the same tuple in every cut into epochs. A tuple is therefore late by the files before its own, in one
epoch or in several.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, inf, isfinite, nextafter
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type, column, patterns
from cedilla.compiler.plan import Heartbeat
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import exact
from cedilla.runtime.connectors.formats.jsonl.records import partition_of
from cedilla.runtime.connectors.formats.source import StatisticsByFile
from cedilla.runtime.connectors.records.marker import file_of
from cedilla.runtime.control.sources.latest_time import LatestTime
from cedilla.runtime.control.sources.partitions import within
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.ingest.slices import Slice

LATE_FILE, NOT_LATE = "$late_file", "$not_late"
"""The columns of `late_table`."""
_EXACT = Context(prec=60)


@frozen
class Times:
    """The times of the valid tuples of a file: `least` of all, also of infinite ones, and the `greatest` finite one;
    `None` without any."""

    least: Fraction | float
    greatest: Fraction | None

    @classmethod
    def of(cls, least: Any, greatest: Any) -> Times:
        """Returns exact times of numbers; infinities and NaN unchanged."""
        odd = isinstance(least, float) and not isfinite(least)
        return cls(least if odd else Fraction(least), None if greatest is None else Fraction(greatest))


@frozen
class Beats:
    """The effect of a heartbeat in an epoch.

    `closed`: the regions that are closed at its end; `late`: the number of a file with tuples that are late by the
    epoch's earlier files -> the least time that is not; `reached`: the greatest time of a file if the epoch reads
    only its beginning; `latest`: the greatest time so far; `moved_in`: the number of its file, `None` if an
    earlier epoch has read it.
    """

    closed: tuple[Tree, ...] = field(default=(), converter=tuple)
    late: Mapping[int, Fraction] = field(factory=dict[int, Fraction])
    reached: Fraction | None = None
    latest: LatestTime | None = None
    moved_in: int | None = None

    @classmethod
    def of(cls, beat: Heartbeat, state: SourceState, part: Slice, times: Mapping[int, Times]) -> Beats:
        """Returns the effect in a slice. `state`: of the source after its markers; `times`: by the file's number."""
        latest: dict[int | None, Fraction] = {}
        late: dict[int, Fraction] = {}
        moved_by, moved_in = state.latest, None
        reached = state.reached if part.low is not None else None
        for number, file in enumerate(part.files):
            partition, own = partition_of(file), times.get(number)
            if own is not None:
                if partition in latest and own.least < (bound := latest[partition] - beat.delay):
                    late[number] = bound
                reached = _later(reached, own.greatest)
                if own.greatest is not None and (moved_by is None or own.greatest > moved_by.time):
                    moved_by, moved_in = LatestTime(own.greatest, file.path), number
            if part.high is not None and number == file_of(part.high):
                break
            if reached is not None:
                latest[partition] = max(reached, latest.get(partition, reached))
            reached = None
        closed = (_before(beat, state, time, partition) for partition, time in latest.items())
        return cls(closed, late, reached, moved_by, moved_in)

    def counting(self, late: Mapping[int, int]) -> Beats:
        """Returns it with the late tuples after the greatest time. `late`: late tuples by the file's number."""
        since = sum(n for file, n in late.items() if self.moved_in is None or file > self.moved_in)
        if self.latest is None or not since:
            return self
        return evolve(self, latest=evolve(self.latest, late=self.latest.late + since))

    def applied(self, state: SourceState) -> SourceState:
        """Returns the state of the source at the end of the epoch."""
        for region in self.closed:
            state = state.close(region)
        if (state.reached, state.latest) == (self.reached, self.latest):
            return state
        return evolve(state, reached=self.reached, latest=self.latest)


NO_BEATS = Beats()


def _before(beat: Heartbeat, state: SourceState, time: Fraction, partition: int | None) -> Tree:
    """Returns the tuples that a greatest time closes."""
    cut = patterns.before(state.types[beat.attribute], exact(time - beat.delay))
    return within(regions.interval(beat.attribute, None, cut), partition)


def _later(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    return max((time for time in (one, other) if time is not None), default=None)


def axis_sql(name: str, type_: Type) -> str:
    """Returns SQL for a time as a number."""
    return f"unix_micros({column(name)})" if type_.name == "timestamp" else column(name)


def late_table(late: Mapping[int, Fraction], type_: Type) -> pa.Table:
    """Returns the files with late tuples, and the first value on the axis of times that is not late there."""
    match type_.name:
        case "double":
            bounds = pa.array(map(_double_from, late.values()), pa.float64())
        case "decimal":
            _, scale = type_.parameters
            values = (Decimal(ceil(time * 10**scale)).scaleb(-scale, _EXACT) for time in late.values())
            bounds = pa.array(values, pa.decimal128(38, scale))
        case _:
            bounds = pa.array(
                (max(-(2**63), min(ceil(time), 2**63 - 1)) for time in late.values()), pa.int64()
            )
    return pa.table([pa.array(late.keys(), pa.int32()), bounds], [LATE_FILE, NOT_LATE])


def _double_from(time: Fraction) -> float:
    """Returns the least double that is not below a time."""
    nearest = float(time)
    return nearest if nearest >= time else nextafter(nearest, inf)


def times_in(statistics: StatisticsByFile, name: str) -> Mapping[int, Times] | None:
    """Returns the times of files by their numbers; `None` if some file does not have them in its statistics."""
    times: dict[int, Times] = {}
    for number, file in statistics.items():
        if name not in file.ranges:
            return None
        values = file.ranges[name]
        if values.nulls == file.rows:
            continue
        if values.least is None or values.greatest is None:
            return None
        times[number] = Times(Fraction(values.least), Fraction(values.greatest))
    return times
