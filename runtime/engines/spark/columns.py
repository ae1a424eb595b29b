"""The columns of frames and of stored rows: the facts of relations give their types, so that no engine is asked.

A request for the columns of a frame costs 2 ms on a Spark Connect server, and an epoch would need a dozen of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, isfinite
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from cedilla.compiler.expressions.aggregates.aggregate_parts import let
from cedilla.compiler.expressions.aggregates.split_sums import whole_of
from cedilla.compiler.expressions.types import (
    DOUBLE,
    LARGEST,
    Type,
    array_of,
    column,
    decimals,
    finite,
    quote,
)
from cedilla.compiler.regions import UNDEFINED
from cedilla.compiler.regions.affine import Affine, exact

Columns = Mapping[str, DataType]
"""Maps the names of columns to their types."""

ORDER = "$order"
"""The order of a tuple, a struct of epoch, source and position; only present if an operator needs it
(`Plan.placed`)."""

BEYOND = "RQ310 "
"""Prefix of the message of a Spark job that failed to convert a large number to a double; the attribute follows."""

_DATA_TYPES: Mapping[str, DataType] = {
    "int": IntegerType(),
    "long": LongType(),
    "double": DoubleType(),
    "string": StringType(),
    "boolean": BooleanType(),
    "timestamp": TimestampType(),
    "date": DateType(),
    "version": StringType(),
}
_NAMES = {"bigint": "long", "float": "double"}
"""Spark's short names of types that differ from the language's."""


def axis_value(value: Any) -> Any:
    """Returns a value of a row as regions have it; SQL has made it by `Type.axis`."""
    match value:
        case None:
            return UNDEFINED
        case float():
            return exact(Fraction(repr(value) if isfinite(value) else finite(value)))
        case Decimal():
            return exact(Fraction(value))
        case list():
            return tuple(axis_value(element) if isinstance(element, list) else element for element in value)
        case _:
            return value


def data_type(type_: Type) -> DataType:
    """Returns Spark's type of an attribute."""
    if type_.element is not None:
        return ArrayType(data_type(type_.element))
    return DecimalType(*type_.parameters) if type_.name == "decimal" else _DATA_TYPES[type_.name]


def type_named(name: str) -> Type:
    """Returns the language's type for Spark's short name of a type."""
    if name.startswith("array<"):
        return array_of(type_named(name[len("array<") : -1]))
    return Type.parse(_NAMES.get(name, name))


ORDER_TYPE = StructType(
    [StructField("epoch", LongType()), StructField("source", IntegerType()), StructField("place", LongType())]
)
"""The type of the column `ORDER`."""


def columns_of(types: Mapping[str, Type], *, is_placed: bool = False) -> dict[str, DataType]:
    """Returns the columns of a relation with attributes of these types. `is_placed`: tuples have their order."""
    columns = {name: data_type(type_) for name, type_ in types.items()}
    return {**columns, ORDER: ORDER_TYPE} if is_placed else columns


def types_of(columns: Columns) -> dict[str, Type]:
    """Returns the language's types of columns, without those that Cedilla adds."""
    return {name: type_named(kind.simpleString()) for name, kind in columns.items() if "$" not in name}


def dump_columns(columns: Columns) -> dict[str, Any]:
    """Returns columns as JSON values; `load_columns` reads them."""
    return {name: kind.jsonValue() for name, kind in columns.items()}


def load_columns(data: Mapping[str, Any]) -> dict[str, DataType]:
    """Returns columns from JSON values."""
    fields = [{"name": n, "type": kind, "nullable": True, "metadata": {}} for n, kind in data.items()]
    return {field.name: field.dataType for field in StructType.fromJson({"fields": fields}).fields}


def struct_of(columns: Columns) -> StructType:
    """Returns columns as the schema of a frame."""
    return StructType([StructField(name, kind) for name, kind in columns.items()])


# --- conversions -----------------------------------------------------------------------------------------


def conformed(
    frame: DataFrame, columns: Columns, wanted: Columns, rounded: Collection[str] = ()
) -> DataFrame:
    """Returns rows with other columns: missing ones are null, and narrower types are widened. `columns`: those of the
    frame.

    An accent turns a whole number into a double, for example. A value that widening would change fails (RQ310),
    except in columns that may be `rounded`.
    """
    if columns == wanted:
        return frame
    made = (
        _converted(name, columns.get(name), kind, is_rounded=name in rounded) for name, kind in wanted.items()
    )
    return frame.select(*made)


def _converted(name: str, kind: DataType | None, wanted: DataType, *, is_rounded: bool) -> Column:
    if kind is None:
        return F.lit(None).cast(wanted).alias(name)
    if kind == wanted:
        return F.col(column(name))
    if text := as_double(name, column(name), kind, wanted, is_rounded=is_rounded):
        return F.expr(text).alias(name)
    return F.col(column(name)).cast(wanted).alias(name)


def with_doubles(
    frame: DataFrame, types: Mapping[str, Type], functions: Mapping[str, Affine]
) -> tuple[DataFrame, Mapping[str, Type]]:
    """Converts some attributes of the rows to doubles, and returns the types then. Values that a double cannot keep,
    directly or through the function, fail (RQ310)."""
    made: dict[str, Column] = {}
    for name in functions.keys() & types.keys():
        low, high = map(functions[name].inverse(), (-LARGEST, LARGEST))
        low, high = max(-LARGEST, floor(low)), min(ceil(high), LARGEST)
        text = as_double(name, column(name), data_type(types[name]), DoubleType(), inside=(low, high))
        made |= {name: F.expr(text)} if text else {}
    return (frame.withColumns(made) if made else frame), {**types, **dict.fromkeys(made, DOUBLE)}


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
    if isinstance(kind, StructType) and isinstance(wanted, DoubleType):
        return _sum_as_double(name, value, kind, is_rounded=is_rounded)
    if not isinstance(wanted, DoubleType) or not isinstance(kind, IntegerType | LongType | DecimalType):
        return None
    plain = decimals.as_double(value, type_named(kind.simpleString()))
    if is_rounded:
        return plain
    kept = f"{value} > {inside[0]}L AND {value} < {inside[1]}L"
    if isinstance(kind, DecimalType) and kind.scale:
        kept += f" AND ({_keeps_decimal(value, kind.scale)})"
    return f"CASE WHEN {value} IS NULL OR {kept} THEN {plain} ELSE {beyond_failure(name)} END"


def _sum_as_double(name: str, value: str, kind: StructType, *, is_rounded: bool) -> str:
    """Returns SQL that converts a sum of decimals in two parts (`split_sums`) to a double, as `as_double` does."""
    low = f"{value}.low"
    (whole_type,) = (field.dataType for field in kind.fields if field.name == "low")
    assert isinstance(whole_type, DecimalType)
    whole = whole_of(whole_type.scale, f"{value}.high", low)
    total = as_double(name, "v", whole_type, DoubleType(), is_rounded=is_rounded)
    body = f"CASE WHEN v IS NULL AND {low} IS NOT NULL THEN {beyond_failure(name)} ELSE {total} END"
    return let(whole, "v", body)


def beyond_failure(name: str) -> str:
    """Returns SQL that ends a job: the type to which an attribute is converted does not keep a value (RQ310)."""
    return f"raise_error({quote(BEYOND + name.partition('$')[0])})"


def _keeps_decimal(value: str, scale: int) -> str:
    """Returns SQL that is true if a double keeps all digits of a decimal: without its point, the number is below
    2^53."""
    tests: list[str] = []
    for places in range(scale, -1, -1):
        most = Decimal(LARGEST).scaleb(-places)
        step = "" if places == scale else f" AND {value} % {Decimal(1).scaleb(-places):f}BD = 0"
        tests.append(f"{value} > -{most:f}BD AND {value} < {most:f}BD{step}")
    return " OR ".join(tests)
