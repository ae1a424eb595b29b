"""Wraps paragraphs, tables and diagnostics to a width; a longer word stays whole."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

WIDTH = 100
"""The width without a terminal."""

_GAP = "   "
_NARROW = 32
"""Text of a column narrower than this is hard to read, so it goes below the row."""

_QUOTED = re.compile(r" *\d* \|")


def wrapped(text: str, width: int, hanging: str = "", first: str = "") -> list[str]:
    """Returns the lines of a paragraph: the first starts with `first`, the others with `hanging`."""
    return textwrap.wrap(
        text,
        max(width, len(hanging) + 1),
        initial_indent=first,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first]


def columns(rows: Sequence[Sequence[str]], width: int | None = None) -> Iterator[str]:
    """Yields the lines of an indented table whose columns are as wide as their widest cells; `None`: any
    width.
    """
    for lines in laid_out(rows, width):
        yield from lines


def laid_out(rows: Sequence[Sequence[str]], width: int | None = None, indent: str = "  ") -> list[list[str]]:
    """Returns the lines of each row of a table.

    A last cell that is too long is wrapped in its column. If the column is narrow, it goes below the others.
    """
    if not rows:
        return []
    *before, last = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    start = len(indent) + sum(len(_GAP) + cell_width for cell_width in before)
    room = last if width is None else width - start
    if last <= room or (before and room >= _NARROW and _longest_word(rows) <= room):
        return [_in_columns(row, before, room, indent) for row in rows]
    width = width or WIDTH
    if not before:
        return [_hanging(row[0], width, indent) for row in rows]
    heads = laid_out([row[:-1] for row in rows], width, indent)
    return [
        [f"{head[0].ljust(start - len(_GAP))}{_GAP}{row[-1]}".rstrip()]
        if len(head) == 1 and len(row[-1]) <= room
        else [*head, *(_hanging(row[-1], width, f"{indent}    {_lead(row[0])}") if row[-1] else [])]
        for head, row in zip(heads, rows, strict=True)
    ]


def _in_columns(row: Sequence[str], widths: Sequence[int], room: int, indent: str) -> list[str]:
    lines = wrapped(row[-1], room) if len(row[-1]) > room else [row[-1]]
    cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
    first = f"{indent}{_GAP.join([*cells, lines[0]])}".rstrip()
    blank = " " * (len(indent) + sum(len(_GAP) + width for width in widths))
    return [first, *(blank + line for line in lines[1:])]


def _hanging(text: str, width: int, indent: str) -> list[str]:
    return [indent + line for line in wrapped(text, width - len(indent), f"{_lead(text)}  ")]


def _lead(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def _longest_word(rows: Sequence[Sequence[str]]) -> int:
    return max((len(word) for row in rows for word in row[-1].split()), default=0)


def fitted(rendered: str, width: int) -> str:
    """Wraps rendered diagnostics, except for the quoted lines of the query."""
    lines: list[str] = []
    for line in rendered.splitlines():
        kept = _QUOTED.match(line) is not None or len(line) <= width
        lines += [line] if kept else wrapped(line, width, f"{_lead(line)}    ")
    return "\n".join(lines)
