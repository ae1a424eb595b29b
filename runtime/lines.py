"""Streams as local text: the files of a folder in stream order, and their lines with their places."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import evolve, frozen

from cedilla.grammar.diagnostics import Diagnostic, in_stream


@frozen
class Line:
    """A line that is not blank; `place` is `file:line` for messages."""

    text: str
    place: str

    def mark(self, diagnostic: Diagnostic, marker: str | None = None) -> Diagnostic:
        """The diagnostic with the place and the text of the line as its last note, and with an excerpt of the
        marker that it is about."""
        noted = evolve(diagnostic, notes=(*diagnostic.notes, f"{self.place}: {self.text}"))
        file, _, number = self.place.rpartition(":")
        if marker is None or not (file and number.isdecimal()):
            return noted
        return in_stream(noted, marker, file, int(number))


def files_of(path: str) -> list[Path]:
    """The files of a stream: one file, or a folder's by modification time, then name; the epochs of an output
    by name alone, as `run` orders them (design, section 6). `-` is standard input."""
    root = Path(path)
    if path == "-" or root.is_file():
        return [root]
    hidden = (".", "_")
    found = [
        file
        for file in root.rglob("*")
        if file.is_file() and not any(part.startswith(hidden) for part in file.relative_to(root).parts)
    ]
    return sorted(found, key=_order)


def _order(file: Path) -> tuple[int, str]:
    of_epoch = file.parent.name.startswith("epoch=")
    return 0 if of_epoch else file.stat().st_mtime_ns // 1000, str(file)


def lines_of(file: Path) -> Iterator[Line]:
    """The lines of a file that are not blank, one after the other; what is no UTF-8 shows as U+FFFD."""
    if str(file) == "-":
        yield from _lines(sys.stdin.buffer, "<stdin>")
        return
    with file.open("rb") as stream:
        yield from _lines(stream, str(file))


def _lines(stream: Iterable[bytes], name: str) -> Iterator[Line]:
    for number, raw in enumerate(stream, 1):
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8", "replace").rstrip("\r\n")
        if text.strip():
            yield Line(text, f"{name}:{number}")
