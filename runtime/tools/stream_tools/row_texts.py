"""Tuples as text: JSON Lines, and tables for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from cedilla.grammar.diagnostics.printable import one_line

_TABLE_ROWS = 1000
"""Number of rows of a table; more rows begin another table."""


def json_line(row: Mapping[str, Any]) -> str:
    """Returns a tuple as a line; numbers have all their digits."""
    return f"{{{', '.join(f'{_text(name)}: {_value(value)}' for name, value in row.items())}}}"


def _value(value: Any) -> str:
    match value:
        case Decimal():
            return f"{value:f}"
        case datetime():
            return _text(value.isoformat().replace("+00:00", "Z"))
        case date():
            return _text(value.isoformat())
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case float() if value != value or abs(value) == float("inf"):
            return _text("NaN" if value != value else "Infinity" if value > 0 else "-Infinity")
        case _:
            return _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def tables(rows: Iterable[Mapping[str, Any] | None]) -> Iterator[str]:
    """Yields tuples as tables with a heading each. A `None` among the rows ends a table, so that it is printed without
    waiting."""
    waiting: list[Mapping[str, Any]] = []
    for row in rows:
        if row is not None:
            waiting.append(row)
        if waiting and (row is None or len(waiting) == _TABLE_ROWS):
            yield _table(waiting)
            waiting = []
    if waiting:
        yield _table(waiting)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    right = [all(isinstance(row.get(n, 0), int | float | Decimal) for row in rows) for n in names]
    heads = [one_line(name) for name in names]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = (
        "  ".join(
            text.rjust(width) if is_number else text.ljust(width)
            for text, width, is_number in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in (heads, *cells)
    )
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return one_line(value) if isinstance(value, str) else _value(value).strip('"')
