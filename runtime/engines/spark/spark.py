"""Features that only classic Spark has, not Spark Connect; only this module uses Spark's own objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from subprocess import Popen
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F


def set_log_level(session: SparkSession, *, verbose: bool) -> None:
    """Sets the log level to Spark's warnings and remarks, or only its errors."""
    session.sparkContext.setLogLevel("WARN" if verbose else "ERROR")


def java_process(session: SparkSession) -> Popen[bytes] | None:
    """The Java that this process has started for a session; `None` where another has."""
    gateway: Any = session.sparkContext._gateway  # type: ignore[attr-defined]
    return getattr(gateway, "proc", None)


def is_of_java(problem: BaseException) -> bool:
    """Returns True for an error of the bridge to Java, by name, since a client of Spark Connect has no `py4j`."""
    return any(
        of.__module__ == "py4j.protocol" and of.__name__ == "Py4JError" for of in type(problem).__mro__
    )


def observed(
    frame: DataFrame, counts: Mapping[str, str]
) -> tuple[DataFrame, Callable[[], Mapping[str, int] | None]]:
    """Returns the same rows, counted by the job that reads them. `counts`: name -> SQL of an aggregate.

    The function returns the counts, or `None` if no job has read all rows.
    """
    observation = Observation()
    watched = frame.observe(observation, *(F.expr(text).alias(name) for name, text in counts.items()))

    def observed_counts() -> Mapping[str, int] | None:
        java: Any = observation._jo  # type: ignore[attr-defined]
        # `get` would wait forever.
        if not java.future().isCompleted() or not java.getRow().length():
            return None
        return observation.get

    return watched, observed_counts
