"""The paper's query (docs, and `queries/sensors.rq`): the average of each place, every five minutes.

Where each sensor is comes as a stream that ends at once; a native user writes a static frame, a Flink user a
table that is joined as of the reading's time.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.benchmarks.core import sensors
from tests.benchmarks.core.query import FLINK_WINDOW_NUMBER, START, WINDOW, Query, Stream, at, window_number
from tests.benchmarks.inputs import Rows

PLACEMENT = Stream(
    "s INT, l STRING, since BIGINT",
    lambda size: Rows(("int(id) AS s", "concat('place ', id % 50) AS l", f"{START - 1}L AS since")),
    lambda size, epoch: "[]",
    table=True,
)


def native(frames: Mapping[str, DataFrame]) -> DataFrame:
    readings = frames["readings"].withColumn("at", at("ts")).withWatermark("at", "0 seconds")
    located = readings.join(F.broadcast(frames["placement"]), "s")
    return (
        located.groupBy("l", F.window("at", f"{WINDOW} seconds"))
        .agg(F.avg("t").alias("t"))
        .select("l", window_number().alias("wid"), "t")
    )


QUERY = Query(
    name="paper",
    streams={"readings": sensors.READINGS, "placement": PLACEMENT},
    cedilla=sensors.CEDILLA
    + """
stream placement(s: int in [0, {keys}), l: string, since: long) from {format} "placement" punctuated on s;
located := readings join placement on s;
windows := window[300 on ts as wid](located);
average := aggregate[avg by l, wid except ts, s, since](windows);
emit average to {format} "average";
""",
    output="average",
    native=native,
    flink=f"""
SELECT l, {FLINK_WINDOW_NUMBER} AS wid, AVG(t) AS t
FROM TABLE(TUMBLE(TABLE located, DESCRIPTOR(event_time), INTERVAL '{WINDOW // 60}' MINUTE))
GROUP BY l, window_start, window_end
""",
    flink_views={
        "located": """
SELECT r.ts, r.s, r.t, p.l, r.event_time FROM readings AS r
JOIN placement FOR SYSTEM_TIME AS OF r.event_time AS p ON r.s = p.s
"""
    },
    duckdb=f"""
SELECT l, ts // {WINDOW} AS wid, avg(t) AS t FROM readings JOIN placement USING (s) GROUP BY l, wid
""",
    flink_watermarks={"readings": ("ts", 0), "placement": ("since", 0)},
    flink_keys={"placement": "s"},
    columns="l STRING, wid BIGINT, t DOUBLE",
    closed=sensors.closed_windows,
)
