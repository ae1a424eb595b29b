"""The formats that sinks can have, by the names of the language."""

from cedilla.runtime.formats.jsonl_sink import JsonLinesSink
from cedilla.runtime.formats.parquet_sink import ParquetSink
from cedilla.runtime.formats.sink import FolderSink
from cedilla.runtime.formats.xml_sink import XmlSink

SINKS: dict[str, type[FolderSink]] = {"json": JsonLinesSink, "parquet": ParquetSink, "xml": XmlSink}
"""The same names as `cedilla.compiler.plan.clauses.FORMATS`."""
