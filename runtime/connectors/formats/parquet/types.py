"""The types that Spark's Parquet reader gives to the columns of a file, derived from the file's schema in Arrow.

The structure of a column, its lists, maps and groups, is Arrow's; both follow the rules of the format. The physical and
the logical type decide the type of a leaf; Spark ignores the types that Arrow itself has stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from attrs import frozen
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from cedilla.runtime.connectors.records.foreign import Unreadable, damage_told

Logical = Mapping[str, Any]
"""A logical type as Arrow writes it in JSON."""


@frozen
class Settings:
    """Settings of a session that change the types that its reader gives."""

    nanos_as_long: bool = False
    binary_as_string: bool = False
    infers_ntz: bool = True


@frozen
class Column:
    """A column of a file: its type, `Unknown` if Spark has none for it, and the number of its leaf unless it is
    nested. `is_plain`: Sail, too, reads its values as that type."""

    kind: DataType
    leaf: int | None
    is_plain: bool = False


class Nanoseconds(DataType):
    """Moments in nanoseconds, which pandas writes and Spark has no type for: a scan reads them as longs."""

    @classmethod
    def typeName(cls) -> str:
        return "timestamp_ns"


HALF = "Float16"
"""The logical type of half floats, which Spark does not read; `pyarrow` does."""


def has_halves(schema: Any) -> bool:
    """Returns True if a column of a `pyarrow.parquet.ParquetSchema` has half floats, also inside of another type."""
    leaves = map(schema.column, range(len(schema)))
    return any(
        leaf.length == 2 and json.loads(leaf.logical_type.to_json())["Type"] == HALF for leaf in leaves
    )


class Unknown(DataType):
    """A type that Spark does not have, with its name in Arrow, like `time32[ms]`. `shown`: the type that its values
    have in messages and in the quarantine, if they can."""

    def __init__(self, name: str, shown: DataType | None = None) -> None:
        self._name = name
        self.shown = shown

    def simpleString(self) -> str:
        return self._name


def read_as(kind: DataType) -> DataType:
    """Returns the type with which a scan reads a column."""
    return LongType() if isinstance(kind, Nanoseconds) else kind


def columns_of(schema: Any, settings: Settings) -> dict[str, Column]:
    """Returns the columns of a `pyarrow.parquet.ParquetSchema`."""
    try:
        with damage_told():
            arrow: pa.Schema = schema.to_arrow_schema()
    except Unreadable as problem:  # only the names are known
        leaves = (schema.column(number) for number in range(len(schema)))
        unknown = Column(Unknown(f"that cannot be read: {problem}"), None)
        return {leaf.path.partition(".")[0]: unknown for leaf in leaves}
    kinds = _Kinds(schema, settings)
    return {field.name: kinds.column(field.type) for field in arrow}


def repeated(fields: Iterable[pa.Field], inside: str = "") -> str | None:
    """Returns the path of a name that two of some fields have, or two inside of one of them; `None` for none."""
    names = set[str]()
    for field in fields:
        path = f"{inside}{field.name}"
        if field.name in names:
            return path
        names.add(field.name)
        if (path_inside := repeated(_fields_of(field.type), f"{path}.")) is not None:
            return path_inside
    return None


def _fields_of(arrow: pa.DataType) -> Iterable[pa.Field]:
    """Returns the fields of a structure, or of the values of a list or a map; none for other types."""
    arrow = _stored(arrow)
    if isinstance(arrow, pa.StructType):
        return list(arrow)
    if isinstance(arrow, pa.MapType):
        return (*_fields_of(arrow.key_type), *_fields_of(arrow.item_type))
    return _fields_of(arrow.value_type) if pa.types.is_nested(arrow) else ()  # type: ignore[attr-defined]


class _Kinds:
    """Visits the leaves of a schema in the order of its columns."""

    def __init__(self, schema: Any, settings: Settings) -> None:
        self._schema = schema
        self._settings = settings
        self._next = 0

    def column(self, arrow: pa.DataType) -> Column:
        first = self._next
        kind = self._kind(arrow) or Unknown(str(arrow), _readable_type(_stored(arrow)))
        if isinstance(kind, IntegerType) and pa.types.is_null(_stored(arrow)):
            kind = NullType()  # Spark has the type of numbers that its nulls are stored as
        return Column(kind, None if pa.types.is_nested(_stored(arrow)) else first, _is_plain(kind, arrow))

    def _inner(self, arrow: pa.DataType) -> DataType | None:
        """Returns the type inside of another one; `None` for nanoseconds, which no scan can read there."""
        kind = self._kind(arrow)
        return None if isinstance(kind, Nanoseconds) else kind

    def _kind(self, arrow: pa.DataType) -> DataType | None:
        arrow = _stored(arrow)
        if isinstance(arrow, pa.MapType):
            key, item = self._inner(arrow.key_type), self._inner(arrow.item_type)
            return None if key is None or item is None else MapType(key, item)
        if isinstance(arrow, pa.StructType):
            fields = [(field.name, self._inner(field.type)) for field in arrow]
            readable = [StructField(name, kind) for name, kind in fields if kind is not None]
            return StructType(readable) if len(readable) == len(fields) else None
        if pa.types.is_nested(arrow):
            element = self._inner(arrow.value_type)  # type: ignore[attr-defined] - a list of some form
            return None if element is None else ArrayType(element)
        self._next += 1
        return _leaf(self._schema.column(self._next - 1), self._settings)


def _is_plain(kind: DataType, arrow: pa.DataType) -> bool:
    """Returns True if Sail reads a column as a type that Spark has for it. It takes the types of Arrow that a file may
    state into account, and refuses some, such as dictionaries."""
    is_ = pa.types
    match kind:
        case ByteType() | ShortType() | IntegerType() | LongType():
            return is_.is_integer(arrow)
        case BooleanType():
            return is_.is_boolean(arrow)
        case DateType():
            return is_.is_date32(arrow)
        case FloatType():
            return is_.is_float32(arrow)
        case DoubleType():
            return is_.is_float64(arrow)
        case StringType():
            return is_.is_string(arrow) or is_.is_large_string(arrow) or is_.is_string_view(arrow)
        case TimestampType() | TimestampNTZType():
            return is_.is_timestamp(arrow) and arrow.unit in ("ms", "us")
        case DecimalType():
            return is_.is_decimal128(arrow)
        case _:
            return False


def _readable_type(arrow: pa.DataType) -> DataType | None:
    """Returns the type that shows the values of a type of Arrow that Spark does not have."""
    if pa.types.is_fixed_size_binary(arrow):
        return BinaryType()
    return StringType() if pa.types.is_time(arrow) or pa.types.is_decimal256(arrow) else None


def _stored(arrow: pa.DataType) -> pa.DataType:
    return arrow.storage_type if isinstance(arrow, pa.BaseExtensionType) else arrow


def arrow_of(kind: DataType) -> pa.DataType:
    """Returns the Arrow type for a type in `columns_of`."""
    match kind:
        case DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case ArrayType():
            return pa.list_(arrow_of(kind.elementType))
        case MapType():
            return pa.map_(arrow_of(kind.keyType), arrow_of(kind.valueType))
        case StructType():
            return pa.struct([(field.name, arrow_of(field.dataType)) for field in kind.fields])
        case _:
            return _ARROW[type(kind)]


_ARROW: Mapping[type[DataType], pa.DataType] = {
    BooleanType: pa.bool_(),
    ByteType: pa.int8(),
    ShortType: pa.int16(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    StringType: pa.string(),
    BinaryType: pa.binary(),
    DateType: pa.date32(),
    TimestampType: pa.timestamp("us", "UTC"),
    TimestampNTZType: pa.timestamp("us"),
}


def _leaf(column: Any, settings: Settings) -> DataType | None:
    logical: Logical = json.loads(column.logical_type.to_json())
    name = "None" if logical["Type"] == "Null" else logical["Type"]
    if logical["Type"] == "Null" and column.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return None  # an interval
    match column.physical_type:
        case "BOOLEAN" if name == "None":
            return BooleanType()
        case "FLOAT" if name == "None":
            return FloatType()
        case "DOUBLE" if name == "None":
            return DoubleType()
        case "INT96":
            return TimestampType()
        case "INT32":
            return _int32(column, name, logical)
        case "INT64":
            return _int64(column, name, logical, settings)
        case "BYTE_ARRAY":
            return _bytes(column, name, settings)
        case "FIXED_LEN_BYTE_ARRAY" if name == "Decimal":
            return _decimal(column)
        case "FIXED_LEN_BYTE_ARRAY" if name == HALF:
            return FloatType()
        case "FIXED_LEN_BYTE_ARRAY" if name == "None":
            return BinaryType()
        case _:
            return None


def _int32(column: Any, name: str, logical: Logical) -> DataType | None:
    if name == "Int":
        kinds = _SIGNED if logical["isSigned"] else _UNSIGNED
        return kinds.get(logical["bitWidth"])
    if name == "Decimal":
        return _decimal(column)
    return {"None": IntegerType(), "Date": DateType()}.get(name)


_SIGNED = {8: ByteType(), 16: ShortType(), 32: IntegerType()}
_UNSIGNED = {8: ShortType(), 16: IntegerType(), 32: LongType()}
"""Types by bits, for integers that are stored in 32 bits."""


def _int64(column: Any, name: str, logical: Logical, settings: Settings) -> DataType | None:
    if name == "Timestamp":
        if logical["timeUnit"] == "nanoseconds":
            return LongType() if settings.nanos_as_long else Nanoseconds()
        is_moment = logical["isAdjustedToUTC"] or not settings.infers_ntz
        return TimestampType() if is_moment else TimestampNTZType()
    if name == "Int":
        return LongType() if logical["isSigned"] else DecimalType(20, 0)
    if name == "Decimal":
        return _decimal(column)
    return LongType() if name == "None" else None


def _bytes(column: Any, name: str, settings: Settings) -> DataType | None:
    if name == "Decimal":
        return _decimal(column)
    if name in ("String", "Enum", "JSON"):
        return StringType()
    if name == "None":
        return StringType() if settings.binary_as_string else BinaryType()
    return BinaryType() if name == "BSON" else None


def _decimal(column: Any) -> DataType | None:
    return DecimalType(column.precision, column.scale) if column.precision <= _MAX_DIGITS else None


_MAX_DIGITS = 38
