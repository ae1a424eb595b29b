"""Spark's settings for an epoch by the size of its input: for a few rows, planning costs more than computing (design,
section 9)."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.connect import engine_in

_CODEGEN, _FACTORY = "spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode"
_ADAPTIVE, _PARTITIONS = "spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions"


class Tuning:
    """Switches a session between its own settings and those for smaller epochs; the user's settings remain."""

    def __init__(self, spark: SparkSession, fixed: Mapping[str, str]) -> None:
        self._spark = spark
        # Settings of a session are separate on a server, too. Sail has none of these.
        names = () if engine_in(spark) == "sail" else (_CODEGEN, _FACTORY, _ADAPTIVE, _PARTITIONS)
        self._own = {name: str(spark.conf.get(name)) for name in names if name not in fixed}
        self._now = dict(self._own)
        self.is_in_one_part = False
        """True if each job of the epoch reads its rows in one part, so that Spark shuffles nothing."""

    def choose(self, read: int, stored: int = 0) -> None:
        """Chooses settings for an epoch that reads so many bytes of input, and has so many in state, as JSON."""
        self.is_in_one_part = _PARTITIONS in self._own and read + stored < costs.TASK
        wanted = {**self._own, **_settings(read, stored, int(self._own.get(_PARTITIONS, "1")))}
        for name in self._own:
            if self._now[name] != wanted[name]:
                self._spark.conf.set(name, wanted[name])
                self._now[name] = wanted[name]

    def restore(self) -> None:
        """Restores the session's own settings."""
        self.choose(costs.MEDIUM_EPOCH)


def _settings(read: int, stored: int, partitions: int) -> dict[str, str]:
    """Returns the differences to a session's own settings. `partitions`: its own number of partitions."""
    length = read + stored
    # Few tuples are sent to a large state by broadcasts. Replanning would make two jobs of each.
    if length >= costs.MEDIUM_EPOCH and read >= costs.SENT_INPUT:
        return {}
    few = {_ADAPTIVE: "false", _PARTITIONS: str(min(partitions, 1 + length // costs.TASK))}
    return few if length >= costs.SMALL_EPOCH else {**few, _CODEGEN: "false", _FACTORY: "NO_CODEGEN"}
