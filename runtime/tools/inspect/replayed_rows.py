"""Rows of Parquet that a quarantine names, from the files where they were, as files for a replay.

The text of a row in the quarantine has no types, and its file has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import unquote

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.records.foreign import Unreadable, damage_told, unreadable_parquet
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.epochs.checkpoint.set_aside import SetAsideLine

if TYPE_CHECKING:
    import pyarrow as pa


def rows_again(lines: Iterable[SetAsideLine]) -> list[bytes]:
    """Returns the contents of new files with the rows of some lines, one for rows with the same columns.

    Raises `DiagnosticError`: RQ496 if a file is not there any more, RQ414 if it is not Parquet any more.
    """
    import pyarrow as pa
    from pyarrow import parquet

    tables: dict[pa.Schema, list[pa.Table]] = {}
    for file, of_file in groupby(sorted(lines, key=_by_place), key=lambda line: line.file):
        table = _rows(unquote(file, errors="surrogateescape"), [line.line for line in of_file])
        schema = table.schema.remove_metadata()
        alike = next((other for other in tables if other.equals(schema)), schema)
        tables.setdefault(alike, []).append(table.replace_schema_metadata())
    contents: list[bytes] = []
    for parts in tables.values():
        content = BytesIO()
        parquet.write_table(pa.concat_tables(parts), content)
        contents.append(content.getvalue())
    return contents


def _by_place(line: SetAsideLine) -> tuple[str, int]:
    return line.file, line.line


def _rows(file: str, numbers: list[int]) -> pa.Table:
    """Returns rows of a file by their indexes, which are in order; reads no row group without any."""
    import pyarrow as pa
    from pyarrow import parquet

    path = local_path(file)
    if path is None or not path.exists():
        hint = "--print writes its rows as JSON; mend them, and send them as a new file"
        raise failure("RQ496", f"{file} is not there any more, and its rows cannot be sent again", hint=hint)
    parts: list[pa.Table] = []
    first = 0
    try:
        with damage_told(), parquet.ParquetFile(path) as opened:
            for number in range(opened.num_row_groups):
                end = first + opened.metadata.row_group(number).num_rows
                if here := [row - first for row in numbers if first <= row < end]:
                    parts.append(opened.read_row_group(number).take(here))
                first = end
            return pa.concat_tables(parts or [opened.schema_arrow.empty_table()])
    except Unreadable as problem:
        raise unreadable_parquet(str(path), problem) from None
