"""Formats that sources can have, by the names of the language."""

from cedilla.compiler.plan import Source
from cedilla.compiler.plan.telemetry import REQUESTS
from cedilla.runtime.formats.csv.source import Csv
from cedilla.runtime.formats.jsonl.records import Records
from cedilla.runtime.formats.jsonl.source import JsonLines
from cedilla.runtime.formats.marked import Marked
from cedilla.runtime.formats.otlp.records import RequestRecords
from cedilla.runtime.formats.otlp.source import Otlp
from cedilla.runtime.formats.parquet.source import DeltaFiles, Parquet
from cedilla.runtime.formats.source import Format
from cedilla.runtime.formats.xml.source import Xml

FORMATS: dict[str, Format] = {
    "csv": Csv(),
    "delta": DeltaFiles(),
    "otlp": Otlp(),
    "json": JsonLines(),
    "kafka": Records(),
    "kafka_otlp": RequestRecords(),
    "parquet": Marked(Parquet()),  # outputs have files of markers with their tuples
    "xml": Xml(),
}
"""Keys are those of `cedilla.compiler.plan.formats.SOURCES`."""

_MARKED: dict[str, Format] = {
    name: format_ if isinstance(format_, Marked) else Marked(format_) for name, format_ in FORMATS.items()
}


_NESTED: dict[str, type[JsonLines]] = {"json": JsonLines, "kafka": Records}


def format_of(source: Source) -> Format:
    """Returns the format of a source's files, including those of its folder of markers."""
    if source.format in REQUESTS:
        points = RequestRecords(source) if source.is_topic else Otlp(source)
        return points if source.markers is None else Marked(points)
    if source.paths:
        nested = _NESTED[source.format](source.paths)
        return nested if source.markers is None else Marked(nested)
    return (FORMATS if source.markers is None else _MARKED)[source.format]
