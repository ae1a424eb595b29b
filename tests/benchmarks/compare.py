"""Whether competitors gave the same bag of rows. Spark counts and hashes; only the sums reach the driver."""

from __future__ import annotations

import json
from typing import cast

from attrs import frozen
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, StructType

from tests.benchmarks.contest import Compared

_DIGITS = 9
_SHOWN = 5


@frozen
class Checksum:
    """Of a bag of rows: how many, and the sum of their hashes."""

    rows: int
    hashes: str


def rows(spark: SparkSession, output: str, format: str, compared: Compared) -> DataFrame:
    """The rows of an output that count, doubles rounded to 9 digits."""
    schema = cast(StructType, StructType.fromDDL(compared.columns))
    frame = _loaded(spark, output, format, compared)
    frame = frame.where("`$punctuation` IS NULL AND `$accent` IS NULL").where(compared.where)
    return frame.select(*(_rounded(f.name, f.dataType).alias(f.name) for f in schema.fields))


def _loaded(spark: SparkSession, output: str, format: str, compared: Compared) -> DataFrame:
    glob = {"json": "{*.json*,part-*}", "parquet": "{*.parquet,part-*}"}[format]  # Flink's have no ending
    reader = spark.read.option("pathGlobFilter", glob).option("recursiveFileLookup", "true").format(format)
    markers = ", ".join(f"`{name}` STRING" for name in ("$accent", "$punctuation"))
    asked = cast(StructType, StructType.fromDDL(f"{compared.columns}, {markers}"))
    if format == "json":
        return reader.schema(asked).load(output)
    # The types are those of the files: a decimal may stand where another engine writes a double.
    frame = reader.option("mergeSchema", "true").load(output)
    columns = {f.name: F.col(f"`{f.name}`") if f.name in frame.columns else F.lit(None) for f in asked.fields}
    return frame.select(*(columns[f.name].cast(f.dataType).alias(f.name) for f in asked.fields))


def _rounded(name: str, type_: DataType) -> Column:
    if isinstance(type_, DoubleType | FloatType | DecimalType):
        # adding zero makes -0.0 and 0.0 one
        return F.expr(f"format_string('%.{_DIGITS - 1}e', double(`{name}`) + 0D)")
    return F.col(f"`{name}`")


def checksum(spark: SparkSession, output: str, format: str, compared: Compared) -> Checksum:
    """One Spark job."""
    frame = rows(spark, output, format, compared)
    hashed = F.xxhash64(*frame.columns).cast("decimal(38,0)")
    totals = frame.agg(F.count("*").alias("rows"), F.sum(hashed).alias("hashes")).first()
    assert totals is not None
    return Checksum(totals["rows"], str(totals["hashes"]))


def difference(
    spark: SparkSession, compared: Compared, one: tuple[str, str], other: tuple[str, str]
) -> list[str]:
    """A few rows that only one of two outputs has, as text; each is a path and a format."""
    left, right = rows(spark, *one, compared), rows(spark, *other, compared)
    result: list[str] = []
    for sign, frame in (("-", left.exceptAll(right)), ("+", right.exceptAll(left))):
        result += [f"{sign} {json.dumps(r.asDict(), default=str)}" for r in frame.limit(_SHOWN).collect()]
    return result
