"""Records of a topic that are requests of OTLP in JSON, as the Collector's exporter for Kafka writes them."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from pyspark.sql import SparkSession

from cedilla.runtime.formats.jsonl.markers import markers_in
from cedilla.runtime.formats.jsonl.records import offset_of, with_partitions
from cedilla.runtime.formats.lines.blocks import Part
from cedilla.runtime.formats.otlp.source import Otlp, RequestPart
from cedilla.runtime.formats.source import InputFile, Numbered, Scan


@frozen
class RecordPart(RequestPart):
    """A file of records; messages identify its requests by their offsets."""

    def shown(self, line: int) -> int:
        return offset_of(self.path, line)


class RequestRecords(Otlp):
    """One record is one request or marker; a marker applies to its partition (theory N9)."""

    markers_in = markers_in

    def whole(self, file: InputFile, number: int = 0) -> Part:
        return RecordPart(file.path, number, reader=self.reader, longest=self.longest)

    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        return with_partitions(slices, super().scans(spark, slices))
