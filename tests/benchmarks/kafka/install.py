"""The jars by which Spark reads topics: from Maven Central, by `mvn`."""

from __future__ import annotations

from pathlib import Path

import pyspark

from tests.benchmarks.contest import BUILD
from tests.kit.kafka import copied_jars

HOME = BUILD / "spark-kafka" / pyspark.__version__


def install() -> Path:
    """Their folder. They are those of the PySpark that is installed, or, as that may be there first, of the latest
    version before it with the same two numbers. Raises `OSError` without `mvn`, or where there are none."""
    minor, _, patch = pyspark.__version__.rpartition(".")
    refused: list[OSError] = []
    for number in range(int(patch), -1, -1):
        try:
            return copied_jars(HOME, "org.apache.spark", "spark-sql-kafka-0-10_2.13", f"{minor}.{number}")
        except OSError as problem:
            refused.append(problem)
    raise refused[0]


def connector() -> str:
    """Those of them that Spark does not have by itself, as `spark.jars` takes them; they are there once installed."""
    folder = HOME / "jars"
    names = ("commons-pool2-*", "kafka-clients-*", "spark-sql-kafka-*", "spark-token-provider-kafka-*")
    return ",".join(f"{folder}/{name}.jar" for name in names)
