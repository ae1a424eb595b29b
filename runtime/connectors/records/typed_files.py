"""Writes lines of JSON as a Parquet file, with the types of attributes: for senders, and for tests of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

from cedilla.compiler.expressions.types import Type
from cedilla.runtime.connectors.records.json_objects import json_text, parse_line

if TYPE_CHECKING:
    import pyarrow as pa


def parquet_of(lines: Iterable[str], types: Mapping[str, Type]) -> bytes:
    """Returns a file with a row for each line, tuple or marker. `types`: those of attributes; a column with a value of
    another type has the type of its values. Raises `ValueError` for a line without an object."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = [parse_line(line) for line in lines if line.strip()]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _column([row.get(name) for row in rows], types.get(name)) for name in names}
    content = BytesIO()
    parquet.write_table(pa.table(columns), content)
    return content.getvalue()


def _column(values: list[Any], type_: Type | None) -> pa.Array:
    import pyarrow as pa

    from cedilla.runtime.connectors.records.arrow_types import arrow_type

    if type_ is not None:
        try:
            arrow = arrow_type(type_)
            stored = {"timestamp": pa.int64(), "date": pa.int32()}.get(type_.name, arrow)
            return pa.array([_stored(value, type_) for value in values], stored).cast(arrow)
        except (ValueError, TypeError, OverflowError, pa.ArrowException):
            pass  # a value of another type: the reader judges it
    try:
        return pa.array([_stored(value, None) for value in values])
    except pa.ArrowException:
        return pa.array([None if value is None else json_text(value) for value in values], pa.string())


def _stored(value: Any, type_: Type | None) -> Any:
    """Returns a value of JSON for a column; moments and days as their numbers."""
    if value is None:
        return None
    if isinstance(value, list):
        element = None if type_ is None else type_.element
        return [_stored(inner, element) for inner in value]  # type: ignore[reportUnknownVariableType]
    if type_ is None or type_.name == "double":
        return float(value) if _is_decimal(value) else value
    return type_.moment(value) if type_.name in ("timestamp", "date") else value


def _is_decimal(value: Any) -> bool:
    return not isinstance(value, bool | int | str | dict)
