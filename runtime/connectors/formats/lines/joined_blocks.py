"""Joins small blocks of files of lines, so that a folder of many small files costs as few calls of a parser as one
large file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from attrs import evolve, frozen

from cedilla.runtime.connectors.formats.lines.blocks import Block, Places
from cedilla.runtime.engines.spark import costs

Placed = tuple[Block, int]
"""A block, and the position in the slice where its file begins."""


@frozen(eq=False)
class JoinedBlock(Block):
    """The texts of several blocks, one after the other. `starts`: where each begins in the text; `positions`: the
    positions of these bytes in the slice."""

    starts: Places
    positions: Places

    @property
    def first(self) -> int:
        return 0

    def positions_of(self, offsets: Places, start: int) -> Places:
        of_blocks = np.searchsorted(self.starts, offsets, "right") - 1
        return start + offsets + (self.positions - self.starts)[of_blocks]


def joined_blocks(blocks: Iterable[Placed]) -> Iterator[Placed]:
    """Yields blocks in order, small ones joined to one. Blocks of other formats than lines, which tell more than their
    text, stay single."""
    small, size = list[Placed](), 0
    for block, start in blocks:
        is_small = type(block) is Block and block.exceeds is None and len(block.text) < costs.SMALL_BLOCK
        if small and (not is_small or size + len(block.text) > costs.BLOCK):
            yield _joined(small)
            small, size = [], 0
        if is_small:
            small.append((block, start))
            size += len(block.text)
        else:
            yield block, start
    if small:
        yield _joined(small)


def _joined(blocks: list[Placed]) -> Placed:
    if len(blocks) == 1:
        return blocks[0]
    texts = [_whole_lines(block) for block, _ in blocks]
    starts = np.cumsum([0, *map(len, texts[:-1])])
    positions = np.array([start + block.place + block.first for block, start in blocks])
    markers = list[Any]()
    for begin, (block, _) in zip(starts.tolist(), blocks, strict=True):
        moved = begin - block.first
        markers += (
            evolve(m, begin=max(m.begin + moved, begin), end=m.end + moved) for m in block.markers or ()
        )
    are_searched = all(block.markers is not None for block, _ in blocks)
    return JoinedBlock(b"".join(texts), 0, starts, positions, markers=markers if are_searched else None), 0


def _whole_lines(block: Block) -> bytes:
    """Returns the text of a block without a byte order mark, with a line feed at its end."""
    text = block.text[block.first :]
    return text if text.endswith(b"\n") else text + b"\n"
