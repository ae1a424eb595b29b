"""Formats that sources can have, by the names of the language."""

from collections.abc import Callable
from functools import cache

from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.plan.telemetry import REQUESTS
from cedilla.runtime.formats.csv.source import Csv
from cedilla.runtime.formats.jsonl.records import Records
from cedilla.runtime.formats.jsonl.source import JsonLines
from cedilla.runtime.formats.lines.text_format import TextFormat
from cedilla.runtime.formats.marked import Marked
from cedilla.runtime.formats.otlp.source import Otlp, RequestRecords
from cedilla.runtime.formats.parquet.source import DeltaFiles, Parquet
from cedilla.runtime.formats.source import Format
from cedilla.runtime.formats.xml.source import Xml
from cedilla.runtime.records.lines import LONGEST_OUTPUT_LINE

_FORMATS: dict[str, Callable[[int], Format]] = {
    "csv": Csv,
    "delta": lambda longest: DeltaFiles(),
    "otlp": Otlp,
    "json": JsonLines,
    "kafka": Records,
    "kafka_otlp": RequestRecords,
    "parquet": lambda longest: Marked(Parquet(), longest),  # outputs have files of markers with their tuples
    "xml": Xml,
}
"""Makes formats for a greatest length of lines."""

FORMATS: dict[str, Format] = {name: make(LONGEST_OUTPUT_LINE) for name, make in _FORMATS.items()}
"""The formats of outputs, by the names of the language."""

_WITH_PATHS: dict[str, type[TextFormat]] = {"json": JsonLines, "kafka": Records, "xml": Xml}


def format_of(plan: Plan, source: Source) -> Format:
    """Returns the format of a source's files, including those of its folder of markers."""
    longest = plan.longest_line
    if source.format in REQUESTS:
        own = (RequestRecords if source.is_topic else Otlp)(longest, source)
    elif source.format == "csv" and (source.paths or source.none):
        own = Csv(longest, source.paths, source.none)
    elif source.paths:
        own = _WITH_PATHS[source.format](longest, source.paths)
    else:
        return _shared(source.format, longest, is_marked=source.markers is not None)
    return own if source.markers is None else Marked(own, longest)


@cache
def _shared(name: str, longest: int, *, is_marked: bool) -> Format:
    """Returns one instance for all sources, because a job searches all files of a format for markers."""
    format_ = _FORMATS[name](longest)
    return Marked(format_, longest) if is_marked and not isinstance(format_, Marked) else format_
