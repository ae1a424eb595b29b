"""Reads the elements of local XML files as lines of a stream, in the same way as `run`."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from copy import copy
from functools import partial
from pathlib import Path

from cedilla.compiler.expressions.types import STRING, Type
from cedilla.runtime.connectors.records.foreign import decoded
from cedilla.runtime.connectors.records.json_objects import JsonObject, json_text
from cedilla.runtime.connectors.records.lines import Line, opened
from cedilla.runtime.connectors.records.xml_records import (
    MALFORMED_MARKER,
    MAX_PIECE,
    bounds,
    kind_of,
    parse_element,
    root_of,
)
from cedilla.runtime.connectors.records.xmltext import accent_wire, punctuation_wire


class Element(JsonObject):
    """A tuple of XML. An empty text is a value only for strings."""

    def with_fields(self, types: Mapping[str, Type]) -> JsonObject:
        empty = [name for name, value in self.items() if value == "" and types.get(name, STRING) != STRING]
        if not empty:
            return self
        element = copy(self)
        for name in empty:
            del element[name]
        return element


def xml_lines(file: Path) -> Generator[Line]:
    """Yields the elements of a file that are tuples or markers, and those that are malformed; `-` is standard input.
    The whole file is in memory. Raises `DiagnosticError` as `lines.opened` does."""
    if str(file) == "-":
        yield from _elements(sys.stdin.buffer.read(), "<stdin>")
        return
    with opened(file) as stream:
        yield from _elements(stream.read(), str(file))


def _elements(text: bytes, name: str) -> Generator[Line]:
    root, begin = root_of(text[:MAX_PIECE])
    line, at = 1, 0
    pieces, _ = bounds(text, begin, len(text), root, is_last=True)
    for start, end in pieces:
        line, at = line + text.count(b"\n", at, start), start
        yield _line(text[start:end], f"{name}:{line}")


def _line(piece: bytes, position: str) -> Line:
    text = decoded(piece)
    match kind_of(piece):
        case "accent":
            return Line(json_text({"$accent": accent_wire(text, {})}), position)
        case "punctuation":
            return Line(
                json_text({"$punctuation": text}), position, translate=partial(punctuation_wire, text)
            )
        case "malformed marker":
            return Line(text, position, problem=MALFORMED_MARKER)
        case _:
            try:
                item = parse_element(piece)
                element = Element(item)
                element.line, element.written = item.line, item.written
                return Line(text, position, item=element)
            except ValueError as problem:
                return Line(text, position, fault=str(problem))
