"""Finds markers among lines by searching bytes, so that most lines are not parsed (design, section 5).

The content of a line decides whether it is a marker: keys may contain escapes and have blanks around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cedilla.runtime.connectors.formats.lines.blocks import BLANK, Block, place_of
from cedilla.runtime.connectors.formats.lines.text_format import FoundMarker
from cedilla.runtime.connectors.records.json_objects import parse_line
from cedilla.runtime.connectors.records.lines import json_over_lines
from cedilla.runtime.connectors.records.near_markers import EDGE, ESCAPED, KEYS, marker_of

_KEYS = tuple((key.encode(), b"$") for key in KEYS)
"""The keys of markers in any quotes, each with a byte of it that few lines contain."""
_TEXTS = ((b'"[', b"["), (b"'[", b"'"))
"""The start of a marker's text, also for keys that are only similar; each with the rarer of its bytes."""
_LIKELY = (*(sign for sign, _ in _TEXTS), b'"$')
_ESCAPE = (b"\\u00", b"\\")
_USUAL = re.compile(rb'\{"\$(accent|punctuation)": ?"((?:[ !#-\[\]-~]|\\")*+)"\}\r?')
"""The usual form of markers in ASCII, which needs no other parsing."""
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t\r]*\n)*([ \t]*(?:\[[^\n]*?|\{[ \t]*))\r?(?:\n|\Z)")
"""A first line that may open an array or an object over several lines."""
_WINDOW = 4 * EDGE
"""Number of bytes that contain all the characters to check."""


def markers_in(block: Block) -> Iterator[FoundMarker]:
    """Yields the markers of a block in order."""
    text = block.text
    lines = {begin: end for key in _KEYS for begin, end in _lines_with(block, *key)}
    for begin, end in (match for sign in _TEXTS for match in _lines_with(block, *sign)):
        if begin not in lines and _is_likely(text[begin : min(end, begin + _WINDOW)]):
            lines[begin] = end
    if (escape := place_of(*_ESCAPE, text)) >= 0:
        for match in ESCAPED.finditer(text, escape):
            begin, end = block.line_around(match.start())
            lines[begin] = end
    for begin, end in sorted(lines.items()):
        if (marker := _marker(text[begin:end], begin, end, is_whole=block.exceeds is None)) is not None:
            yield marker


def markers_in_file(block: Block) -> Iterator[FoundMarker]:
    """Yields the markers of a block, and the first line of a file whose JSON text is not in lines (RQ404)."""
    if block.place == 0 and block.exceeds is None and (first := _OPENING.match(block.text)) is not None:
        text = first[1].decode("utf-8", "replace")
        if json_over_lines(text) is not None:
            yield FoundMarker("array", text, *first.span(1))
    yield from markers_in(block)


def _lines_with(block: Block, sign: bytes, rare: bytes) -> Iterator[tuple[int, int]]:
    """Yields the bounds of lines that contain some bytes; `rare` as in `place_of`."""
    at = place_of(sign, rare, block.text)
    while at >= 0:
        begin, end = block.line_around(at)
        yield begin, end
        at = block.text.find(sign, end)


def _is_likely(start: bytes) -> bool:
    """Returns True if the key of a line with this start may be similar to a marker's."""
    return any(sign in start for sign in _LIKELY) and start.lstrip(BLANK).startswith(b"{")


def _marker(line: bytes, begin: int, end: int, *, is_whole: bool) -> FoundMarker | None:
    """Returns the marker in a line that may be one, also a malformed one; `None` for a tuple."""
    if is_whole and (usual := _USUAL.fullmatch(line)) is not None:
        return FoundMarker(usual[1].decode(), usual[2].decode().replace('\\"', '"'), begin, end)
    text = line.removesuffix(b"\r").decode("utf-8", "replace")
    try:
        line.decode()
        item = parse_line(text) if is_whole else None
    except ValueError:
        item = None
    kind_and_text = marker_of(text, item)
    return None if kind_and_text is None else FoundMarker(*kind_and_text, begin, end)
