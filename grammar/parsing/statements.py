"""Finds the beginnings and ends of a query's statements, also in a text that cannot be parsed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

PIECE = re.compile(r"""#[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\w+|:=|\n|[^\w\s]""")
"""Comments, strings, words, line ends and signs of a text."""
_UNIT = r"""unit\s+(?:\w+|"[^"\n]*")\s*[=;]"""
_BEGINS = re.compile(rf"\s*(?:(?:stream|table|operator|set|let|emit|accent|use)\b|{_UNIT}|\w+\s*:=)")
_DEPTHS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def bounds(text: str, offset: int) -> tuple[int, int]:
    """The start and the end of the statement around a place; one that lacks its semicolon ends where the next
    begins."""
    ends = list(_ends(text))
    before = bisect_right(ends, offset)
    return ends[before - 1] if before else 0, ends[before] if before < len(ends) else len(text)


def _ends(text: str) -> Iterator[int]:
    """Returns the ends of statements: after a semicolon, or at the end of a line if the next line begins another."""
    depth = 0
    for piece in PIECE.finditer(text):
        depth += _DEPTHS.get(piece[0], 0)
        is_end = piece[0] == ";" and not (depth > 0 and closes(text, piece.end(), depth))
        if is_end or (piece[0] == "\n" and _BEGINS.match(text, piece.end())):
            depth = 0
            yield piece.end()


def closes(text: str, offset: int, depth: int) -> bool:
    """Returns True if brackets that are open at a place close before another statement begins: a semicolon there
    parts the members of a list."""
    for piece in PIECE.finditer(text, offset):
        if _BEGINS.match(text, piece.start()):
            return False
        depth += _DEPTHS.get(piece[0], 0)
        if depth <= 0:
            return True
    return False
