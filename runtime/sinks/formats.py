"""The formats that sinks can have, by the names of the language."""

from cedilla.runtime.sinks.base import Sink
from cedilla.runtime.sinks.jsonl import JsonLinesSink
from cedilla.runtime.sinks.xml import XmlSink

SINKS: dict[str, type[Sink]] = {"json": JsonLinesSink, "xml": XmlSink}
"""The same names as `cedilla.compiler.planner.FORMATS`."""
