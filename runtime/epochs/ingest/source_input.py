"""The tuples of one source in one epoch, before and after they are judged (theory D0)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import pyarrow as pa
from attrs import define
from pyspark.sql import DataFrame

from cedilla.compiler.expressions.types import column
from cedilla.compiler.regions import Tree
from cedilla.runtime.connectors.formats.source import Conditions, Members, Types, Unplaced
from cedilla.runtime.epochs.ingest.heartbeats import NO_BEATS, Beats
from cedilla.runtime.epochs.ingest.late_tuples import LateTuples
from cedilla.runtime.epochs.ingest.read_counts import REJECT, ReadCounts
from cedilla.runtime.epochs.ingest.slices import Slice


@define(eq=False, slots=False)
class SourceInput:
    """One source's input in an epoch. `slice`: the part of the source that is read. `fields`: the types of raw tuples
    as read. `region`: returns a region around its tuples, from file statistics. `valid`: its tuples as an Arrow table,
    if the driver has parsed them, and all are valid and canonical. `members`: returns the counts of values, after the
    jobs of the epoch. `beats`: the effect of the source's heartbeat. `narrowed`: returns the tuples that satisfy
    conditions on texts, if all tuples are valid and canonical, and that is faster than reading all of them.
    `late`: what makes tuples late, if a heartbeat does. `unplaced`: a scan of the tuples, if all are valid, and no
    value depends on a position. `is_valid`: statistics prove all tuples valid. `is_as_read`: its tuples are valid and
    canonical, and in files that are parsed already.
    """

    slice: Slice
    has_rows: bool
    fields: Types
    region: Callable[[], Tree]
    _frame: Callable[[], DataFrame]
    _counts: Callable[[], ReadCounts]
    valid: pa.Table | None = None
    members: Callable[[], Members] = dict
    beats: Beats = NO_BEATS
    narrowed: Callable[[Conditions], DataFrame] | None = None
    late: LateTuples | None = None
    unplaced: Unplaced | None = None
    is_valid: bool = False
    is_as_read: bool = False

    @cached_property
    def frame(self) -> DataFrame:
        """The tuples, with the code that rejects them. Frames that nothing uses are not built."""
        rejection = f"CAST(NULL AS STRING) AS {column(REJECT)}"
        return self._frame().selectExpr("*", rejection) if self.is_valid else self._frame()

    @property
    def accepted(self) -> DataFrame:
        """The valid tuples, perhaps with further columns."""
        # Engines analyse each step of a plan, so valid tuples get no code to be tested.
        return self._frame() if self.is_valid else self.frame.where(f"{column(REJECT)} IS NULL")

    @cached_property
    def read_counts(self) -> ReadCounts:
        """The counts, available after the jobs of the epoch."""
        return self._counts()
