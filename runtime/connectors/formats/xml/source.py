"""XML: a tuple is an element of elements, a punctuation is the same in the namespace `punct` (seeds, 002; design,
section 6)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from cedilla.runtime.connectors.formats.lines.blocks import Part
from cedilla.runtime.connectors.formats.lines.fields import of_rows, rows_within
from cedilla.runtime.connectors.formats.lines.text_format import TextFormat
from cedilla.runtime.connectors.formats.source import (
    EVERYWHERE,
    FieldKinds,
    InputFile,
    MarkerLine,
    Span,
    Types,
)
from cedilla.runtime.connectors.formats.xml.batches import XmlBatches
from cedilla.runtime.connectors.formats.xml.blocks import XmlBlock, XmlPart
from cedilla.runtime.connectors.formats.xml.markers import markers_in, tuple_lines
from cedilla.runtime.connectors.records import xml_records, xmltext

_WIRE = {"accent": xmltext.accent_wire, "punctuation": xmltext.punctuation_wire}


def fields_in(block: XmlBlock, span: Span = EVERYWHERE) -> dict[str, FieldKinds]:
    """Maps each element in the tuples of a block to the kinds of its texts. An element without a text counts, with any
    type. `span`: the bytes between which the tuples begin."""
    return of_rows(block, rows_within(tuple_lines(block), span), _texts)


def _texts(row: bytes) -> dict[str, Any]:
    return {name: None if value == "" else value for name, value in xml_records.parse_element(row).items()}


class Xml(TextFormat):
    """One element is one tuple or marker. One element may surround all others; one task reads a whole file. `paths`:
    those of attributes with a decimal comma."""

    malformed: ClassVar[str] = "the element is malformed, or a value is not of its attribute's type"
    markers_in = markers_in
    fields_in = fields_in

    def batches(self, types: Types) -> XmlBatches:
        return XmlBatches(dict(types), self.paths)

    def whole(self, file: InputFile, number: int = 0) -> Part:
        return XmlPart(file.path, number, length=file.length)

    def marker_line(self, kind: str, text: str, position: int, end: int) -> MarkerLine:
        if kind in _WIRE:
            return MarkerLine(kind, text, position, partial(_WIRE[kind], text))
        return MarkerLine(kind, text, position, problem=xml_records.MALFORMED_MARKER)
