"""The formats that sources can have, by the names of the language."""

from cedilla.runtime.sources.base import Format
from cedilla.runtime.sources.jsonl import JsonLines
from cedilla.runtime.sources.parquet import Parquet
from cedilla.runtime.sources.xml import Xml

FORMATS: dict[str, Format] = {"json": JsonLines(), "parquet": Parquet(), "xml": Xml()}
"""The same names as `cedilla.compiler.planner.FORMATS`."""
