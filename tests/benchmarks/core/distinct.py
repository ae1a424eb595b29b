"""Events of which a quarter come twice, the second time in the same epoch or the next."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from tests.benchmarks.core.query import EXTENT, Query, Stream, at, last_second, seconds
from tests.benchmarks.inputs import Rows


def _event(size: int) -> str:
    """SQL: which event a row is: of every eight rows one repeats its neighbour and one a row of the last epoch."""
    return f"CASE id % 8 WHEN 3 THEN id - 1 WHEN 7 THEN id - 1 - {size} ELSE id END"


EVENTS = Stream(
    "id BIGINT, ts BIGINT, v DOUBLE",
    lambda size: Rows(
        (
            f"{_event(size.rows)} AS id",
            f"{seconds(size, f'({_event(size.rows)})')} AS ts",
            f"pmod(xxhash64({_event(size.rows)}, 1), 40000) / 4D AS v",
        ),
        where=f"id % 8 != 7 OR id >= {size.rows}",
    ),
    lambda size, epoch: f"[ts < {last_second(size, epoch) - EXTENT}]",
)


def native(frames: Mapping[str, DataFrame]) -> DataFrame:
    events = frames["events"].withColumn("at", at("ts")).withWatermark("at", f"{EXTENT} seconds")
    return events.dropDuplicates(["id", "ts", "v", "at"]).drop("at")


QUERY = Query(
    name="distinct",
    streams={"events": EVENTS},
    cedilla="""
stream events(id: long, ts: long, v: double) from {format} "events" punctuated on ts;
result := distinct(events);
emit result to {format} "result";
""",
    output="result",
    native=native,
    flink=f"""
SELECT id, ts, v FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, id, ts, v ORDER BY event_time) AS n
  FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(event_time), INTERVAL '{EXTENT // 60}' MINUTE))
) WHERE n = 1
""",
    flink_watermarks={"events": ("ts", EXTENT)},
    columns="id BIGINT, ts BIGINT, v DOUBLE",
)
