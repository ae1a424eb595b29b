"""Lists the files of a stream or a table in stream order.

The order is by modification time, then by name, or only by name if declared. Files of another query's output are
ordered only by name, because they are written in another order (design, section 6). Empty files are skipped, because
their writers are not finished.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile

from attrs import frozen

from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.records.lines import merged
from cedilla.runtime.connectors.records.marker_files import in_stream_order, is_marker_file
from cedilla.runtime.connectors.storage.files import Files, FoundFile

_EPOCH_FILE = re.compile(r"/epoch=\d+/[^/]+$")


def listed_files(files: Files, path: str) -> list[InputFile]:
    """Returns the files of a folder and its subfolders, without hidden and empty ones."""
    return in_order(files.tree(path, of_source=True))


@frozen
class ByName:
    """Files in the order of their names in the folder that contains them. `data`, `markers`: the URIs of the
    folders."""

    data: str
    markers: str = ""

    def name(self, file: FoundFile, *, is_markers: bool = False) -> str:
        """Returns the name of a file that defines its order."""
        return in_stream_order(file.path.removeprefix(self.markers if is_markers else self.data))


def in_order(
    data: Iterable[FoundFile],
    markers: Iterable[FoundFile] = (),
    stop: FoundFile | None = None,
    by_name: ByName | None = None,
) -> list[InputFile]:
    """Merges the files of a stream and of its folder of markers into one order (`lines.merged`). The result ends before
    `stop`, a file of tuples that is not read yet. `by_name`: orders the files by name."""
    reading = [*filter(_has_bytes, data), *([stop] if stop else [])]
    marking = [*filter(_has_bytes, markers)]
    if by_name is None:
        reading.sort(key=_order_key)
        marking.sort(key=lambda file: (file.modified, file.path))
        in_turn = merged(reading, marking, lambda file: file.modified)
    else:
        names = {file.path: by_name.name(file) for file in reading}
        names |= {file.path: by_name.name(file, is_markers=True) for file in marking}
        reading.sort(key=lambda file: in_stream_order(file.path))
        marking.sort(key=lambda file: file.path)
        in_turn = merged(reading, marking, lambda file: names[file.path])
    before = takewhile(lambda file: file[0] is not stop, in_turn)
    return [
        InputFile(
            file.path, file.length, is_markers or is_marker_file(file.path), file.modified, None, file.keys
        )
        for file, is_markers in before
    ]


def _has_bytes(file: FoundFile) -> bool:
    return file.length > 0


def _order_key(file: FoundFile) -> tuple[int, str]:
    return 0 if _EPOCH_FILE.search(file.path) else file.modified, in_stream_order(file.path)
