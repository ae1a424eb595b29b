"""Readers of the formats of sources, by the names of the language."""

from collections.abc import Callable
from functools import cache, lru_cache

from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.runtime.connectors.formats.csv.source import Csv
from cedilla.runtime.connectors.formats.jsonl.change_events import EventLines, EventRecords
from cedilla.runtime.connectors.formats.jsonl.records import Records
from cedilla.runtime.connectors.formats.jsonl.source import JsonLines
from cedilla.runtime.connectors.formats.jsonl.unfolded import Unfolded, UnfoldedRecords
from cedilla.runtime.connectors.formats.marked import Marked
from cedilla.runtime.connectors.formats.otlp.source import Otlp, RequestRecords
from cedilla.runtime.connectors.formats.parquet.source import Parquet, TableFiles
from cedilla.runtime.connectors.formats.source import Format
from cedilla.runtime.connectors.formats.xml.source import Xml
from cedilla.runtime.connectors.records.field_names import OWN_NAMES, FieldNames
from cedilla.runtime.connectors.records.lines import LONGEST_OUTPUT_LINE
from cedilla.runtime.connectors.records.nested import Paths


def _paths(own: Source | None) -> Paths | None:
    return None if own is None else own.paths


def _of_lines(longest: int, own: Source | None) -> Format:
    if own is not None and own.changes:
        return EventLines(longest, own)
    if own is not None and own.unfolded:
        return Unfolded(longest, own)
    return JsonLines(longest, _paths(own))


def _of_records(longest: int, own: Source | None) -> Format:
    if own is not None and own.changes:
        return EventRecords(longest, own)
    if own is not None and own.unfolded:
        return UnfoldedRecords(longest, own)
    return Records(longest, _paths(own))


READERS: dict[str, Callable[[int, Source | None], Format]] = {
    "csv": lambda longest, own: Csv(longest, _paths(own), frozenset() if own is None else own.none),
    "delta": lambda longest, own: TableFiles(),
    "iceberg": lambda longest, own: TableFiles(),
    "otlp": Otlp,
    "json": _of_lines,
    "kafka": _of_records,
    "kafka_otlp": RequestRecords,
    # Outputs have files of markers with their tuples.
    "parquet": lambda longest, own: Marked(Parquet(), longest),
    "xml": lambda longest, own: Xml(longest, _paths(own)),
}
"""Makes readers for a greatest length of lines, and for the source that has a reader of its own."""


FORMATS: dict[str, Format] = {name: make(LONGEST_OUTPUT_LINE, None) for name, make in READERS.items()}
"""The readers of outputs."""


def format_of(plan: Plan, source: Source, names: FieldNames = OWN_NAMES) -> Format:
    """Returns the reader of a source's files, including those of its folder of markers. `names`: those that the fields
    of a table have in the stream."""
    if source.format_kind.is_table:
        paths = tuple(source.paths.items())
        return _of_table(source.format, plan.longest_line, names, paths, is_marked=source.markers is not None)
    is_own = bool(
        source.paths or source.none or source.changes or source.unfolded or source.format_kind.has_requests
    )
    if not is_own:
        return _shared(source.format, plan.longest_line, is_marked=source.markers is not None)
    own = READERS[source.format](plan.longest_line, source)
    return own if source.markers is None else Marked(own, plan.longest_line)


@lru_cache(64)
def _of_table(
    name: str, longest: int, names: FieldNames, paths: tuple[tuple[str, FieldPath], ...], *, is_marked: bool
) -> Format:
    """Returns one instance for all sources with the same names of fields."""
    has_own = names != OWN_NAMES or paths
    files = TableFiles(names, dict(paths)) if has_own else FORMATS[name]
    return Marked(files, longest) if is_marked else files


@cache
def _shared(name: str, longest: int, *, is_marked: bool) -> Format:
    """Returns one instance for all sources, because a job searches all files of a format for markers."""
    format_ = READERS[name](longest, None)
    return Marked(format_, longest) if is_marked and not isinstance(format_, Marked) else format_
