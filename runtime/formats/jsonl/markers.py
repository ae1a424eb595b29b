"""Markers among lines, found by searching bytes: most lines are never looked at (design, section 5).

A line is one by what it holds, not by how it is written: keys may have escapes, and blanks around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cedilla.runtime.formats.lines.blocks import BLANK, Block, place_of
from cedilla.runtime.formats.lines.text_format import FoundMarker
from cedilla.runtime.items.json_objects import parse_line
from cedilla.runtime.items.near_markers import EDGE, KEYS, marker_of

_KEYS = tuple((key.encode(), b"$") for key in KEYS)
"""The keys of markers however they are quoted, each with a byte of it that few lines have."""
_TEXTS = ((b'"[', b"["), (b"'[", b"'"))
"""How the text of a marker begins, also of one whose key is only near; each with the rarer of its bytes."""
_LIKELY = (*(sign for sign, _ in _TEXTS), b'"$')
_ESCAPE = (b"\\u00", b"\\")
_ESCAPED = re.compile(rb"\\u00(?:24|6[1359ef]|7[045])", re.IGNORECASE)
"""A sign of a marker's key, oddly written; no writer of JSON escapes it."""
_USUAL = re.compile(rb'\{"\$(accent|punctuation)": ?"((?:[ !#-\[\]-~]|\\")*+)"\}\r?')
"""How most writers write markers, in ASCII: nothing else has to be parsed for these."""
_WINDOW = 4 * EDGE
"""Bytes in which there are as many signs as have to be looked at."""


def markers_in(block: Block) -> Iterator[FoundMarker]:
    """The markers of a block in their order."""
    text = block.text
    lines = {begin: end for key in _KEYS for begin, end in _lines_with(block, *key)}
    for begin, end in (found for sign in _TEXTS for found in _lines_with(block, *sign)):
        if begin not in lines and _is_likely(text[begin : min(end, begin + _WINDOW)]):
            lines[begin] = end
    if (escape := place_of(*_ESCAPE, text)) >= 0:
        for found in _ESCAPED.finditer(text, escape):
            begin, end = block.line_around(found.start())
            lines[begin] = end
    for begin, end in sorted(lines.items()):
        if (marker := _marker(text[begin:end], begin, end)) is not None:
            yield marker


def _lines_with(block: Block, sign: bytes, rare: bytes) -> Iterator[tuple[int, int]]:
    """The lines that have some bytes in them; `rare` as in `place_of`."""
    at = place_of(sign, rare, block.text)
    while at >= 0:
        begin, end = block.line_around(at)
        yield begin, end
        at = block.text.find(sign, end)


def _is_likely(start: bytes) -> bool:
    """Whether the key of a line that begins so may be near a marker's."""
    return any(sign in start for sign in _LIKELY) and start.lstrip(BLANK).startswith(b"{")


def _marker(line: bytes, begin: int, end: int) -> FoundMarker | None:
    """What a line that may be a marker is; `None`: a tuple."""
    if (usual := _USUAL.fullmatch(line)) is not None:
        return FoundMarker(usual[1].decode(), usual[2].decode().replace('\\"', '"'), begin, end)
    text = line.removesuffix(b"\r").decode("utf-8", "replace")
    try:
        line.decode()
        item = parse_line(text)
    except ValueError:
        item = None
    found = marker_of(text, item)
    return None if found is None else FoundMarker(*found, begin, end)
