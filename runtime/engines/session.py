"""The Spark session that queries run in."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from pyspark.sql import SparkSession

from cedilla.runtime.engines import java
from cedilla.runtime.engines.java_messages import without_remarks
from cedilla.runtime.engines.settings import RESULTS
from cedilla.runtime.engines.spark import set_log_level

ARCHIVE = "CEDILLA_CLASSES"
"""Names a file that `pipeline/class_archive.py` has written."""
_LOGGING = Path(__file__).with_name("log4j2.properties")
_SETTINGS = {
    **RESULTS,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Outputs are read in the order of their names: nothing else may lie beside them.
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.parquet.compression.codec": "lz4_raw",
    # Costs some messages to the JVM per call, and would point into generated code.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # The code of a query with many operators, in the few forms that its epochs have, is to stay compiled; with
    # Spark's 100 each form drives out another.
    "spark.sql.codegen.cache.maxEntries": "1000",
    "spark.sql.files.openCostInBytes": str(4 << 20),
}


def java_options() -> str:
    """Options of the Java that Spark runs in."""
    return shlex.join([f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}", *archive_options()])


def archive_options() -> list[str]:
    """Options of a Java of Spark's, to take classes from an archive; none, where no archive is named."""
    archive = os.environ.get(ARCHIVE)
    if not archive:
        return []
    # Where it does not fit, nothing is said.
    return [f"-XX:SharedArchiveFile={Path(archive).absolute()}", "-Xlog:cds=error", "-Xlog:cds+dynamic=error"]


def local_session(
    app_name: str = "cedilla",
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    *,
    verbose: bool = False,
) -> SparkSession:
    """A session with what Cedilla needs set; `conf` comes last.

    Without `master`, what `spark-submit` chose is used, else every core of this machine. `verbose`: Spark's warnings
    and remarks are shown, not only its errors. Raises `java.JavaMissing` where no Java 17 or newer is found.
    """
    java.ensure()
    # A run that is stopped or refused says so itself; py4j would add a traceback of its own.
    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)
    builder = SparkSession.builder.appName(app_name)
    is_submitted = "MASTER" in os.environ or "SPARK_ENV_LOADED" in os.environ
    if master.startswith("local") if master is not None else not is_submitted:
        # Else the workers of this machine are those of any Python that is found; a cluster has paths of its own.
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
