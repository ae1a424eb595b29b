"""CSV: a tuple is a record. Markers come only from a separate folder (design, section 6).

The first record of each file names its columns; their order may differ between files.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import ClassVar

from pyspark.sql import SparkSession

from cedilla.runtime.connectors.formats.csv.batches import CsvBatches
from cedilla.runtime.connectors.formats.csv.blocks import CsvBlock, CsvPart
from cedilla.runtime.connectors.formats.lines.blocks import Part
from cedilla.runtime.connectors.formats.lines.fields import of_rows, rows_within, without_paths
from cedilla.runtime.connectors.formats.lines.text_format import FoundMarker, TextFormat
from cedilla.runtime.connectors.formats.source import (
    EVERYWHERE,
    FieldKinds,
    InputFile,
    MarkerLine,
    Numbered,
    Span,
    Types,
)
from cedilla.runtime.connectors.records import csv_records
from cedilla.runtime.connectors.records.csv_records import parse_record, without_none
from cedilla.runtime.connectors.records.lines import LONGEST_LINE
from cedilla.runtime.connectors.records.nested import Paths

_KEYS = (b"$accent", b"$punctuation")


def markers_in(block: CsvBlock) -> Iterator[FoundMarker]:
    """Yields rows that end a query: first lines without usable column names, and records that look like markers. Also
    yields each valid header."""
    if (at := block.header_at) is not None:
        if block.header.problem is not None:
            yield FoundMarker("header", block.header_text, at, at)
        elif any(name.startswith(csv_records.MARKER_NAMES) for name in block.header.names):
            yield FoundMarker("malformed", block.header_text, at, at)
        else:
            yield FoundMarker("columns", block.header_text, at, at)
    for begin, end in block.rows_with(_KEYS):
        text = block.text[begin:end].decode("utf-8", "replace")
        if csv_records.is_marker(text):
            yield FoundMarker("malformed", text, begin, end)


def fields_in(block: CsvBlock, span: Span = EVERYWHERE) -> dict[str, FieldKinds]:
    """Maps each column in the records of a block to the kinds of its values. Undefined values do not count. `span`: the
    bytes between which the records begin."""
    return of_rows(
        block,
        rows_within(block.lines(), span),
        lambda row: without_none(parse_record(block.header, row), block.none),
    )


class Csv(TextFormat):
    """One record is one tuple; one task reads a whole file. `paths`: the columns of attributes that have another name
    than theirs. `none`: words for an undefined value."""

    malformed: ClassVar[str] = "the record is malformed, or a value is not of its attribute's type"
    markers_in = markers_in
    fields_in = fields_in

    def __init__(
        self, longest: int = LONGEST_LINE, paths: Paths | None = None, none: Set[str] = frozenset()
    ) -> None:
        super().__init__(longest, paths)
        self._none = frozenset(none)

    def batches(self, types: Types) -> CsvBatches:
        return CsvBatches(dict(types), self.paths)

    def whole(self, file: InputFile, number: int = 0) -> Part:
        return CsvPart(file.path, number, longest=self.longest, none=self._none, length=file.length)

    def fields(
        self, spark: SparkSession, files: Numbered, between: Span = EVERYWHERE
    ) -> dict[str, FieldKinds]:
        return without_paths(super().fields(spark, files, between), self.paths)

    def marker_line(self, kind: str, text: str, position: int, end: int) -> MarkerLine:
        if kind == "columns":
            return MarkerLine(kind, text, position)
        if kind == "header":
            header = csv_records.header_of(text.encode(), self.longest)
            problem = csv_records.bad_header(header.problem or "")
            return MarkerLine("malformed", text, position, problem=problem, code=csv_records.BAD_HEADER)
        return MarkerLine("malformed", text, position, problem=csv_records.NO_MARKERS)
