"""Records of a topic: lines of JSON in files, identified by partition and offset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from attrs import evolve
from pyspark.sql import SparkSession

from cedilla.runtime.connectors.formats.jsonl.markers import markers_in
from cedilla.runtime.connectors.formats.jsonl.source import JsonLines
from cedilla.runtime.connectors.formats.lines.blocks import Part, lines_at
from cedilla.runtime.connectors.formats.source import InputFile, Numbered, Scan
from cedilla.runtime.connectors.records.record_files import record_file


class Records(JsonLines):
    """One record is one tuple or marker; a marker applies to its partition (theory N9)."""

    malformed: ClassVar[str] = "the record is not a JSON object, or a value is not of its attribute's type"
    markers_in = markers_in

    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        return [
            evolve(
                scan, markers=tuple(evolve(m, partition=partition_of(files[m.file])) for m in scan.markers)
            )
            for files, scan in zip(slices, super().scans(spark, slices), strict=True)
        ]


def copy_of(file: InputFile, offset: int) -> str | None:
    """Returns file and line of the local copy of a record, which users may repair; `None` if the file is not such a
    copy."""
    if record_file(file.path) is None:
        return None
    _, line = next(lines_at(Part(file.path, 0), [offset]))
    return f"{file.path}:{line}"


def partition_of(file: InputFile) -> int | None:
    """Returns the partition of the records in a file; `None` if it contains none."""
    records = record_file(file.path)
    return None if records is None else records.partition
