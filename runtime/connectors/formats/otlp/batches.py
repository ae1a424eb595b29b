"""Converts lines of requests to Arrow batches of data points. Each point has its own position in its line: the n-th
point has that of the n-th byte. A line has more bytes than points."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from attrs import field, frozen

from cedilla.compiler.plan.field_paths import TextPath
from cedilla.runtime.connectors.formats.jsonl.batches import has_odd_words, plain_lines, tuple_lines
from cedilla.runtime.connectors.formats.lines.batches import TextBatches, is_utf8, may_be_beyond
from cedilla.runtime.connectors.formats.lines.blocks import Block, Places
from cedilla.runtime.connectors.formats.otlp.points import Requests
from cedilla.runtime.connectors.records.json_objects import JsonObject, parse_line
from cedilla.runtime.connectors.records.otlp import NO_REQUEST, PointReader
from cedilla.runtime.connectors.records.otlp_proto import is_message, line_of, parsed_message
from cedilla.runtime.connectors.records.record_files import fields_beside
from cedilla.runtime.connectors.records.rejections import REPLACED


@frozen
class PointBatches(TextBatches):
    """Makes batches of the data points of requests."""

    reader: PointReader = field(kw_only=True)

    def tuple_lines(self, block: Block) -> tuple[Places, Places]:
        return tuple_lines(block)

    def item(self, row: bytes) -> JsonObject:
        return parse_line(text_of(row))

    def parsed(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        """Returns the columns and positions of the points of some lines; `None` if some lines may be different, or if
        numbers are in texts."""
        if any(isinstance(keys, TextPath) for keys in self.reader.paths.values()):
            return None
        if is_message(text[starts[0] : ends[0]]):
            return self._parsed_messages(text, starts, ends)
        plain = plain_lines(text, starts, ends)
        if plain is None or not is_utf8(plain) or has_odd_words(plain):
            return None
        return Requests(self.reader).columns(plain, starts, self.types)

    def _parsed_messages(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        try:
            rows = [text[begin:end] for begin, end in zip(starts, ends, strict=True)]
            messages = [parsed_message(row) for row in rows]
        except ValueError:
            return None
        fields = [*map(fields_beside, rows)] if self.reader.of_records else []
        return Requests(self.reader).columns_of_messages(messages, starts, self.types, fields)

    def parse_block(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        columns = self.parsed(text, starts, ends)
        return None if columns is None or may_be_beyond(columns, text) else columns

    def parse_rows(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array]:
        rows: list[tuple[dict[str, Any], str | None]] = []
        places: list[int] = []
        for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
            points = list(self._rows(text[begin:end]))
            rows += points
            places += range(begin, begin + len(points))
        return [*self.columns(rows), pa.array(places, pa.int64())]

    def _rows(self, line: bytes) -> list[tuple[dict[str, Any], str | None]]:
        try:
            points = self.reader.points(self.item(line))
            return [({}, REPLACED) if point.is_replaced else self.convert_row(point) for point in points]
        except ValueError as problem:
            return [({}, str(problem) if is_message(line) else NO_REQUEST)]


def text_of(row: bytes) -> str:
    """Returns the request in a row as a line of JSON. Raises `ValueError` if it is not one."""
    return line_of(row) if is_message(row) else row.decode().strip("\r")
