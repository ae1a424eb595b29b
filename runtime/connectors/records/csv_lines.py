"""Reads the records of local CSV files as lines of a stream, in the same way as `run`."""

from __future__ import annotations

import sys
from collections.abc import Generator, Set
from pathlib import Path
from typing import BinaryIO

from attrs import evolve

from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.connectors.records.csv_records import (
    BAD_HEADER,
    MARKER_NAMES,
    NO_MARKERS,
    Header,
    bad_header,
    header_of,
    parse_record,
    records_of,
)
from cedilla.runtime.connectors.records.lines import (
    LONGEST_LINE,
    Line,
    opened,
    too_long,
)

_BLOCK = 1 << 20


def csv_lines(file: Path, columns: Set[str] = frozenset(), limit: int = LONGEST_LINE) -> Generator[Line]:
    """Yields the records of a file. Also yields the first line if none of its columns is in `columns`. `limit`: the
    longest line, in bytes.

    Raises `DiagnosticError` as `lines.opened` does, RQ426 if the first line names no columns, and RQ212 if it names
    markers.
    """
    if str(file) == "-":
        yield from _records(sys.stdin.buffer, "<stdin>", columns, limit)
        return
    with opened(file) as stream:
        yield from _records(stream, str(file), columns, limit)


def _records(stream: BinaryIO, name: str, columns: Set[str], limit: int) -> Generator[Line]:
    records = records_of(iter(lambda: stream.read(_BLOCK), b""), limit)
    header: Header | None = None
    for record, number in records:
        line = Line(record.decode("utf-8", "replace"), f"{name}:{number}")
        if header is None:
            header = _header(record, line, limit)
            if columns and columns.isdisjoint(header.names):
                yield evolve(line, is_csv=True, is_header=True)
            continue
        if len(record) > limit:
            yield evolve(line, fault=too_long(limit), is_csv=True)
            continue
        try:
            yield evolve(line, item=parse_record(header, record), is_csv=True)
        except ValueError as problem:
            yield evolve(line, fault=str(problem), is_csv=True)


def _header(record: bytes, line: Line, limit: int) -> Header:
    """Returns the names of columns in a file's first record."""
    header = header_of(record, limit)
    if header.problem is not None:
        code, (message, hint) = BAD_HEADER, bad_header(header.problem)
    elif any(name.startswith(MARKER_NAMES) for name in header.names):
        code, (message, hint) = "RQ212", NO_MARKERS
    else:
        return header
    raise DiagnosticError([line.mark(Diagnostic(code, "error", message, help=hint), line.text)])
