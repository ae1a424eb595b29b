"""Where files can lie: on this machine, or in a store behind fsspec (S3, Google Cloud Storage, Azure, HDFS).

Paths go in as users write them and come out in the same form, for the engine is given them too. Every store puts a
whole file in one step, which is what makes a commit record atomic. What `publish` does in one step depends on it.
"""

from __future__ import annotations

import errno
import os
import shutil
import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISDIR
from typing import Any, BinaryIO, cast

from attrs import frozen

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.items.lines import local_path
from cedilla.runtime.items.marker_files import in_stream_order, is_marker_file

_SYNCS = ThreadPoolExecutor(8, "cedilla-sync")


@frozen
class Entry:
    """A file or a folder of a listing: its path, when it was modified, in milliseconds, and its length in bytes."""

    path: str
    is_folder: bool
    modified: int
    length: int


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.rstrip("/").rpartition("/")[2]


def is_hidden(path: str) -> bool:
    """Whether neither Spark nor Cedilla sees a file or folder, by its name. Cedilla sees the markers of its outputs."""
    name = name_of(path)
    is_aside = name.startswith((".", "_")) or name.endswith("._COPYING_")
    return is_aside and not is_marker_file(path)


def scheme_of(path: str) -> str:
    """What stands before the colon, as Hadoop has it: nothing is escaped, and `?` and `#` are as other signs."""
    scheme, colon, _ = path.partition(":")
    return scheme if colon and "/" not in scheme else ""


def is_pattern(path: str) -> bool:
    """Whether Spark takes a path that it is to read for a pattern of many."""
    return any(sign in path for sign in "*?[]{}\\")


def is_utf8(path: str) -> bool:
    """Whether all names of a path are UTF-8; bytes that are not show as surrogates."""
    return not any("\ud800" <= sign <= "\udfff" for sign in path)


class Store(ABC):
    """Operations on the paths of one scheme."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""

    @abstractmethod
    def absolute(self, path: str) -> str:
        """The same place as a URI that does not depend on the current directory."""

    def for_engine(self, path: str) -> str:
        """The same for an engine, whose current directory may be another."""
        return path

    @abstractmethod
    def entries(self, path: str) -> Iterable[Entry]:
        """What is in a folder; of a file, the file itself; nothing where there is none. In no order."""

    @abstractmethod
    def make(self, path: str) -> None:
        """A folder and those above it, where a store has folders."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove a file or a folder with all in it, if it is there."""

    @abstractmethod
    def rename(self, old: str, new: str) -> None:
        """Move a file. `new` appears whole."""

    @abstractmethod
    def publish(self, old: str, new: str) -> None:
        """Move a folder of files, if it is there. Done again after a crash, it comes to the same."""

    @abstractmethod
    def write(self, path: str, content: bytes, *, durable: bool = True) -> None:
        """Write a whole file in one step, over what was there; `durable`: it lasts through a loss of power."""

    @abstractmethod
    def create(self, path: str, content: bytes) -> None:
        """Write a whole file in one step. Raises `FileExistsError` where one is there."""

    @abstractmethod
    def open(self, path: str) -> BinaryIO:
        """A file to read from and to seek in."""

    @abstractmethod
    def checksum(self, paths: Iterable[str]) -> str | None:
        """The checksum of the names and the contents of files, which are in their order; `None` where a store checks
        contents itself."""

    @abstractmethod
    def sync(self, paths: Iterable[str], root: str) -> None:
        """Make files last through a loss of power, and the folders that name them, up to `root`, where they may not."""


class LocalStore(Store):
    """The file system of this machine, with all that is mounted there."""

    def exists(self, path: str) -> bool:
        return _local(path).exists()

    def absolute(self, path: str) -> str:
        return f"file:{_local(path)}"

    def for_engine(self, path: str) -> str:
        """What has no scheme gets none: engines differ in what they make of `file:`."""
        return f"file://{_local(path)}" if scheme_of(path) else str(_local(path))

    def entries(self, path: str) -> Iterator[Entry]:
        """As Spark lists: links are what they point to, and those that point nowhere are not there."""
        place = _local(path)
        try:
            found = list(place.iterdir())
        except FileNotFoundError:
            return
        except NotADirectoryError:
            found = [place]
        for each in found:
            with suppress(FileNotFoundError):  # gone meanwhile, or a link to nothing
                seen = each.stat()
                modified = seen.st_mtime_ns // 1_000_000
                yield Entry(f"file:{each}", S_ISDIR(seen.st_mode), modified, seen.st_size)

    def make(self, path: str) -> None:
        _local(path).mkdir(parents=True, exist_ok=True)

    def delete(self, path: str) -> None:
        place = _local(path)
        with suppress(FileNotFoundError):
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink()

    def rename(self, old: str, new: str) -> None:
        if _local(new).exists():
            raise _taken(old)
        _local(old).rename(_local(new))

    def publish(self, old: str, new: str) -> None:
        """In one step."""
        if self.exists(old):
            self.rename(old, new)

    def write(self, path: str, content: bytes, *, durable: bool = True) -> None:
        """Aside, under a name that nobody sees, then renamed over what was there."""
        place = _local(path)
        aside = place.with_name(f".{place.name}.writing")
        try:
            _write(aside, content, durable)
        except FileNotFoundError:
            place.parent.mkdir(parents=True, exist_ok=True)
            _write(aside, content, durable)
        aside.replace(place)

    def create(self, path: str, content: bytes) -> None:
        """The lock of a checkpoint keeps other runs away between the look and the write. After a loss of power the file
        is whole, not there, or torn: whoever reads it has to notice that."""
        place = _local(path)
        if place.exists():
            raise _taken(path)
        self.write(path, content, durable=False)
        _sync([place, place.parent])

    def open(self, path: str) -> BinaryIO:
        return _local(path).open("rb")

    def checksum(self, paths: Iterable[str]) -> str:
        total = 0
        for path in paths:
            total = zlib.crc32(name_of(path).encode(), total)
            with _local(path).open("rb") as file:
                while block := file.read(_BLOCK):
                    total = zlib.crc32(block, total)
        return f"{total:08x}"

    def sync(self, paths: Iterable[str], root: str) -> None:
        top, places = _local(root), set(map(_local, paths))
        _sync({*places, *(f for place in places for f in place.parents if f.is_relative_to(top))})


def _write(place: Path, content: bytes, durable: bool) -> None:
    with place.open("wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def _sync(places: Collection[Path]) -> None:
    """Have the disk keep files, and the names in folders: all at once, which takes hardly longer than one of them."""
    list(_SYNCS.map(_sync_one, places))


def _sync_one(place: Path) -> None:
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _taken(old: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"{old} cannot be moved there, where something is already")


def _local(path: str) -> Path:
    """The file of this machine that a path means to Spark."""
    place = local_path(path)
    assert place is not None
    return Path(os.path.normpath(Path.cwd() / place))


class RemoteStore(Store):
    """A store that fsspec reaches. It asks the service each time: others write there, too."""

    def __init__(self, scheme: str) -> None:
        import fsspec

        try:
            self._system: Any = fsspec.filesystem(scheme, use_listings_cache=False)
        except ImportError:
            extra = _EXTRAS.get(scheme)
            hint = f"pip install 'cedilla[{extra}]'" if extra else "the library that fsspec names for it"
            raise failure(
                "RQ430", f"{scheme}: paths need a library that is not installed", hint=hint
            ) from None
        except ValueError:
            hint = f"a local path, or one of {', '.join(f'{name}:' for name in (*_EXTRAS, *_RENAMING))}"
            raise failure("RQ430", f"nothing is known of {scheme}: paths", hint=hint) from None
        self._renames = scheme in _RENAMING

    def exists(self, path: str) -> bool:
        return bool(self._system.exists(path))

    def absolute(self, path: str) -> str:
        return path.rstrip("/")

    def entries(self, path: str) -> Iterator[Entry]:
        path = path.rstrip("/")
        own = self._system._strip_protocol(path).rstrip("/")
        try:
            found: list[dict[str, Any]] = self._system.ls(path, detail=True)
        except FileNotFoundError:
            return
        for each in found:
            name = str(each["name"])
            is_folder = each["type"] == "directory"
            if name.rstrip("/") == own and (is_folder or name.endswith("/")):
                continue  # an empty object in the place of a folder, as some programs leave them
            place = path if name == own else f"{path}/{name_of(name)}"
            yield Entry(place, is_folder, _modified(each), int(each.get("size") or 0))

    def make(self, path: str) -> None:
        """Nothing in object stores: a folder is there where a file is in it."""
        if self._renames:
            self._system.makedirs(path, exist_ok=True)

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._system.rm(path, recursive=True)

    def rename(self, old: str, new: str) -> None:
        """An object is copied within the store, and the old one deleted."""
        if self._renames:
            self._system.mv(old, new)
        else:
            self._system.cp_file(old, new)
            self._system.rm_file(old)

    def publish(self, old: str, new: str) -> None:
        """Object by object in the order of the names, so that what is seen is at any time the beginning of the whole.
        The old folder stays until all are there."""
        if not self.exists(old):
            return
        if self._renames:
            if self.exists(new):
                raise _taken(old)
            self._system.mv(old, new)
            return
        for each in sorted(self.entries(old), key=lambda entry: in_stream_order(entry.path)):
            self._system.cp_file(each.path, f"{new}/{name_of(each.path)}")
        self.delete(old)

    def write(self, path: str, content: bytes, *, durable: bool = True) -> None:
        """One put; where there is a rename, aside first."""
        if not self._renames:
            self._system.pipe_file(path, content)
            return
        folder, _, name = path.rpartition("/")
        aside = f"{folder}/.{name}.writing"
        self._system.makedirs(folder, exist_ok=True)
        self._system.pipe_file(aside, content)
        self.delete(path)
        self._system.mv(aside, path)

    def create(self, path: str, content: bytes) -> None:
        """One conditional put, which the service refuses where an object is."""
        if self._renames:
            if self.exists(path):
                raise _taken(path)
            self.write(path, content)
        else:
            self._system.pipe_file(path, content, mode="create")

    def open(self, path: str) -> BinaryIO:
        return cast(BinaryIO, self._system.open(path, "rb", block_size=_BLOCK))

    def checksum(self, paths: Iterable[str]) -> None:
        """None: a store keeps checksums of its own, and reading all back would cost a network's time."""

    def sync(self, paths: Iterable[str], root: str) -> None:
        """Nothing: a store answers once it has kept an object."""


_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az"), "azure"),
}
"""Scheme -> the extra of the package that brings its library."""
_RENAMING = frozenset({"hdfs"})
"""The schemes of stores that move a folder in one step."""
_BLOCK = 4 << 20
_MOMENTS = ("LastModified", "last_modified", "mtime", "updated", "created")
"""What libraries call the moment when a file was written."""


def _modified(entry: dict[str, Any]) -> int:
    """In milliseconds since 1970; 0 where a store does not tell."""
    found = next((entry[name] for name in _MOMENTS if entry.get(name) is not None), 0)
    if isinstance(found, str):
        found = datetime.fromisoformat(found)
    if isinstance(found, datetime):
        found = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return int(found * 1000)
