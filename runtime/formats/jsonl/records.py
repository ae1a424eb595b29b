"""Records of a topic: lines of JSON in files, whose places people know as partition and offset."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from attrs import evolve, frozen
from pyspark.sql import SparkSession

from cedilla.runtime.formats.jsonl.source import JsonLines
from cedilla.runtime.formats.lines.blocks import Part, lines_at
from cedilla.runtime.formats.source import InputFile, Numbered, Scan
from cedilla.runtime.items.record_files import folder_of, record_file
from cedilla.runtime.storage.files import Files


@frozen
class RecordPart(Part):
    """A file of records; its lines are known by their offsets."""

    def shown(self, line: int) -> int:
        return offset_of(self.path, line)


def offset_of(path: str, line: int) -> int:
    """The offset of a record, by the file that it is in and its line there, from 1."""
    records = record_file(path)
    assert records is not None
    offsets = _offsets(records.offsets_path(folder_of(path)))
    return records.begin + line - 1 if offsets is None else int(offsets[line - 1])


@lru_cache(64)
def _offsets(path: str) -> Any:
    """The offset of each line of a file; `None` where none is missing between them."""
    files = Files()
    if not files.exists(path):
        return None
    with files.open(path) as stream:
        return np.load(io.BytesIO(stream.read()))


class Records(JsonLines):
    """A record is one tuple or marker; a marker holds for its partition (theory N9)."""

    malformed: ClassVar[str] = "the record is no JSON object, or a value is not of its attribute's type"

    def whole(self, file: InputFile, number: int = 0) -> Part:
        return RecordPart(file.path, number)

    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        return with_partitions(slices, super().scans(spark, slices))


def with_partitions(slices: Sequence[Numbered], scans: Sequence[Scan]) -> list[Scan]:
    """Scans of files of records, each marker with the partition that it holds for."""
    return [
        evolve(scan, markers=tuple(evolve(m, partition=partition_of(files[m.file])) for m in scan.markers))
        for files, scan in zip(slices, scans, strict=True)
    ]


def copy_of(file: InputFile, place: int) -> str | None:
    """Where the copy of a record at a place stands, which may be mended; `None` where the file is no copy."""
    if record_file(file.path) is None:
        return None
    _, line = next(lines_at(Part(file.path, 0), [place]))
    return f"{file.path}:{line}"


def partition_of(file: InputFile) -> int | None:
    """The partition that the records of a file come from; `None` where it holds none."""
    records = record_file(file.path)
    return None if records is None else records.partition
