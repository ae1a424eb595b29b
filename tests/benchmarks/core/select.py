"""A stateless query: a part of the bids, with the price in another currency."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.benchmarks.core.query import Query, Stream, last_second, seconds
from tests.benchmarks.inputs import Rows

BIDS = Stream(
    "id BIGINT, ts BIGINT, auction BIGINT, price DOUBLE, channel STRING, note STRING",
    lambda size: Rows(
        (
            "id",
            f"{seconds(size)} AS ts",
            "pmod(xxhash64(id, 1), 1000) AS auction",
            "pmod(xxhash64(id, 2), 40000) / 4D AS price",
            "concat('channel-', pmod(xxhash64(id, 3), 50)) AS channel",
            "md5(string(id)) AS note",
        )
    ),
    lambda size, epoch: f"[ts < {last_second(size, epoch)}]",
)


def native(frames: Mapping[str, DataFrame]) -> DataFrame:
    bids = frames["bids"].where("price > 2500 AND auction % 3 != 0")
    return bids.select(
        "id", "auction", (F.col("price") * 0.908).alias("euro"), F.upper("channel").alias("channel")
    )


QUERY = Query(
    name="select",
    streams={"bids": BIDS},
    cedilla="""
stream bids(id: long, ts: long, auction: long, price: double, channel: string, note?: string)
  from {format} "bids" punctuated on ts;
some := select[price > 2500 and auction % 3 != 0](bids);
result := project[id, auction, price * 0.908 as euro, upper(channel) as channel](some);
emit result to {format} "result";
""",
    output="result",
    native=native,
    flink="""
SELECT id, auction, price * CAST(0.908 AS DOUBLE) AS euro, UPPER(channel) AS channel
FROM bids WHERE price > 2500 AND MOD(auction, 3) <> 0
""",
    duckdb="""
SELECT id, auction, price * 0.908::DOUBLE AS euro, upper(channel) AS channel
FROM bids WHERE price > 2500 AND auction % 3 != 0
""",
    columns="id BIGINT, auction BIGINT, euro DOUBLE, channel STRING",
    stateful=False,
)
