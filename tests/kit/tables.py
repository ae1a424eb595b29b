"""Tables of Delta and Iceberg that Spark writes, by the libraries of their projects from Maven Central."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cedilla.runtime.engines.spark.java import find_java
from tests.kit import ROOT
from tests.kit.java import quick_java
from tests.kit.kafka import copied_jars

_LIBRARIES = {
    "delta": ("io.delta", "delta-spark_4.2_2.13", "4.4.0", ("delta-",)),
    "iceberg": ("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.12.0", ("iceberg-",)),
}
"""Kind of table -> the artifact that writes it, and how the names of its jars begin that Spark does not have."""
_CONF = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
    },
}
_PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
conf, statements = json.load(sys.stdin)
builder = SparkSession.builder.master("local[1]")
for name, value in conf.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
for statement in statements:
    print([row.asDict() for row in spark.sql(statement).collect()], flush=True)
"""


def spark_writes(kind: str, folder: Path, statements: Sequence[str]) -> str:
    """Runs statements of SQL in a Spark of its own, which has the library of a kind of table; returns its results, a
    line for each statement. Tables of Iceberg are `lake.db.NAME` in the folder `db`."""
    import json

    group, artifact, version, names = _LIBRARIES[kind]
    home = copied_jars(ROOT / "build" / kind / version, group, artifact, version)
    jars = ",".join(str(jar) for jar in sorted(home.iterdir()) if jar.name.startswith(names))
    own = {"spark.sql.catalog.lake.warehouse": str(folder)} if kind == "iceberg" else {}
    conf = {
        **_CONF[kind],
        **own,
        "spark.jars": jars,
        "spark.driver.extraJavaOptions": quick_java(),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.log.level": "ERROR",
    }
    java = find_java()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        input=json.dumps([conf, [*statements]]),
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env=None if java is None else {**_environment(), "JAVA_HOME": str(java)},
    )
    if done.returncode:
        raise AssertionError(done.stderr[-4000:])
    return done.stdout


def _environment() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if name != "SPARK_CONNECT_MODE_ENABLED"}
