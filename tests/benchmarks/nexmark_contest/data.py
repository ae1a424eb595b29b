"""Data sets for the contests: the generator's, the same dealt out for Flink, and the right results."""

from __future__ import annotations

import shutil
from pathlib import Path

from attrs import frozen
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.benchmarks.contest import INPUTS
from tests.benchmarks.nexmark import generator, oracle

DENSITY = 10_000
"""Events per second of event time: a window of ten seconds has 100,000 events, and some twenty close in a run."""

STREAMS = ("person", "auction", "bid")


@frozen
class Size:
    events: int
    per_file: int

    def folder(self, format: str) -> Path:
        return INPUTS / "nexmark" / f"{format}-{self.events}-{self.per_file}"

    def flat(self, format: str) -> Path:
        """The data set as Flink reads it."""
        folder = self.folder(format)
        return folder.with_name(f"{folder.name}-flat")

    def results(self, query: str) -> Path:
        """What a query has to give, in Parquet."""
        return INPUTS / "nexmark" / f"results-{self.events}" / query


def write(spark: SparkSession, size: Size, format: str, cores: int | None) -> None:
    """A data set, where it is not there yet; with `cores` also Flink's, in so many files."""
    if not (folder := size.folder(format)).exists():
        unfinished = _fresh(folder)
        generator.write(unfinished, size.events, size.per_file, format, density=DENSITY)
        unfinished.rename(folder)
    if cores is not None and not (flat := size.flat(format)).exists():
        unfinished = _fresh(flat)
        for stream in STREAMS:
            _deal(spark, folder / stream, unfinished / stream, format, cores)
        shutil.copytree(folder / "side_input", unfinished / "side_input")
        unfinished.rename(flat)


def write_results(spark: SparkSession, size: Size, query: str, format: str) -> None:
    """The results of a query by batch SQL over a data set."""
    if (results := size.results(query)).exists():
        return
    for name in (*STREAMS, "side_input"):
        reader = spark.read.schema(generator.SCHEMAS[name]).option("pathGlobFilter", f"*-data.{format}")
        reader.format(format).load(str(size.folder(format) / name)).createOrReplaceTempView(name)
    unfinished = _fresh(results)
    spark.sql(oracle.sql(query)).write.mode("overwrite").parquet(str(unfinished))
    unfinished.rename(results)


def _fresh(folder: Path) -> Path:
    unfinished = folder.with_name(f"_{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    return unfinished


def _deal(spark: SparkSession, source: Path, target: Path, format: str, parts: int) -> None:
    """Split a stream into files between which time goes on at the same pace, each in the order of time.

    Flink reads the files of a folder in no order, and one after the other they would be late for its watermark.
    """
    as_read = "text" if format == "json" else format
    frame = spark.read.option("pathGlobFilter", f"*-data.{format}").format(as_read).load(str(source))
    time = (
        F.expr("timestamp(get_json_object(value, '$.dateTime'))") if format == "json" else F.col("dateTime")
    )
    block = F.unix_micros(time) / (64 * 1_000_000 // DENSITY)
    target.mkdir(parents=True)
    before = spark.conf.get("spark.sql.parquet.outputTimestampType")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    for part in range(parts):
        aside = target / f"_{part}"
        mine = frame.where(F.floor(block) % parts == part).withColumn("$time", time)
        writer = mine.coalesce(1).sortWithinPartitions("$time").drop("$time").write.format(as_read)
        if format == "parquet":
            writer = writer.option("compression", "snappy")  # Flink lacks what the session's own needs
        writer.save(str(aside))
        (part_file,) = aside.glob("part-*")
        part_file.rename(target / f"{part:06d}-data.{format}")
        shutil.rmtree(aside)
    spark.conf.set("spark.sql.parquet.outputTimestampType", before or "INT96")
