"""Blocks whose rows are not lines: records of CSV, elements of XML. Their bounds are found once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from attrs import frozen

from cedilla.runtime.connectors.formats.lines.blocks import Block, Places


@frozen(eq=False)
class RowBlock(Block):
    """Whole rows. `starts` and `ends` are those of the rows that are not blank."""

    starts: Places
    ends: Places

    def lines(self) -> tuple[Places, Places]:
        return self.starts, self.ends

    def count(self) -> int:
        return len(self.starts)

    def end_of(self, begin: int) -> int:
        return int(self.ends[np.searchsorted(self.starts, begin)]) if begin in self.starts else begin

    def rows_with(self, keys: Iterable[bytes]) -> Iterator[tuple[int, int]]:
        """Yields the starts and ends of rows that contain one of some keys, or that precede one."""
        places = [at for key in keys for at in _places(self.text, key)]
        for number in np.unique(np.searchsorted(self.starts, places, "right") - 1).tolist():
            if number >= 0:
                yield int(self.starts[number]), int(self.ends[number])


def _places(text: bytes, key: bytes) -> Iterator[int]:
    at = text.find(key)
    while at >= 0:
        yield at
        at = text.find(key, at + 1)
