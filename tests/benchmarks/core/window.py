"""Averages, maxima and counts per sensor and window."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.benchmarks.core import sensors
from tests.benchmarks.core.query import FLINK_WINDOW_NUMBER, WINDOW, Query, at, window_number


def native(frames: Mapping[str, DataFrame]) -> DataFrame:
    readings = frames["readings"].withColumn("at", at("ts")).withWatermark("at", "0 seconds")
    return (
        readings.groupBy("s", F.window("at", f"{WINDOW} seconds"))
        .agg(F.avg("t").alias("mean"), F.max("t").alias("most"), F.count("*").alias("n"))
        .select("s", window_number().alias("wid"), "mean", "most", "n")
    )


QUERY = Query(
    name="window",
    streams={"readings": sensors.READINGS},
    cedilla=sensors.CEDILLA
    + """
windows := window[300 on ts as wid](readings);
result := aggregate[avg(t) as mean, max(t) as most, count() as n by s, wid](windows);
emit result to {format} "result";
""",
    output="result",
    native=native,
    flink=f"""
SELECT s, {FLINK_WINDOW_NUMBER} AS wid, AVG(t) AS mean, MAX(t) AS most, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE readings, DESCRIPTOR(event_time), INTERVAL '{WINDOW // 60}' MINUTE))
GROUP BY s, window_start, window_end
""",
    duckdb=f"""
SELECT s, ts // {WINDOW} AS wid, avg(t) AS mean, max(t) AS most, count(*) AS n FROM readings GROUP BY s, wid
""",
    flink_watermarks={"readings": ("ts", 0)},
    columns="s INT, wid BIGINT, mean DOUBLE, most DOUBLE, n BIGINT",
    closed=sensors.closed_windows,
)
