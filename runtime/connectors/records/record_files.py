"""Files of records of a topic: lines of JSON that remain in the checkpoint until their epoch is committed.

The name of a file gives the offsets of its records. If offsets are missing between them, like those of transactions, a
hidden file next to it contains the offset of each line.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error
from functools import lru_cache
from typing import Any

from attrs import frozen

from cedilla.runtime.connectors.records.foreign import json_value
from cedilla.runtime.connectors.records.json_objects import object_of

_NAME = re.compile(
    r".*/topic=(?P<topic>[^/]+)/partition=(?P<partition>\d+)/(?P<begin>\d+)-(?P<end>\d+)\.jsonl"
)


@frozen
class RecordFile:
    """The records of a partition between two offsets, the second excluded."""

    topic: str
    partition: int
    begin: int
    end: int

    def path(self, folder: str) -> str:
        """Returns the path of its file in the folder of a source."""
        return f"{self._home(folder)}/{self._name}.jsonl"

    def offsets_path(self, folder: str) -> str:
        """Returns the path of the file with the offset of each line; it may not exist."""
        return f"{self._home(folder)}/_{self._name}.npy"

    @property
    def place(self) -> str:
        """The partition, for messages."""
        return f"{self.topic}/{self.partition}"

    def _home(self, folder: str) -> str:
        return f"{folder}/topic={self.topic}/partition={self.partition:06d}"

    @property
    def _name(self) -> str:
        return f"{self.begin:020d}-{self.end:020d}"


@lru_cache(4096)
def record_file(path: str) -> RecordFile | None:
    """Returns the records of a path; `None` for other files."""
    if (match := _NAME.fullmatch(path)) is None:
        return None
    return RecordFile(match["topic"], int(match["partition"]), int(match["begin"]), int(match["end"]))


def folder_of(path: str) -> str:
    """Returns the folder of a source from the path of one of its files of records."""
    return path.rpartition("/topic=")[0]


_BREAKS = bytes.maketrans(b"\n\r", b"  ")
_BINARY = b"\0base64:"
"""The begin of the line of a record whose bytes are kept, because it is binary, or has line breaks and is not JSON. The
fields that a query reads of a binary record come after its bytes, as an object of JSON, and then the reason of a reader
that refuses it."""
_AFTER = b"\0"
_MARKER = b'"$'
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def one_line(value: bytes) -> bytes:
    """Returns a record as one line. In JSON a line break is a blank, except within texts, where it is an error. A
    record that may be a wrong marker stays readable."""
    if b"\n" not in value and b"\r" not in value:
        return value
    if is_binary(value):
        return packed(value)
    try:
        json_value(value)
    except ValueError:
        if _MARKER in value:
            return value.replace(b"\n", b"\0").replace(b"\r", b"\0")
        return packed(value)
    return value.translate(_BREAKS)


def is_binary(value: bytes) -> bool:
    """Returns whether a record is like a message of protobuf whose first field has a length: JSON may begin with the
    same byte, a line feed, but never contains control characters."""
    return value.startswith(b"\n") and _CONTROLS.search(value) is not None


def packed(value: bytes, fields: bytes = b"", fault: str = "") -> bytes:
    """Returns a binary record as a line. `fields`: an object of JSON. `fault`: the reason of its reader, if it is not a
    tuple."""
    parts = (_BINARY + b64encode(value), fields, fault.encode())
    return _AFTER.join(parts).rstrip(_AFTER)


def is_packed(line: bytes) -> bool:
    """Returns whether a line holds a binary record."""
    return line.startswith(_BINARY)


def fault_of(line: bytes) -> str:
    """Returns the reason of a reader for a record that is not a tuple, or an empty text."""
    _, _, fault = _parts(line) if is_packed(line) else (b"", b"", b"")
    return fault.decode("utf-8", "replace").rstrip("\r\n")


def record_of(line: bytes) -> bytes:
    """Returns the bytes of the record of a line that is not a tuple."""
    if not line.startswith(_BINARY):
        return line
    try:
        return b64decode(_parts(line)[0], validate=True)
    except Error:
        return line


def fields_beside(line: bytes) -> dict[str, Any]:
    """Returns the fields of a binary record, which are on its line."""
    return object_of(_parts(line)[1])


def _parts(line: bytes) -> tuple[bytes, bytes, bytes]:
    """Returns the bytes of a binary record in base64, its fields, and the reason why it is not a tuple."""
    record, _, others = line[len(_BINARY) :].partition(_AFTER)
    fields, _, fault = others.partition(_AFTER)
    return record, fields, fault
