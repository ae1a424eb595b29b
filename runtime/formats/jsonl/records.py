"""Records of a topic: lines of JSON in files, identified by partition and offset."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from attrs import evolve, frozen
from pyspark.sql import SparkSession

from cedilla.runtime.formats.jsonl.markers import markers_in
from cedilla.runtime.formats.jsonl.source import JsonLines
from cedilla.runtime.formats.lines.blocks import Part, lines_at
from cedilla.runtime.formats.source import InputFile, Numbered, Scan
from cedilla.runtime.records.record_files import folder_of, record_file
from cedilla.runtime.storage.files import Files


@frozen
class RecordPart(Part):
    """A file of records; messages identify its lines by their offsets."""

    def shown(self, line: int) -> int:
        return offset_of(self.path, line)


def offset_of(path: str, line: int) -> int:
    """Returns the offset of a record from its file and its line there, counted from 1."""
    records = record_file(path)
    assert records is not None
    offsets = _offsets(records.offsets_path(folder_of(path)))
    return records.begin + line - 1 if offsets is None else int(offsets[line - 1])


@lru_cache(64)
def _offsets(path: str) -> Any:
    """Returns the offset of each line of a file; `None` if they are consecutive."""
    files = Files()
    if not files.exists(path):
        return None
    with files.open(path) as stream:
        return np.load(io.BytesIO(stream.read()))


class Records(JsonLines):
    """One record is one tuple or marker; a marker applies to its partition (theory N9)."""

    malformed: ClassVar[str] = "the record is not a JSON object, or a value is not of its attribute's type"
    markers_in = markers_in

    def whole(self, file: InputFile, number: int = 0) -> Part:
        return RecordPart(file.path, number, longest=self.longest)

    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        return with_partitions(slices, super().scans(spark, slices))


def with_partitions(slices: Sequence[Numbered], scans: Sequence[Scan]) -> list[Scan]:
    """Adds to each marker in scans of files of records the partition that it applies to."""
    return [
        evolve(scan, markers=tuple(evolve(m, partition=partition_of(files[m.file])) for m in scan.markers))
        for files, scan in zip(slices, scans, strict=True)
    ]


def copy_of(file: InputFile, place: int) -> str | None:
    """Returns file and line of the local copy of a record, which users may repair; `None` if the file is not such a
    copy."""
    if record_file(file.path) is None:
        return None
    _, line = next(lines_at(Part(file.path, 0), [place]))
    return f"{file.path}:{line}"


def partition_of(file: InputFile) -> int | None:
    """Returns the partition of the records in a file; `None` if it contains none."""
    records = record_file(file.path)
    return None if records is None else records.partition
