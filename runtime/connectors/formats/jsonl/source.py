"""JSON Lines: a tuple is an object, a marker is an object with one key (design, section 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

from attrs import evolve
from pyspark.sql import SparkSession

from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches
from cedilla.runtime.connectors.formats.jsonl.fields import of_block
from cedilla.runtime.connectors.formats.jsonl.markers import markers_in, markers_in_file
from cedilla.runtime.connectors.formats.lines.batches import TextBatches
from cedilla.runtime.connectors.formats.lines.blocks import Block, Part, parts_of
from cedilla.runtime.connectors.formats.lines.text_format import TextFormat
from cedilla.runtime.connectors.formats.source import (
    FieldKinds,
    MarkerLine,
    Numbered,
    Scan,
    Span,
    Types,
)
from cedilla.runtime.connectors.records.lines import SEVERAL_LINES, json_over_lines
from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.engines.spark import costs


class JsonLines(TextFormat):
    """One line is one tuple or marker; several tasks read large files."""

    malformed: ClassVar[str] = "the line is not a JSON object, or a value is not of its attribute's type"
    markers_in = markers_in_file
    fields_in = of_block

    def parts(self, files: Numbered) -> list[Part]:
        return parts_of([(n, file.path, file.length) for n, file in files.items()], costs.PART, self.longest)

    def batches(self, types: Types) -> TextBatches:
        return JsonBatches(dict(types), paths=self.paths)

    def search_of_fields(self) -> Callable[[Block, Span], Mapping[str, FieldKinds]]:
        return partial(of_block, paths=self.paths)

    def marker_line(self, kind: str, text: str, position: int, end: int) -> MarkerLine:
        if kind == "array":
            problem = json_over_lines(text)
            return MarkerLine("malformed", text, position, problem=problem, code=SEVERAL_LINES)
        return super().marker_line(kind, text, position, end)


class LinesOfTuples(JsonLines):
    """Lines that have any number of tuples each, so that their numbers say nothing about tuples."""

    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        """Omits the numbers of tuples."""
        return [evolve(scan, tuples=None, counts={}) for scan in super().scans(spark, slices)]


def stray_lines(files: Numbered, format_: JsonLines) -> Iterator[tuple[str, int]]:
    """Yields the lines that do not look like markers, with their positions."""
    for part in (format_.whole(file, number) for number, file in files.items()):
        for block in part.blocks():
            markers = {marker.begin for marker in markers_in(block)}
            starts, ends = block.lines()
            for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
                if begin not in markers:
                    text = block.text[begin:end].removesuffix(b"\r").decode("utf-8", "replace")
                    yield text, part.number * NEXT_FILE + block.place + begin
