"""Converts values of columns to values of attributes: SQL for both, and texts for values that do not fit."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from cedilla.compiler.expressions.scalars.conversion_sql import java_text
from cedilla.compiler.expressions.types import LARGEST, Type, quote
from cedilla.compiler.expressions.types.versions import key_sql
from cedilla.runtime.connectors.formats.element_texts import TIMESTAMP, timestamp_text
from cedilla.runtime.connectors.formats.parquet.types import Nanoseconds, Unknown
from cedilla.runtime.connectors.storage.parquet import ColumnStatistics

JSON_OPTIONS = f"map('timestampFormat', {quote(TIMESTAMP)})"
"""Option of `to_json` for the format of times."""

_WHOLE = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
"""The types of whole numbers, with their digits."""

_KINDS: dict[type[DataType], str] = {
    **dict.fromkeys(_WHOLE, "bigint"),
    FloatType: "double",
    DoubleType: "double",
    Nanoseconds: "timestamp",
}


def converted(
    value: str, kind: DataType, type_: Type, *, is_in_range: bool = False
) -> tuple[str, str | None]:
    """Returns SQL that converts a value of a column to an attribute's type, and SQL that is true if it does not fit
    (`None` if it always fits). `is_in_range`: its moments are known to lie in the years 1 to 9999."""
    as_type, unfit = _converted(value, kind, type_)
    is_known = is_in_range or isinstance(kind, NullType | Nanoseconds)
    if unfit or type_.first is None or is_known:
        return as_type, unfit
    return as_type, f"NOT {type_.axis(as_type)} BETWEEN {type_.first}L AND {type_.last}L"


def _converted(value: str, kind: DataType, type_: Type) -> tuple[str, str | None]:
    nothing = f"CAST(NULL AS {type_.spark})"
    if isinstance(kind, Unknown):  # nothing is known of a value except that it exists
        return nothing, "true"
    if isinstance(kind, NullType):
        return nothing, None
    if type_.name == "version":
        key = key_sql(_text(value, kind)[0])
        return key, f"{value} IS NOT NULL AND {key} IS NULL"
    if kind.simpleString() == type_.spark.lower():
        return value, None
    if isinstance(kind, Nanoseconds) and type_.name in ("timestamp", "string"):
        moment = readable(value, kind)
        return (moment, None) if type_.name == "timestamp" else _text(moment, TimestampType())
    if type_.name == "string":
        return _text(value, kind)
    if _widens(kind, type_):
        return f"CAST({value} AS {type_.spark})", None
    if isinstance(kind, FloatType | DoubleType) and type_.is_numeric:
        exactly = _of_double(f"CAST({value} AS DOUBLE)", type_)
        return exactly, f"{value} IS NOT NULL AND {exactly} IS NULL"
    if _narrows(kind, type_):
        tried = f"try_cast({value} AS {type_.spark})"
        return tried, f"{value} IS NOT NULL AND NOT {tried} <=> {value}"
    return nothing, f"{value} IS NOT NULL"


def range_of(values: ColumnStatistics, kind: DataType, type_: Type) -> ColumnStatistics:
    """Returns a column's statistics for an attribute. If the types differ in order, only nulls remain."""
    same = type_.name in ("int", "long") or (kind.simpleString() == type_.spark.lower())
    same = same and type_.name != "version"
    return values if same else ColumnStatistics(values.nulls)


def _widens(kind: DataType, type_: Type) -> bool:
    """Returns True if the type accepts every value of a column: a whole number with more digits, a double for any
    number."""
    whole = _WHOLE.get(type(kind))
    if type_.name == "timestamp":
        return isinstance(kind, TimestampNTZType)
    if type_.name == "double":
        return whole is not None or isinstance(kind, FloatType | DecimalType)
    if type_.name in ("int", "long"):
        return whole is not None and whole <= _WHOLE[IntegerType if type_.name == "int" else LongType]
    if type_.name != "decimal":
        return False
    digits, scale = (kind.precision, kind.scale) if isinstance(kind, DecimalType) else (whole or 99, 0)
    return digits - scale <= type_.parameters[0] - type_.parameters[1] and scale <= type_.parameters[1]


def _narrows(kind: DataType, type_: Type) -> bool:
    """Returns True if the type accepts some values of a column, and the others can be recognized."""
    return type_.name in ("int", "long", "decimal") and isinstance(kind, (DecimalType, *_WHOLE))


_EXACT_DIGITS = 15
"""Number of digits up to which each decimal is a distinct double."""


def _of_double(x: str, type_: Type) -> str:
    """Returns SQL for a double as a whole number or a decimal: null if it has a fraction or digits may be lost. Pandas
    writes whole numbers as doubles in columns with missing values."""
    digits = min(type_.parameters[1], _EXACT_DIGITS) if type_.parameters else 0
    if not digits:
        return f"IF({x} = rint({x}) AND abs({x}) < {LARGEST}D, try_cast({x} AS {type_.spark}), NULL)"
    scaled = f"rint({x} * 1e{digits}D)"
    is_exact = f"abs({scaled}) < 1e{_EXACT_DIGITS}D AND {scaled} / 1e{digits}D = {x}"
    unit = f"0.{'1'.zfill(digits)}BD"
    number = f"CAST(CAST({scaled} AS BIGINT) AS DECIMAL({_EXACT_DIGITS}, 0)) * {unit}"
    return f"CASE WHEN {is_exact} THEN try_cast({number} AS {type_.spark}) END"


def _text(value: str, kind: DataType) -> tuple[str, str | None]:
    """Converts any value to its text, as for JSON."""
    if isinstance(kind, StringType):
        return value, None
    if isinstance(kind, BinaryType):
        text = f"IF(is_valid_utf8({value}), CAST({value} AS STRING), NULL)"
        return text, f"{value} IS NOT NULL AND {text} IS NULL"
    if isinstance(kind, TimestampType | TimestampNTZType):
        return timestamp_text(value, kind), None
    if isinstance(kind, FloatType | DoubleType):
        return java_text(value), None
    if isinstance(kind, ArrayType | MapType | StructType):
        return f"to_json({value}, {JSON_OPTIONS})", None
    return f"CAST({value} AS STRING)", None


def readable(value: str, kind: DataType) -> str:
    """Returns SQL for a value in messages: a float with its digits as a double, a moment to the microsecond."""
    if isinstance(kind, Nanoseconds):
        return f"timestamp_micros({value} div 1000 - int({value} % 1000 < 0))"
    return f"CAST({value} AS DOUBLE)" if isinstance(kind, FloatType) else value


def kind_of(kind: DataType) -> str:
    """Returns the type that `fields` gives: the widest one for numbers, as Spark infers for JSON."""
    if isinstance(kind, Unknown):
        return "unknown"
    return _KINDS.get(type(kind), kind.simpleString())


def common(kinds: set[str]) -> str:
    """Returns the common type of columns whose type differs between files; every value has a text."""
    if len(kinds) == 1:
        return next(iter(kinds))
    return "double" if kinds == {"bigint", "double"} else "string"
