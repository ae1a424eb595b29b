"""Rows of text formats: the types that random ones have, blocks of texts, and the rows of blocks."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest

from cedilla.compiler.expressions.types import Type
from cedilla.runtime.connectors.formats.csv import blocks as csv_parts
from cedilla.runtime.connectors.formats.csv.blocks import CsvBlock, CsvPart
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches
from cedilla.runtime.connectors.formats.lines.blocks import Block
from cedilla.runtime.connectors.formats.xml import blocks as xml_parts
from cedilla.runtime.connectors.formats.xml.blocks import XmlBlock, XmlPart
from cedilla.runtime.connectors.records.lines import LONGEST_LINE
from cedilla.runtime.engines.spark import costs

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


def csv_blocks(
    text: bytes,
    monkeypatch: pytest.MonkeyPatch,
    size: int = 1 << 22,
    longest: int = LONGEST_LINE,
    none: frozenset[str] = frozenset(),
) -> list[CsvBlock]:
    with monkeypatch.context() as patch:
        patch.setattr(costs, "BLOCK", size)
        patch.setattr(csv_parts, "opened_part", lambda part: io.BytesIO(text))
        part = CsvPart("", 0, longest=longest, none=none)
        return [block for block in part.blocks() if isinstance(block, CsvBlock)]


def xml_blocks(text: bytes, monkeypatch: pytest.MonkeyPatch, size: int = 1 << 22) -> list[XmlBlock]:
    with monkeypatch.context() as patch:
        patch.setattr(costs, "BLOCK", size)
        patch.setattr(xml_parts, "opened_part", lambda part: io.BytesIO(text))
        return [block for block in XmlPart("", 0).blocks() if isinstance(block, XmlBlock)]


def row_of(batches: JsonBatches, line: str) -> dict[str, Any]:
    """Returns the row of one line."""
    return batches.batch(Block(line.encode(), 0), 0).to_pylist()[0]
