"""What the processes of the competitors call, for the suite `kafka`."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.benchmarks import engines
from tests.benchmarks.kafka.inputs import KEYS, WINDOW, Size, topic

_QUERY = f"""
stream readings(ts: long, s: int in [0, {KEYS}), t: double) from FORMAT "readings" punctuated on ts;
windows := window[{WINDOW} on ts as wid](readings);
result := aggregate[avg(t) as mean, count() as n by s, wid](windows);
emit result to json "result";
"""
_PLACE = "host:9092/topic"
COLUMNS = "s INT, wid BIGINT, mean DOUBLE, n BIGINT"


def run_topic(session: SparkSession, folder: str, rows: int, epochs: int) -> dict[str, Any]:
    size = Size(rows, epochs)
    text = _QUERY.replace('FORMAT "readings"', f'kafka "{_PLACE}"')
    sources = {"readings": topic(size)}
    return engines.run_cedilla(session, folder, text, sources, "result", records_per_epoch=size.records)


def run_files(session: SparkSession, folder: str, rows: int, epochs: int) -> dict[str, Any]:
    size = Size(rows, epochs)
    sources = {"readings": str(size.folder)}
    text = _QUERY.replace("FORMAT", "json")
    return engines.run_cedilla(session, folder, text, sources, "result", size.partitions)


def run_native(session: SparkSession, folder: str, rows: int, epochs: int) -> dict[str, Any]:
    size = Size(rows, epochs)
    servers, _, name = topic(size).partition("/")
    records = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", name)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", size.records)
        .load()
    )
    parsed = F.from_json(F.col("value").cast("string"), "ts BIGINT, s INT, t DOUBLE")
    readings = records.select(parsed.alias("r")).select("r.*").where("ts IS NOT NULL")
    result = (
        readings.withColumn("at", F.timestamp_seconds("ts"))
        .withWatermark("at", "0 seconds")
        .groupBy("s", F.window("at", f"{WINDOW} seconds"))
        .agg(F.avg("t").alias("mean"), F.count("*").alias("n"))
        .select("s", F.expr(f"unix_seconds(window.start) DIV {WINDOW} AS wid"), "mean", "n")
    )
    return engines.run_native(session, folder, result)
