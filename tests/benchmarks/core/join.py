"""A stream-stream join with bounded state: orders and their payments, which come in the same epoch or the next.

Cedilla is told up to which number all orders and all payments have come; the others get the same from a
watermark, and a condition on the times that the payments of an order keep.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.benchmarks.core.query import EXTENT, Query, Stream, at, seconds
from tests.benchmarks.inputs import Rows

ORDERS = Stream(
    "id BIGINT, ts BIGINT, price DOUBLE",
    lambda size: Rows(("id", f"{seconds(size)} AS ts", "pmod(xxhash64(id, 1), 40000) / 4D AS price")),
    lambda size, epoch: f"[id < {(epoch + 1) * size.rows}]",
)
PAYMENTS = Stream(
    "id BIGINT, paid BIGINT, amount DOUBLE",
    lambda size: Rows(
        (
            f"IF(id % 2 = 0, id, id - {size.rows}) AS id",
            f"{seconds(size)} AS paid",
            "pmod(xxhash64(id, 2), 40000) / 4D AS amount",
        ),
        where=f"id % 2 = 0 OR id >= {size.rows}",
    ),
    lambda size, epoch: f"[id < {epoch * size.rows}]",
)


def native(frames: Mapping[str, DataFrame]) -> DataFrame:
    orders = frames["orders"].withColumn("at", at("ts")).withWatermark("at", "0 seconds").alias("o")
    payments = frames["payments"].withColumn("at", at("paid")).withWatermark("at", "0 seconds").alias("p")
    timely = F.expr(f"o.id = p.id AND p.at >= o.at AND p.at <= o.at + INTERVAL {EXTENT} SECONDS")
    return orders.join(payments, timely).select("o.id", "o.ts", "o.price", "p.paid", "p.amount")


QUERY = Query(
    name="join",
    streams={"orders": ORDERS, "payments": PAYMENTS},
    cedilla="""
stream orders(id: long, ts: long, price: double) from {format} "orders" punctuated on id;
stream payments(id: long, paid: long, amount: double) from {format} "payments" punctuated on id;
result := orders join payments on id;
emit result to {format} "result";
""",
    output="result",
    native=native,
    flink=f"""
SELECT o.id, o.ts, o.price, p.paid, p.amount FROM orders AS o, payments AS p
WHERE o.id = p.id AND p.event_time BETWEEN o.event_time AND o.event_time + INTERVAL '{EXTENT // 60}' MINUTE
""",
    flink_watermarks={"orders": ("ts", 60), "payments": ("paid", 60)},
    columns="id BIGINT, ts BIGINT, price DOUBLE, paid BIGINT, amount DOUBLE",
)
