"""Writes the tuples of an output for other programs: lines of JSON, tables, CSV, and a file of Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import IO, Any

from cedilla.compiler.regions.affine import Affine
from cedilla.runtime.tools.reading.reading import Reading
from cedilla.runtime.tools.stream_tools.row_texts import json_line, tables

Functions = Mapping[str, Affine]
"""Attribute -> the function into the unit that is read; none for canonical values."""


def texts_of(reading: Reading, functions: Functions, form: str, *, follow: bool = False) -> Iterator[str]:
    """Yields the tuples of an output as texts: `jsonl`, `table` or `csv`. `follow`: waits for more, for ever."""
    if form == "csv":
        yield from _csv(reading, functions)
        return
    rows = reading.follow() if follow else _rows(reading, functions)
    if form == "table":
        yield from tables(rows)
        return
    yield from (json_line(row) for row in rows if row is not None)


def write_parquet(reading: Reading, functions: Functions, to: IO[bytes]) -> None:
    """Writes the tuples of an output as one file of Parquet."""
    from pyarrow import parquet

    content = io.BytesIO()  # Parquet seeks, and a pipe cannot
    parquet.write_table(_table(reading, functions), content)
    to.write(content.getvalue())
    to.flush()


def _rows(reading: Reading, functions: Functions) -> Iterable[Mapping[str, Any]]:
    if not functions:
        return reading.rows()
    rows = _table(reading, functions).to_pylist()
    return ({name: value for name, value in row.items() if value is not None} for row in rows)


def _table(reading: Reading, functions: Functions) -> Any:
    table = reading.arrow()
    if not functions:
        return table
    from cedilla.runtime.tools.reading.named_units import in_named_units

    return in_named_units(table, functions)


def _csv(reading: Reading, functions: Functions) -> Iterator[str]:
    """Yields the header and the records; a tuple without an attribute has an empty field."""
    table = _table(reading, functions)
    names = table.column_names
    if not names:
        return
    yield _record(names)
    for batch in table.to_batches():
        for row in batch.to_pylist():
            yield _record([_field(row[name]) for name in names])


def _record(fields: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(fields)
    return out.getvalue()


def _field(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case Decimal():
            return f"{value:f}"
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case list():
            return json_line({"": value})[len('{"": ') : -1]
        case _:
            return str(value)
