"""OTLP in JSON: a line is a request or a marker, and a tuple is a data point of a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from attrs import evolve, frozen
from pyspark.sql import SparkSession

from cedilla.compiler.plan import Source
from cedilla.runtime.connectors.formats.jsonl.records import Records
from cedilla.runtime.connectors.formats.jsonl.source import JsonLines
from cedilla.runtime.connectors.formats.lines.blocks import Block, Part
from cedilla.runtime.connectors.formats.otlp.batches import PointBatches
from cedilla.runtime.connectors.formats.source import (
    EVERYWHERE,
    FieldKinds,
    InputFile,
    Numbered,
    Scan,
    Span,
    Types,
)
from cedilla.runtime.connectors.records.json_objects import json_text, parse_line
from cedilla.runtime.connectors.records.lines import LONGEST_LINE
from cedilla.runtime.connectors.records.otlp import NO_REQUEST, PointReader


@frozen
class RequestPart(Part):
    """A file of requests. Messages show a data point as a request with only this point."""

    reader: PointReader | None = None

    def row_at(self, block: Block, begin: int) -> bytes:
        first, end = block.line_around(begin)
        line = block.text[first:end]
        assert self.reader is not None
        try:
            one = self.reader.only(parse_line(line.decode().strip("\r")), begin - first)
        except ValueError:
            one = None
        return line if one is None else json_text(one).encode()


class Otlp(JsonLines):
    """Requests of many data points; each source has its own instance, because it selects the points to read."""

    malformed: ClassVar[str] = NO_REQUEST

    def __init__(self, longest: int = LONGEST_LINE, source: Source | None = None) -> None:
        super().__init__(longest, None if source is None else source.paths)
        self.reader = PointReader({}) if source is None else PointReader.of(source)

    def batches(self, types: Types) -> PointBatches:
        return PointBatches(dict(types), reader=evolve(self.reader, types=dict(types)))

    def whole(self, file: InputFile, number: int = 0) -> Part:
        return RequestPart(file.path, number, reader=self.reader, longest=self.longest, length=file.length)

    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        """Omits the numbers of tuples: a request may contain any number of data points."""
        return [evolve(scan, tuples=None, counts={}) for scan in super().scans(spark, slices)]

    def fields(
        self, spark: SparkSession, files: Numbered, between: Span = EVERYWHERE
    ) -> dict[str, FieldKinds]:
        """Returns no fields: undeclared attributes are ignored."""
        return {}


class RequestRecords(Records, Otlp):
    """Records of a topic, as the Collector's exporter for Kafka writes them: one is one request or marker."""

    malformed: ClassVar[str] = NO_REQUEST
