"""Markers where most producers write them, at the beginnings and the ends of JSON Lines files: read by the driver, in a
few messages for each file instead of a pass over all lines. A count of bytes tells that no other line is nearly one.

What is found is there; what stands between tuples may be overlooked, so whoever reads the tuples counts markers. The
place of a marker is before or behind all tuples of its file, not that of its row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import takewhile

from cedilla.runtime.engines import costs
from cedilla.runtime.engines.files import Files
from cedilla.runtime.formats.objects import count
from cedilla.runtime.formats.source import InputFile, Scan
from cedilla.runtime.items.lines import local_path
from cedilla.runtime.items.marker import NEXT_FILE, MarkerLine

_KINDS = {"$accent": "accent", "$punctuation": "punctuation"}


def scan_ends(files: Files, listed: Sequence[InputFile]) -> Scan | None:
    """The markers at both ends of files; `None` where these have more to them than markers before and behind tuples."""
    markers: list[MarkerLine] = []
    empty: set[int] = set()
    for number, file in enumerate(listed):
        found = _edges(*files.edges(file.path, file.length, costs.FILE_END))
        if found is None or not _are_all(found, file):
            return None
        before, behind, has_tuples = found
        place, end = number * NEXT_FILE, (number + 1) * NEXT_FILE - len(behind)
        markers += [MarkerLine(*marker, place + n) for n, marker in enumerate(before)]
        markers += [MarkerLine(*marker, end + n) for n, marker in enumerate(behind)]
        if not has_tuples:
            empty.add(number)
    return Scan(tuple(markers), frozenset(empty), ends_only=True)


_Marker = tuple[str, str]
"""Kind and text."""


def _edges(first: bytes, last: bytes | None) -> tuple[list[_Marker], list[_Marker], bool] | None:
    """The markers before the tuples of a file, those behind them, and whether there are tuples.

    `first`, `last`: its beginning and its end, each with less than a line of what is between; or all of it, and `None`.
    """
    try:
        head = _lines(first if last is None else first[: first.rfind(b"\n") + 1])
        tail = head if last is None else _lines(last[last.find(b"\n") + 1 :])
    except UnicodeDecodeError:
        return None
    before = _leading(head)
    if last is None and len(before) == len(head):
        return before, [], False
    behind = _leading(reversed(tail))[::-1]
    after, until = head[len(before) :], tail[: len(tail) - len(behind)]
    # Where no tuple is seen, or it is none of JSON (but compressed, say), an edge is too small or the file odd.
    odd = not after or not until or not after[0].startswith("{")
    between = (after[: len(after) - len(behind)],) if last is None else (after, until)
    is_hidden = any(key in line for lines in between for line in lines for key in _KINDS)
    return None if odd or is_hidden else (before, behind, True)


def _are_all(found: tuple[list[_Marker], list[_Marker], bool], file: InputFile) -> bool:
    """Whether a file has no strings that begin like markers but those found, so no line that is nearly one either."""
    before, behind, has_tuples = found
    if not has_tuples:
        return True
    path = local_path(file.path)
    here = sum(1 + json.dumps(text, ensure_ascii=False)[1:].count('"[') for _, text in (*before, *behind))
    return path is not None and count(path, b'"[') == here


def _lines(text: bytes) -> list[str]:
    # What Spark takes for blank; a line of other spaces is a tuple, if a bad one.
    return [line.decode() for line in text.split(b"\n") if line.strip(b" \t\r")]


def _leading(lines: Iterable[str]) -> list[_Marker]:
    """The markers that come before anything else."""
    return [marker for marker in takewhile(bool, map(_marker, lines)) if marker]


def _marker(line: str) -> _Marker | None:
    """What a line says that is a marker and plainly written; `None`: look at it with more care, if at all."""
    if not line.startswith('{"$') or "\\u" in line:
        return None
    try:
        item = json.loads(line)
    except ValueError:
        return None
    if not isinstance(item, dict) or len(item) != 1:
        return None
    ((key, text),) = item.items()
    return (_KINDS[key], text) if key in _KINDS and isinstance(text, str) else None
