"""Converts markers that are set aside to lines of the quarantine, with code, reason, position and text (G34)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.connectors.records.rejections import is_fatal, refusal
from cedilla.runtime.control.markers.bad_markers import SetAside
from cedilla.runtime.epochs.ingest.slices import Slice

Located = tuple[SetAside, InputFile, str, int]
"""A marker with its file, the text of its row, and its line number."""


def marker_lines(
    spark: SparkSession, part: Slice, markers: Sequence[SetAside], settings: Mapping[str, str]
) -> tuple[str, list[Diagnostic]]:
    """Returns the lines of the quarantine for the markers of a source that are set aside, and the warnings about them.
    Raises `DiagnosticError` RQ326 under `set invalid = abort`."""
    located = list(_located(spark, part, markers))
    _refuse(located, settings)
    lines = (
        {
            "code": refused.code,
            "reason": refused.reason,
            "position": {"file": file.uri, "line": line},
            "raw": raw,
        }
        for refused, file, raw, line in located
    )
    warnings = [
        evolve(
            refused.warning,
            span=None,
            notes=(*refused.warning.notes, f"{file.shown}:{line}: {refused.marker.text}"),
        )
        for refused, file, _, line in located
        if refused.warning is not None
    ]
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), warnings


def _located(spark: SparkSession, part: Slice, markers: Sequence[SetAside]) -> Iterator[Located]:
    """Yields the markers of a source in stream order."""
    for number in sorted({refused.marker.file for refused in markers}):
        mine = sorted((e for e in markers if e.marker.file == number), key=lambda e: e.marker.position)
        places = [refused.marker.position - number * NEXT_FILE for refused in mine]
        rows = part.format.rows_at(spark, part.files[number], places)
        for refused, (raw, line) in zip(mine, rows, strict=True):
            yield refused, part.files[number], refused.marker.text if raw is None else raw, line


def _refuse(located: Sequence[Located], settings: Mapping[str, str]) -> None:
    for code in {refused.code for refused, *_ in located}:
        if is_fatal(code, settings):
            mine = [row for row in located if row[0].code == code]
            first, file, raw, line = mine[0]
            raise refusal(code, len(mine), first.reason, f"{file.uri}:{line}", raw)
