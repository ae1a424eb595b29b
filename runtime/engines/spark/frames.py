"""DataFrames of canonical tuples: making them, their order of arrival, and choosing and stacking their rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from typing import Literal

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from cedilla.compiler import regions
from cedilla.compiler.codegen import sql
from cedilla.compiler.expressions.types import DOUBLE, Type, column
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.spark.columns import Columns, types_of


def order(epoch: int, source: int = -1, position: str = "0L") -> str:
    """Returns SQL for the order of arrival of rows: epoch, source, position in its slice."""
    return f"named_struct('epoch', {epoch}L, 'source', {source}, 'place', {position})"


def is_connect(of: DataFrame | SparkSession) -> bool:
    """Returns True if a Spark Connect server computes rows; it may be an engine other than Spark."""
    return type(of).__module__.startswith("pyspark.sql.connect")


def is_local(session: SparkSession) -> bool:
    """Returns True if the session's workers are processes on the machine of its master."""
    return str(session.conf.get("spark.master", "local")).startswith("local")


def of_table(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Returns the rows of an Arrow table. Spark Connect needs explicit types for an empty table."""
    return spark.createDataFrame(table, *([] if table.num_rows else [from_arrow_schema(table.schema)]))


def in_one_part(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Returns the rows of a small Arrow table in one task; one task for each core would write one file each."""
    return of_table(spark, table).coalesce(1)


def without_rows(frame: DataFrame) -> DataFrame:
    """Returns the columns of a frame without rows."""
    # Sail 0.7 cannot plan unions with a part that is known to be empty. Without the limit, it tests the condition
    # before an aggregation without groups, which makes a row from no rows.
    return frame.limit(1).where("rand() < 0D") if is_connect(frame) else frame.limit(0)


def sortable(name: str, types: Mapping[str, Type]) -> Column:
    """Returns a column for sorting or partitioning windows; engines may otherwise distinguish -0.0 from 0.0."""
    return F.expr(f"{column(name)} + 0D") if types.get(name) == DOUBLE else F.col(column(name))


def partition_keys(names: Iterable[str], types: Mapping[str, Type]) -> list[Column]:
    """Returns columns that partition a window; a constant without names, because PySpark would warn."""
    return [sortable(name, types) for name in names] or [F.lit(0)]


def row_number(keys: Iterable[Column], by: Iterable[Column]) -> Column:
    """Returns the number of a row, from 1, among rows with the same keys, in an order. The frame is one of rows,
    because not all engines support ranges of structures such as positions."""
    rows = Window.partitionBy(*keys).orderBy(*by)
    return F.row_number().over(rows.rowsBetween(Window.unboundedPreceding, Window.currentRow))


def where_inside(rows: DataFrame, region: Tree, columns: Columns) -> DataFrame:
    """Returns the rows inside a region."""
    inside = predicate(region, columns)
    # Sail 0.7 takes what a condition compares with one value for a constant, leaves it out of a sort that a window over
    # the rows needs, and refuses its own plan. It does not see through a CASE.
    return rows.where(f"CASE WHEN {inside} THEN 1 ELSE 0 END = 1" if is_connect(rows) else inside)


def predicate(region: Tree, columns: Columns) -> str:
    """Returns SQL that is true if a row is inside a region. Stored rows may lack some of its attributes."""
    missing = regions.attributes(region) - columns.keys()
    return sql.predicate(region, types_of(columns), dict.fromkeys(missing, "NULL"))


def where_among(
    rows: DataFrame, how: Literal["semi", "anti"], few: DataFrame, names: Collection[str]
) -> DataFrame:
    """Returns the rows that agree with a row of `few` in the named columns (`semi`), or with none (`anti`). Null agrees
    with null. The few rows are broadcast."""
    theirs = few.selectExpr(*(f"{column(name)} AS {column(f'{name}$few')}" for name in names))
    agree = " AND ".join(f"{column(name)} <=> {column(f'{name}$few')}" for name in names)
    return rows.join(F.broadcast(theirs), F.expr(agree), f"left_{how}")


def stacked(columns: Iterable[str], *frames: DataFrame | None) -> DataFrame | None:
    """Returns the rows of all frames that are not `None`, which have these columns; `None` if all are."""
    present = [frame for frame in frames if frame is not None]
    return union_by_name(columns, *present) if present else None


def union_by_name(columns: Iterable[str], *frames: DataFrame) -> DataFrame:
    """Returns the rows of one or more frames, which have these columns in any order."""
    # `unionByName` of Sail 0.7 ignores the case of names.
    names = [*map(column, columns)]
    return (
        reduce(DataFrame.union, (frame.selectExpr(*names) for frame in frames)) if frames[1:] else frames[0]
    )
