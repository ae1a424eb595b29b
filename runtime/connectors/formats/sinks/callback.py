"""A function of the user as a sink (design, section 7)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from cedilla.runtime.connectors.formats.sinks.sink import Sink
from cedilla.runtime.connectors.records.marker_files import Markers
from cedilla.runtime.engines.spark.columns import Columns

OnEpoch = Callable[[DataFrame | None, Markers, int], None]
"""Receives an epoch's encoded tuples (`None` without tuples), its markers as texts, and its number.

It is called before the epoch is committed, so after a crash it is called again with the same number. The DataFrame is
valid only during the call.
"""


class CallbackSink(Sink):
    """Gives every epoch with tuples or markers to a function."""

    def __init__(self, on_epoch: OnEpoch) -> None:
        self._on_epoch = on_epoch
        self._tuples: DataFrame | None = None

    def stage(self, number: int, tuples: DataFrame | None, columns: Columns) -> int | None:
        """Keeps the tuples for `stage_markers`; the number of rows is unknown."""
        self._tuples = tuples
        return 0 if tuples is None else None

    def stage_provisional(self, number: int, rows: DataFrame, columns: Columns) -> None:
        """Does nothing: a function gets the output stream, and provisional rows are not part of it."""

    def stage_markers(self, number: int, markers: Markers) -> None:
        tuples, self._tuples = self._tuples, None
        if tuples is not None or markers != Markers():
            self._on_epoch(tuples, markers, number)

    def publish(self, number: int, run: int) -> None:
        """Does nothing: the function was called before the commit."""

    def tidy(self, last: int) -> None:
        """Does nothing: the sink stores no data."""

    def check_fresh(self) -> bool:
        return True
