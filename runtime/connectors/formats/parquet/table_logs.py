"""The logs of tables, by the formats of the language."""

from __future__ import annotations

from cedilla.runtime.connectors.formats.parquet.delta_log import DeltaLog
from cedilla.runtime.connectors.formats.parquet.iceberg_log import IcebergLog
from cedilla.runtime.connectors.formats.parquet.table_log import TableLog
from cedilla.runtime.connectors.storage.files import Files

LOGS: dict[str, type[TableLog]] = {"delta": DeltaLog, "iceberg": IcebergLog}
"""The log of each format whose paths are tables."""


def log_of(files: Files, source: str, format_: str, path: str) -> TableLog:
    """Returns the log of the table that a source reads."""
    return LOGS[format_](files, source, path)
