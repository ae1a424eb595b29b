"""Reads the rows of local Parquet files as lines of a stream, in the same way as `run`."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Generator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cedilla.runtime.connectors.records.field_names import OWN_NAMES, FieldNames
from cedilla.runtime.connectors.records.foreign import (
    NoValue,
    Unreadable,
    damage_told,
    decoded,
    python_values,
    unreadable_parquet,
)
from cedilla.runtime.connectors.records.json_objects import NoObject
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.connectors.records.near_markers import KEYS
from cedilla.runtime.connectors.records.typed_rows import TypedRow, compact_text

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"PAR1"
"""The first bytes of a file."""


def parquet_lines(file: Path, names: FieldNames = OWN_NAMES) -> Generator[Line]:
    """Yields the rows of a file, `-` is standard input; the text of each is its object in JSON, its place the index of
    the row from 0. An empty file has none, because its writer is not finished. `names`: those of columns in the stream.

    Raises `DiagnosticError` RQ414 for a file that is not Parquet, or is damaged.
    """
    from pyarrow import parquet

    is_stdin = str(file) == "-"
    if not is_stdin and file.stat().st_size == 0:
        return
    try:
        with (
            damage_told(),
            BytesIO(sys.stdin.buffer.read()) if is_stdin else file.open("rb") as stream,
            parquet.ParquetFile(stream, coerce_int96_timestamp_unit="us") as table,
        ):
            index = 0
            own = names.columns(table.schema_arrow)
            kinds = _kinds(table.schema_arrow, own)
            for batch in table.iter_batches(columns=[*own]):
                columns = [_values(batch.column(column)) for column in own]
                for values in zip(*columns, strict=True) if columns else [()] * batch.num_rows:
                    yield _line(f"{file}:{index}", kinds, values)
                    index += 1
    except Unreadable as problem:
        raise unreadable_parquet(str(file), problem) from None


def last_rows(stream: IO[bytes], count: int) -> list[dict[str, Any]]:
    """Returns the last rows of an open file as objects of JSON; reads only the row groups that have them."""
    from pyarrow import parquet

    with parquet.ParquetFile(stream) as file:
        groups = file.num_row_groups
        first, rows = groups, 0
        while first and rows < count:
            first -= 1
            rows += file.metadata.row_group(first).num_rows
        table = file.read_row_groups(range(first, groups)).slice(max(0, rows - count)).combine_chunks()
        columns = [[_exact(v) for v in _values(column.combine_chunks())] for column in table.columns]
        return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def kind_of(type_: pa.DataType) -> str:
    """Returns the name that engines give the type of a column; Arrow's name for a type that they do not have."""
    import pyarrow as pa

    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return kind_of(type_.storage_type)
    if isinstance(type_, pa.DictionaryType):
        return kind_of(type_.value_type)
    if isinstance(type_, pa.MapType):
        return f"map<{kind_of(type_.key_type)},{kind_of(type_.item_type)}>"
    if isinstance(type_, pa.StructType):
        return f"struct<{','.join(f'{field.name}:{kind_of(field.type)}' for field in type_)}>"
    if types.is_nested(type_) and not types.is_union(type_):
        return f"array<{kind_of(type_.value_type)}>"  # type: ignore[attr-defined] - a list of some form
    if types.is_timestamp(type_):
        return "timestamp_ntz" if type_.tz is None else "timestamp"
    if types.is_decimal128(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if types.is_date(type_):
        return "date"
    for is_kind, name in (
        (types.is_string, "string"),
        (types.is_large_string, "string"),
        (types.is_string_view, "string"),
        (types.is_binary, "binary"),
        (types.is_large_binary, "binary"),
        (types.is_fixed_size_binary, "binary"),
    ):
        if is_kind(type_):
            return name
    return _NAMES.get(str(type_), str(type_))


_NAMES = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "decimal(20,0)",
    "halffloat": "float",
}
"""Arrow's names of types whose names in engines are others."""


def _kinds(schema: pa.Schema, names: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the types of columns by their names in the stream. Raises `Unreadable` if two have one name in the file,
    or a column of markers has no texts."""
    counts = Counter[str](schema.names)
    kinds: dict[str, str] = {}
    for field in schema:
        if counts[field.name] > 1:
            raise Unreadable(f"two of its columns have the name `{field.name}`")
        if (name := names.get(field.name)) is None:
            continue
        kinds[name] = kind_of(field.type)
        if name in KEYS and kinds[name] not in ("string", "null"):
            raise Unreadable(f"its column `{name}` is {kinds[name]}, and has to be string")
    return kinds


def _values(column: pa.Array) -> list[Any]:
    """Returns the values of a column as those of JSON, and doubles unchanged."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":  # Python has no nanoseconds
        floor: Any = pc.floor_temporal(column, unit="microsecond")  # type: ignore[attr-defined]
        column = floor.cast(pa.timestamp("us", column.type.tz))
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        # Clocks of a zone may show a year that Python does not have.
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    is_map = isinstance(column.type, pa.MapType)
    return [_plain(dict(v) if is_map and v is not None else v) for v in python_values(column)]


def _plain(value: Any) -> Any:
    """Returns a value as one of JSON; `NoObject` for one that no attribute reads."""
    match value:
        case NoValue():
            return NoObject()
        case datetime():
            moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return f"{moment.isoformat(timespec='microseconds')}Z"
        case date():
            return value.isoformat()
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return NoObject()
        case list() | tuple():
            return [_plain(element) for element in value]  # type: ignore[reportUnknownVariableType]
        case dict():
            return {str(name): _plain(inner) for name, inner in value.items()}  # type: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        case None | bool() | int() | float() | str() | Decimal():
            return value
        case _:
            return str(value)


def _line(position: str, kinds: Mapping[str, str], values: tuple[Any, ...]) -> Line:
    fields = {name: value for name, value in zip(kinds, values, strict=False) if value is not None}
    text = compact_text({name: _text_value(value) for name, value in fields.items()})
    if not fields.keys().isdisjoint(KEYS):
        return Line(text, position)
    row = TypedRow({name: _exact(value) for name, value in fields.items()})
    row.line, row.kinds = text, kinds
    return Line(text, position, item=row)


def _exact(value: Any) -> Any:
    """Returns a value as objects of JSON have it: a number with a point is a decimal."""
    if isinstance(value, float) and math.isfinite(value):
        return Decimal(repr(value))
    return [_exact(element) for element in value] if isinstance(value, list) else value  # type: ignore[reportUnknownVariableType]


def _text_value(value: Any) -> Any:
    """Returns a value for a text. Bytes that are not UTF-8 become replacement characters."""
    return decoded(b"\xff") if isinstance(value, NoObject) else value
