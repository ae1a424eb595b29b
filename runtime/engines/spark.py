"""What only Spark itself can do, not Spark Connect: the one place where its own objects are asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F


def set_log_level(session: SparkSession, *, verbose: bool) -> None:
    """Spark's warnings and remarks, or only its errors."""
    session.sparkContext.setLogLevel("WARN" if verbose else "ERROR")


def observed(
    frame: DataFrame, counts: Mapping[str, str]
) -> tuple[DataFrame, Callable[[], Mapping[str, int] | None]]:
    """The same rows, counted by the job that reads them. `counts`: name -> SQL of an aggregate.

    The function gives what was counted, `None` where no job has read all rows.
    """
    observation = Observation()
    watched = frame.observe(observation, *(F.expr(text).alias(name) for name, text in counts.items()))

    def seen() -> Mapping[str, int] | None:
        java: Any = observation._jo  # type: ignore[attr-defined]
        # `get` would wait for ever.
        if not java.future().isCompleted() or not java.getRow().length():
            return None
        return observation.get

    return watched, seen
