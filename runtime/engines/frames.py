"""DataFrames of canonical tuples: their types, their order of arrival, and stacking them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DecimalType, DoubleType, IntegerType, LongType, StructType

from cedilla.compiler.expressions.types import LARGEST, Type, array_of, column, quote
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.items.lines import damaged, is_compressed
from cedilla.runtime.items.rejections import beyond

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
    return first.unionByName(second, allowMissingColumns=True)


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


def _widened(frame: DataFrame, other: DataFrame, rounded: Collection[str] = ()) -> DataFrame:
    theirs = {f.name: f.dataType for f in other.schema.fields}
    wider = {
        f.name: F.expr(text)
        for f in frame.schema.fields
        if f.name in theirs
        and f.name not in rounded
        and (text := as_double(f.name, column(f.name), f.dataType, theirs[f.name]))
    }
    return frame.withColumns(wider) if wider else frame


def as_double(name: str, value: str, kind: DataType, wanted: DataType) -> str | None:
    """SQL of a value as a double, or with doubles in an array or struct, where that is wanted; it fails where a double
    may not keep the value (RQ310). `None` where there is nothing to do."""
    if isinstance(kind, ArrayType) and isinstance(wanted, ArrayType):
        each = as_double(name, "e", kind.elementType, wanted.elementType)
        return each and f"transform({value}, e -> {each})"
    if isinstance(kind, StructType) and isinstance(wanted, StructType):
        theirs = {field.name: field.dataType for field in wanted.fields}
        parts = {field.name: f"{value}.{column(field.name)}" for field in kind.fields}
        made = {
            field.name: as_double(name, parts[field.name], field.dataType, theirs[field.name])
            for field in kind.fields
            if field.name in theirs
        }
        fields = ", ".join(f"{quote(n)}, {made.get(n) or part}" for n, part in parts.items())
        return f"IF({value} IS NULL, NULL, named_struct({fields}))" if any(made.values()) else None
    if not isinstance(wanted, DoubleType) or not isinstance(kind, IntegerType | LongType | DecimalType):
        return None
    kept = f"{value} > {-LARGEST}L AND {value} < {LARGEST}L"
    failure = f"raise_error({quote(BEYOND + name.partition('$')[0])})"
    return f"CASE WHEN {value} IS NULL OR {kept} THEN CAST({value} AS DOUBLE) ELSE {failure} END"


def refusal(problem: BaseException) -> DiagnosticError | None:
    """What a Spark job has failed for: RQ310 of `as_double`, RQ308 of a compressed file; `None`: for another reason."""
    text = str(problem)
    if found := re.search(rf"{re.escape(BEYOND)}([^\s']+)", text):
        return beyond(found[1])
    found = _NOT_READ.search(text)
    path = Path(unquote(found[1])) if found else None
    return damaged(str(path)) if path and is_compressed(path) else None


_NOT_READ = re.compile(
    r"FAILED_READ_FILE\S* Encountered error while reading file (?:file:/*(?=/))?(.+?)\.\s+SQLSTATE"
)
