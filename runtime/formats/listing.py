"""The files of a stream or a table in stream order.

By modification time, then by name; the files of another query's output by name alone, as they are written aside in
another order (design, section 6). Files without a byte are passed over: whoever writes them is not done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile

from cedilla.runtime.formats.source import InputFile
from cedilla.runtime.items.lines import merged
from cedilla.runtime.storage.files import Files, FoundFile

_EPOCH_FILE = re.compile(r"/epoch=\d+/[^/]+$")


def listed_files(files: Files, path: str) -> list[InputFile]:
    """The files of a folder and of those below it, but for hidden and empty ones."""
    return in_order(files.tree(path))


def in_order(
    data: Iterable[FoundFile], markers: Iterable[FoundFile] = (), stop: FoundFile | None = None
) -> list[InputFile]:
    """The files of a stream and of its folder of markers as one (`lines.merged`), up to where a file of tuples would
    be that is not to be read yet: `stop`."""
    marking = sorted(filter(_has_bytes, markers), key=lambda file: (file.modified, file.path))
    reading = sorted(filter(_has_bytes, [*data, *([stop] if stop else [])]), key=_place)
    together = merged(reading, marking, lambda file: file.modified)
    before = takewhile(lambda found: found[0] is not stop, together)
    return [InputFile(file.path, file.length, is_markers, file.modified) for file, is_markers in before]


def _has_bytes(file: FoundFile) -> bool:
    return file.length > 0


def _place(file: FoundFile) -> tuple[int, str]:
    return 0 if _EPOCH_FILE.search(file.path) else file.modified, file.path
