"""Reads some epochs of an output. Those before are read for their accents only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cedilla.runtime.connectors.records.entries import entries_of
from cedilla.runtime.connectors.records.lines import files_of
from cedilla.runtime.engines.spark.columns import type_named
from cedilla.runtime.tools.reading.reading import Reading
from cedilla.runtime.tools.reading.units import Units

if TYPE_CHECKING:
    import pyarrow as pa

_PREFIX = "epoch="


def last_epoch(folder: str) -> int:
    """Returns the number of the last committed epoch of an output; -1 before the first."""
    return max(
        (int(folder_.name.removeprefix(_PREFIX)) for folder_ in Path(folder).glob(f"{_PREFIX}*")), default=-1
    )


def rows_between(
    reading: Reading, after: int, last: int, schema: pa.Schema
) -> tuple[Iterator[dict[str, Any]], Units]:
    """Returns the tuples of the epochs after one up to another one, in canonical units, and these units.

    `schema`: the types of attributes that the reading does not declare. Raises `DiagnosticError` as `Reading.rows`.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    types = {field.name: type_named(field.dataType.simpleString()) for field in from_arrow_schema(schema)}
    units = Units({**types, **reading.types})
    files = [file for file in files_of(reading.folder) if _is_read(file, after, last)]
    entries = lambda types: chain.from_iterable(entries_of(file, types) for file in files)  # noqa: E731
    return reading.decoded(entries, units, None), units


def _is_read(file: Path, after: int, last: int) -> bool:
    folder = file.parent.name
    if not folder.startswith(_PREFIX):
        return False
    number = int(folder.removeprefix(_PREFIX))
    return number <= last and (number > after or "tuples" not in file.name)
