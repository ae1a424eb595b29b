"""The formats that sinks can have, by the names of the language."""

from cedilla.runtime.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.formats.sinks.parquet import ParquetSink
from cedilla.runtime.formats.sinks.sink import FolderSink
from cedilla.runtime.formats.sinks.xml import XmlSink

SINKS: dict[str, type[FolderSink]] = {"json": JsonLinesSink, "parquet": ParquetSink, "xml": XmlSink}
"""The same names as `cedilla.compiler.plan.clauses.FORMATS`."""
