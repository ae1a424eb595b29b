# pyright: basic
"""Offsets of a text as positions of the protocol, which counts lines, and characters as the client does."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from attrs import frozen
from lsprotocol import types as lsp

_BYTES = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@frozen(slots=False)
class Positions:
    """A text, and the encoding of the client, which counts characters in its units."""

    text: str
    encoding: str = "utf-16"

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(n + 1 for n, character in enumerate(self.text) if character == "\n")]

    def _units(self, text: str) -> int:
        name, size = _BYTES[self.encoding]
        return len(text.encode(name, "surrogatepass")) // size

    def position(self, offset: int) -> lsp.Position:
        line = bisect_right(self._starts, offset) - 1
        return lsp.Position(line, self._units(self.text[self._starts[line] : offset]))

    def range(self, start: int, end: int) -> lsp.Range:
        """Returns the range between two offsets."""
        return lsp.Range(self.position(start), self.position(end))

    def offset(self, position: lsp.Position) -> int:
        """Returns the offset of a position; of one outside of the text, the nearest."""
        if position.line >= len(self._starts):
            return len(self.text)
        start = self._starts[position.line]
        row = self.text[start:].partition("\n")[0]
        name, size = _BYTES[self.encoding]
        before = row.encode(name, "surrogatepass")[: position.character * size]
        return start + len(before.decode(name, "ignore"))
