"""Turns records of a topic into lines: without the frames of a schema registry, with the fields that a query reads.

A frame is a byte 0 and the id of a schema in four bytes, or a byte 1 and an id of 16 bytes (a UUID), before the JSON of
a value. The newest serializers put the same bytes into a header instead. A field is written in front of the others, so
that a line stays a line of JSON: `{"@record.key":"a", "t":1}`. Markers are unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from cedilla.compiler.plan.record_fields import RecordField
from cedilla.runtime.connectors.records.json_objects import parse_line
from cedilla.runtime.connectors.records.marker_files import MARKED_LINE
from cedilla.runtime.connectors.records.near_markers import marker_of, may_have_markers
from cedilla.runtime.connectors.records.record_files import is_binary, packed
from cedilla.runtime.connectors.topics.kafka_client import library

ID_HEADER = "__value_schema_id"
LENGTHS = {0: 5, 1: 17}
"""The lengths of frames, by their first byte."""
_OBJECT = re.compile(rb"[ \t\r\n]*\{[ \t\r\n]*(\}?)")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false")
_NUMERIC = ("int", "long", "double", "decimal", "boolean")
_START = datetime(1970, 1, 1, tzinfo=UTC)
_NULL = b"null"


def has_frames(text: bytes) -> bool:
    """Returns False if no value in a text has a frame: JSON contains neither of their first bytes."""
    return b"\0" in text or b"\1" in text


def without_frames(values: Iterable[bytes]) -> list[bytes]:
    """Returns values without the frames of a schema registry."""
    return [value[_frame(value) :] for value in values]


def _frame(value: bytes) -> int:
    """Returns the length of the frame before JSON; 0 without one."""
    length = LENGTHS.get(value[0], 0) if value else 0
    return length if length and _OBJECT.match(value, length) is not None else 0


def with_fields(
    messages: Sequence[Any], fields: Sequence[RecordField], lines: Sequence[bytes | None] | None = None
) -> list[bytes | None]:
    """Returns the values of records with some fields, without frames; `None` for a record without a value. `lines`: the
    values as a registry's schemas read them."""
    values: list[bytes | None] = list(map(library().Message.value, messages))
    bare = [value and value[_frame(value) :] for value in values] if lines is None else [*lines]
    if not fields:
        return bare
    start = b"{" + b",".join(json.dumps(field.path, ensure_ascii=False).encode() + b":%b" for field in fields)
    has_markers = may_have_markers(b"\n".join(filter(None, bare)))
    # A registry knows what follows a frame, so each frame counts; without one it is that before an object.
    framed = values if lines is None else [value and frame_of(value) + b"{" for value in values]
    columns = [_READ[field.name](messages, framed, field) for field in fields]
    return [
        value and _with_fields(value, start, texts, has_markers=has_markers)
        for value, texts in zip(bare, zip(*columns, strict=True), strict=True)
    ]


def frame_of(value: bytes) -> bytes:
    """Returns the frame with which a record begins, whatever follows."""
    return value[: LENGTHS.get(value[0], 0)] if value else b""


def _with_fields(value: bytes, start: bytes, texts: tuple[bytes, ...], *, has_markers: bool) -> bytes:
    """Returns a tuple with fields. A marker, a provisional row, and what is neither an object nor binary, is
    unchanged."""
    if is_binary(value):
        return packed(value, start % texts + b"}")
    if value.startswith(MARKED_LINE):
        return value
    if (begin := _OBJECT.match(value)) is None or (has_markers and _is_marker(value)):
        return value
    return start % texts + (b"}" if begin[1] else b",") + value[begin.end() :]


def _is_marker(value: bytes) -> bool:
    if not may_have_markers(value):
        return False
    text = value.decode("utf-8", "replace")
    try:
        item = parse_line(text)
    except ValueError:
        item = None
    return marker_of(text, item) is not None


# --- fields ------------------------------------------------------------------------------------------------------

_Values = Sequence[bytes | None]


def _keys(messages: Sequence[Any], values: _Values, field: RecordField) -> list[bytes]:
    return [_json(key, field.type) for key in map(library().Message.key, messages)]


def _headers(messages: Sequence[Any], values: _Values, field: RecordField) -> list[bytes]:
    return [_json(header_of(message, field.header), field.type) for message in messages]


def header_of(message: Any, key: str | None) -> bytes | None:
    """Returns the value of a header; of several with the same key, the last one."""
    headers: list[tuple[str, bytes | None]] = message.headers() or []
    return next((value for name, value in reversed(headers) if name == key), None)


def _timestamps(messages: Sequence[Any], values: _Values, field: RecordField) -> list[bytes]:
    kinds = map(library().Message.timestamp, messages)
    return [_NULL if not kind else _moment(at, field.type) for kind, at in kinds]


def _moment(milliseconds: int, type_: str) -> bytes:
    if type_ != "timestamp":
        return b"%d" % milliseconds
    try:
        return b'"%b.%03dZ"' % (_second(milliseconds // 1000), milliseconds % 1000)
    except OverflowError:  # beyond the year 9999: the number is not a timestamp, and the tuple is set aside
        return b"%d" % milliseconds


@lru_cache(1024)
def _second(seconds: int) -> bytes:
    return (_START + timedelta(seconds=seconds)).isoformat().removesuffix("+00:00").encode()


def _partitions(messages: Sequence[Any], values: _Values, field: RecordField) -> list[bytes]:
    return [b"%d" % partition for partition in map(library().Message.partition, messages)]


def _offsets(messages: Sequence[Any], values: _Values, field: RecordField) -> list[bytes]:
    return [b"%d" % offset for offset in map(library().Message.offset, messages)]


def _schemas(messages: Sequence[Any], values: _Values, field: RecordField) -> list[bytes]:
    """Returns the ids of schemas: those in headers, else those in frames."""
    heads = (
        (header_of(message, ID_HEADER), value or b"") for message, value in zip(messages, values, strict=True)
    )
    return [_schema(value[: _frame(value)] if head is None else head, field.type) for head, value in heads]


@lru_cache(1024)
def _schema(frame: bytes, type_: str) -> bytes:
    """Returns the id of a schema in a frame: a number, or a UUID as text. Another text stays, and is set aside."""
    if not frame:
        return _NULL
    length = LENGTHS.get(frame[0], 0)
    if not 0 < length <= len(frame):
        return _json(frame, "string")
    id_ = frame[1:length]
    return _json(str(UUID(bytes=id_) if len(id_) == 16 else int.from_bytes(id_)).encode(), type_)


_READ: dict[str, Callable[[Sequence[Any], _Values, RecordField], list[bytes]]] = {
    "header": _headers,
    "key": _keys,
    "offset": _offsets,
    "partition": _partitions,
    "schema": _schemas,
    "timestamp": _timestamps,
}


@lru_cache(65_536)
def _json(text: bytes | None, type_: str) -> bytes:
    """Returns a text as a value of JSON. A text that is not UTF-8 stays so, and its tuple is set aside (RQ301)."""
    if text is None:
        return _NULL
    if type_ in _NUMERIC and _NUMBER.fullmatch(text) is not None:
        return text
    as_text = text.decode("utf-8", "surrogateescape")
    return json.dumps(as_text, ensure_ascii=False).encode("utf-8", "surrogateescape")
