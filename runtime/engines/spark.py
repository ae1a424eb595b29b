"""What only Spark itself can do, not Spark Connect: the one place where its own object is asked."""

from __future__ import annotations

from pyspark.sql import SparkSession


def set_log_level(session: SparkSession, *, verbose: bool) -> None:
    """Spark's warnings and remarks, or only its errors."""
    session.sparkContext.setLogLevel("WARN" if verbose else "ERROR")
