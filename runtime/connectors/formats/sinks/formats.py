"""Formats that sinks can have, by the names of the language."""

from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.connectors.formats.sinks.parquet import ParquetSink
from cedilla.runtime.connectors.formats.sinks.sink import FolderSink
from cedilla.runtime.connectors.formats.sinks.xml import XmlSink

SINKS: dict[str, type[FolderSink]] = {"json": JsonLinesSink, "parquet": ParquetSink, "xml": XmlSink}
"""Formats of folders: the names of `cedilla.compiler.plan.formats.SINKS` without those of topics and Delta."""
