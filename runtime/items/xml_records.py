"""XML: where the elements of a file begin and end, and what the element of a tuple holds (design, section 6).

A file is cut into pieces, each of which is skipped (blanks, comments, declarations, the element around all others), a
marker, a tuple, or malformed. A tuple is an element of elements that hold text only; attributes of XML mean nothing.
No piece is longer than `LONGEST`, so that one that nobody closes spoils no more than that.
"""

from __future__ import annotations

import re
from typing import Any

from cedilla.runtime.items.csv_records import value_of
from cedilla.runtime.items.json_objects import JsonObject
from cedilla.runtime.items.xmltext import unescaped

LONGEST = 1 << 20
"""Bytes of an element, or of a comment."""
MARK = b"\xef\xbb\xbf"
"""The byte order mark, which may stand before everything else."""
BLANK = b" \t\r\n\f\v"
"""What is left out around values and elements."""
MALFORMED = "the element is malformed"
MARKERS = (b"<accent:", b"<punct:")
"""How the elements of markers begin."""
MEANT = (*MARKERS, b"$accent", b"$punctuation")
"""What a piece has that is meant as a marker, also as one of JSON."""
SPOILT = (
    "an element that is meant as a marker is malformed",
    "`<accent:NAME>[[...]]</accent:NAME>`, inside it `<` and `&` are written `&lt;` and `&amp;`; a punctuation is "
    "`<punct:NAME>` with an element for each pattern",
)
"""What is wrong with it, and what mends it (RQ212)."""

_NAME = r"[A-Za-z_\x80-\xff][A-Za-z0-9_.:\-\x80-\xff]*+"
_REST = r"(?:\s[^<>]*?)?"  # of an opening tag, without its end
_COMMENT = r"<!--(?s:.*?)-->"
_ASIDE = rf"(?:{_COMMENT}|<\?(?s:.*?)\?>|<!DOCTYPE[^<>\[]*+(?:\[[^\]]*+\][^<>]*+)?>)"
_BLANKS = rf"(?:\s++|{_ASIDE})*+"


def _leaf(name: str) -> str:
    """An element that holds text only; `name`: that of the group of its own name."""
    own = rf"(?P<{name}>(?!accent:|punct:){_NAME})"
    return rf"<{own}{_REST}(?:/>|>(?P<{name}_text>[^<]*+)</(?P={name})\s*+>)"


_ROW_NAME = rf"(?P<row>(?!accent:){_NAME})"
# No group stands in what is repeated possessively: Python 3.11 fails then, now and again (SystemError).
_ROW = rf"<{_ROW_NAME}{_REST}(?:/>|>\s*+(?:(?:{_leaf('leaf')}|{_COMMENT})\s*+)*</(?P=row)\s*+>)"
_ACCENT = rf"<accent:(?P<accent>{_NAME}){_REST}>[^<]*+</accent:(?P=accent)\s*+>"

_PIECE = re.compile(
    "|".join(
        [
            rf"(?P<skipped>\s++|{_ASIDE})",
            rf"(?P<well>{_ACCENT}|{_ROW})",
            # What is none of these is malformed: up to its end, or as far as leaves follow, or one tag or text.
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
    """The name of the element around all others and where its opening tag ends; `b""` and where the text begins, where
    there is none. `text`: the beginning of a file, of `LONGEST` bytes or all of them.

    The first element in it is none of text, and there is no other of its name.
    """
    begin = len(MARK) if text.startswith(MARK) else 0
    found = _FIRST.match(text[begin:])
    if found is None:
        return b"", begin
    name, end = found["root"], begin + found.end()
    again = re.compile(rb"<" + re.escape(name) + rb"[\s/>]").search(text, end)
    return (b"", begin) if again else (name, end)


def bounds(
    text: bytes, begin: int, end: int, root: bytes, *, is_last: bool
) -> tuple[list[tuple[int, int]], int]:
    """Where the pieces begin and end that are not skipped and begin between two bytes of a text; and where what is left
    begins, of which more has to be read to tell. `is_last`: nothing comes behind the text."""
    found: list[tuple[int, int]] = []
    at = begin
    while at < end:
        is_whole = is_last or len(text) - at >= LONGEST
        piece = _PIECE.match(text, at, at + LONGEST)
        assert piece is not None
        is_certain = piece["well"] is not None or (piece["skipped"] is not None and piece.end() < len(text))
        if not (is_whole or is_certain):
            break
        if piece["skipped"] is None and not (root and _closes(piece[0], root)):
            found.append((at, at + len(piece[0].rstrip(BLANK))))
        at = piece.end()
    return found, at


def _closes(piece: bytes, root: bytes) -> bool:
    return piece.startswith(b"</") and b"".join(piece.split()) == b"</" + root + b">"


def kind_of(piece: bytes) -> str:
    """What a piece is: `accent`, `punctuation`, `tuple`, `malformed`, or `spoilt`, if it was meant as a marker."""
    try:
        if _WHOLE_ACCENT.fullmatch(piece):
            unescaped(piece.decode())
            return "accent"
        _texts(piece)
    except ValueError:
        return "spoilt" if any(each in piece for each in MEANT) else "malformed"
    return "punctuation" if piece.startswith(MARKERS[1]) else "tuple"


def parse_element(piece: bytes) -> JsonObject:
    """The object that the element of a tuple means; `written`: the texts of those in it. `ValueError` where it is
    malformed, with the reason."""
    written = _texts(piece)
    item = JsonObject({name: _value_of(text) for name, text in written.items()})
    item.line, item.written = piece.decode(), written
    return item


def _texts(piece: bytes) -> dict[str, str]:
    """The text of each element in an element, without blanks around it that are not written as references."""
    if not _WHOLE_ROW.fullmatch(piece):
        raise ValueError(MALFORMED)
    try:
        text = piece.decode()
    except ValueError:
        raise ValueError(MALFORMED) from None
    inside = _ASIDES.sub("", text[text.index(">") + 1 : text.rindex("<")] if text.count("<") > 1 else "")
    leaves = [(found[1], found[2] or "") for found in _LEAF.finditer(inside)]
    texts = {name: unescaped(value.strip(" \t\r\n")) for name, value in leaves}
    if len(texts) < len(leaves):
        raise ValueError(MALFORMED)
    return texts


def _value_of(text: str) -> Any:
    value = value_of(text)
    # Other words for truth values, and blanks that are written as references, are signs of a text.
    return text if isinstance(value, bool) and text not in ("true", "false") else value
