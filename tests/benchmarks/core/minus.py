"""Orders that were not cancelled; a quarter are, in the same epoch or the next.

Structured Streaming has neither `EXCEPT` nor an anti join of two streams. What its users write is a left outer
join with a bound on time, and then the rows without a partner.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.benchmarks.core.query import EXTENT, START, Query, Size, Stream, at, last_second, seconds
from tests.benchmarks.inputs import Rows


def _columns(size: Size, order: str) -> tuple[str, ...]:
    """SQL: the tuple of an order by its number."""
    return (
        f"{order} AS id",
        f"{seconds(size, f'({order})')} AS ts",
        f"int(pmod(xxhash64({order}, 1), 1000)) AS item",
    )


def _cancelled(size: Size) -> str:
    """SQL: the order that row `id` of the cancellations names: one of this epoch, or of the one before."""
    return f"CASE id % 8 WHEN 0 THEN id ELSE id - 4 - {size.rows} END"


ORDERS = Stream(
    "id BIGINT, ts BIGINT, item INT",
    lambda size: Rows(_columns(size, "id")),
    lambda size, epoch: f"[ts < {last_second(size, epoch)}]",
)
CANCELLED = Stream(
    "id BIGINT, ts BIGINT, item INT",
    lambda size: Rows(
        _columns(size, _cancelled(size)), where=f"id % 8 = 0 OR id % 8 = 6 AND id >= {size.rows}"
    ),
    lambda size, epoch: f"[ts < {START + epoch * EXTENT}]",
)


def native(frames: Mapping[str, DataFrame]) -> DataFrame:
    orders = frames["orders"].withColumn("at", at("ts")).withWatermark("at", "0 seconds").alias("o")
    cancelled = frames["cancelled"].withColumn("at", at("ts"))
    cancelled = cancelled.withWatermark("at", f"{EXTENT} seconds").alias("c")
    same = F.expr("o.id = c.id AND o.at = c.at AND o.item = c.item")
    return orders.join(cancelled, same, "left").where("c.id IS NULL").select("o.id", "o.ts", "o.item")


QUERY = Query(
    name="minus",
    streams={"orders": ORDERS, "cancelled": CANCELLED},
    cedilla="""
stream orders(id: long, ts: long, item: int) from {format} "orders" punctuated on ts;
stream cancelled(id: long, ts: long, item: int) from {format} "cancelled" punctuated on ts;
result := orders minus cancelled;
emit result to {format} "result";
""",
    output="result",
    native=native,
    flink="""
SELECT o.id, o.ts, o.item FROM orders AS o LEFT JOIN cancelled AS c
ON o.id = c.id AND o.item = c.item AND c.event_time = o.event_time
WHERE c.id IS NULL
""",
    flink_watermarks={"orders": ("ts", 0), "cancelled": ("ts", EXTENT)},
    columns="id BIGINT, ts BIGINT, item INT",
    closed=lambda size: f"ts < {START + (size.epochs - 1) * EXTENT - EXTENT // 5}",
)
