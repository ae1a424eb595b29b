"""DataFrames of canonical tuples: their types, their order of arrival, and stacking them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler.types import Type, array_of, column

ORDER = "$order"
"""The place of a tuple, a struct of epoch, source and place; only where an operator looks at it (`Plan.placed`)."""

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


def stacked(first: DataFrame, second: DataFrame) -> DataFrame:
    """The rows of both; a column that one lacks is null there. An attribute that was altered in between is
    DOUBLE in one of them, so the other is widened."""
    first, second = _widened(first, second), _widened(second, first)
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


def _widened(frame: DataFrame, other: DataFrame) -> DataFrame:
    theirs = {f.name: f.dataType.simpleString() for f in other.schema.fields}
    wider = [
        f.name
        for f in frame.schema.fields
        if theirs.get(f.name) == "double" and f.dataType.simpleString() != "double"
    ]
    return frame.withColumns({name: F.col(f"`{name}`").cast("double") for name in wider}) if wider else frame
