"""Formats that sinks can have, by the names of the language."""

from cedilla.runtime.connectors.formats.sinks.delta import DeltaSink
from cedilla.runtime.connectors.formats.sinks.iceberg import IcebergSink
from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.connectors.formats.sinks.parquet import ParquetSink
from cedilla.runtime.connectors.formats.sinks.sink import FolderSink
from cedilla.runtime.connectors.formats.sinks.table import TableSink
from cedilla.runtime.connectors.formats.sinks.xml import XmlSink

SINKS: dict[str, type[FolderSink]] = {"json": JsonLinesSink, "parquet": ParquetSink, "xml": XmlSink}
"""Formats of folders: the names of `cedilla.compiler.plan.formats.SINKS` without those of topics and tables."""
TABLE_SINKS: dict[str, type[TableSink]] = {"delta": DeltaSink, "iceberg": IcebergSink}
"""Formats of tables with a log."""
