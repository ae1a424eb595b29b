"""Frames and rows as files that a query reads: of Spark, pandas, Arrow, and of libraries with Arrow's C interface, such
as polars."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from attrs import frozen

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.hosts.embedding.tables import Kind, rows_of, table_of

_WRITTEN = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}
"""Settings of Spark that change the values in Parquet files."""


def kind_of(data: object, name: str) -> Kind:
    """Returns the kind of a source's data. Raises `DiagnosticError` RQ488 for data of another kind."""
    if isinstance(data, str | os.PathLike):
        return "path"
    library, *_ = type(data).__module__.partition(".")
    if library == "pyspark" and hasattr(data, "toArrow"):
        return "spark"
    if library in ("pandas", "polars") and hasattr(data, "columns"):
        return library  # type: ignore[return-value]
    if hasattr(data, "__arrow_c_stream__"):
        return "arrow"
    if isinstance(data, Iterable) and not isinstance(data, Mapping | bytes):
        return "rows"
    message = f"`{name}` is given as {type(data).__name__}, which is not data of a source"
    hint = "a path, a DataFrame of Spark, pandas or polars, an Arrow table, or rows: dictionaries and lines"
    raise failure("RQ488", message, hint=hint)


def column_names(data: Any, kind: Kind) -> tuple[str, ...]:
    """Returns the names of a frame's columns; none for rows."""
    if kind == "rows":
        return ()
    return tuple(map(str, data.column_names if kind == "arrow" else data.columns))


@frozen
class StagedData:
    """Data of a source in a folder: its format, and its columns; `None` for rows, which may be nested objects."""

    folder: str
    format: str
    columns: tuple[str, ...] | None = None


def stage(
    data: Any,
    kind: Kind,
    folder: Path,
    renamed: Mapping[str, str],
    *,
    as_lines: bool,
    zoned: Container[str] = (),
) -> StagedData:
    """Writes data into a new folder. Files have one time, so that their names order them as the data.

    `renamed`: columns that are read as attributes with another name. `as_lines`: JSON Lines, not Parquet.
    `zoned`: the attributes that read local times.
    """
    if kind == "rows":
        folder.mkdir(parents=True)
        write_rows(data, folder / "0.jsonl")
        return StagedData(str(folder), "json")
    if kind == "spark" and not as_lines:
        frame = data.withColumnsRenamed({old: new for old, new in renamed.items() if old in data.columns})
        write_spark(frame, folder)
        return StagedData(str(folder), "parquet", tuple(frame.columns))
    table = table_of(data, kind)
    table = table.rename_columns([renamed.get(name, name) for name in table.column_names])
    folder.mkdir(parents=True)
    if as_lines:
        write_rows(rows_of(table, zoned), folder / "0.jsonl")
    else:
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, folder / "0.parquet")
    return StagedData(str(folder), "json" if as_lines else "parquet", tuple(table.column_names))


def write_spark(frame: Any, folder: Path) -> None:
    """Writes a DataFrame of Spark as Parquet files whose names order its rows. The settings of its session are
    restored afterwards."""
    from cedilla.runtime.engines.spark.settings import changed_settings

    with changed_settings(frame.sparkSession, _WRITTEN):
        frame.write.parquet(str(folder))
    folder.mkdir(parents=True, exist_ok=True)  # Sail writes no folder for no rows
    files = [*folder.iterdir()]
    latest = max((file.stat().st_mtime_ns for file in files), default=0)
    for file in files:
        os.utime(file, ns=(latest, latest))


def write_rows(rows: Iterable[Mapping[str, Any] | str], file: Path) -> None:
    """Writes rows as JSON Lines: objects without their undefined values, or unchanged lines.

    Raises `DiagnosticError` RQ488 for a value that JSON does not have.
    """
    with file.open("w", encoding="utf-8") as out:
        for number, row in enumerate(rows):
            try:
                out.write(f"{row if isinstance(row, str) else json_text(_value(row))}\n")
            except TypeError as problem:
                hint = "numbers, texts, booleans, dates and times, lists and dictionaries of these"
                raise failure(
                    "RQ488", f"row {number} is not an object of JSON: {problem}", hint=hint
                ) from None


def _value(value: Any) -> Any:
    """Returns a value of Python, numpy or pandas as one of JSON."""
    if isinstance(value, Mapping):
        return {str(n): _value(v) for n, v in value.items() if v is not None and str(v) != "<NA>"}
    if isinstance(value, list | tuple):
        return [_value(element) for element in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value.item() if type(value).__module__ == "numpy" else value
