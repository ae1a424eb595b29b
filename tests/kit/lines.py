"""Lines of streams: files of them, and lines as the stream tools take them.

An item is a tuple or a marker (`tests.kit.stream`); a text is a whole line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from cedilla.runtime.connectors.records.lines import Line
from tests.kit.compare import number_of


def marker(text: str) -> dict[str, str]:
    """Returns an accent or a punctuation as an item."""
    return {"$accent" if text.startswith("[[") else "$punctuation": text}


def time_text(value: date) -> str:
    """Returns a date or a timestamp as outputs have it."""
    if not isinstance(value, datetime):
        return value.isoformat()
    return value.isoformat(timespec="microseconds").replace("+00:00", "Z")


def text_of(items: Iterable[Mapping[str, Any] | str]) -> str:
    """Returns the items as lines of JSON."""
    return "".join((item if isinstance(item, str) else json.dumps(item)) + "\n" for item in items)


def write_lines(path: Path, items: Iterable[Mapping[str, Any] | str], time: int | None = None) -> Path:
    """Writes a file, and its folders. `time`: when it was modified, which orders the files of a source."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(items), "utf-8")
    if time is not None:
        os.utime(path, (time, time))
    return path


def write_files(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Writes files below a folder, each modified later than the one before; returns the folder."""
    for time, (name, content) in enumerate(files.items(), 1):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (time, time))
    return folder


def write_at(folder: Path, files: Mapping[int, Iterable[Mapping[str, Any] | str]]) -> Path:
    """Writes a file `TIME.jsonl` for each time at which it was modified; returns the folder."""
    for time, items in files.items():
        write_lines(folder / f"{time}.jsonl", items, time)
    return folder


def read_lines(*files: Path) -> list[dict[str, Any]]:
    """Returns the items of files of lines, in the order of the files."""
    lines = (line for file in files for line in file.read_text("utf-8").split("\n") if line)
    return [json.loads(line, parse_float=number_of) for line in lines]


def as_lines(items: Iterable[Mapping[str, Any] | str], name: str = "s") -> list[Line]:
    """Returns the items as the lines of a file: `s:1`, `s:2`, and so on."""
    return [
        Line(item if isinstance(item, str) else json.dumps(item), f"{name}:{number}")
        for number, item in enumerate(items, 1)
    ]
