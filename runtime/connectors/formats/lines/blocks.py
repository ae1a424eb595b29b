"""Files of lines as blocks of bytes: whole lines with positions, for all line ends and compressions.

The position of a line is the offset of its first byte in the file, or in the unpacked file. Line ends and blank lines
are those of `records.lines`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from attrs import field, frozen

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.records.lines import LONGEST_LINE, is_compressed, unpacked
from cedilla.runtime.connectors.records.record_files import folder_of, record_file
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.engines.spark import costs

Places = np.ndarray[Any, np.dtype[np.int64]]
_FEED, _BEGIN = b"\n{"
BLANK = b" \t\r"
"""Characters around a line that are not part of it."""
EXCESS = len("\r") + 1
"""The bytes of a line that show that it is too long."""
_MARK = b"\xef\xbb\xbf"
"""The byte order mark, which may precede the first line."""


@frozen
class Part:
    """The lines of a file that begin between two of its bytes, the second excluded; `None`: up to its end.

    `number`: the number of the file in its slice; `path`: as Spark writes it. `longest`: the greatest number of bytes
    of a line without its end. `length`: the bytes of the file when it was listed, 0 if unknown. Later ones are not
    read: nothing searched them for markers.
    """

    path: str
    number: int
    begin: int = 0
    end: int | None = None
    longest: int = field(default=LONGEST_LINE, kw_only=True)
    length: int = field(default=0, kw_only=True)

    def blocks(self) -> Iterator[Block]:
        """Yields its lines in blocks of some megabytes. Raises `DiagnosticError` as `opened_part` does."""
        with opened_part(self) as stream:
            yield from self.blocks_in(stream)

    def blocks_in(self, stream: Any) -> Iterator[Block]:
        """Yields the blocks in the unpacked bytes of its file."""
        yield from _blocks(stream, self.begin, self.end, self.longest)

    def row_at(self, block: Block, begin: int) -> bytes:
        """Returns the row that begins at a byte of a block's text."""
        return block.text[begin : block.end_of(begin)]

    def shown(self, line: int) -> int:
        """Returns the number of a line for messages, from its number in the file, both from 1: in a file of records of
        a topic, the offset."""
        if (records := record_file(self.path)) is None:
            return line
        offsets = _offsets(records.offsets_path(folder_of(self.path)))
        return records.begin + line - 1 if offsets is None else int(offsets[line - 1])


@lru_cache(64)
def _offsets(path: str) -> Any:
    """Returns the offset of each line of a file of records; `None` if they are consecutive."""
    files = Files()
    if not files.exists(path):
        return None
    with files.open(path) as stream:
        return np.load(io.BytesIO(stream.read()))


@contextmanager
def opened_part(part: Part) -> Iterator[Any]:
    """Opens the unpacked bytes of a part's file, local or remote. Raises `DiagnosticError` RQ459 if the file is shorter
    than it was listed, before or after it is read, and as `records.lines.unpacked` and `Files.open` do."""
    with Files().open(part.path) as stream:
        is_longer = part.length < _length_of(stream, part)
        whole: BinaryIO = io.BufferedReader(_Beginning(stream, part.length)) if is_longer else stream
        with unpacked(whole, part.path) as text:
            yield text
        if not (is_longer or is_compressed(Path(part.path))):  # a compressed one would be damaged
            _length_of(stream, part)


def _length_of(stream: BinaryIO, part: Part) -> int:
    """Returns the length of an open file, 0 if that of its part is unknown. Raises RQ459."""
    length = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    if length < part.length:
        message = f"{part.path} is cut while it is read: it had {part.length:,} bytes, and has {length:,}"
        raise failure("RQ459", message, hint=_CUT)
    return length if part.length else 0


_CUT = "run again, so that the whole file is read; write a file elsewhere, and rename it into place when it is complete"


class _Beginning(io.RawIOBase):
    """The first bytes of a file."""

    def __init__(self, stream: BinaryIO, length: int) -> None:
        self._stream, self._length = stream, length

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(
            *((self._length + offset, io.SEEK_SET) if whence == io.SEEK_END else (offset, whence))
        )

    def readinto(self, buffer: Any) -> int:
        chunk = self._stream.read(max(min(len(buffer), self._length - self._stream.tell()), 0))
        buffer[: len(chunk)] = chunk
        return len(chunk)


@frozen(eq=False)
class Block:
    """Whole lines. Each ends with a line feed, perhaps after a carriage return; the last one may lack it. `place`: the
    position of the first byte. `exceeds`: the limit that its only line exceeds; the block may have only its first
    bytes. `markers`: its markers, if it was searched for them."""

    text: bytes
    place: int
    exceeds: int | None = field(default=None, kw_only=True)
    markers: Sequence[Any] | None = field(default=None, kw_only=True)

    def lines(self) -> tuple[Places, Places]:
        """Returns the starts and ends of the lines that are not blank."""
        starts, ends = _bounds(self.text)
        starts[0] = self.first
        if self.exceeds is not None:
            return starts, ends
        plain = np.frombuffer(self.text, np.uint8)[np.minimum(starts, len(self.text) - 1)] == _BEGIN
        kept = plain & (ends > starts)
        for n in np.flatnonzero(~plain & (ends > starts)).tolist():
            kept[n] = bool(self.text[starts[n] : ends[n]].strip(BLANK))
        return (starts, ends) if kept.all() else (starts[kept], ends[kept])

    def count(self) -> int:
        """Returns the number of lines that are not blank."""
        if self.exceeds is not None:
            return 1
        signs = np.frombuffer(self.text, np.uint8)
        is_feed = signs == _FEED
        begun = np.count_nonzero(is_feed[:-1] & (signs[1:] == _BEGIN)) + self.text.startswith(
            b"{", self.first
        )
        ended = np.count_nonzero(is_feed) + (not self.text.endswith(b"\n"))
        return int(ended) if begun == ended else len(self.lines()[0])

    def line_around(self, at: int) -> tuple[int, int]:
        """Returns the start and end of the line that contains a byte of the text."""
        end = self.text.find(b"\n", at)
        begin = self.text.rfind(b"\n", 0, at) + 1
        return begin or self.first, len(self.text) if end < 0 else end

    def end_of(self, begin: int) -> int:
        """Returns the end of the line that begins at a byte of the text."""
        end = self.text.find(b"\n", begin)
        return len(self.text) if end < 0 else end

    def line_ends(self, begin: int, end: int | None = None) -> int:
        """Returns the number of line ends in a piece of the text."""
        return self.text.count(b"\n", begin, end)

    def positions_of(self, offsets: Places, start: int) -> Places:
        """Returns the positions in the slice of bytes of the text. `start`: that where the file begins."""
        return offsets + (start + self.place)

    @property
    def first(self) -> int:
        """Returns the start of the first line."""
        return len(_MARK) if self.place == 0 and self.text.startswith(_MARK) else 0


def place_of(sign: bytes, rare: bytes, text: bytes) -> int:
    """Returns the first position of some bytes in a text, else -1. `rare`: one of these bytes that few
    texts contain. Searching for a single byte is about ten times as fast."""
    at = text.find(rare)
    return at if at < 0 else text.find(sign, max(at - sign.index(rare), 0))


def _bounds(text: bytes) -> tuple[Places, Places]:
    feeds = np.flatnonzero(np.frombuffer(text, np.uint8) == _FEED)
    ends = feeds if text.endswith(b"\n") else np.append(feeds, len(text))
    return np.append(np.zeros(1, np.int64), ends[:-1] + 1), ends


def parts_of(paths: Sequence[tuple[int, str, int]], size: int, longest: int) -> list[Part]:
    """Splits files, given as number, path and length, into parts of about `size` bytes. A compressed file is one
    part."""
    parts: list[Part] = []
    for number, path, length in paths:
        if length <= size or is_compressed(Path(path)):
            parts.append(Part(path, number, longest=longest, length=length))
            continue
        count = -(-length // size)
        bounds = [length * n // count for n in range(count)]
        ends: Iterable[int | None] = (*bounds[1:], None)
        parts += (
            Part(path, number, begin, end, longest=longest, length=length)
            for begin, end in zip(bounds, ends, strict=True)
        )
    return parts


def _blocks(stream: Any, begin: int, end: int | None, longest: int) -> Iterator[Block]:
    """Yields the lines that begin between two bytes. The first line follows the first line end at or after `begin -
    1`.

    Of a line that is too long, a block has as many bytes as show that.
    """
    at, rest = max(begin - 1, 0), b""
    if at:
        stream.seek(at)
    is_begun = begin == 0
    while True:
        chunk: bytes = stream.read(costs.BLOCK)
        if is_begun and (end is None or at + len(rest) + len(chunk) < end) and (whole := _whole(chunk)):
            text = b"".join((rest, memoryview(chunk)[:whole]))  # most blocks are copied only here
            yield from _lines_apart(_with_feeds(text), at, longest)
            at, rest = at + len(text), chunk[whole:]
            continue
        text = rest + chunk
        is_last = not chunk
        if not is_begun:
            first = _line_end(text, 0, is_last)
            if first is None and not is_last:
                rest = text[-1:]  # a return may belong to a feed that comes next
                at += len(text) - len(rest)
                continue
            at, text, is_begun = at + (first or len(text)), text[first or len(text) :], True
        if end is not None:
            if at >= end:
                return
            if at + len(text) >= end and (last := _line_end(text, end - 1 - at, is_last)) is not None:
                yield from _lines_apart(_with_feeds(text[:last]), at, longest)
                return
        if is_last:
            if text:
                yield from _lines_apart(_with_feeds(text), at, longest)
            return
        if whole := _whole(text):
            yield from _lines_apart(_with_feeds(text[:whole]), at, longest)
        at, rest = at + whole, text[whole:]
        if len(rest) > longest + EXCESS:
            yield Block(rest[: longest + EXCESS] + b"\n", at, exceeds=longest)
            length, rest = passed(stream, rest)
            at += length


def _whole(text: bytes) -> int:
    """Returns the number of bytes of the whole lines that a text begins with. A carriage return at the very end may
    belong to the next line feed."""
    return max(text.rfind(b"\n"), text.rfind(b"\r", 0, len(text) - 1)) + 1


def _lines_apart(text: bytes, offset: int, longest: int) -> Iterator[Block]:
    """Yields whole lines in blocks, those that are too long in blocks of their own."""
    block = Block(text, offset)
    at = 0
    for begin, end in _too_long(block, longest) if len(text) > longest else ():
        if begin > at:
            yield Block(text[at:begin], offset + at)
        yield Block(text[begin : min(end, begin + longest + EXCESS)] + b"\n", offset + begin, exceeds=longest)
        at = end + 1
    if at < len(text):
        yield Block(text[at:], offset + at) if at else block


def _too_long(block: Block, longest: int) -> list[tuple[int, int]]:
    starts, ends = _bounds(block.text)
    first = block.first
    return [
        (a, b)
        for n in np.flatnonzero(ends - starts > longest).tolist()
        for a, b in [(int(starts[n]), int(ends[n]))]
        if len(block.text[a or first : b].removesuffix(b"\r")) > longest
    ]


def passed(stream: Any, text: bytes) -> tuple[int, bytes]:
    """Reads on to the end of the line that a text begins with. Returns its length, and what was read after it."""
    length = 0
    while (end := _line_end(text, 0, is_last=False)) is None:
        chunk: bytes = stream.read(costs.BLOCK)
        if not chunk:
            return length + len(text), b""
        length += len(text) - 1
        text = text[-1:] + chunk
    return length + end, text[end:]


def _line_end(text: bytes, begin: int, is_last: bool) -> int | None:
    """Returns the offset after the first line end at or after `begin`; `None` if the text contains none for certain."""
    feed, back = text.find(b"\n", begin), text.find(b"\r", begin)
    if back < 0 or 0 <= feed < back:
        return None if feed < 0 else feed + 1
    if back + 1 == len(text):
        return len(text) if is_last else None
    return back + 2 if text[back + 1 : back + 2] == b"\n" else back + 1


_RETURN = re.compile(rb"\r(?!\n)")


def _with_feeds(text: bytes) -> bytes:
    """Returns the same lines, all ending with a line feed; no byte moves."""
    is_mixed = b"\r" in text and text.count(b"\r") != text.count(b"\r\n")
    return _RETURN.sub(b"\n", text) if is_mixed else text


def row_count(file: Part, offset: int | None = None) -> int:
    """Returns the number of lines of a file that are not blank, before a position if one is given."""
    count = 0
    for block in file.blocks():
        starts, _ = block.lines()
        if offset is not None and block.place + len(block.text) >= offset:
            return count + int(np.searchsorted(starts, offset - block.place))
        count += len(starts)
    return count


def place_of_row(file: Part, number: int) -> int | None:
    """Returns the position of the line with a number from 0, blank lines not counted; `None` if the file is shorter."""
    for block in file.blocks():
        starts, _ = block.lines()
        if number < len(starts):
            return block.place + int(starts[number])
        number -= len(starts)
    return None


def lines_at(file: Part, places: Iterable[int]) -> Iterator[tuple[bytes, int]]:
    """Yields the lines at some positions of a whole file, in order: the text, and its number among all lines from 1."""
    blocks = file.blocks()
    block, counted, number = Block(b"", 0), 0, 1
    for position in places:
        while block.place + len(block.text) <= position:
            number += block.line_ends(counted)
            block, counted = next(blocks), 0
        begin = position - block.place
        number += block.line_ends(counted, begin)
        counted = begin
        yield file.row_at(block, begin).removesuffix(b"\r"), number
