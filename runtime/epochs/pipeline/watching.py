"""`set suspect = warn` on Spark: one aggregate of a slice, a few medians of each group, for the watch over its source.

The number of rows in the driver has a limit that does not depend on the number of tuples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from math import prod
from typing import Any

from attrs import define, field, frozen
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import column
from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.regions import POSITION, Level
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.records.marker import NEXT_FILE, file_of
from cedilla.runtime.control.change_detection.groups import Group
from cedilla.runtime.control.change_detection.monitor import MAX_GROUPS, Monitor, grouping, monitored_sources
from cedilla.runtime.control.change_detection.monitor_record import dump_monitor, load_monitor
from cedilla.runtime.control.change_detection.points import (
    MAX_TUPLES,
    MAX_VALUE,
    TARGET_POINTS,
    Point,
    run_bits,
)
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.spark.columns import axis_value
from cedilla.runtime.engines.spark.jobs import Jobs
from cedilla.runtime.epochs.ingest.read_counts import REJECT
from cedilla.runtime.epochs.ingest.slices import Slice
from cedilla.runtime.epochs.ingest.source_input import SourceInput

_MAX_ROWS = 2 * MAX_TUPLES
"""More rows of an aggregate are left in the engine."""

_DENSITY = 1 / 64
"""Tuples of a byte of JSON, before some have come."""

_GROUPS = 32
"""Values of an attribute without a list as its domain, before some have come."""

_ACCURACY = 100
"""The accuracy of the approximate median: its rank errs by one in this number of values at most."""


@frozen
class Sample:
    """The points of an epoch, in stream order. `share`: of the groups that were looked at."""

    points: tuple[Point, ...]
    share: int


@define
class Watches:
    """The watches over the streams of a plan; none if it does not ask for them."""

    plan: Plan
    jobs: Jobs
    _watches: dict[str, Monitor] = field(factory=dict[str, Monitor])
    _denser: dict[str, float] = field(factory=dict[str, float])
    _is_told: bool = False

    @classmethod
    def of(cls, plan: Plan, jobs: Jobs, recorded: Mapping[str, Any]) -> Watches:
        """The watches as the last commit has left them."""
        watches = {
            s.name: load_monitor(s, grouping(plan, s), recorded.get(s.name)) for s in monitored_sources(plan)
        }
        return cls(plan, jobs, watches)

    def notes(self) -> tuple[str, ...]:
        """Returns by what each source is grouped, once a run."""
        is_first, self._is_told = not self._is_told, True
        return tuple(watch.text() for watch in self._watches.values()) if is_first else ()

    def start(
        self, epoch: int, read: Mapping[str, SourceInput], states: Mapping[str, SourceState]
    ) -> dict[str, Future[Sample]]:
        """Start a job for each source that has tuples in an epoch. `states`: those of the sources at its end."""
        return {
            name: self.jobs.start(partial(self._sample, watch, epoch, read[name], states[name]))
            for name, watch in self._watches.items()
            if name in read and read[name].has_rows and watch.attributes(states[name])
        }

    def take(
        self,
        samples: Mapping[str, Future[Sample]],
        before: Mapping[str, SourceState],
        after: Mapping[str, SourceState],
    ) -> list[Diagnostic]:
        """The findings of the samples of an epoch, whose jobs are done; epoch after epoch (`Monitor.take`)."""
        diagnostics: list[Diagnostic] = []
        for name, job in samples.items():
            sample = job.result()
            diagnostics += self._watches[name].take(sample.points, sample.share, before[name], after[name])
        return diagnostics

    def dump(self) -> dict[str, Any]:
        """Returns the content for a commit record."""
        return {name: dump_monitor(watch) for name, watch in self._watches.items()}

    def _sample(self, watch: Monitor, epoch: int, read: SourceInput, state: SourceState) -> Sample:
        names, name = watch.attributes(state), watch.source.name
        part = read.slice
        denser = self._denser.get(name, 1.0)
        tuples = part.length * _DENSITY * denser if part.scan.tuples is None else part.scan.tuples
        groups = len(watch.groups) or _possible_groups(watch.source, watch.by)
        wanted = max(1, TARGET_POINTS // groups)
        bits = None
        if tuples > MAX_TUPLES:
            bits = run_bits(denser * (part.length if part.format.by_bytes else tuples), groups)
        medians = aggregate(read.frame, part, state, watch.by, names, watch.share, bits, wanted)
        # A few medians of each group. Of one partition a limit takes one job.
        rows = medians.coalesce(1).limit(_MAX_ROWS).collect()
        share, files = watch.share, part.files
        ordered = sorted(rows, key=lambda row: row["$at"])
        points = [
            Point(
                _group(row, len(watch.by)),
                f"epoch {epoch}, {files[file_of(row['$at'])].shown}",
                {attribute: row[f"$median{n}"] for n, attribute in enumerate(names) if row[f"$count{n}"]},
                {attribute: row[f"$count{n}"] for n, attribute in enumerate(names) if row[f"$count{n}"]},
            )
            for row in ordered
        ]
        if len(rows) == _MAX_ROWS:  # there is more in a byte than was thought
            self._denser[name] = 4 * denser
        return Sample(tuple(points), share)


def _group(row: Row, length: int) -> Group:
    values = (row[f"$by{number}"] for number in range(length))
    return tuple(None if value is None else axis_value(value) for value in values)


def aggregate(
    frame: DataFrame,
    part: Slice,
    state: SourceState,
    by: Sequence[str],
    names: Sequence[str],
    share: int,
    bits: int | None,
    wanted: int,
) -> DataFrame:
    """Returns the medians of consecutive tuples of each group of a slice, without rejected ones. A row stands for a run
    of 2^`bits` places of a file, or, with more than `wanted` files, for a run of files. Without bits each tuple is a
    row, and nothing is shuffled."""
    conditions = [f"{column(REJECT)} IS NULL"]
    if share > 1:
        texts = ", ".join(f"coalesce(CAST({column(name)} AS STRING), '\\0')" for name in by)
        conditions.append(f"pmod(crc32(CAST(concat_ws('\\u0001', {texts}) AS BINARY)), {share}) = 0")
    position, files = column(POSITION), len(part.files)
    run = (
        f"shiftright({position}, {bits or 0})"
        if files <= wanted
        else f"({position} div {NEXT_FILE}L) * {wanted} div {files}"
    )
    keys = [f"{state.types[attribute].axis(column(attribute))} AS `$by{n}`" for n, attribute in enumerate(by)]
    values = [f"{_number(column(attribute))} AS `$value{n}`" for n, attribute in enumerate(names)]
    rows = frame.where(" AND ".join(conditions)).selectExpr(
        *keys, f"{run} AS `$run`", f"{position} AS `$at`", *values
    )
    if bits is None:
        return rows.selectExpr(
            *(f"`$by{n}`" for n in range(len(by))),
            "`$at`",
            *(f"`$value{n}` AS `$median{n}`" for n in range(len(names))),
            *(f"IF(`$value{n}` IS NULL, 0L, 1L) AS `$count{n}`" for n in range(len(names))),
        )
    return rows.groupBy(*(f"`$by{n}`" for n in range(len(by))), "`$run`").agg(
        F.expr("min(`$at`) AS `$at`"),
        *(
            F.expr(f"percentile_approx(`$value{n}`, 0.5D, {_ACCURACY}) AS `$median{n}`")
            for n in range(len(names))
        ),
        *(F.expr(f"count(`$value{n}`) AS `$count{n}`") for n in range(len(names))),
    )


def _number(value: str) -> str:
    """A value as a double, without NaN and infinities."""
    return f"CASE WHEN abs(CAST({value} AS DOUBLE)) <= {MAX_VALUE}D THEN CAST({value} AS DOUBLE) END"


def _possible_groups(source: Source, by: Sequence[str]) -> int:
    """Returns the number of possible groups, before any has come."""
    domains = [a.domain_members() for a in source.attributes if a.name in by]
    sizes = [
        len(domain.points) if isinstance(domain, Level) and domain.points else _GROUPS for domain in domains
    ]
    return max(1, min(MAX_GROUPS, prod(sizes)))
