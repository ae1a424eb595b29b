"""Files of CSV as blocks of whole records. If all quotes are regular, numpy finds the ends of records. Otherwise
`records.csv_records` finds the same ends, record by record."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from cedilla.runtime.connectors.formats.lines.blocks import Block, Part, Places, opened_part, passed
from cedilla.runtime.connectors.formats.lines.rows import RowBlock
from cedilla.runtime.connectors.records import csv_records
from cedilla.runtime.connectors.records.csv_records import MARK, Header
from cedilla.runtime.engines.spark import costs

_QUOTE, _FEED, _RETURN = ord('"'), ord("\n"), ord("\r")
Signs = np.ndarray[Any, np.dtype[np.uint8]]
_BEFORE = np.frombuffer(b'\n"', np.uint8)
"""Characters other than a separator that may precede the quote that begins a field, or the second of two quotes."""
_AFTER = np.frombuffer(b'\r\n"', np.uint8)


@frozen(eq=False)
class CsvBlock(RowBlock):
    """Whole records, with the file's `header` and its text. `header_at`: its start in the block that contains it.
    `none`: the source's words for an undefined value."""

    header: Header
    header_text: str
    header_at: int | None
    none: frozenset[str] = field(default=frozenset(), kw_only=True)

    def line_ends(self, begin: int, end: int | None = None) -> int:
        return csv_records.line_ends(self.text[begin:end])


@frozen
class CsvPart(Part):
    """All records of a file. A file is not split, because a line in its middle may be inside quotes.
    `none`: as in `CsvBlock`."""

    none: frozenset[str] = field(default=frozenset(), kw_only=True)

    def blocks(self) -> Iterator[Block]:
        with opened_part(self) as stream:
            at, rest, is_last = 0, b"", False
            header, header_text, separator = None, "", ","
            while not is_last:
                chunk: bytes = stream.read(costs.BLOCK)
                is_last, text = not chunk, rest + chunk
                rest = text
                if not is_last and at == 0 and len(text) < len(MARK):
                    continue
                begin = len(MARK) if at == 0 and text.startswith(MARK) else 0
                if header is None:
                    separator = csv_records.separator_of(text[begin:])
                starts, ends, whole = bounds(text, begin, separator, is_last=is_last)
                header_at = None
                while header is None and len(starts):
                    row, header_at = text[starts[0] : ends[0]], int(starts[0])
                    if row.strip(csv_records.blank(None)):
                        header_text = row.decode("utf-8", "replace")
                        header = csv_records.header_of(row, self.longest)
                    starts, ends = starts[1:], ends[1:]
                if whole:
                    yield from _rows_apart(
                        CsvBlock(
                            text[:whole],
                            at,
                            starts,
                            ends,
                            header or Header(()),
                            header_text,
                            header_at,
                            none=self.none,
                        ),
                        self.longest,
                    )
                at, rest = at + whole, text[whole:]
                if csv_records.is_endless(rest, self.longest):
                    yield self._endless(rest[: self.longest + 1], at, header, header_text)
                    header = header or csv_records.header_of(rest, self.longest)
                    length, rest = passed(stream, rest)
                    at += length

    def _endless(self, row: bytes, offset: int, header: Header | None, header_text: str) -> CsvBlock:
        """Returns the first bytes of a line that is too long. If it is the first line, the query ends."""
        bounds = (np.zeros(1, np.int64), np.array([len(row)]))
        if header is not None:
            return CsvBlock(row + b"\n", offset, *bounds, header, header_text, None, exceeds=self.longest)
        header, header_text = csv_records.header_of(row, self.longest), row.decode("utf-8", "replace")
        return CsvBlock(row + b"\n", offset, *bounds, header, header_text, 0, exceeds=self.longest)


def _rows_apart(block: CsvBlock, longest: int) -> Iterator[CsvBlock]:
    """Yields the records of a block, those that are too long in blocks of their own."""
    is_long = block.ends - block.starts > longest
    if not is_long.any():
        yield block
        return
    first = np.flatnonzero(is_long | np.append(True, is_long[:-1]))  # records that begin blocks
    cuts = [0, *block.starts[first[1:]].tolist(), len(block.text)]
    rows = [*first.tolist(), len(is_long)]
    for (begin, end), (low, high) in zip(pairwise(cuts), pairwise(rows), strict=True):
        yield evolve(
            block,
            text=block.text[begin:end],
            place=block.place + begin,
            starts=block.starts[low:high] - begin,
            ends=block.ends[low:high] - begin,
            header_at=block.header_at if begin == 0 else None,
            exceeds=longest if is_long[low] else None,
        )


def bounds(text: bytes, begin: int, separator: str, *, is_last: bool) -> tuple[Places, Places, int]:
    """Returns the starts and ends of whole records that are not blank, and the start of the rest."""
    nothing = np.zeros(0, np.int64)
    if begin >= len(text):
        return nothing, nothing, begin
    plain_bounds = _plain_bounds(text, begin, separator, is_last=is_last)
    if plain_bounds is None:
        pairs, whole = csv_records.bounds(text, begin, separator, is_last=is_last)
        starts, ends = np.array(pairs, np.int64).reshape(-1, 2).T
    else:
        starts, ends, whole = plain_bounds
    if not len(starts):
        return starts, ends, whole
    kept = ends > starts
    first = np.frombuffer(text, np.uint8)[np.minimum(starts, len(text) - 1)]
    blank = csv_records.blank(separator)
    for n in np.flatnonzero(kept & ((first == blank[0]) | (first == blank[-1]))).tolist():
        kept[n] = bool(text[starts[n] : ends[n]].strip(blank))
    return (starts, ends, whole) if kept.all() else (starts[kept], ends[kept], whole)


def _plain_bounds(
    text: bytes, begin: int, separator: str, *, is_last: bool
) -> tuple[Places, Places, int] | None:
    """Returns the result of `bounds` without the check for blank records; `None` unless all quotes are at the ends of
    fields or doubled inside them, and all lines end alike."""
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        return None
    signs = np.frombuffer(text, np.uint8)
    feeds = np.flatnonzero(signs == _FEED)
    feeds = feeds[np.searchsorted(feeds, begin) :]
    if is_last and not text.endswith(b"\n"):
        feeds = np.append(feeds, len(text))
    if b'"' in text:
        quotes = np.flatnonzero(signs == _QUOTE)
        feeds = feeds[np.searchsorted(quotes, feeds) % 2 == 0]
        quotes = quotes[: np.searchsorted(quotes, feeds[-1])] if len(feeds) else quotes
        if not len(feeds) or not _stand_well(signs, quotes, begin, separator):
            return None
    whole = min(int(feeds[-1]) + 1, len(text)) if len(feeds) else begin
    starts = np.append(np.array([begin], np.int64), feeds[:-1] + 1)[: len(feeds)]
    if len(text) - whole > csv_records.MAX_RECORD or (is_last and whole < len(text)):
        return None  # the rest may be too long for one record
    if len(feeds) and int((feeds - starts).max()) + 2 >= csv_records.MAX_RECORD:
        return None
    returns = signs[np.maximum(feeds - 1, 0)] == _RETURN if b"\r" in text else np.zeros(len(feeds), bool)
    return starts, feeds - returns, whole


def _stand_well(signs: Signs, quotes: Places, begin: int, separator: str) -> bool:
    """Returns True if every opening quote begins a field and every closing quote ends one, or the two are a doubled
    quote."""
    opening, closing, sign = quotes[0::2], quotes[1::2], ord(separator)
    before = signs[opening[opening > begin] - 1]
    after = signs[closing[closing + 1 < len(signs)] + 1]
    return bool(
        (np.isin(before, _BEFORE) | (before == sign)).all()
        and (np.isin(after, _AFTER) | (after == sign)).all()
    )


def stand_well(text: bytes, separator: str) -> bool:
    """Returns True if all quotes of some records are regular."""
    if b'"' not in text:
        return True
    signs = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(signs == _QUOTE)
    return len(quotes) % 2 == 0 and _stand_well(signs, quotes, 0, separator)
