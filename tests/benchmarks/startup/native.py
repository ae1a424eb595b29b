"""`queries/sensors.rq` by hand, as a program of its own: `python -m tests.benchmarks.startup.native FOLDER`.

Without the accents: their attributes and units are no part of it, so its results are not compared.
"""

from __future__ import annotations

import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.benchmarks.startup.runs import FIRST_EPOCH


def main(folder: str) -> None:
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    sensors = spark.readStream.schema("ts BIGINT, s INT, t DOUBLE").option("maxFilesPerTrigger", 1)
    readings = sensors.json("queries/sensors/data/sensors").where("ts IS NOT NULL")
    readings = readings.withColumn("at", F.timestamp_seconds("ts")).withWatermark("at", "0 seconds")
    placement = spark.read.schema("s INT, l STRING").json("queries/sensors/data/placement").dropna("all")
    average = readings.join(placement, "s").groupBy("l", F.window("at", "300 seconds")).agg(F.avg("t"))
    query = (
        average.writeStream.format("json")
        .option("path", f"{folder}/out")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    while not query.recentProgress and query.isActive:
        time.sleep(0.02)
    print(f"{FIRST_EPOCH} done", file=sys.stderr, flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1])
