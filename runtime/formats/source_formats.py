"""Formats that sources can have, by the names of the language."""

from collections.abc import Callable
from functools import cache

from cedilla.compiler.plan import Plan, Source
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
from cedilla.runtime.records.lines import LONGEST_OUTPUT_LINE

_FORMATS: dict[str, Callable[[int], Format]] = {
    "csv": Csv,
    "delta": lambda longest: DeltaFiles(),
    "otlp": lambda longest: Otlp(longest=longest),
    "json": lambda longest: JsonLines(longest=longest),
    "kafka": lambda longest: Records(longest=longest),
    "kafka_otlp": lambda longest: RequestRecords(longest=longest),
    "parquet": lambda longest: Marked(Parquet(), longest),  # outputs have files of markers with their tuples
    "xml": Xml,
}
"""Makes formats for a greatest length of lines."""

FORMATS: dict[str, Format] = {name: make(LONGEST_OUTPUT_LINE) for name, make in _FORMATS.items()}
"""The formats of outputs, by the names of the language."""

_NESTED: dict[str, type[JsonLines]] = {"json": JsonLines, "kafka": Records}


def format_of(plan: Plan, source: Source) -> Format:
    """Returns the format of a source's files, including those of its folder of markers."""
    longest = plan.longest_line
    if source.format in REQUESTS:
        points = RequestRecords(source, longest) if source.is_topic else Otlp(source, longest)
        return points if source.markers is None else Marked(points, longest)
    if source.format == "csv" and (source.paths or source.none):
        records = Csv(longest, source.paths, source.none)
        return records if source.markers is None else Marked(records, longest)
    if source.format == "xml" and source.paths:
        elements = Xml(longest, source.paths)
        return elements if source.markers is None else Marked(elements, longest)
    if source.paths:
        nested = _NESTED[source.format](source.paths, longest)
        return nested if source.markers is None else Marked(nested, longest)
    return _shared(source.format, longest, is_marked=source.markers is not None)


@cache
def _shared(name: str, longest: int, *, is_marked: bool) -> Format:
    """Returns one instance for all sources, because a job searches all files of a format for markers."""
    format_ = _FORMATS[name](longest)
    return Marked(format_, longest) if is_marked and not isinstance(format_, Marked) else format_
