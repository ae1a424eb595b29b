"""Requests of OpenTelemetry in protobuf: messages of a file, each after its length, and records of a topic.

A message becomes the line of JSON that the Collector writes for it, so that `records.otlp` reads both.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, cast

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.records.lines import LONGEST_LINE, Line, lines_of, opened, too_long
from cedilla.runtime.connectors.records.record_files import fields_beside, is_packed, packed, record_of

NO_MESSAGE = "the message is not an ExportMetricsServiceRequest in protobuf"
PREFIX = 4
"""The bytes of a length, big-endian, before each message of a file."""
_SPANS = {"traceId", "spanId"}


def is_framed(head: bytes) -> bool:
    """Returns whether a file that begins with some bytes has messages, each after its length. The first byte is then
    below 9, as messages are below 144 MB; JSON never begins so."""
    return b"\0" <= head[:1] < b"\t"


def is_message(row: bytes) -> bool:
    """Returns whether the row of a file, or the line of a record, is a message and not JSON."""
    return is_packed(row) or is_framed(row)


def message_of(row: bytes) -> bytes:
    """Returns the message in a row. Raises `ValueError` if it is cut off."""
    if is_packed(row):
        return record_of(row)
    length, present = int.from_bytes(row[:PREFIX]), len(row) - PREFIX
    if present < 0:
        raise ValueError(f"the file ends inside of a length, after {len(row)} of {PREFIX} bytes")
    if present < length:
        raise ValueError(f"the message is cut off: its length is {length:,} bytes, and {present:,} are there")
    return row[PREFIX:]


def parsed_message(row: bytes) -> Any:
    """Returns the request in a row. Raises `ValueError` if it is not a request of metrics, and `DiagnosticError` RQ506
    if protobuf cannot be read here."""
    message = message_of(row)
    request, error = _library()
    try:
        parsed = request.FromString(message)
    except error:
        raise ValueError(NO_MESSAGE) from None
    if message and not parsed.resource_metrics:
        raise ValueError(NO_MESSAGE)
    for resource in parsed.resource_metrics:
        for scope in resource.scope_metrics:
            # Spans and logs have other fields at these numbers, which are not read as those of metrics.
            if any(not metric.name and metric.WhichOneof("data") is None for metric in scope.metrics):
                raise ValueError(NO_MESSAGE)
    return parsed


def line_of(row: bytes) -> str:
    """Returns the request in a row as a line of JSON. Raises the errors of `parsed_message`."""
    parsed = parsed_message(row)
    from google.protobuf.json_format import MessageToDict

    request = _hexadecimal(MessageToDict(parsed, use_integers_for_enums=True))
    return json.dumps({**fields_beside(row), **request} if is_packed(row) else request)


def _library() -> tuple[Any, type[Exception]]:
    try:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
            ExportMetricsServiceRequest,
        )
    except ImportError:
        message = "requests in protobuf require the messages of OpenTelemetry, which are not installed"
        raise failure("RQ506", message, hint="pip install 'cedilla[otlp]'") from None
    return ExportMetricsServiceRequest, DecodeError


def _hexadecimal(value: Any) -> Any:
    """Returns the value with identities of spans as OTLP writes them, where protobuf has base64."""
    if isinstance(value, list):
        return [*map(_hexadecimal, cast(list[Any], value))]
    if not isinstance(value, dict):
        return value
    items = cast(dict[str, Any], value).items()
    return {k: b64decode(v).hex() if k in _SPANS else _hexadecimal(v) for k, v in items}


def request_lines(file: Path, limit: int = LONGEST_LINE) -> Generator[Line]:
    """Yields the requests of a file as lines of JSON, from either form. Raises `DiagnosticError` as `lines_of` does,
    and RQ506."""
    if str(file) != "-":
        with opened(file) as stream:
            if is_framed(head := stream.read(1)):
                for number, (_, row, length) in enumerate(rows_of(stream, limit, head), 1):
                    yield _line(row, f"{file}:{number}", too_long(limit) if length > limit else "")
                return
    yield from lines_of(file, limit)


def record_line(record: bytes, position: str, fault: str) -> Line:
    """Returns a record that is a message, or the line of one, as a line of JSON."""
    return _line(record if is_packed(record) else packed(record), position, fault)


def _line(row: bytes, position: str, fault: str) -> Line:
    try:
        return Line("" if fault else line_of(row), position, fault=fault)
    except ValueError as problem:
        return Line(row.decode("utf-8", "replace"), position, is_utf8=False, fault=str(problem))


def rows_of(stream: Any, longest: int, head: bytes = b"", begin: int = 0) -> Iterator[tuple[int, bytes, int]]:
    """Yields each message from a byte on: its place, its bytes after their length, and that length. A message that is
    too long has its first bytes only, one that begins before `begin` none.

    `head`: the first bytes of the stream, which are read.
    """
    at = 0
    while prefix := head + stream.read(PREFIX - len(head)):
        head = b""
        length = int.from_bytes(prefix) if len(prefix) == PREFIX else 0
        wanted = 0 if at < begin else min(length, longest)
        body = stream.read(wanted)
        is_whole = len(body) == wanted and _skipped(stream, length - wanted) == length - wanted
        if at >= begin:
            yield at, prefix + body, length if is_whole else 0
        at += len(prefix) + length


def _skipped(stream: Any, count: int) -> int:
    """Reads over some bytes, and returns how many there are."""
    passed = 0
    while passed < count and (chunk := stream.read(min(count - passed, 1 << 20))):
        passed += len(chunk)
    return passed
