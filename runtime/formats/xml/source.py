"""XML: a tuple is an element of elements, a punctuation is the same in the namespace `punct` (seeds, 002; design,
section 6)."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from cedilla.runtime.formats.jsonl.fields import merged
from cedilla.runtime.formats.lines.blocks import Part
from cedilla.runtime.formats.lines.text_format import TextFormat
from cedilla.runtime.formats.source import InputFile, MarkerLine, Types
from cedilla.runtime.formats.xml import fields
from cedilla.runtime.formats.xml.batches import XmlBatches
from cedilla.runtime.formats.xml.blocks import XmlPart
from cedilla.runtime.formats.xml.markers import markers_in
from cedilla.runtime.records import xml_records, xmltext
from cedilla.runtime.records.lines import LONGEST_LINE
from cedilla.runtime.records.nested import Paths

_WIRE = {"accent": xmltext.accent_wire, "punctuation": xmltext.punctuation_wire}


class Xml(TextFormat):
    """One element is one tuple or marker. One element may surround all others; one task reads a whole file. `paths`:
    those of attributes with a decimal comma."""

    malformed: ClassVar[str] = "the element is malformed, or a value is not of its attribute's type"
    markers_in = markers_in
    fields_in = fields.of_block
    merged = merged

    def __init__(self, longest: int = LONGEST_LINE, paths: Paths | None = None) -> None:
        super().__init__(longest)
        self._paths = paths or {}

    @property
    def paths(self) -> Paths:
        return self._paths

    def batches(self, types: Types) -> XmlBatches:
        return XmlBatches(dict(types), self.paths)

    def whole(self, file: InputFile, number: int = 0) -> Part:
        return XmlPart(file.path, number)

    def marker_line(self, kind: str, text: str, position: int, end: int) -> MarkerLine:
        if kind in _WIRE:
            return MarkerLine(kind, text, position, partial(_WIRE[kind], text))
        return MarkerLine(kind, text, position, problem=xml_records.MALFORMED_MARKER)
