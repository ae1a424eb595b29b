"""Reads streams as local text: the files of a folder in stream order, and their lines with the positions that Spark
finds."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from attrs import evolve, field, frozen

from cedilla.compiler.expressions.types import Type
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure, in_stream
from cedilla.grammar.diagnostics.printable import as_utf8
from cedilla.grammar.syntax.settings import LARGEST, SETTINGS, size, size_text
from cedilla.runtime.connectors.records.json_objects import JsonObject, parse_line
from cedilla.runtime.connectors.records.links import check_links, is_file
from cedilla.runtime.connectors.records.marker_files import (
    in_stream_order,
    is_marker_file,
    is_provisional_file,
)
from cedilla.runtime.connectors.records.table_folders import check_no_table

T = TypeVar("T")

_MAX_SHOWN = 1_000
"""The most characters of a line that a message shows: a line may be megabytes long, and have thousands of faults."""

LONGEST_LINE = size(SETTINGS["longest_line"][0])
"""Default for the greatest number of bytes of a line without its end. Lines are held in memory, and a file may have no
line ends."""
LONGEST_OUTPUT_LINE = LARGEST
"""The same for outputs, whose query is not always known."""


def too_long(limit: int) -> str:
    """Returns the error of a line with more than `limit` bytes."""
    return f"the line is longer than {size_text(limit)}, the setting `longest_line`"


@frozen
class Line:
    """A line that is not blank; `place` is `file:line` for messages. Invalid UTF-8 is shown as U+FFFD.

    `only_markers`: it belongs to a folder of markers. `item`: its object by attribute names, if that differs from the
    text. `is_csv`: it is a record of CSV; `fault`: the record's error. `is_header`: it names columns, all of them
    unknown. `keys`: those in the path of its file. `translate`: converts a punctuation to the wire format, over the
    attributes that exist at its position. `problem`: message and hint of a malformed marker.
    """

    text: str
    place: str
    is_utf8: bool = True
    only_markers: bool = False
    item: JsonObject | None = None
    is_csv: bool = False
    fault: str = ""
    is_header: bool = False
    keys: Mapping[str, str | None] = field(factory=dict[str, str | None])
    translate: Callable[[Mapping[str, Type]], str] | None = field(default=None, eq=False)
    problem: tuple[str, str] | None = None

    def holds(self) -> JsonObject:
        """Returns the object of the line. Raises `ValueError` if it has none."""
        if self.fault:
            raise ValueError(self.fault)
        return parse_line(self.text) if self.item is None else self.item

    @property
    def singles(self) -> tuple[Line, ...]:
        """The lines of one attribute each that an accent of several stands for; else the line itself."""
        if '"$accent"' not in self.text:
            return (self,)
        from cedilla.grammar.parser import single_accents  # the process that fetches records needs none

        try:
            texts = single_accents(str(self.holds().get("$accent")))
        except (ValueError, DiagnosticError):  # the reader of the line reports it
            return (self,)
        if len(texts) == 1:
            return (self,)
        return tuple(
            evolve(self, text=json.dumps({"$accent": text}), item={"$accent": text}) for text in texts
        )

    def beginning(self, most: int = _MAX_SHOWN) -> str:
        """Returns the text, or its first characters if there are more than `most`."""
        return self.text if len(self.text) <= most else f"{self.text[:most]} ..."

    def mark(self, diagnostic: Diagnostic, marker: str | None = None) -> Diagnostic:
        """Returns the diagnostic with the position and the begin of the line as its last note, and with an excerpt of
        the marker that it is about."""
        noted = evolve(diagnostic, notes=(*diagnostic.notes, f"{self.place}: {self.beginning()}"))
        file, _, number = self.place.rpartition(":")
        if marker is None or not (file and number.isdecimal()):
            return noted
        return in_stream(noted, marker, file, int(number))


def files_of(
    path: str,
    *,
    by_name: bool = False,
    allowed: Iterable[str] | None = None,
    with_provisional: bool = False,
) -> list[Path]:
    """Returns the files of a stream. That is one file, or the files of a folder and its subfolders by modification
    time, then name. The epochs of an output, and with `by_name` all files, are ordered only by name, as in `run`
    (design, section 6). `-` is standard input. `allowed`: folders that links may lead to; `None` does not check links,
    which raises RQ484 as `check_links` does. `with_provisional`: lists files of provisional rows, too. Raises
    `DiagnosticError`: RQ345 for a folder that is a table, RQ406 for a path that is not on this machine, RQ465 for what
    is neither a file nor a folder.
    """
    root = Path(path) if Path(path).exists() else local_path(path)
    if root is None:
        hint = "a local copy; `cedilla run` reads stores, and Spark their outputs"
        raise failure("RQ406", f"{path} is not on this machine, and no engine reads it here", hint=hint)
    if path == "-" or is_file(root):
        return [root]
    entries = [*root.rglob("*")]
    check_no_table(root, entries)
    hidden = (".", "_")
    files = [
        file
        for file in entries
        if not file.name.endswith(_COPYING)
        and not any(part.startswith(hidden) for part in file.relative_to(root).parts[:-1])
        and (
            is_marker_file(str(file))
            or not file.name.startswith(hidden)
            or (with_provisional and is_provisional_file(str(file)))
        )
        and is_file(file)
    ]
    if allowed is not None:
        folders = [folder for allowed_path in allowed if (folder := local_path(allowed_path)) is not None]
        check_links(files, root, folders)
    return sorted(files, key=_name if by_name else _order)


_COPYING = "._COPYING_"
"""Suffix of the names under which Hadoop copies files; Spark ignores them."""


def merged(data: Iterable[T], markers: Iterable[T], key: Callable[[T], Any]) -> Iterator[tuple[T, bool]]:
    """Merges the files of a stream and of its folder of markers, each in order. Yields each file and True for marker
    files.

    A marker file comes before the first file of tuples whose `key`, its time or its name, is not smaller.
    """
    waiting = list(markers)[::-1]
    for file in data:
        while waiting and key(waiting[-1]) <= key(file):
            yield waiting.pop(), True
        yield file, False
    yield from ((file, True) for file in reversed(waiting))


def stream_files(
    path: str,
    markers: str | None,
    *,
    by_name: bool = False,
    allowed: Iterable[str] | None = None,
    data: Mapping[Path, int] | None = None,
) -> list[tuple[Path, bool]]:
    """Returns the files of a stream in order, with True for those of its folder of markers. `allowed`: as for
    `files_of`. `data`: the files of a table, each with its time in milliseconds."""
    if data is not None:
        marking = [] if markers is None else files_of(markers, allowed=allowed)
        return list(merged(data, marking, lambda file: data[file] if file in data else modified(file)))
    files = files_of(path, by_name=by_name, allowed=allowed)
    marking = [] if markers is None else files_of(markers, by_name=by_name, allowed=allowed)
    if not by_name:
        return list(merged(files, marking, modified))
    names = {file: in_stream_order(file.relative_to(path).as_posix()) for file in files if str(file) != "-"}
    names |= {file: file.relative_to(markers or "").as_posix() for file in marking}
    return list(merged(files, marking, lambda file: names.get(file, "")))


_LAST = 1 << 63


def modified(file: Path) -> int:
    """Returns the modification time of a file in milliseconds, as in all stores; standard input comes after all
    files."""
    return _LAST if str(file) == "-" else file.stat().st_mtime_ns // 1_000_000


def _name(file: Path) -> str:
    return in_stream_order(str(file))


def _order(file: Path) -> tuple[int, str]:
    of_epoch = file.parent.name.startswith("epoch=")
    return 0 if of_epoch else modified(file), _name(file)


def local_path(path: str) -> Path | None:
    """Returns the local file of a path in Spark's notation, `None` for other stores."""
    scheme, colon, rest = path.partition(":")
    if not colon or "/" in scheme:
        return Path(path)
    return Path("/" + rest.lstrip("/")) if scheme == "file" else None


def _unpacked_zstd(stream: Any) -> Any:
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(stream, "r"), "zstd")


_UNPACKED: dict[str, Callable[[Any], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".zst": _unpacked_zstd,
    ".zstd": _unpacked_zstd,
}
"""Openers of compressed files by suffix."""
_REFUSED = {".deflate", ".gzip", ".lz4", ".snappy"}
"""Suffixes of compressed files that differ between programs."""


def is_compressed(file: Path) -> bool:
    """Returns True if a file is compressed in a supported way, by its name."""
    return file.suffix.lower() in _UNPACKED


@contextmanager
def opened(file: Path) -> Iterator[Any]:
    """Opens the bytes of a local file, unpacked by `unpacked`. Raises the same errors."""
    with file.open("rb") as stream, unpacked(stream, str(file)) as text:
        yield text


@contextmanager
def unpacked(stream: BinaryIO, path: str) -> Iterator[Any]:
    """Unpacks the bytes of an open file if its name has a suffix of compressed files.

    Raises `DiagnosticError`: RQ308 if a compressed file is damaged, RQ309 for an unsupported compression.
    """
    name = str(local_path(path) or path)
    suffix = Path(name).suffix.lower()
    if suffix in _REFUSED:
        raise _not_unpacked(name)
    unpack = _UNPACKED.get(suffix)
    if unpack is None:
        yield stream
        return
    try:
        with closing(unpack(stream)) as text:
            yield text
    except (EOFError, OSError, zlib.error) as problem:
        if (
            isinstance(problem, OSError) and problem.errno is not None
        ):  # of the disk, or of the one that unpacks
            raise
        raise damaged(name) from None


_TESTS = {".gz": "gzip -t", ".bz2": "bzip2 -t", ".zst": "zstd -t", ".zstd": "zstd -t"}
"""Commands that check a file for damage."""


def damaged(file: str) -> DiagnosticError:
    """Returns RQ308: a compressed file is cut off, or its bytes do not match its name."""
    message = f"the compressed file {file} is cut off or damaged"
    hint = "the whole file in its place, renamed into place when it is complete"
    if tool := _TESTS.get(Path(file).suffix.lower()):
        hint += f"; `{tool}` tells"
    return failure("RQ308", message, hint=hint)


def _not_unpacked(file: str) -> DiagnosticError:
    message = f"{file} is compressed in a way that is not read here"
    hint = "the file uncompressed, or compressed by gzip (.gz), bzip2 (.bz2) or zstd (.zst)"
    return failure("RQ309", message, hint=hint)


def lines_of(file: Path, limit: int = LONGEST_LINE) -> Generator[Line]:
    """Yields the lines of a file that are not blank, in order; `-` is standard input. A line of more than `limit` bytes
    is cut off and has a `fault`.

    Raises `DiagnosticError` as `opened` does.
    """
    if str(file) == "-":
        text = _as_text(sys.stdin.buffer)
        yield from _lines(text, "<stdin>", limit)
        text.detach()
        return
    with opened(file) as stream:
        text = _as_text(stream)
        yield from _lines(text, str(file), limit)
        text.detach()


SEVERAL_LINES = "RQ404"


def json_over_lines(first: str) -> tuple[str, str] | None:
    """Returns message and hint for a file of JSON text that is not in lines (RQ404), by its first line that is not
    blank: it opens an array or an object and no more, or an array with one element. `None` for other files."""
    line = first.strip(" \t\r")
    if line == "{":
        what, command = "an object", "jq -c ."
    elif line in ("[", "[{") or (line[:2] in ("[{", "[ ") and line.endswith(",") and _is_object(line[1:-1])):
        what, command = "an array", "jq -c '.[]'"
    else:
        return None
    return (
        f"the file begins with {what} over several lines, and each line has to be an object",
        f"`{command} FILE` writes its objects as lines, for another file",
    )


def _is_object(text: str) -> bool:
    try:
        parse_line(text)
    except ValueError:
        return False
    return True


def _as_text(stream: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape")


def _lines(text: io.TextIOWrapper, name: str, limit: int) -> Iterator[Line]:
    is_first = True
    for number, line in enumerate(_cut_lines(text, limit), 1):
        fault = too_long(limit) if _is_too_long(line, limit) else ""
        if not (fault or line.strip(_BLANK)):
            continue
        is_utf8 = line.isascii() or not any("\udc80" <= sign <= "\udcff" for sign in line)
        shown = line if is_utf8 else as_utf8(line)
        read = Line(shown, f"{name}:{number}", is_utf8, fault=fault)
        if is_first and not fault and (problem := json_over_lines(shown)) is not None:
            raise DiagnosticError(
                [read.mark(Diagnostic(SEVERAL_LINES, "error", problem[0], help=problem[1]), shown)]
            )
        is_first = False
        yield read


def _cut_lines(text: io.TextIOWrapper, limit: int) -> Iterator[str]:
    """Yields lines without their ends; of those that are too long, only as much as shows that."""
    while line := text.readline(limit + 2):
        yield line.removesuffix("\n")
        while len(line) == limit + 2 and not line.endswith("\n"):
            line = text.readline(limit + 2)


def _is_too_long(line: str, limit: int) -> bool:
    return 4 * len(line) > limit and len(line.encode("utf-8", "surrogateescape")) > limit


_BLANK = " \t"
"""Blanks of JSON. A line of other spaces is an invalid tuple."""
