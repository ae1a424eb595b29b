"""Markers among lines, found by searching bytes: most lines are never looked at (design, section 5).

A line is one by what it holds, not by how it is written: keys may have escapes, and blanks around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cedilla.runtime.formats.lines.blocks import BLANK, Block, place_of
from cedilla.runtime.formats.lines.text_format import FoundMarker
from cedilla.runtime.items.json_objects import parse_line
from cedilla.runtime.items.near_markers import EDGE, near_key

_KEYS = ((b'"$accent"', b"$"), (b'"$punctuation"', b"$"))
"""The keys of markers, each with a byte of it that few lines have."""
_TEXT = (b'"[', b"[")
"""How the text of a marker begins, also of one whose key is only near."""
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
    for begin, end in _lines_with(block, *_TEXT):
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
    return (_TEXT[0] in start or b'"$' in start) and start.lstrip(BLANK).startswith(b"{")


def _marker(line: bytes, begin: int, end: int) -> FoundMarker | None:
    """What a line that may be a marker is; `None`: a tuple."""
    if (usual := _USUAL.fullmatch(line)) is not None:
        return FoundMarker(usual[1].decode(), usual[2].decode().replace('\\"', '"'), begin, end)
    text = line.removesuffix(b"\r").decode("utf-8", "replace")
    try:
        line.decode()
        item = parse_line(text)
    except ValueError:
        spoilt = any(key.decode() in text for key, _ in _KEYS)
        return FoundMarker("spoilt", text, begin, end) if spoilt else None
    if near_key(text, item) is not None:
        return FoundMarker("near", text, begin, end)
    for kind in ("accent", "punctuation"):
        if item.get(f"${kind}") is not None:
            return FoundMarker(kind, str(item[f"${kind}"]), begin, end)
    return None
