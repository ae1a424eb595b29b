"""Reads the beginnings of the files, versions or partitions at a path as rows of fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from cedilla.compiler.plan.change_events import EVENT, TIME
from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.compiler.plan.formats import FORMATS
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.parser import parse_punctuation
from cedilla.runtime.connectors.records.change_events import EventReader
from cedilla.runtime.connectors.records.change_streams import change_stream
from cedilla.runtime.connectors.records.csv_records import value_of
from cedilla.runtime.connectors.records.file_lines import format_of, lines_in
from cedilla.runtime.connectors.records.json_objects import JsonObject
from cedilla.runtime.connectors.records.lines import Line, files_of
from cedilla.runtime.connectors.records.near_markers import KINDS, marker_of
from cedilla.runtime.connectors.records.path_keys import keys_below
from cedilla.runtime.connectors.records.rejections import OF_EVENTS, no_object
from cedilla.runtime.connectors.records.table_folders import table_format
from cedilla.runtime.connectors.records.typed_rows import TypedRow
from cedilla.runtime.connectors.records.unreadable import HEAD, cause_of
from cedilla.runtime.connectors.topics.topic_lines import RecordedTopic, place_of
from cedilla.runtime.tools.first_query.data_points import is_request, points_of

MAX_FILES = 10
"""The most files of a folder that are looked into: the first, the last, and others between them."""
MAX_ROWS = 2_000
"""The most rows of a sample; each file gives the same part of it."""
_DEEPEST = 4
"""The most objects that a field may be inside of."""

NOTHING = "RQ468"
Row = Mapping[FieldPath, Any]
"""The values of a row by their paths; nulls are left out."""


@define
class Sample:
    """The sample of a path. `parts`: the number of all files or partitions. `is_whole`: it contains all rows. `places`:
    the file of each row. `lines`: its lines, also those of markers. `kinds`: the types of columns, if files have them.
    `written`: the texts of columns in a format of texts. `bad`: the reasons of lines without a tuple, and their counts.
    """

    path: str
    format: str
    parts: int = 0
    is_whole: bool = True
    rows: list[Row] = field(factory=list[Row])
    places: list[int] = field(factory=list[int])
    lines: list[Line] = field(factory=list[Line])
    kinds: dict[FieldPath, str] = field(factory=dict[FieldPath, str])
    written: dict[FieldPath, list[str]] = field(factory=dict[FieldPath, list[str]])
    bad: Counter[str] = field(factory=Counter[str])
    closing: list[tuple[str, ...]] = field(factory=list[tuple[str, ...]])
    """The attributes of each punctuation among the rows."""
    accents: int = 0
    folders: set[FieldPath] = field(factory=set[FieldPath])
    """The fields that are keys in the names of folders, `region=n`."""
    events: EventReader | None = None
    """What reads the rows of change events, if the lines are such."""
    having: Counter[str] = field(factory=Counter[str])
    """The columns of rows in change events, and how many rows have each."""

    def lacks(self, path: FieldPath) -> bool:
        """Returns True for a column that a change event lacks: its row would be set aside (RQ541)."""
        is_column = self.events is not None and path[0] != EVENT and path not in self.folders
        return is_column and self.having[path[0]] < len(self.rows)

    @property
    def what(self) -> str:
        """The sample in words."""
        kind = FORMATS[self.format]
        parts = {"folder": "file", "table": "file", "topic": "partition"}[kind.place]
        of = f"{self.parts:,} {parts}{'' if self.parts == 1 else 's'} of {self.format}"
        return f"{'all' if self.is_whole else 'the first'} {len(self.rows):,} rows in {of}"


def sample_of(path: str) -> Sample:
    """Returns the sample of a path: a file, a folder, a table of Delta or Iceberg, or a topic up to its present end.

    Raises `DiagnosticError`: RQ410 for a path that does not exist, RQ468 for data without a tuple, or in several
    formats; as `lines_in` and `RecordedTopic` do.
    """
    if (address := place_of(path)) is not None and not Path(path).exists():
        sample = _of_topic(path, RecordedTopic(address))
    else:
        sample = _of_files(path)
    if not sample.rows:
        raise _no_tuple(sample)
    return sample


def _no_tuple(sample: Sample) -> DiagnosticError:
    """Returns RQ468, with the cause if the first bytes show one."""
    why = f": {sample.bad.most_common(1)[0][0]}" if sample.bad else ""
    hint = "rows of JSON Lines, CSV, XML, OTLP or Parquet in a file or a folder, a table, or a topic"
    if sample.lines and FORMATS[sample.format].place == "folder":
        with Path(sample.lines[0].place.rpartition(":")[0]).open("rb") as stream:
            if (cause := cause_of(stream.read(HEAD))) is not None:
                why, hint = f": it is {cause.what}", cause.hint
    return failure(NOTHING, f"{sample.path} has no tuple{why}", hint=hint)


def _of_topic(path: str, topic: RecordedTopic) -> Sample:
    sample = Sample(path, "kafka", parts=len(topic.partitions))
    most = MAX_ROWS // max(len(topic.partitions), 1)
    for partition in topic.partitions:
        begin, end = topic.ends(partition)
        sample.is_whole = sample.is_whole and end - begin <= most
        if begin < end:
            _add(sample, partition, topic.lines(partition, begin, min(end, begin + most)), most)
    return sample


def _of_files(path: str) -> Sample:
    if not Path(path).exists():
        hint = "a file or a folder on this machine, or a topic, `host:9092/topic`"
        raise failure("RQ410", f"{path} does not exist", hint=hint)
    table = None
    if (own := table_format(path)) is not None:
        from cedilla.runtime.connectors.formats.parquet.local_tables import local_table

        table = local_table(path, path, own)
        files, format_ = [*table.times], own
    else:
        files = [file for file in files_of(path) if file.stat().st_size]
        formats = {file: format_of(file) for file in files}
        if len(used := sorted(set(formats.values()))) > 1:
            message = f"{path} has files of {' and '.join(used)}, and a stream has one format"
            raise failure(NOTHING, message, hint="a folder for each, and `--from` for each of them")
        format_ = used[0] if used else "json"
    sample = Sample(path, format_, parts=len(files))
    chosen = _spread(files)
    most = MAX_ROWS // max(len(chosen), 1)
    for number, file in enumerate(chosen):
        if table is None:
            keys = keys_below(path, file)
            lines = (evolve(line, keys=keys) for line in lines_in(file, format_))
        else:
            lines = table.lines(file)
        _add(sample, number, lines, most)
    sample.is_whole = sample.is_whole and len(chosen) == len(files)
    return sample


def _spread(files: Sequence[Path]) -> list[Path]:
    """Returns the first file, the last, and others in equal distances."""
    if len(files) <= MAX_FILES:
        return [*files]
    return [files[n * (len(files) - 1) // (MAX_FILES - 1)] for n in range(MAX_FILES)]


def _add(sample: Sample, number: int, lines: Iterator[Line], most: int) -> None:
    """Adds the first lines of a part to a sample."""
    for line in islice(lines, most):
        sample.lines.append(line)
        try:
            item = line.holds()
        except ValueError as problem:
            sample.bad[line.fault or no_object(problem)] += 1
            continue
        marker = None if isinstance(item, TypedRow) else marker_of(line.text, item)
        if marker is not None:
            _see(sample, *marker)
            continue
        if sample.format in ("json", "kafka") and is_request(item):
            sample.format = "otlp" if sample.format == "json" else "kafka_otlp"
        kind = FORMATS[sample.format]
        if not sample.rows and kind.has_objects and _is_event(item):
            sample.events = sample.events or EventReader(frozenset({TIME}))
        if sample.events is not None:
            item = _row_of(line, sample, sample.events)
            if item is None:
                continue
        if kind.has_requests:
            fields = points_of(item)
        else:
            fields = [dict(_flat(item) if kind.has_objects else _plain(item))]
        keys = {(name,): value_of(text) for name, text in line.keys.items() if text is not None}
        sample.folders.update(keys)
        for row in fields:
            sample.rows.append({**row, **{path: value for path, value in keys.items() if path not in row}})
            sample.places.append(number)
        if isinstance(item, TypedRow):
            sample.kinds.update({(name,): kind for name, kind in item.kinds.items()})
        for name, text in item.written.items():
            sample.written.setdefault((name,), []).append(text)
    if next(lines, None) is not None:
        sample.is_whole = False


def _is_event(item: JsonObject) -> bool:
    stream = change_stream(item)
    return stream is not None and stream.is_debezium


def _row_of(line: Line, sample: Sample, events: EventReader) -> JsonObject | None:
    """Returns the columns of a change event; `None` if it has no new row, which the sample counts."""
    try:
        row = events.row(line.text)
    except ValueError as problem:
        code, _, what = str(problem).partition(" ")
        sample.bad[what if code in OF_EVENTS else str(problem)] += 1
        return None
    sample.having.update(row.columns)
    # The time of the change comes last, so that a time of the row itself is preferred.
    return JsonObject({name: row[name] for name in (*row.columns, EVENT)})


def _see(sample: Sample, kind: str, text: str) -> None:
    """Takes a marker among the rows."""
    if kind not in KINDS:
        sample.bad["a line that looks like a marker, but cannot be read as one"] += 1
    elif kind == "accent":
        sample.accents += 1
    else:
        try:
            sample.closing.append(tuple(c.attribute for c in parse_punctuation(text).conditions))
        except DiagnosticError:  # one of XML, whose names are in elements
            sample.closing.append(())


def _plain(item: JsonObject) -> Iterator[tuple[FieldPath, Any]]:
    """Yields the values of a tuple without objects."""
    return (((name,), value) for name, value in item.items() if value is not None)


def _flat(item: JsonObject, before: FieldPath = ()) -> Iterator[tuple[FieldPath, Any]]:
    """Yields the values of an object by their paths."""
    for name, value in item.items():
        path = (*before, name)
        if isinstance(value, dict) and len(path) <= _DEEPEST:
            yield from _flat(value, path)  # type: ignore[reportArgumentType]
        elif value is not None:
            yield path, value
