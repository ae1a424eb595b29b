"""The Spark session that queries run in."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import SparkSession

from cedilla.runtime.engines.spark import java
from cedilla.runtime.engines.spark.java_messages import without_remarks
from cedilla.runtime.engines.spark.settings import RESULTS, WITHOUT_PLACES
from cedilla.runtime.engines.spark.spark import set_log_level

ARCHIVE = "CEDILLA_CLASSES"
"""Environment variable with the path of a file that `epochs/pipeline/class_archive.py` has written."""
_LOGGING = Path(__file__).with_name("log4j2.properties")


_SETTINGS = {
    **RESULTS,
    **WITHOUT_PLACES,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Outputs are read in the order of their names, so no other file may be next to them.
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.parquet.compression.codec": "lz4_raw",
    # The code of a query with many operators should stay compiled in the few forms that its epochs have. With Spark's
    # limit of 100, the forms evict each other.
    "spark.sql.codegen.cache.maxEntries": "1000",
    "spark.sql.files.openCostInBytes": str(4 << 20),
    # Spark writes the plan of each job as text for its pages and logs, and in this form four times as fast.
    "spark.sql.ui.explainMode": "simple",
}


def java_options() -> str:
    """Returns options of the Java that Spark runs in."""
    return shlex.join([f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}", *archive_options()])


def archive_options() -> list[str]:
    """Returns options for Spark's Java to load classes from an archive; empty without an archive."""
    archive = os.environ.get(ARCHIVE)
    if not archive:
        return []
    # An archive that does not fit is silently ignored.
    return [f"-XX:SharedArchiveFile={Path(archive).absolute()}", "-Xlog:cds=error", "-Xlog:cds+dynamic=error"]


def is_installed() -> bool:
    """Returns True if Spark itself is installed: PySpark's client for Spark Connect lacks its bridge to Java."""
    return find_spec("py4j") is not None


def local_session(
    app_name: str = "cedilla",
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    *,
    verbose: bool = False,
) -> SparkSession:
    """Returns a session with Cedilla's settings; `conf` overrides them.

    Without `master`, the choice of `spark-submit` applies, else every core of this machine. `verbose`: shows Spark's
    warnings and remarks, not only its errors. Raises `java.JavaMissing` if no Java 17 or newer is found.
    """
    java.ensure()
    # A run that is stopped or refused reports that itself; py4j would add its own traceback, by two loggers.
    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_py4j)
    builder = SparkSession.builder.appName(app_name)
    is_submitted = "MASTER" in os.environ or "SPARK_ENV_LOADED" in os.environ
    if master.startswith("local") if master is not None else not is_submitted:
        # Otherwise workers on this machine use any Python on the path; a cluster has its own paths.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master is not None:
        builder = builder.master(master)
    elif not is_submitted:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.master("local[*]")
        builder = builder.config("spark.sql.shuffle.partitions", str(max(2, min(8, os.cpu_count() or 2))))
    for name, value in {**_SETTINGS, "spark.driver.extraJavaOptions": java_options(), **(conf or {})}.items():
        builder = builder.config(name, value)
    with nullcontext() if verbose else without_remarks():
        session = builder.getOrCreate()
    set_log_level(session, verbose=verbose)
    return session


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return record.module != "java_gateway"
