"""OTLP: a line of JSON is a request or a marker, a message of protobuf a request; a tuple is a data point of it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any, ClassVar

from attrs import evolve, field, frozen
from pyspark.sql import SparkSession

from cedilla.compiler.plan import Source
from cedilla.runtime.connectors.formats.jsonl.markers import markers_in_file
from cedilla.runtime.connectors.formats.jsonl.records import Records
from cedilla.runtime.connectors.formats.jsonl.source import LinesOfTuples
from cedilla.runtime.connectors.formats.lines.blocks import Block, Part, opened_part
from cedilla.runtime.connectors.formats.lines.text_format import FoundMarker
from cedilla.runtime.connectors.formats.otlp.batches import PointBatches, text_of
from cedilla.runtime.connectors.formats.otlp.messages import MessageBlock, message_blocks
from cedilla.runtime.connectors.formats.source import (
    EVERYWHERE,
    FieldKinds,
    InputFile,
    Numbered,
    Span,
    Types,
)
from cedilla.runtime.connectors.records.json_objects import json_text, parse_line
from cedilla.runtime.connectors.records.lines import LONGEST_LINE, is_compressed
from cedilla.runtime.connectors.records.nested import Paths
from cedilla.runtime.connectors.records.otlp import NO_REQUEST, PointReader
from cedilla.runtime.connectors.records.otlp_proto import is_framed
from cedilla.runtime.connectors.records.record_files import record_file


@frozen
class RequestPart(Part):
    """A file of requests. Messages show a data point as a request with only this point."""

    reader: PointReader | None = field(default=None, eq=False)

    def blocks(self) -> Iterator[Block]:
        if is_compressed(Path(self.path)):  # a stream that unpacks may not go back to the first byte
            with opened_part(self) as stream:
                is_of_messages = is_framed(stream.read(1))
            with opened_part(self) as stream:
                yield from self._blocks_of(stream, is_of_messages)
            return
        yield from super().blocks()

    def blocks_in(self, stream: Any) -> Iterator[Block]:
        """Yields lines of JSON, or messages of protobuf if the first byte of the file begins a length."""
        is_of_messages = record_file(self.path) is None and is_framed(stream.read(1))
        stream.seek(0)
        yield from self._blocks_of(stream, is_of_messages)

    def _blocks_of(self, stream: Any, is_of_messages: bool) -> Iterator[Block]:
        if is_of_messages:
            return message_blocks(stream, self.begin, self.end, self.longest)
        return super().blocks_in(stream)

    def row_at(self, block: Block, begin: int) -> bytes:
        first, end = block.line_around(begin)
        line = block.text[first:end]
        assert self.reader is not None
        try:
            one = self.reader.only(parse_line(text_of(line)), begin - first)
        except ValueError:
            one = None
        return line if one is None else json_text(one).encode()


def markers_in(block: Block) -> Iterator[FoundMarker]:
    """Yields the markers of a block. Messages of protobuf have none."""
    return iter(()) if isinstance(block, MessageBlock) else markers_in_file(block)


class Otlp(LinesOfTuples):
    """Requests of many data points; each source has its own instance, because it selects the points to read."""

    malformed: ClassVar[str] = NO_REQUEST
    markers_in = markers_in

    def __init__(self, longest: int = LONGEST_LINE, source: Source | None = None) -> None:
        super().__init__(longest, None if source is None else source.paths)
        self.reader = PointReader({}) if source is None else PointReader.of(source)

    def with_paths(self, paths: Paths) -> Otlp:
        changed = copy(self)
        changed._paths, changed.reader = paths, evolve(self.reader, paths=paths)
        return changed

    def batches(self, types: Types) -> PointBatches:
        return PointBatches(dict(types), reader=evolve(self.reader, types=dict(types)))

    def whole(self, file: InputFile, number: int = 0) -> Part:
        return RequestPart(file.path, number, reader=self.reader, longest=self.longest, length=file.length)

    def parts(self, files: Numbered) -> list[Part]:
        return [
            RequestPart(p.path, p.number, p.begin, p.end, self.reader, longest=p.longest, length=p.length)
            for p in super().parts(files)
        ]

    def fields(
        self, spark: SparkSession, files: Numbered, between: Span = EVERYWHERE
    ) -> dict[str, FieldKinds]:
        """Returns no fields: undeclared attributes are ignored."""
        return {}


class RequestRecords(Records, Otlp):
    """Records of a topic, as the Collector's exporter for Kafka writes them: one is one request or marker."""

    malformed: ClassVar[str] = NO_REQUEST
