"""Tables of other writers: Delta tables that Spark writes, and Iceberg tables that the Java library of the project
writes, by libraries from Maven Central."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cedilla.runtime.engines.spark.java import ensure
from tests.kit import ROOT
from tests.kit.java import quick_java
from tests.kit.kafka import copied_jars

_DELTA = ("io.delta", "delta-spark_4.2_2.13", "4.4.0")
_ICEBERG = ("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.12.0")
"""It has no Spark 4.2 yet, so only the classes of the format itself are used."""
_CONF = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_START = """
import json, sys
from pyspark.sql import SparkSession
conf, steps = json.load(sys.stdin)
builder = SparkSession.builder.master("local[1]")
for name, value in conf.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
"""
_SQL = """
for statement in steps:
    spark.sql(statement).collect()
"""
_JAVA = """
jvm = spark._jvm
java, iceberg = jvm.java, jvm.org.apache.iceberg
types = iceberg.types.Types
kinds = {"long": types.LongType, "int": types.IntegerType, "double": types.DoubleType}
tables = iceberg.hadoop.HadoopTables(spark._jsc.hadoopConfiguration())

def listed(items):
    of = java.util.ArrayList()
    for item in items:
        of.add(item)
    return of

def each(items):
    iterator = items.iterator()
    while iterator.hasNext():
        yield iterator.next()

def written(table, rows, number):
    schema, spec = table.schema(), table.spec()
    factory = iceberg.data.GenericFileWriterFactory.Builder(table).dataFileFormat(iceberg.FileFormat.PARQUET).build()
    wrapper = iceberg.data.InternalRecordWrapper(schema.asStruct())
    for at, row in enumerate(rows):
        record = iceberg.data.GenericRecord.create(schema)
        for name, item in row.items():
            record.setField(name, item)
        key = iceberg.PartitionKey(spec, schema)
        key.partition(wrapper.wrap(record))
        place = table.io().newOutputFile(f"{table.location()}/data/{number}-{at}.parquet")
        output = table.encryption().encrypt(place)
        writer = factory.newDataWriter(output, spec, key if spec.isPartitioned() else None)
        writer.write(record)
        writer.close()
        yield writer.toDataFile()

for number, (step, place, *arguments) in enumerate(steps):
    if step == "create":
        columns, by, version = arguments
        fields = [types.NestedField.optional(n, name, kinds[kind].get()) for n, (name, kind) in enumerate(columns, 1)]
        schema = iceberg.Schema(listed(fields))
        spec = iceberg.PartitionSpec.builderFor(schema)
        for name in by:
            spec.identity(name)
        properties = java.util.HashMap()
        properties.put("format-version", version)
        tables.create(schema, spec.build(), properties, place)
        continue
    table = tables.load(place)
    if step == "append":
        change = table.newAppend()
        for file in written(table, arguments, number):
            change.appendFile(file)
        change.commit()
    elif step == "rename":
        table.updateSchema().renameColumn(*arguments).commit()
    elif step == "widen":
        table.updateSchema().updateColumn(arguments[0], kinds[arguments[1]].get()).commit()
    elif step == "add":
        table.updateSchema().addColumn(arguments[0], kinds[arguments[1]].get()).commit()
    elif step == "compact":
        before = java.util.HashSet()
        for task in each(table.newScan().planFiles()):
            before.add(task.file())
        after = java.util.HashSet()
        for file in written(table, arguments, number):
            after.add(file)
        table.newRewrite().rewriteFiles(before, after).commit()
    elif step == "delete":
        file = iceberg.FileMetadata.deleteFileBuilder(table.spec()).ofPositionDeletes()
        file = file.withPath(f"{table.location()}/data/gone.parquet").withFormat(iceberg.FileFormat.PARQUET)
        table.newRowDelta().addDeletes(file.withFileSizeInBytes(10).withRecordCount(1).build()).commit()
    elif step == "expire":
        snapshots = [of.snapshotId() for of in each(table.snapshots())]
        expiry = table.expireSnapshots()
        for snapshot in snapshots[:arguments[0]]:
            expiry.expireSnapshotId(snapshot)
        expiry.cleanExpiredFiles(False).commit()
    else:
        raise ValueError(step)
"""


def spark_writes(folder: Path, statements: Sequence[str]) -> None:
    """Runs statements of SQL in a Spark of its own, which has the library of Delta."""
    _run(_START + _SQL, _DELTA, folder, statements, _CONF)


def java_writes(folder: Path, steps: Sequence[Sequence[Any]]) -> None:
    """Writes Iceberg tables by steps, each with the folder of its table: `create` with columns, partitions and version
    of the format; `append` with rows, in which the numbers of a `long` have more than 32 bits; `rename`, `widen`,
    `add`; `compact` with all rows; `delete`; `expire` with the number of snapshots."""
    _run(
        _START + _JAVA,
        _ICEBERG,
        folder,
        [[step, str(folder / name), *more] for step, name, *more in steps],
        {},
    )


def _run(
    program: str, library: tuple[str, str, str], folder: Path, steps: Sequence[Any], conf: dict[str, str]
) -> None:
    group, artifact, version = library
    home = copied_jars(ROOT / "build" / artifact / version, group, artifact, version)
    jars = [str(jar) for jar in sorted(home.iterdir()) if jar.name.startswith(("delta-", "iceberg-"))]
    chosen = {
        **conf,
        "spark.jars": ",".join(jars),
        "spark.driver.extraJavaOptions": quick_java(),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
    }
    environment = {name: of for name, of in os.environ.items() if name != "SPARK_CONNECT_MODE_ENABLED"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps([chosen, [*steps]]),
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env={**environment, "JAVA_HOME": str(ensure())},
    )
    assert done.returncode == 0, done.stderr
