"""An Iceberg table of a catalog as a sink: an epoch is one snapshot, whose summary has its number.

A property of the table has the number, too, in the same commit, because snapshots expire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from cedilla.runtime.connectors.formats.sinks.table import TableSink
from cedilla.runtime.connectors.storage.delta import EPOCH_KEY
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.iceberg import (
    IcebergTable,
    created_table,
    load_pyiceberg,
    opened_iceberg,
    refused_commits,
)

_ATTEMPTS = 5
"""The greatest number of times that a commit is tried, if other writers are faster."""
_NAMES = {"int": "integer", "timestamptz": "timestamp", "timestamp": "timestamp_ntz"}
"""Names of types in Iceberg whose names in Spark are others."""


class IcebergSink(TableSink):
    """An epoch is one snapshot of the table."""

    format: ClassVar[str] = "iceberg"

    def __init__(
        self, files: Files, path: str, relation: str, table: str, latest: Sequence[str] = ()
    ) -> None:
        super().__init__(files, path, relation, table, latest)
        self._last: dict[str, IcebergTable] = {}

    def _now(self, table: str) -> IcebergTable | None:
        """Returns the present table, by the connection of the look before; `None` if it does not exist."""
        opened = opened_iceberg(self._files, table, self._last.get(table))
        if opened is not None:
            self._last[table] = opened
        return opened

    @classmethod
    def check_library(cls) -> None:
        load_pyiceberg()

    def types_of(self, table: str) -> Mapping[str, object]:
        opened = self._now(table)
        return (
            {}
            if opened is None
            else {of.name: _type(of.field_type) for of in opened.metadata.schema().fields}
        )

    def last_of(self, table: str) -> int | None:
        return _last(self._now(table))

    def append(self, table: str, number: int, rows: Callable[[], pa.RecordBatchReader]) -> None:
        for attempt in range(_ATTEMPTS):
            opened = self._now(table)
            loaded = created_table(table, rows().schema) if opened is None else opened.loaded
            last = _last(opened)
            if last is not None and last >= number:
                return  # the catalog has committed it although its answer was lost
            with refused_commits(table, is_last=attempt == _ATTEMPTS - 1):
                _commit(loaded, number, rows())


def _last(opened: IcebergTable | None) -> int | None:
    """Returns the last epoch in a table; `None` if there is none."""
    number = None if opened is None else opened.metadata.properties.get(EPOCH_KEY)
    return None if number is None else int(number)


def _commit(loaded: Any, number: int, rows: pa.RecordBatchReader) -> None:
    """Appends rows to a table of the library, in one commit with the columns that are new, and the epoch. The library
    takes those of a table with partitions as a whole only."""
    content = rows if loaded.spec().is_unpartitioned() else rows.read_all()
    with loaded.transaction() as change:
        with change.update_schema() as schema:
            schema.union_by_name(content.schema)
        change.set_properties({EPOCH_KEY: str(number)})
        change.append(content, snapshot_properties={EPOCH_KEY: str(number)})


def _type(of: Any) -> object:
    """Returns a type of the library in the JSON of Spark."""
    if hasattr(of, "element_type"):
        return [_type(of.element_type)]
    text = str(of).replace(" ", "")
    return _NAMES.get(text, text)
