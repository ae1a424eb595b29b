"""Change events of a database: a line is an event or a marker, a tuple is the row in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from cedilla.compiler.plan import Source
from cedilla.compiler.plan.change_events import EVENT, OPERATION
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches, tuple_lines
from cedilla.runtime.connectors.formats.jsonl.fields import item_of
from cedilla.runtime.connectors.formats.jsonl.records import Records
from cedilla.runtime.connectors.formats.jsonl.source import JsonLines
from cedilla.runtime.connectors.formats.lines.blocks import Block, Places
from cedilla.runtime.connectors.formats.lines.fields import of_rows, rows_within
from cedilla.runtime.connectors.formats.source import EVERYWHERE, FieldKinds, Span, Types
from cedilla.runtime.connectors.records.change_events import NO_EVENT, Columns, EventReader
from cedilla.runtime.connectors.records.json_objects import JsonObject, parse_line
from cedilla.runtime.connectors.records.nested import Paths, by_names
from cedilla.runtime.connectors.records.record_files import fault_of
from cedilla.runtime.connectors.records.rejections import NO_OBJECT

GONE = "$operation"
"""A field of rows whose last states alone are read: the latest event of the row."""


@frozen
class EventBatches(JsonBatches):
    """Makes batches of the rows of events: their lines are written, and parsed as those of JSON."""

    reader: EventReader = field(kw_only=True)

    def item(self, row: bytes) -> JsonObject:
        return by_names(parse_line(_line(self.reader, row).decode()), self.paths)

    def parsed(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        lines: list[bytes] = []
        odd: Any = np.zeros(len(starts), bool)
        for number, (begin, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            try:
                lines.append(_line(self.reader, text[begin:end]))
            except ValueError:
                lines.append(b"{}")
                odd[number] = True
        bounds = np.cumsum([0, *(len(line) + 1 for line in lines)])
        rows = JsonBatches(self.types, paths=self.paths)
        columns = rows.parsed(b"\n".join(lines), bounds[:-1], bounds[1:] - 1)
        return None if columns is None else self.with_rows(columns, odd, text, starts, ends)


class EventLines(JsonLines):
    """Lines of events; each source has its own instance, because it refuses rows without its columns."""

    malformed = NO_EVENT

    def __init__(self, longest: int, source: Source) -> None:
        super().__init__(longest, source.paths)
        self.reader = EventReader.of(source)

    @property
    def columns(self) -> Columns:
        return self.reader.columns

    def expecting(self, columns: Columns) -> EventLines:
        changed = copy(self)
        changed.reader = self.reader.expecting(columns)
        return changed

    def batches(self, types: Types) -> EventBatches:
        paths = {**self.paths, GONE: (EVENT, OPERATION)} if GONE in types else self.paths
        return EventBatches(dict(types), paths=paths, reader=self.reader)

    def search_of_fields(self) -> Callable[[Block, Span], Mapping[str, FieldKinds]]:
        return partial(_fields_in, reader=self.reader, paths=self.paths)


class EventRecords(Records, EventLines):
    """Records of a topic, as Debezium writes them: one is one event or marker."""

    malformed = NO_EVENT


def _fields_in(
    block: Block, span: Span = EVERYWHERE, *, reader: EventReader, paths: Paths
) -> dict[str, FieldKinds]:
    """Maps each column in the rows of a block to the kinds of its values."""

    def item(line: bytes) -> Mapping[str, Any]:
        fields = item_of(paths, _line(reader, line))
        return {name: value for name, value in fields.items() if not name.startswith(f"`{EVENT}")}

    return of_rows(block, rows_within(tuple_lines(block), span), item)


def _line(reader: EventReader, row: bytes) -> bytes:
    if fault := fault_of(row):
        raise ValueError(fault)
    try:
        text = row.decode()
    except UnicodeDecodeError:
        raise ValueError(NO_OBJECT) from None
    return reader.line(text)
