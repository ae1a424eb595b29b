"""JSON lines that are taken apart: a line has a tuple for each element of a list or entry of an object, or for what a
text in it contains.

Each tuple has its own position in its line: the n-th one has that of the n-th byte. A line has more bytes than tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from cedilla.compiler.plan import Source
from cedilla.compiler.plan.unfolding import Unfolding
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches, tuple_lines
from cedilla.runtime.connectors.formats.jsonl.fields import of_block
from cedilla.runtime.connectors.formats.jsonl.records import Records
from cedilla.runtime.connectors.formats.jsonl.source import LinesOfTuples
from cedilla.runtime.connectors.formats.lines.blocks import Block, Part, Places
from cedilla.runtime.connectors.formats.lines.fields import rows_within
from cedilla.runtime.connectors.formats.source import (
    EVERYWHERE,
    FieldKinds,
    InputFile,
    Numbered,
    Span,
    Types,
)
from cedilla.runtime.connectors.records.lines import LONGEST_LINE
from cedilla.runtime.connectors.records.nested import Paths
from cedilla.runtime.connectors.records.record_files import fault_of
from cedilla.runtime.connectors.records.unfolding import folded, unfolded

Steps = Sequence[Unfolding]


def rows_in(row: bytes, steps: Steps) -> list[bytes]:
    """Returns the lines that a line becomes; a line that cannot be read stays unchanged."""
    try:
        return (
            [row] if fault_of(row) else [text.encode() for text in unfolded(row.decode().strip("\r"), steps)]
        )
    except ValueError:
        return [row]


@frozen(eq=False)
class _Rows:
    """The lines that the lines of a block become. `places`: the position of each in the text of the block."""

    text: bytes
    starts: Places
    ends: Places
    places: Places

    @classmethod
    def of(cls, text: bytes, starts: Places, ends: Places, steps: Steps) -> _Rows:
        every = [rows_in(text[a:b], steps) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        rows = [row for some in every for row in some]
        counts = np.array([len(some) for some in every], np.int64)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        stops = np.cumsum([len(row) + 1 for row in rows], dtype=np.int64) - 1
        begins = np.append(np.zeros(1, np.int64), stops[:-1] + 1) if rows else stops
        return cls(b"\n".join(rows), begins, stops, np.repeat(starts, counts) + within)


@frozen
class UnfoldedBatches(JsonBatches):
    """Makes batches of the tuples of lines that are taken apart."""

    steps: Steps = field(kw_only=True)

    def parse_block(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        return self._with(_Rows.of(text, starts, ends, self.steps), super().parse_block)

    def parse_rows(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array]:
        columns = self._with(_Rows.of(text, starts, ends, self.steps), super().parse_rows)
        assert columns is not None
        return columns

    def _with(
        self, rows: _Rows, parse: Callable[[bytes, Places, Places], list[pa.Array] | None]
    ) -> list[pa.Array] | None:
        """Returns the columns of some lines, with the positions of the lines that they come from."""
        if not len(rows.starts):
            return [*self.columns([]), pa.array([], pa.int64())]
        columns = parse(rows.text, rows.starts, rows.ends)
        return None if columns is None else [*columns[:-1], pa.array(rows.places)]


@frozen
class _UnfoldedPart(Part):
    """A file whose lines are taken apart: a row is the line of the source that has one tuple only."""

    steps: Steps = field(default=(), eq=False)

    def row_at(self, block: Block, begin: int) -> bytes:
        first, end = block.line_around(begin)
        line = block.text[first:end]
        rows = [line] if block.exceeds is not None else rows_in(line, self.steps)
        row = rows[begin - first] if begin - first < len(rows) else line
        return row if row is line else folded(row.decode(), self.steps).encode()


def _fields(block: Block, span: Span = EVERYWHERE, *, paths: Paths, steps: Steps) -> Mapping[str, FieldKinds]:
    """Maps each field in the tuples of a block to the kinds of its values."""
    starts, ends = rows_within(tuple_lines(block), span)
    if not len(starts) or block.exceeds is not None:
        return {}
    rows = _Rows.of(block.text, starts, ends, steps)
    return of_block(Block(rows.text, 0, markers=()), paths=paths) if len(rows.starts) else {}


class Unfolded(LinesOfTuples):
    """Lines of JSON that are taken apart; each source has its own instance."""

    def __init__(self, longest: int = LONGEST_LINE, source: Source | None = None) -> None:
        super().__init__(longest, None if source is None else source.paths)
        self.steps: Steps = () if source is None else source.unfolded

    def batches(self, types: Types) -> UnfoldedBatches:
        return UnfoldedBatches(dict(types), paths=self.paths, steps=self.steps)

    def whole(self, file: InputFile, number: int = 0) -> Part:
        return _UnfoldedPart(file.path, number, steps=self.steps, longest=self.longest, length=file.length)

    def parts(self, files: Numbered) -> list[Part]:
        return [
            _UnfoldedPart(p.path, p.number, p.begin, p.end, self.steps, longest=p.longest, length=p.length)
            for p in super().parts(files)
        ]

    def search_of_fields(self) -> Callable[[Block, Span], Mapping[str, FieldKinds]]:
        return partial(_fields, paths=self.paths, steps=self.steps)


class UnfoldedRecords(Records, Unfolded):
    """Records of a topic that are taken apart."""
