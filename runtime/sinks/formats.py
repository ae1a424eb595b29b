"""The formats that sinks can have, by the names of the language."""

from cedilla.runtime.sinks.base import FolderSink
from cedilla.runtime.sinks.jsonl import JsonLinesSink
from cedilla.runtime.sinks.parquet import ParquetSink
from cedilla.runtime.sinks.xml import XmlSink

SINKS: dict[str, type[FolderSink]] = {"json": JsonLinesSink, "parquet": ParquetSink, "xml": XmlSink}
"""The same names as `cedilla.compiler.planner.FORMATS`."""
