"""NEXMark as a user of Spark Structured Streaming writes it by hand, in append mode.

A twin is a function of the session, the folder of a data set (see `generator`), the format of its files, and how
many files each stream gives to a micro-batch (`None`: all that there are). It returns a streaming DataFrame with the
columns of the query in `queries/nexmark/`, in its units and, for what windows write, with the same tuples: the
closing tuple of each stream moves the watermark past everything. Streams come in the order of their times, so
watermarks have no delay.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attrs import frozen
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.benchmarks.nexmark.generator import SCHEMAS

Twin = Callable[..., DataFrame]

WINDOW = "10 seconds"


@frozen
class _Streams:
    """The streams of a data set."""

    spark: SparkSession
    folder: Path
    format: str
    files_per_trigger: int | None

    def plain(self, stream: str) -> DataFrame:
        return self._read(stream, f"{self.folder}/{stream}")

    def timed(self, stream: str) -> DataFrame:
        """With a watermark, and with the tuple that closes every window."""
        both = f"{self.folder}/{{{stream},closing/{stream}}}"
        return self._read(stream, both).withWatermark("dateTime", "0 seconds")

    def table(self, name: str) -> DataFrame:
        return self.spark.read.schema(SCHEMAS[name]).format(self.format).load(f"{self.folder}/{name}")

    def _read(self, stream: str, folder: str) -> DataFrame:
        reader = self.spark.readStream.schema(SCHEMAS[stream]).format(self.format)
        if self.files_per_trigger is not None:
            reader = reader.option("maxFilesPerTrigger", self.files_per_trigger)
        return reader.load(f"{folder}/*-data.{self.format}")


def _twin(query: Callable[[_Streams], DataFrame]) -> Twin:
    def twin(
        spark: SparkSession, folder: Path | str, format: str = "json", files_per_trigger: int | None = None
    ) -> DataFrame:
        return query(_Streams(spark, Path(folder), format, files_per_trigger))

    return twin


# --- one tuple at a time -------------------------------------------------------------------------------------

_BID = ("auction", "bidder", "price", "dateTime", "extra")


def _q0(streams: _Streams) -> DataFrame:
    return streams.plain("bid").select(*_BID)


def _q1(streams: _Streams) -> DataFrame:
    return streams.plain("bid").withColumn("price", F.col("price") * 0.908).select(*_BID)


def _q2(streams: _Streams) -> DataFrame:
    return streams.plain("bid").where("auction % 123 = 0").select("auction", "price")


def _q10(streams: _Streams) -> DataFrame:
    day, minute = F.date_format("dateTime", "yyyy-MM-dd"), F.date_format("dateTime", "HH:mm")
    return streams.plain("bid").select(*_BID, day.alias("dt"), minute.alias("hm"))


def _q13(streams: _Streams) -> DataFrame:
    side = streams.table("side_input")
    joined = streams.plain("bid").join(F.broadcast(side), F.expr("auction % 10000 = key"))
    return joined.select("auction", "bidder", "price", "dateTime", "value")


def _q14(streams: _Streams) -> DataFrame:
    hour = F.hour("dateTime")
    kind = F.when(hour.between(8, 18), "dayTime").when((hour <= 6) | (hour >= 20), "nightTime")
    return (
        streams.plain("bid")
        .withColumn("price", F.col("price") * 0.908)
        .where("price > 1000000 AND price < 50000000")
        .withColumn("bidTimeType", kind.otherwise("otherTime"))
        .withColumn("c_counts", F.expr("length(extra) - length(replace(extra, 'c'))"))
        .select("auction", "bidder", "price", "bidTimeType", "dateTime", "extra", "c_counts")
    )


def _q21(streams: _Streams) -> DataFrame:
    name = F.lower("channel")
    numbers = F.when(name == "apple", "0").when(name == "google", "1").when(name == "facebook", "2")
    parameter = F.expr("nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '')")
    channel_id = numbers.when(name == "baidu", "3").otherwise(parameter).alias("channel_id")
    bids = streams.plain("bid").select("auction", "bidder", "price", "channel", channel_id)
    return bids.where("channel_id IS NOT NULL")


def _q22(streams: _Streams) -> DataFrame:
    folders = [F.split_part("url", F.lit("/"), F.lit(n + 3)).alias(f"dir{n}") for n in (1, 2, 3)]
    return streams.plain("bid").select("auction", "bidder", "price", "channel", *folders)


# --- joins, whose state grows without end --------------------------------------------------------------------


def _q3(streams: _Streams) -> DataFrame:
    items = streams.plain("auction").where("category = 10").select("id", "seller")
    sellers = streams.plain("person").where("state IN ('OR', 'ID', 'CA')")
    sellers = sellers.select(F.col("id").alias("seller"), "name", "city", "state")
    return items.join(sellers, "seller").select("name", "city", "state", "id")


def _q20(streams: _Streams) -> DataFrame:
    lots = streams.plain("auction").where("category = 10")
    lots = lots.withColumnsRenamed(
        {"id": "auction", "dateTime": "auction_dateTime", "extra": "auction_extra"}
    )
    bids = streams.plain("bid").withColumnsRenamed({"dateTime": "bid_dateTime", "extra": "bid_extra"})
    return bids.join(lots, "auction")


# --- windows -------------------------------------------------------------------------------------------------


def _tumbling() -> Column:
    return F.window("dateTime", WINDOW)


def _q5(streams: _Streams) -> DataFrame:
    """Chained aggregates: one pass over the counts of a window instead of a join of them with their maximum."""
    hops = F.window("dateTime", WINDOW, "2 seconds")
    counts = streams.timed("bid").groupBy(hops, "auction").agg(F.count("*").alias("num"))
    windows = counts.groupBy("window").agg(
        F.max("num").alias("most"), F.collect_list(F.struct("auction", "num")).alias("all")
    )
    hot = windows.select(F.explode(F.expr("filter(all, x -> x.num = most)")).alias("x"))
    return hot.select("x.auction", "x.num")


def _q7(streams: _Streams) -> DataFrame:
    highest = streams.timed("bid").groupBy(_tumbling()).agg(F.max("price").alias("price"))
    bids = streams.timed("bid").select(*_BID, _tumbling())
    bids = bids.withColumn(
        "dateTime", F.expr("timestamp_micros(unix_micros(dateTime))")
    )  # one event time is allowed
    return bids.join(highest, ["window", "price"]).select(*_BID)


def _q8(streams: _Streams) -> DataFrame:
    people = (
        streams.timed("person").select("id", "name", _tumbling()).dropDuplicates(["id", "name", "window"])
    )
    sellers = streams.timed("auction").select(F.col("seller").alias("id"), _tumbling())
    sellers = sellers.dropDuplicates(["id", "window"])
    new = people.join(sellers, ["id", "window"])
    return new.select("id", "name", F.col("window.start").alias("starttime"))


def _q11(streams: _Streams) -> DataFrame:
    visits = streams.timed("bid").groupBy("bidder", F.session_window("dateTime", WINDOW).alias("w"))
    counts = visits.agg(F.count("*").alias("bid_count"))
    return counts.select("bidder", "bid_count", F.expr("w.start AS starttime"), F.expr("w.end AS endtime"))


def _q12(streams: _Streams) -> DataFrame:
    counts = (
        streams.timed("bid").groupBy("bidder", _tumbling().alias("w")).agg(F.count("*").alias("bid_count"))
    )
    return counts.select("bidder", "bid_count", F.expr("w.start AS starttime"), F.expr("w.end AS endtime"))


def _q17(streams: _Streams) -> DataFrame:
    """By windows of a day, as a watermark closes no text and no auction."""
    price = F.col("price")
    statistics = (
        streams.timed("bid")
        .groupBy("auction", F.window("dateTime", "1 day").alias("w"))
        .agg(
            F.count("*").alias("total_bids"),
            F.count_if(price < 10000).alias("rank1_bids"),
            F.count_if((price >= 10000) & (price < 1000000)).alias("rank2_bids"),
            F.count_if(price >= 1000000).alias("rank3_bids"),
            F.min("price").alias("min_price"),
            F.max("price").alias("max_price"),
            F.avg("price").alias("avg_price"),
            F.sum("price").alias("sum_price"),
        )
    )
    return statistics.select("auction", F.expr("date(w.start) AS day"), *statistics.columns[2:])


TWINS: dict[str, Twin] = {
    "q0": _twin(_q0),
    "q1": _twin(_q1),
    "q2": _twin(_q2),
    "q3": _twin(_q3),
    "q5": _twin(_q5),
    "q7": _twin(_q7),
    "q8": _twin(_q8),
    "q10": _twin(_q10),
    "q11": _twin(_q11),
    "q12": _twin(_q12),
    "q13": _twin(_q13),
    "q14": _twin(_q14),
    "q17": _twin(_q17),
    "q20": _twin(_q20),
    "q21": _twin(_q21),
    "q22": _twin(_q22),
}
REFUSED = {
    "q4": "an aggregate of an aggregate that is not by a window",
    "q6": "there are no windows of rows, and row_number is for batches",
    "q9": "row_number is for batches",
    "q15": "count(DISTINCT) is for batches",
    "q16": "count(DISTINCT) is for batches",
    "q18": "row_number is for batches; an aggregate with max_by by no time writes in update mode only",
    "q19": "row_number is for batches",
}
"""Queries that Spark does not accept over streams, and why."""
