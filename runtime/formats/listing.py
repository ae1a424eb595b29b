"""The files of a stream or a table in stream order.

By modification time, then by name, or by name alone where that is declared; the files of another query's output by name
alone, as they are written aside in another order (design, section 6). Files without a byte are passed over: whoever
writes them is not done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile

from attrs import frozen

from cedilla.runtime.formats.source import InputFile
from cedilla.runtime.items.lines import merged
from cedilla.runtime.items.marker_files import in_stream_order, is_marker_file
from cedilla.runtime.storage.files import Files, FoundFile

_EPOCH_FILE = re.compile(r"/epoch=\d+/[^/]+$")


def listed_files(files: Files, path: str) -> list[InputFile]:
    """The files of a folder and of those below it, but for hidden and empty ones."""
    return in_order(files.tree(path))


@frozen
class ByName:
    """Files in the order of their names in the folder that has them: of `data`, and of `markers`, as URIs."""

    data: str
    markers: str = ""

    def name(self, file: FoundFile, *, is_markers: bool = False) -> str:
        """The name of a file by which it is ordered."""
        return in_stream_order(file.path.removeprefix(self.markers if is_markers else self.data))


def in_order(
    data: Iterable[FoundFile],
    markers: Iterable[FoundFile] = (),
    stop: FoundFile | None = None,
    by_name: ByName | None = None,
) -> list[InputFile]:
    """The files of a stream and of its folder of markers as one (`lines.merged`), up to where a file of tuples would
    be that is not to be read yet: `stop`. `by_name`: where names are the order."""
    reading = [*filter(_has_bytes, data), *([stop] if stop else [])]
    marking = [*filter(_has_bytes, markers)]
    if by_name is None:
        reading.sort(key=_place)
        marking.sort(key=lambda file: (file.modified, file.path))
        together = merged(reading, marking, lambda file: file.modified)
    else:
        names = {file.path: by_name.name(file) for file in reading}
        names |= {file.path: by_name.name(file, is_markers=True) for file in marking}
        reading.sort(key=lambda file: in_stream_order(file.path))
        marking.sort(key=lambda file: file.path)
        together = merged(reading, marking, lambda file: names[file.path])
    before = takewhile(lambda found: found[0] is not stop, together)
    return [
        InputFile(file.path, file.length, is_markers or is_marker_file(file.path), file.modified)
        for file, is_markers in before
    ]


def _has_bytes(file: FoundFile) -> bool:
    return file.length > 0


def _place(file: FoundFile) -> tuple[int, str]:
    return 0 if _EPOCH_FILE.search(file.path) else file.modified, in_stream_order(file.path)
