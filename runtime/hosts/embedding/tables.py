"""Frames as Arrow tables with columns that attributes read, and as rows of JSON."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from cedilla.compiler.plan.sources import Source
from cedilla.grammar.diagnostics import failure

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["spark", "pandas", "polars", "arrow", "rows", "path"]
"""Kinds of data that a source can have."""

_UNREAD = ("is_duration", "is_time", "is_interval", "is_union")
"""Tests of Arrow for types that no attribute reads. Parquet would have some of them as plain whole numbers."""


def prepared_frame(data: Any, kind: Kind) -> Any:
    """Returns a frame that can be read more than once, with names for all of its columns: those of the index of pandas
    are among them."""
    if kind == "arrow":
        return table_of(data, kind)
    if kind == "pandas" and any(name is not None for name in data.index.names):
        return data.reset_index()
    return data


def table_of(data: Any, kind: Kind) -> pa.Table:
    """Returns a frame as an Arrow table of plain columns. NaN of pandas is null, as pandas means it.

    Raises `DiagnosticError` RQ488 for a column of several types, or of one that no attribute reads.
    """
    import pyarrow as pa

    if kind == "spark":
        table = data.toArrow()
    elif kind == "pandas":
        table = _of_pandas(data)
    else:
        table = pa.table(data)
    return table.cast(pa.schema([(field.name, _plain(field.name, field.type)) for field in table.schema]))


def _of_pandas(data: Any) -> pa.Table:
    import pyarrow as pa

    try:
        table = pa.Table.from_pandas(data, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as problem:
        message = (
            f"the frame is not a table of columns with one type each: {' '.join(map(str, problem.args))}"
        )
        raise failure("RQ488", message, hint='one type for each column, `df["x"].astype(str)`') from None
    _check_zones(data, table)
    return table


def _check_zones(data: Any, table: pa.Table) -> None:
    """Raises `DiagnosticError` RQ488 for a column with moments and with times without a zone: Arrow takes all of them
    for the kind of the first."""
    import pyarrow as pa

    for position, field in enumerate(table.schema):
        column = data.iloc[:, position]
        if pa.types.is_timestamp(field.type) and column.dtype == object:
            aware = {getattr(value, "tzinfo", None) is not None for value in column.dropna()}
            if len(aware) > 1:
                message = f"column `{field.name}` has times with a zone and times without one"
                raise failure("RQ488", message, hint="times of one kind in each column")


def _plain(name: str, type_: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        return _plain(name, type_.value_type)
    is_extension = isinstance(type_, pa.BaseExtensionType)
    if is_extension or any(getattr(pa.types, test)(type_) for test in _UNREAD):
        raise unread(name, str(type_))
    if pa.types.is_float16(type_):  # Parquet has it, and engines do not
        return pa.float32()
    for position in range(type_.num_fields):
        _plain(name, type_.field(position).type)
    return pa.string() if pa.types.is_string_view(type_) or pa.types.is_large_string(type_) else type_


def check_columns(frame: Any, source: Source, renamed: Mapping[str, str]) -> None:
    """Raises `DiagnosticError` RQ488 for a column of a DataFrame of Spark of a type that no attribute reads, or with
    local times for an attribute with a zone. `renamed`: as `columns_of` returns it."""
    for name, type_ in frame.dtypes:
        if type_.startswith(("interval", "time(")):
            raise unread(name, type_)
        zone = source.zones.get(renamed.get(name, name))
        if zone is not None and type_ == "timestamp_ntz":
            message = f"column `{name}` has local times, and DataFrames of Spark are read as moments"
            hint = f'in a session in UTC: `to_utc_timestamp({name}, "{zone}")`'
            raise failure("RQ488", message, source.span, hint=hint)


def unread(name: str, type_: str) -> Exception:
    """Returns RQ488 for a column of a type that no attribute reads."""
    hint = "a column of numbers, texts or moments, `td.dt.total_seconds()`; or leave it out of the frame"
    return failure("RQ488", f"column `{name}` is of type {type_}, which no attribute reads", hint=hint)


def rows_of(table: pa.Table, zoned: Container[str]) -> Iterator[dict[str, Any]]:
    """Yields the rows of a table as JSON Lines have them: moments and dates of all years are texts.

    `zoned`: the columns whose times without a zone are local ones; others are in UTC, as in Parquet. Raises
    `DiagnosticError` RQ488 for bytes that are not text.
    """
    import pyarrow as pa

    for position, field in enumerate(table.schema):
        column, type_ = table.column(position), field.type
        if pa.types.is_timestamp(type_):
            table = table.set_column(position, field.name, _moments(column, is_local=field.name in zoned))
        elif pa.types.is_temporal(type_) or pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
            try:
                table = table.set_column(position, field.name, column.cast(pa.string()))
            except pa.ArrowInvalid:
                message = f"column `{field.name}` has bytes that are not UTF-8"
                raise failure("RQ488", message, hint="a column of texts") from None
    for batch in table.to_batches():
        yield from batch.to_pylist()


def _moments(column: pa.ChunkedArray, *, is_local: bool) -> pa.ChunkedArray:
    """Returns times as texts to the microsecond, as outputs have them."""
    import pyarrow as pa
    import pyarrow.compute

    compute: Any = pyarrow.compute
    unit, is_local = column.type.unit, is_local and column.type.tz is None
    plain = column.cast(pa.timestamp(unit))  # those with a zone are in UTC
    if unit == "ns":
        plain = compute.floor_temporal(plain, unit="microsecond").cast(pa.timestamp("us"))
    text = compute.replace_substring(plain.cast(pa.string()), " ", "T", max_replacements=1)
    end = {"s": ".000000", "ms": "000"}.get(unit, "") + ("" if is_local else "Z")
    return compute.binary_join_element_wise(text, end, "")
