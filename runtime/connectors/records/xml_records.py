"""Parses XML: the bounds of a file's elements, and the objects of tuples (design, section 6).

A file is split into pieces. Each piece is skipped (blanks, comments, declarations, the element around all others), a
marker, a tuple, or malformed. A tuple is an element of elements that contain only text; attributes of XML are ignored.
No piece is longer than `MAX_PIECE`, which limits the damage of an unclosed one.
"""

from __future__ import annotations

import re
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from cedilla.runtime.connectors.records.csv_records import value_of
from cedilla.runtime.connectors.records.json_objects import JsonObject
from cedilla.runtime.connectors.records.xmltext import unescaped

MAX_PIECE = 1 << 20
"""Maximum number of bytes of an element, or of a comment."""
MARK = b"\xef\xbb\xbf"
"""The byte order mark, which may precede everything else."""
BLANK = b" \t\r\n\f\v"
"""Characters that are removed around values and elements."""
MALFORMED = "the element is malformed"
NESTED = "an element inside of the tuple contains elements, where only text is read"
MARKERS = (b"<accent:", b"<punct:")
"""The start of the elements of markers."""
MARKER_TEXTS = (*MARKERS, b"$accent", b"$punctuation")
"""Texts in pieces that look like markers, including markers in JSON."""
MALFORMED_MARKER = (
    "an element that looks like a marker is malformed",
    "`<accent:NAME>[[...]]</accent:NAME>`, inside it `<` and `&` are written `&lt;` and `&amp;`; a punctuation is "
    "`<punct:NAME>` with an element for each pattern",
)
"""Message and hint for such a piece (RQ212)."""

_NAME = r"[A-Za-z_\x80-\xff][A-Za-z0-9_.:\-\x80-\xff]*+"
_REST = r"(?:\s[^<>]*?)?"  # of an opening tag, without its end
_COMMENT = r"<!--(?s:.*?)-->"
_ASIDE = rf"(?:{_COMMENT}|<\?(?s:.*?)\?>|<!DOCTYPE[^<>\[]*+(?:\[[^\]]*+\][^<>]*+)?>)"
_BLANKS = rf"(?:\s++|{_ASIDE})*+"


def _leaf(name: str) -> str:
    """Returns a pattern for an element that contains only text. `name`: that of the group of its own name."""
    own = rf"(?P<{name}>(?!accent:|punct:){_NAME})"
    return rf"<{own}{_REST}(?:/>|>(?P<{name}_text>[^<]*+)</(?P={name})\s*+>)"


_ROW_NAME = rf"(?P<row>(?!accent:){_NAME})"
# Possessive repetitions contain no groups: Python 3.11 occasionally fails for these (SystemError).
_ROW = rf"<{_ROW_NAME}{_REST}(?:/>|>\s*+(?:(?:{_leaf('leaf')}|{_COMMENT})\s*+)*</(?P=row)\s*+>)"
_ACCENT = rf"<accent:(?P<accent>{_NAME}){_REST}>[^<]*+</accent:(?P=accent)\s*+>"

_PIECE = re.compile(
    "|".join(
        [
            rf"(?P<skipped>\s++|{_ASIDE})",
            rf"(?P<well>{_ACCENT}|{_ROW})",
            # Malformed pieces: an element to its end, a tag with the leaves after it, one tag, or text.
            rf"<(?P<open>{_NAME}){_REST}>(?s:(?!<(?P=open)[\s/>]).)*?</(?P=open)\s*+>",
            rf"<{_NAME}{_REST}>\s*+(?:{_leaf('inner')}\s*+)*",
            r"</[^<>]*+>",
            r"[^<\s][^<]*+",
            r"<[^<]*+",
        ]
    ).encode("latin-1")
)
_FIRST = re.compile(
    rf"\A{_BLANKS}<(?P<root>(?!accent:|punct:){_NAME}){_REST}>"
    rf"(?={_BLANKS}(?:<(?:accent|punct):|<{_NAME}{_REST}>{_BLANKS}<[^/!?]|</(?P=root)\s*+>{_BLANKS}\Z))".encode(
        "latin-1"
    )
)
_WHOLE_ROW = re.compile(rf"{_ROW}".encode("latin-1"))
_WHOLE_ACCENT = re.compile(_ACCENT.encode("latin-1"))
_ASIDES = re.compile(_COMMENT)
_LEAF = re.compile(r"<([^\s<>/]+)(?:\s[^<>]*?)?(?:/>|>([^<]*)</\1\s*>)", re.ASCII)


def root_of(text: bytes) -> tuple[bytes, int]:
    """Returns the name of the element around all others and the end of its opening tag; `b""` and the start of the text
    without such an element. `text`: the beginning of a file, `MAX_PIECE` bytes or all of it.

    The first element inside it contains elements, and no other element has its name.
    """
    begin = len(MARK) if text.startswith(MARK) else 0
    match = _FIRST.match(text[begin:])
    if match is None:
        return b"", begin
    name, end = match["root"], begin + match.end()
    again = re.compile(rb"<" + re.escape(name) + rb"[\s/>]").search(text, end)
    return (b"", begin) if again else (name, end)


def bounds(
    text: bytes, begin: int, end: int, root: bytes, *, is_last: bool
) -> tuple[list[tuple[int, int]], int]:
    """Returns the bounds of pieces that begin between two bytes of a text and are not skipped, and the start of the
    rest, which needs more bytes. `is_last`: the text ends the file."""
    pieces: list[tuple[int, int]] = []
    at = begin
    while at < end:
        is_whole = is_last or len(text) - at >= MAX_PIECE
        piece = _PIECE.match(text, at, at + MAX_PIECE)
        assert piece is not None
        is_certain = piece["well"] is not None or (piece["skipped"] is not None and piece.end() < len(text))
        if not (is_whole or is_certain):
            break
        if piece["skipped"] is None and not (root and _closes(piece[0], root)):
            pieces.append((at, at + len(piece[0].rstrip(BLANK))))
        at = piece.end()
    return pieces, at


def _closes(piece: bytes, root: bytes) -> bool:
    return piece.startswith(b"</") and b"".join(piece.split()) == b"</" + root + b">"


def kind_of(piece: bytes) -> str:
    """Returns the kind of a piece: `accent`, `punctuation`, `tuple`, `malformed`, or `malformed marker` for one that
    looks like a marker."""
    try:
        if _WHOLE_ACCENT.fullmatch(piece):
            unescaped(piece.decode())
            return "accent"
        _texts(piece)
    except ValueError:
        return "malformed marker" if any(text in piece for text in MARKER_TEXTS) else "malformed"
    return "punctuation" if piece.startswith(MARKERS[1]) else "tuple"


def parse_element(piece: bytes) -> JsonObject:
    """Returns the object of a tuple's element. `written`: the texts of its elements. Raises `ValueError` with the
    reason if it is malformed."""
    texts = _texts(piece)
    item = JsonObject({name: _value_of(text) for name, text in texts.items()})
    item.line, item.written = piece.decode(), texts
    return item


def _texts(piece: bytes) -> dict[str, str]:
    """Returns the text of each inner element, without blanks around it unless they are references."""
    if not _WHOLE_ROW.fullmatch(piece):
        raise ValueError(NESTED if _is_nested(piece) else MALFORMED)
    try:
        text = piece.decode()
    except ValueError:
        raise ValueError(MALFORMED) from None
    inside = _ASIDES.sub("", text[text.index(">") + 1 : text.rindex("<")] if text.count("<") > 1 else "")
    leaves = [(match[1], match[2] or "") for match in _LEAF.finditer(inside)]
    texts = {name: unescaped(value.strip(" \t\r\n")) for name, value in leaves}
    if len(texts) < len(leaves):
        raise ValueError(MALFORMED)
    return texts


def _is_nested(piece: bytes) -> bool:
    """Returns True for well-formed XML with elements inside of the elements of the tuple."""
    parser, opened, depths = ParserCreate(), list[str](), set[int]()

    def begin(name: str, _: object) -> None:
        opened.append(name)
        depths.add(len(opened))

    parser.StartElementHandler, parser.EndElementHandler = begin, lambda _: opened.pop()
    try:
        parser.Parse(piece, True)
    except ExpatError:
        return False
    return 3 in depths


def _value_of(text: str) -> Any:
    value = value_of(text)
    # Other words for booleans, and blanks from references, occur only in texts.
    return text if isinstance(value, bool) and text not in ("true", "false") else value
