"""DataFrames of canonical tuples: their types, their order of arrival, and stacking them."""

from __future__ import annotations

import errno
import os
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
from cedilla.runtime.records.lines import damaged, is_compressed
from cedilla.runtime.records.rejections import beyond, beyond_in_unit

ORDER = "$order"
"""The order of a tuple, a struct of epoch, source and position; only present if an operator needs it
(`Plan.placed`)."""

BEYOND = "RQ310 "
"""Prefix of the message of a Spark job that failed to convert a large number to a double; the attribute follows."""

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
    """Returns SQL for the order of arrival of rows: epoch, source, position in its slice."""
    return f"named_struct('epoch', {epoch}L, 'source', {source}, 'place', {place})"


def is_connect(of: DataFrame | SparkSession) -> bool:
    """Returns True if a Spark Connect server computes rows; it may be an engine other than Spark."""
    return type(of).__module__.startswith("pyspark.sql.connect")


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


def types_of(frame: DataFrame) -> dict[str, Type]:
    """Returns the language's types of a DataFrame's columns."""
    return {f.name: type_named(f.dataType.simpleString()) for f in frame.schema.fields if "$" not in f.name}


def type_named(name: str) -> Type:
    """Returns the language's type for Spark's short name of a type."""
    if name.startswith("array<"):
        return array_of(type_named(name[len("array<") : -1]))
    return Type(_TYPES[name]) if name in _TYPES else Type.parse(name)


def stacked(first: DataFrame, second: DataFrame, rounded: Collection[str] = ()) -> DataFrame:
    """Returns the rows of both frames; a column that one frame lacks is null there. An altered attribute is DOUBLE in
    one of them, so the other is widened. A value that widening would change fails (RQ310), except in columns that may
    be `rounded`.
    """
    first, second = _widened(first, second, rounded), _widened(second, first, rounded)
    return _completed(first, second).unionByName(_completed(second, first))


def _completed(frame: DataFrame, other: DataFrame) -> DataFrame:
    """Adds missing columns of another frame with their types, which not all engines derive themselves."""
    present = set(frame.columns)
    missing = {f.name: F.lit(None).cast(f.dataType) for f in other.schema.fields if f.name not in present}
    return frame.withColumns(missing) if missing else frame


def where_inside(rows: DataFrame, region: Tree) -> DataFrame:
    """Returns the rows inside a region."""
    return rows.where(sql.predicate(region, types_of(rows)))


def where_among(
    rows: DataFrame, how: Literal["semi", "anti"], few: DataFrame, names: Iterable[str]
) -> DataFrame:
    """Returns the rows that agree with a row of `few` in the named columns (`semi`), or with none (`anti`). Null agrees
    with null, and with a missing column. The few rows are broadcast."""
    rows, few = _widened(rows, few), _widened(few, rows)
    both = [name for name in names if name in rows.columns or name in few.columns]
    theirs = few.selectExpr(*(f"{_or_null(few, name)} AS {column(f'{name}$few')}" for name in both))
    agree = " AND ".join(f"{_or_null(rows, name)} <=> {column(f'{name}$few')}" for name in both)
    return rows.join(F.broadcast(theirs), F.expr(agree), f"left_{how}")


def _or_null(frame: DataFrame, name: str) -> str:
    return column(name) if name in frame.columns else "NULL"


def with_doubles(frame: DataFrame, functions: Mapping[str, Affine]) -> DataFrame:
    """Converts some attributes of the rows to doubles. Values that a double cannot keep, directly or through the
    function, fail (RQ310)."""
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
    """Returns SQL that converts a whole number or decimal to a decimal type common with the other; `None` if not
    needed."""
    exact = (IntegerType, LongType, DecimalType)
    if kind == other or not isinstance(kind, exact) or not isinstance(other, exact):
        return None
    mine, theirs = (type_named(type_.simpleString()) for type_ in (kind, other))
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
    """Returns SQL that converts a value, or values in an array or struct, to doubles if wanted. It fails if a double
    may not keep the value, or if the value is not `inside` (RQ310), unless `is_rounded`. `None` if no conversion is
    needed.
    """
    if isinstance(kind, ArrayType) and isinstance(wanted, ArrayType):
        element = as_double(name, "e", kind.elementType, wanted.elementType, is_rounded=is_rounded)
        return element and f"transform({value}, e -> {element})"
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
    """Returns SQL that is true if a double keeps all digits of a decimal: without its point, the number is below
    2^53."""
    tests: list[str] = []
    for places in range(scale, -1, -1):
        most = Decimal(LARGEST).scaleb(-places)
        step = "" if places == scale else f" AND {value} % {Decimal(1).scaleb(-places):f}BD = 0"
        tests.append(f"{value} > -{most:f}BD AND {value} < {most:f}BD{step}")
    return " OR ".join(tests)


def refusal(problem: BaseException) -> DiagnosticError | None:
    """Returns the diagnostic for a failed Spark job: RQ310 of `as_double`, RQ308 of a compressed file, RQ431 of a full
    disk, RQ433 of unfit workers, or the `DiagnosticError` that a Python task raised. `None` for other errors."""
    text = str(problem)
    if match := re.search(rf"{re.escape(exact_conversions.BEYOND)}([^\s']+)", text):
        return beyond_in_unit(match[1])
    if match := re.search(rf"{re.escape(BEYOND)}([^\s']+)", text):
        return beyond(match[1])
    if match := _RAISED.search(text):
        return failure(match[1], match[2], hint=match[3])
    if match := _NOT_WRITTEN.search(text):
        return failure("RQ431", f"the engine cannot write: {match[0]}", hint="the rights and the space there")
    match = _NOT_READ.search(text)
    path = Path(unquote(match[1])) if match else None
    return damaged(str(path)) if path and is_compressed(path) else unfit_workers(problem)


_RAISED = re.compile(r"DiagnosticError: error\[(RQ\d+)\]: (.*)(?:\n = help: (.*))?")
"""The end of a traceback that comes back as a text (`diagnostics.render`)."""
_NOT_WRITTEN = re.compile(
    "|".join(re.escape(os.strerror(each)) for each in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS))
)
"""How both engines name a disk that takes no more: in the words of the operating system."""
_NOT_READ = re.compile(
    r"FAILED_READ_FILE\S* Encountered error while reading file (?:file:/*(?=/))?(.+?)\.\s+SQLSTATE"
)
