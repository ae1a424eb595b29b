"""Rows of text formats: the types that random ones have, and the rows of blocks."""

from __future__ import annotations

from collections.abc import Sequence

from cedilla.compiler.expressions.types import Type
from cedilla.runtime.formats.csv.blocks import CsvBlock
from cedilla.runtime.formats.xml.blocks import XmlBlock

TYPES = {
    "i": Type("int"),
    "l": Type("long"),
    "d": Type("double"),
    "m": Type("decimal", (6, 2)),
    "s": Type("string"),
    "b": Type("boolean"),
    "at": Type("timestamp"),
    "day": Type("date"),
}


def rows_of(blocks: Sequence[CsvBlock | XmlBlock]) -> list[tuple[int, bytes]]:
    """Returns the rows of blocks with their positions in the file."""
    return [
        (block.place + a, block.text[a:b])
        for block in blocks
        for a, b in zip(block.starts.tolist(), block.ends.tolist(), strict=True)
    ]
