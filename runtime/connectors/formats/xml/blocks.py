"""Files of XML as blocks of whole elements. If tags are in order, numpy finds the elements. Otherwise
`records.xml_records` finds the same elements, one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen

from cedilla.runtime.connectors.formats.lines.blocks import Block, Part, opened_part
from cedilla.runtime.connectors.formats.lines.rows import RowBlock
from cedilla.runtime.connectors.formats.xml.tags import Elements, elements_of
from cedilla.runtime.connectors.records import xml_records
from cedilla.runtime.connectors.records.xml_records import MAX_PIECE
from cedilla.runtime.engines.spark import costs

_WINDOW_SIZE = 1 << 19
"""Number of bytes that are searched for elements at once. After an element that is not in order, the rest of them is
searched one by one."""


@frozen(eq=False)
class XmlBlock(RowBlock):
    """Whole pieces of a file; those that are not skipped are its rows. `elements`: the parsed rows if all are in
    order."""

    elements: Elements | None


@frozen
class XmlPart(Part):
    """All elements of a file. A file is not split, because a tag in its middle may be inside a comment."""

    def blocks(self) -> Iterator[Block]:
        with opened_part(self) as stream:
            text, is_last = b"", False
            while not is_last and len(text) < MAX_PIECE:
                chunk: bytes = stream.read(costs.BLOCK)
                is_last, text = not chunk, text + chunk
            root, begin = xml_records.root_of(text[:MAX_PIECE])
            if begin:
                yield XmlBlock(text[:begin], 0, *_NONE, None)
            position, text = begin, text[begin:]
            while True:
                used = 0
                for block in _blocks(text, position, root, is_last=is_last):
                    used += len(block.text)
                    yield block
                position, text = position + used, text[used:]
                if is_last:
                    return
                chunk = stream.read(costs.BLOCK)
                is_last, text = not chunk, text + chunk


_NONE = (np.zeros(0, np.int64), np.zeros(0, np.int64))


def _blocks(text: bytes, offset: int, root: bytes, *, is_last: bool) -> Iterator[XmlBlock]:
    """Yields the complete part of a text in blocks; the first starts at its beginning. `offset`: the text's position in
    the file."""
    at = 0
    while at < len(text):
        window = text[at : at + _WINDOW_SIZE]
        elements = elements_of(window)
        if elements is not None:
            whole = int(elements.ends[-1])
            yield XmlBlock(window[:whole], offset + at, elements.starts, elements.ends, elements)
            at += whole
            if elements.all_in_order and at + _WINDOW_SIZE - whole < len(text):
                continue  # the next window starts with the rest of this one
        end = min(at + _WINDOW_SIZE, len(text))
        if at == end:
            return
        pairs, whole = xml_records.bounds(text, at, end, root, is_last=is_last)
        if whole == at:
            return
        starts, ends = np.array(pairs, np.int64).reshape(-1, 2).T - at
        yield XmlBlock(text[at:whole], offset + at, starts, ends, None)
        at = whole
