"""Finds why lines or records are not tuples: packed files, other encodings, frames of binary records (RQ346). A cause
has one sentence for all lines of a source, in place of one for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attrs import frozen

from cedilla.grammar.diagnostics import Diagnostic

HEAD = 64
"""Number of bytes of a file or a record that are looked at."""
_SHOWN = 8
"""Number of bytes that a message shows."""


@frozen
class Cause:
    """Why some bytes are not tuples, and the way to make tuples of them."""

    what: str
    hint: str


@frozen
class BadLine:
    """A line that is not a tuple: its place, and the first bytes of its file, or of itself if it is a record of a
    topic."""

    place: str
    head: bytes


def _packed(name: str, command: str, suffix: str = "") -> Cause:
    hint = f"`{command}` unpacks a file"
    named = f"; packed files are read by the names that {name} gives them, `*{suffix}`" if suffix else ""
    return Cause(f"packed by {name}", f"{hint}{named}")


def _container(name: str) -> Cause:
    return Cause(f"{name}, not text", f"a job that writes the rows of {name} as JSON Lines or Parquet")


_MAGICS = {
    b"\x1f\x8b": _packed("gzip", "gunzip -c FILE", ".gz"),
    b"\x28\xb5\x2f\xfd": _packed("zstd", "zstd -dc FILE", ".zst"),
    b"BZh": _packed("bzip2", "bunzip2 -c FILE", ".bz2"),
    b"\x04\x22\x4d\x18": _packed("lz4", "lz4 -dc FILE"),
    b"\xfd7zXZ\x00": _packed("xz", "xz -dc FILE"),
    b"PK\x03\x04": _packed("zip", "unzip -p FILE"),
    b"PAR1": Cause("Parquet, not text", "`from parquet` reads it"),
    b"Obj\x01": _container("Avro"),
    b"ORC": _container("ORC"),
}
_UTF_16 = Cause("UTF-16", "`iconv -f UTF-16 -t UTF-8 FILE` writes it as UTF-8, which is read")
_ARRAY = Cause("a JSON array in place of lines", "`jq -c '.[]' FILE` writes its elements as lines")
_REGISTRY = Cause(
    "framed by a schema registry (byte 0, then the schema's number in 4 bytes)",
    'records are read by their schemas, `from kafka "..." registry "http://host:8081"`, if these are of Avro, '
    "Protobuf or JSON; then the quarantine has a reason for each of the others",
)
_OTLP = Cause(
    "OTLP in protobuf", "metrics are read by `from otlp` in files, and by `from kafka_otlp` in topics"
)


def cause_of(head: bytes) -> Cause | None:
    """Returns the cause that the first bytes of a file or a record show; `None` for none that is known."""
    for magic, cause in _MAGICS.items():
        if head.startswith(magic):
            return cause
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or _is_utf_16(head):
        return _UTF_16
    if re.match(rb"(\xef\xbb\xbf)?\s*\[\s*\{", head):
        return _ARRAY
    if _is_otlp(head) or (head[:1] == b"\0" and _is_otlp(head[4:])):
        return _OTLP
    return _REGISTRY if head[:1] == b"\0" and len(head) > 5 else None


def _is_utf_16(head: bytes) -> bool:
    """Returns True for signs of ASCII in two bytes each."""
    halves = head[: len(head) & ~1][::2], head[1::2]
    return len(head) >= 4 and any(
        not any(zeros) and all(others) for zeros, others in (halves, tuple(reversed(halves)))
    )


def _is_otlp(head: bytes) -> bool:
    """Returns True for a message whose first field has a length, and begins with a field that has one: the resource of
    metrics, logs or spans."""
    match = re.match(rb"\x0a[\x80-\xff]{0,4}[\x01-\x7f]\x0a[\x80-\xff]{0,4}[\x00-\x7f]", head)
    return match is not None and re.search(rb"[\x00-\x08\x0e-\x1f\x80-\xff]", head) is not None


def unreadable(source: str, lines: Iterable[BadLine], *, is_all: bool = True) -> Diagnostic | None:
    """Returns RQ346 for the cause of most lines of a source; `None` if none has a known one. `is_all`: these are all
    lines that are not tuples."""
    by_cause: dict[Cause, list[BadLine]] = {}
    for line in lines:
        if (cause := cause_of(line.head)) is not None:
            by_cause.setdefault(cause, []).append(line)
    if not by_cause:
        return None
    cause, of_cause = max(by_cause.items(), key=lambda item: len(item[1]))
    return _told(source, cause, of_cause, is_all)


def _told(source: str, cause: Cause, lines: Sequence[BadLine], is_all: bool) -> Diagnostic:
    first = lines[0]
    count = f"{'' if is_all else 'at least '}{len(lines)} {'line' if len(lines) == 1 else 'lines'}"
    are = "is not a tuple, because it is" if len(lines) == 1 else "are not tuples, because they are"
    note = f"{first.place}: begins with the bytes {first.head[:_SHOWN].hex(' ').upper()}"
    return Diagnostic(
        "RQ346", "warning", f"{count} of `{source}` {are} {cause.what}", None, (note,), cause.hint
    )
