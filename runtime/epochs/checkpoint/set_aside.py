"""Lines of a quarantine, which people may edit: what a run has written, and what it has not."""

from __future__ import annotations

from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator

from attrs import frozen

from cedilla.runtime.connectors.records.json_objects import object_of
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.written import damaged

UNREADABLE = "RQ478"
"""Counted in place of the code of a line that no run has written."""


@frozen
class SetAsideLine:
    """A line of a quarantine: its code and reason, the file and the line where it was, its text."""

    code: str
    reason: str
    file: str
    line: int
    raw: str
    bytes_: bytes | None = None
    """Its bytes, if they are not UTF-8."""

    @property
    def content(self) -> bytes:
        """The bytes of the line."""
        return self.raw.encode("utf-8", "surrogatepass") if self.bytes_ is None else self.bytes_


def set_aside_line(text: str | bytes) -> SetAsideLine | None:
    """Returns a line of a quarantine; `None` for one that no run has written."""
    match object_of(text):
        case {"code": str(code), "position": {"file": str(file), "line": int(line)}, **others}:
            reason, raw = others.get("reason", ""), others.get("raw", "")  # engines leave a null out
            kept = others.get("bytes")
            if isinstance(reason, str) and isinstance(raw, str) and isinstance(kept, str | None):
                return SetAsideLine(code, reason, file, line, raw, None if kept is None else b64decode(kept))
    return None


def set_aside_lines(files: Files, path: str) -> Iterator[SetAsideLine]:
    """Yields the lines in a file of a quarantine. Raises `DiagnosticError` RQ478 for one that no run has written."""
    with files.open(path) as opened:
        for number, text in enumerate(opened, 1):
            line = set_aside_line(text)
            if line is None:
                raise damaged(path, f"line {number} is not what a run has written")
            yield line


def counts_by_code(texts: Iterable[str | bytes]) -> Counter[str]:
    """Counts lines by their codes."""
    lines = map(set_aside_line, texts)
    return Counter(UNREADABLE if line is None else line.code for line in lines)
