"""A function of the user's as a sink (design, section 7)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from cedilla.runtime.control.sinks.announce import Markers
from cedilla.runtime.formats.sinks.sink import Sink

OnEpoch = Callable[[DataFrame | None, Markers, int], None]
"""Takes an epoch's tuples (`None`: there are none), encoded, its markers as texts, and its number.

It is called before the epoch is committed, so after a crash once more with the same number. The DataFrame is
to be used inside the call.
"""


class CallbackSink(Sink):
    """Gives every epoch that has something to say to a function."""

    def __init__(self, on_epoch: OnEpoch) -> None:
        self._on_epoch = on_epoch
        self._tuples: DataFrame | None = None

    def stage(self, number: int, tuples: DataFrame | None) -> int | None:
        """The function takes them with the markers; nobody counts what it reads."""
        self._tuples = tuples
        return 0 if tuples is None else None

    def stage_markers(self, number: int, markers: Markers) -> None:
        tuples, self._tuples = self._tuples, None
        if tuples is not None or markers != Markers():
            self._on_epoch(tuples, markers, number)

    def publish(self, number: int) -> None:
        """Nothing: the function was called before the commit."""

    def tidy(self, last: int) -> None:
        """Nothing: nothing is kept here."""

    def check_fresh(self) -> bool:
        return True
