"""Finds markers among elements by searching bytes; `records.xml_records` decides which are markers."""

from __future__ import annotations

from collections.abc import Iterator

from cedilla.runtime.connectors.formats.lines.blocks import Places
from cedilla.runtime.connectors.formats.lines.text_format import FoundMarker, tuple_rows
from cedilla.runtime.connectors.formats.xml.blocks import XmlBlock
from cedilla.runtime.connectors.records import xml_records

_KINDS = {"accent": "accent", "punctuation": "punctuation", "malformed marker": "malformed"}
"""Maps kinds of pieces to kinds of markers."""


def markers_in(block: XmlBlock) -> Iterator[FoundMarker]:
    """Yields the markers of a block in order, including malformed ones."""
    for begin, end in block.rows_with(xml_records.MARKER_TEXTS):
        piece = block.text[begin:end]
        if (kind := _KINDS.get(xml_records.kind_of(piece))) is not None:
            yield FoundMarker(kind, piece.decode("utf-8", "replace"), begin, end)


def tuple_lines(block: XmlBlock) -> tuple[Places, Places]:
    """Returns the starts and ends of the elements of a block that are tuples."""
    return tuple_rows(block.starts, block.ends, markers_in(block))
