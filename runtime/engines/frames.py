"""DataFrames of canonical tuples: their types, their order of arrival, and stacking them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from math import ceil, floor
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, DataType, DecimalType, DoubleType, IntegerType, LongType, StructType

from cedilla.compiler.codegen import sql
from cedilla.compiler.expressions import decimals, exact_conversions
from cedilla.compiler.expressions.types import DOUBLE, LARGEST, LONG, Type, array_of, column, quote
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.engines.workers import unfit_workers
from cedilla.runtime.items.lines import damaged, is_compressed
from cedilla.runtime.items.rejections import beyond, beyond_in_unit

ORDER = "$order"
"""The place of a tuple, a struct of epoch, source and place; only where an operator looks at it (`Plan.placed`)."""

BEYOND = "RQ310 "
"""How the message of a Spark job begins that was to make a double of too great a number; then its attribute."""

_TYPES = {
    "int": "int",
    "bigint": "long",
    "double": "double",
    "float": "double",
    "string": "string",
    "boolean": "boolean",
    "timestamp": "timestamp",
    "date": "date",
}


def order(epoch: int, source: int = -1, place: str = "0L") -> str:
    """The order of arrival of rows as SQL: epoch, source, place in its slice."""
    return f"named_struct('epoch', {epoch}L, 'source', {source}, 'place', {place})"


def is_connect(of: DataFrame | SparkSession) -> bool:
    """Whether rows are computed by a server of Spark Connect, which may be another engine than Spark."""
    return type(of).__module__.startswith("pyspark.sql.connect")


def of_table(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The rows of an Arrow table. Spark Connect takes one without rows only where its types are told."""
    return spark.createDataFrame(table, *([] if table.num_rows else [from_arrow_schema(table.schema)]))


def in_one_part(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The rows of a small Arrow table for one task: one for each core would leave a file for each."""
    return of_table(spark, table).coalesce(1)


def without_rows(frame: DataFrame) -> DataFrame:
    """The columns of a frame, and no row."""
    # Sail 0.7 cannot plan unions of which it knows that one part has no rows. Without the limit, it tests the condition
    # before an aggregation without groups, which makes a row of none.
    return frame.limit(1).where("rand() < 0D") if is_connect(frame) else frame.limit(0)


def sortable(name: str, types: Mapping[str, Type]) -> Column:
    """A column to sort by, or to partition a window by: there, -0.0 is no 0.0 to all engines."""
    return F.expr(f"{column(name)} + 0D") if types.get(name) == DOUBLE else F.col(column(name))


def partition_keys(names: Iterable[str], types: Mapping[str, Type]) -> list[Column]:
    """Columns that windows are partitioned by; a constant, if by none: PySpark warns of a window without."""
    return [sortable(name, types) for name in names] or [F.lit(0)]


def row_number(keys: Iterable[Column], by: Iterable[Column]) -> Column:
    """The number of a row, from 1, among those with its keys, in an order. The frame is of rows: not all engines find
    ranges of structures, as places are."""
    rows = Window.partitionBy(*keys).orderBy(*by)
    return F.row_number().over(rows.rowsBetween(Window.unboundedPreceding, Window.currentRow))


def types_of(frame: DataFrame) -> dict[str, Type]:
    """The language's types of a DataFrame's columns."""
    return {f.name: type_named(f.dataType.simpleString()) for f in frame.schema.fields if "$" not in f.name}


def type_named(name: str) -> Type:
    """The language's type by Spark's short name of it."""
    if name.startswith("array<"):
        return array_of(type_named(name[len("array<") : -1]))
    return Type(_TYPES[name]) if name in _TYPES else Type.parse(name)


def stacked(first: DataFrame, second: DataFrame, rounded: Collection[str] = ()) -> DataFrame:
    """The rows of both; a column that one lacks is null there. An attribute that was altered in between is
    DOUBLE in one of them, so the other is widened; a value that this would change fails (RQ310), but in the columns
    that may be `rounded`."""
    first, second = _widened(first, second, rounded), _widened(second, first, rounded)
    return _completed(first, second).unionByName(_completed(second, first))


def _completed(frame: DataFrame, other: DataFrame) -> DataFrame:
    """The rows with all columns of others, of their types, which not all engines find out by themselves."""
    there = set(frame.columns)
    missing = {f.name: F.lit(None).cast(f.dataType) for f in other.schema.fields if f.name not in there}
    return frame.withColumns(missing) if missing else frame


def where_inside(rows: DataFrame, region: Tree) -> DataFrame:
    """The rows that lie in a region."""
    return rows.where(sql.predicate(region, types_of(rows)))


def where_among(
    rows: DataFrame, how: Literal["semi", "anti"], few: DataFrame, names: Iterable[str]
) -> DataFrame:
    """The rows that agree with one of a few others in the named columns (`semi`), or with none (`anti`); null agrees
    with null, and with all of a column that either lacks. The few are sent to the rows, which stay where they are.
    """
    rows, few = _widened(rows, few), _widened(few, rows)
    both = [name for name in names if name in rows.columns or name in few.columns]
    theirs = few.selectExpr(*(f"{_or_null(few, name)} AS {column(f'{name}$few')}" for name in both))
    agree = " AND ".join(f"{_or_null(rows, name)} <=> {column(f'{name}$few')}" for name in both)
    return rows.join(F.broadcast(theirs), F.expr(agree), f"left_{how}")


def _or_null(frame: DataFrame, name: str) -> str:
    return column(name) if name in frame.columns else "NULL"


def with_doubles(frame: DataFrame, functions: Mapping[str, Affine]) -> DataFrame:
    """The rows with some attributes as doubles; a value that a double does not keep, as it is or through a function,
    fails (RQ310)."""
    made: dict[str, Column] = {}
    for f in frame.schema.fields:
        if f.name in functions and not isinstance(f.dataType, DoubleType):
            low, high = map(functions[f.name].inverse(), (-LARGEST, LARGEST))
            low, high = max(-LARGEST, floor(low)), min(ceil(high), LARGEST)
            text = as_double(f.name, column(f.name), f.dataType, DoubleType(), inside=(low, high))
            made |= {f.name: F.expr(text)} if text else {}
    return frame.withColumns(made) if made else frame


def _widened(frame: DataFrame, other: DataFrame, rounded: Collection[str] = ()) -> DataFrame:
    theirs = {f.name: f.dataType for f in other.schema.fields}
    wider = {
        f.name: F.expr(text)
        for f in frame.schema.fields
        if f.name in theirs
        and (
            text := as_double(
                f.name, column(f.name), f.dataType, theirs[f.name], is_rounded=f.name in rounded
            )
            or _as_decimal(column(f.name), f.dataType, theirs[f.name])
        )
    }
    return frame.withColumns(wider) if wider else frame


def _as_decimal(value: str, kind: DataType, other: DataType) -> str | None:
    """SQL of a whole number or decimal as the decimal that holds the other one, too; `None` where it is one."""
    exact = (IntegerType, LongType, DecimalType)
    if kind == other or not isinstance(kind, exact) or not isinstance(other, exact):
        return None
    mine, theirs = (type_named(each.simpleString()) for each in (kind, other))
    wanted = exact_conversions.common_type(mine, theirs)
    return None if wanted in (mine, LONG) else f"CAST({value} AS {wanted.spark})"


def as_double(
    name: str,
    value: str,
    kind: DataType,
    wanted: DataType,
    *,
    is_rounded: bool = False,
    inside: tuple[int, int] = (-LARGEST, LARGEST),
) -> str | None:
    """SQL of a value as a double, or with doubles in an array or struct, where that is wanted; it fails where a double
    may not keep the value, or where it is not `inside` (RQ310), unless that `is_rounded`. `None` where there is nothing
    to do."""
    if isinstance(kind, ArrayType) and isinstance(wanted, ArrayType):
        each = as_double(name, "e", kind.elementType, wanted.elementType, is_rounded=is_rounded)
        return each and f"transform({value}, e -> {each})"
    if isinstance(kind, StructType) and isinstance(wanted, StructType):
        theirs = {field.name: field.dataType for field in wanted.fields}
        parts = {field.name: f"{value}.{column(field.name)}" for field in kind.fields}
        made = {
            field.name: as_double(
                name, parts[field.name], field.dataType, theirs[field.name], is_rounded=is_rounded
            )
            for field in kind.fields
            if field.name in theirs
        }
        fields = ", ".join(f"{quote(n)}, {made.get(n) or part}" for n, part in parts.items())
        return f"IF({value} IS NULL, NULL, named_struct({fields}))" if any(made.values()) else None
    if not isinstance(wanted, DoubleType) or not isinstance(kind, IntegerType | LongType | DecimalType):
        return None
    plain = decimals.as_double(value, type_named(kind.simpleString()))
    if is_rounded:
        return plain
    kept = f"{value} > {inside[0]}L AND {value} < {inside[1]}L"
    if isinstance(kind, DecimalType) and kind.scale:
        kept += f" AND ({_keeps_decimal(value, kind.scale)})"
    failure = f"raise_error({quote(BEYOND + name.partition('$')[0])})"
    return f"CASE WHEN {value} IS NULL OR {kept} THEN {plain} ELSE {failure} END"


def _keeps_decimal(value: str, scale: int) -> str:
    """Whether a double keeps all digits of a decimal: without the point behind its last one, it is below 2^53."""
    tests: list[str] = []
    for places in range(scale, -1, -1):
        most = Decimal(LARGEST).scaleb(-places)
        step = "" if places == scale else f" AND {value} % {Decimal(1).scaleb(-places):f}BD = 0"
        tests.append(f"{value} > -{most:f}BD AND {value} < {most:f}BD{step}")
    return " OR ".join(tests)


def refusal(problem: BaseException) -> DiagnosticError | None:
    """What a Spark job has failed for: RQ310 of `as_double`, RQ308 of a compressed file, RQ433 of workers that cannot
    do their part, or the `DiagnosticError` that a Python task has raised; `None`: for another reason."""
    text = str(problem)
    if found := re.search(rf"{re.escape(exact_conversions.BEYOND)}([^\s']+)", text):
        return beyond_in_unit(found[1])
    if found := re.search(rf"{re.escape(BEYOND)}([^\s']+)", text):
        return beyond(found[1])
    if found := _RAISED.search(text):
        return failure(found[1], found[2], hint=found[3])
    found = _NOT_READ.search(text)
    path = Path(unquote(found[1])) if found else None
    return damaged(str(path)) if path and is_compressed(path) else unfit_workers(problem)


_RAISED = re.compile(r"DiagnosticError: error\[(RQ\d+)\]: (.*)(?:\n = help: (.*))?")
"""How a traceback that comes back as a text ends (`diagnostics.render`)."""
_NOT_READ = re.compile(
    r"FAILED_READ_FILE\S* Encountered error while reading file (?:file:/*(?=/))?(.+?)\.\s+SQLSTATE"
)
