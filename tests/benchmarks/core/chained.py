"""An aggregate of an aggregate: of each window the greatest mean of a sensor, and how many sensors reported."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.benchmarks.core import sensors
from tests.benchmarks.core.query import FLINK_WINDOW_NUMBER, WINDOW, Query, at, window_number


def native(frames: Mapping[str, DataFrame]) -> DataFrame:
    readings = frames["readings"].withColumn("at", at("ts")).withWatermark("at", "0 seconds")
    means = readings.groupBy("s", F.window("at", f"{WINDOW} seconds")).agg(F.avg("t").alias("mean"))
    return (
        means.groupBy("window")
        .agg(F.max("mean").alias("most"), F.count("*").alias("sensors"))
        .select(window_number().alias("wid"), "most", "sensors")
    )


QUERY = Query(
    name="chained",
    streams={"readings": sensors.READINGS},
    cedilla=sensors.CEDILLA
    + """
windows := window[300 on ts as wid](readings);
means := aggregate[avg(t) as mean by s, wid](windows);
result := aggregate[max(mean) as most, count() as sensors by wid](means);
emit result to {format} "result";
""",
    output="result",
    native=native,
    flink=f"""
SELECT {FLINK_WINDOW_NUMBER} AS wid, MAX(mean) AS most, COUNT(*) AS sensors
FROM (
  SELECT s, window_start, window_end, AVG(t) AS mean
  FROM TABLE(TUMBLE(TABLE readings, DESCRIPTOR(event_time), INTERVAL '{WINDOW // 60}' MINUTE))
  GROUP BY s, window_start, window_end
)
GROUP BY window_start, window_end
""",
    flink_watermarks={"readings": ("ts", 0)},
    columns="wid BIGINT, most DOUBLE, sensors BIGINT",
    closed=sensors.closed_windows,
)
