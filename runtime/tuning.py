"""Spark's settings for an epoch, by how much there is to read: of a few rows, planning costs more than computing
(design, section 9)."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

SMALL = 4 << 20
"""Bytes of input and state below which generated code and several tasks do not pay."""

_OF_SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


class Tuning:
    """Switches a session between its own settings and those for small epochs; what the user has set stays."""

    def __init__(self, spark: SparkSession, fixed: Mapping[str, str]) -> None:
        self._spark = spark
        self._own = {name: str(spark.conf.get(name)) for name in _OF_SMALL if name not in fixed}
        self._small = False

    def choose(self, length: int) -> None:
        """Settings for so many bytes."""
        small = length < SMALL
        if small == self._small:
            return
        for name, own in self._own.items():
            self._spark.conf.set(name, _OF_SMALL[name] if small else own)
        self._small = small

    def restore(self) -> None:
        """The session's own settings."""
        self.choose(SMALL)
