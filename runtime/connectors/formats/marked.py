"""Sources with a separate folder of markers: JSON Lines files that contain only markers, for users who cannot write
into the producer's files.

These files are files of the stream in another format. `listing.in_order` decides their position among the others, and
the batch records it. A repeated run therefore finds the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from pyspark.sql import DataFrame, SparkSession

from cedilla.runtime.connectors.formats.jsonl.source import JsonLines, stray_lines
from cedilla.runtime.connectors.formats.source import (
    EVERYWHERE,
    NO_FIELDS,
    Batch,
    Counted,
    FieldKinds,
    Format,
    InputFile,
    Numbered,
    Scan,
    Searched,
    Span,
    Types,
)
from cedilla.runtime.connectors.records.change_events import Columns
from cedilla.runtime.connectors.records.field_names import FieldNames
from cedilla.runtime.connectors.records.lines import LONGEST_LINE
from cedilla.runtime.connectors.records.marker import STRAY, MarkerLine
from cedilla.runtime.connectors.records.nested import Paths


class Marked(Format):
    """A format of tuples, with marker files between its files (`InputFile.is_markers`)."""

    def __init__(self, base: Format, longest: int = LONGEST_LINE) -> None:
        self._base = base
        self._of_markers = JsonLines(longest=longest)
        # Class attributes of other formats are instance attributes here, because each base differs.
        for name in ("malformed", "columnar", "by_bytes"):
            setattr(self, name, getattr(base, name))

    @property
    def paths(self) -> Paths:
        return self._base.paths

    @property
    def field_names(self) -> FieldNames:
        return self._base.field_names

    def with_paths(self, paths: Paths) -> Marked:
        changed = copy(self)
        changed._base = self._base.with_paths(paths)
        return changed

    @property
    def columns(self) -> Columns:
        return self._base.columns

    def expecting(self, columns: Columns) -> Marked:
        changed = copy(self)
        changed._base = self._base.expecting(columns)
        return changed

    def with_tests_of_texts(self) -> Marked:
        changed = copy(self)
        changed._base = self._base.with_tests_of_texts()
        return changed

    def tuples(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        return self._base.tuples(spark, _data(files), types)

    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        """Also returns the first line of a marker file that is not a marker, which ends the query."""
        of_data = self._base.scans(spark, [_data(files) for files in slices])
        of_markers = self._of_markers.scans(spark, [_markers(files) for files in slices])
        return [
            Scan(
                tuple(
                    sorted(
                        (*data.markers, *marks.markers, *self._stray(files, marks)), key=lambda m: m.position
                    )
                ),
                data.empty | _markers(files).keys(),
                data.tuples,
                data.counts,
                data.searched,
            )
            for files, data, marks in zip(slices, of_data, of_markers, strict=True)
        ]

    def read(
        self,
        spark: SparkSession,
        files: Numbered,
        types: Types,
        scratch: str,
        counted: Counted = NO_FIELDS,
        searched: Searched | None = None,
    ) -> Batch:
        return self._base.read(spark, _data(files), types, scratch, counted, searched)

    def rows_before(self, spark: SparkSession, file: InputFile, position: int) -> int:
        return self._of(file).rows_before(spark, file, position)

    def place_of_row(self, spark: SparkSession, file: InputFile, number: int) -> int | None:
        return self._of(file).place_of_row(spark, file, number)

    def line_at(self, spark: SparkSession, file: InputFile, position: int) -> int:
        return self._of(file).line_at(spark, file, position)

    def rows_at(
        self, spark: SparkSession, file: InputFile, places: Sequence[int]
    ) -> list[tuple[str | None, int]]:
        return self._of(file).rows_at(spark, file, places)

    def located(self, spark: SparkSession, files: Numbered, bad: DataFrame, types: Types) -> DataFrame:
        return self._base.located(spark, _data(files), bad, types)

    def fields(
        self, spark: SparkSession, files: Numbered, between: Span = EVERYWHERE
    ) -> dict[str, FieldKinds]:
        data = _data(files)
        return self._base.fields(spark, data, between) if data else {}

    def _of(self, file: InputFile) -> Format:
        return self._of_markers if file.is_markers else self._base

    def _stray(self, files: Numbered, scan: Scan) -> list[MarkerLine]:
        """Returns the first line of marker files that is not a marker."""
        if not scan.tuples:
            return []
        line = next(stray_lines(_markers(files), self._of_markers), None)
        return [] if line is None else [MarkerLine("malformed", *line, problem=STRAY, code="RQ224")]


def _data(files: Numbered) -> Numbered:
    return {number: file for number, file in files.items() if not file.is_markers}


def _markers(files: Numbered) -> Numbered:
    return {number: file for number, file in files.items() if file.is_markers}
