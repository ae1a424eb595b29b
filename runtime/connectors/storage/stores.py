"""Stores of files: this machine, or a store supported by fsspec (S3, Google Cloud Storage, Azure, HDFS).

Paths come in as users write them and are returned in the same form, because the engine gets them too. Every store
writes a whole file in one step, which makes a commit record atomic. The atomic part of `publish` depends on the store.
Over 400 lines, as the two stores implement one interface, which is read together with them.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from stat import S_ISDIR
from typing import Any, BinaryIO, cast

from attrs import field, frozen

from cedilla.grammar.diagnostics import Span, failure
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.records.links import LOOP, is_loop, oddity
from cedilla.runtime.connectors.records.marker_files import is_marker_file

_SYNCS = ThreadPoolExecutor(8, "cedilla-sync")


@frozen
class Entry:
    """A file or a folder of a listing: its path, its modification time in milliseconds, and its length in bytes.
    `is_link`: on this machine, a link leads to it. `oddity`: what it is, if it is neither."""

    path: str
    is_folder: bool
    modified: int
    length: int
    is_link: bool = False
    oddity: str | None = None

    @property
    def is_known(self) -> bool:
        """True if its name and its number on the disk tell all that matters of it: not of a link, or a file that is
        empty yet."""
        return not self.is_link and self.oddity is None and (self.is_folder or self.length > 0)


@frozen
class News:
    """The differences of a folder from an earlier look: `entries` that are new or to be looked up again, their
    `numbers` on the disk by name, and the names that are `gone`."""

    entries: Sequence[Entry] = ()
    numbers: Mapping[str, int] = field(factory=dict[str, int])
    gone: Set[str] = frozenset()


def name_of(path: str) -> str:
    """Returns the last part of a path."""
    return path.rstrip("/").rpartition("/")[2]


def is_hidden(path: str) -> bool:
    """Returns True if Spark and Cedilla ignore a file or folder by its name. Cedilla reads the markers of its
    outputs."""
    name = name_of(path)
    is_aside = name.startswith((".", "_")) or name.endswith("._COPYING_")
    return is_aside and not is_marker_file(path)


def scheme_of(path: str) -> str:
    """Returns the part of a path before the colon, as in Hadoop: without escapes, and `?` and `#` are ordinary
    characters."""
    scheme, colon, _ = path.partition(":")
    return scheme if colon and "/" not in scheme else ""


def check_scheme(scheme: str, span: Span | None = None) -> None:
    """Raise RQ485 for a scheme of the web: a query reads nothing from there, and sends nothing there."""
    if scheme.lower() in ("http", "https"):
        hint = "a folder, into which another program puts the files that it has loaded"
        raise failure("RQ485", f"{scheme}: addresses are neither read nor written", span, hint=hint)


def is_pattern(path: str) -> bool:
    """Returns True if Spark treats a path to read as a pattern."""
    return any(sign in path for sign in "*?[]{}\\")


def is_utf8(path: str) -> bool:
    """Returns True if all names of a path are UTF-8; other bytes appear as surrogates."""
    return not any("\ud800" <= sign <= "\udfff" for sign in path)


class Store(ABC):
    """Operations on the paths of one scheme."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Returns True if a file or folder exists."""

    @abstractmethod
    def absolute(self, path: str) -> str:
        """Returns the path as a URI that does not depend on the current directory."""

    def for_engine(self, path: str) -> str:
        """Returns the path for an engine with another current directory."""
        return path

    @abstractmethod
    def entries(self, path: str) -> Iterable[Entry]:
        """Returns the entries of a folder; for a file, the file itself; empty if the path does not exist. In no
        order."""

    @abstractmethod
    def make(self, path: str) -> None:
        """Creates a folder and its parents, in stores with folders."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Removes a file, or a folder with its contents, if it exists."""

    @abstractmethod
    def delete_file(self, path: str) -> None:
        """Removes a file, if it exists."""

    @abstractmethod
    def rename(self, old: str, new: str) -> None:
        """Moves a file; `new` appears as a whole."""

    @property
    def renames(self) -> bool:
        """True if a folder moves in one step; otherwise its files are copied."""
        return True

    @abstractmethod
    def publish(self, old: str, new: str) -> None:
        """Moves a folder of files in one step, if it exists. It can be repeated after a crash."""

    @abstractmethod
    def copy(self, old: str, new: str, length: int) -> None:
        """Copies a file of a length within a store that does not rename."""

    @abstractmethod
    def write(self, path: str, content: bytes, *, durable: bool = True) -> None:
        """Writes a whole file in one step, and replaces an old one. `durable`: it survives a loss of power."""

    @abstractmethod
    def create(self, path: str, content: bytes) -> None:
        """Writes a new file in one step. Raises `FileExistsError` if it exists."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Returns the bytes of a file."""

    @abstractmethod
    def open(self, path: str, length: int | None = None) -> BinaryIO:
        """Opens a file for reading and seeking. `length`: in bytes, if it is known and nobody changes the file."""

    @abstractmethod
    def ends(self, path: str, length: int, size: int) -> tuple[bytes, bytes]:
        """Returns the first `size` of the first `length` bytes of a file, and the last `size` of the others. Fewer
        bytes than asked for mean that the file is shorter."""

    @abstractmethod
    def checksum(self, paths: Iterable[str]) -> str | None:
        """Returns the checksum of the names and contents of files, given in order; `None` for stores that check
        contents themselves."""

    @abstractmethod
    def sync(self, paths: Iterable[str], root: str) -> None:
        """Makes files, and the folders up to `root` that name them, durable through a loss of power, in stores where
        they may not be."""


class LocalStore(Store):
    """The file system of this machine, including mounted ones."""

    def exists(self, path: str) -> bool:
        return _local(path).exists()

    def absolute(self, path: str) -> str:
        return f"file:{_local(path)}"

    def for_engine(self, path: str) -> str:
        """A path without a scheme gets none, because engines treat `file:` differently."""
        return f"file://{_local(path)}" if scheme_of(path) else str(_local(path))

    def entries(self, path: str) -> Sequence[Entry]:
        """Lists like Spark: links are replaced by their targets, and broken links are left out."""
        return self.news(path, {}, frozenset()).entries

    def news(self, path: str, earlier: Mapping[str, int], unsure: Set[str]) -> News:
        """Returns what differs in a folder from the `earlier` numbers of its names on the disk. Entries that are
        `unsure` are looked up, too, and nothing else is."""
        local, names = _local(path), list[str]()
        changed: list[os.DirEntry[str]] = []
        try:
            with os.scandir(local) as listing:  # `iterdir` costs several times as much
                # There may be a hundred thousand: what runs for each of them is this loop.
                for entry in listing:
                    names.append(name := entry.name)
                    if earlier.get(name) != entry.inode() or name in unsure:
                        changed.append(entry)
        except FileNotFoundError:
            pass
        except NotADirectoryError:
            if local.exists():  # otherwise there is a file in the place of one of its folders
                entry = _entry(str(local), local.stat(), is_link=local.is_symlink())
                return News([entry], gone=earlier.keys())
        entries, numbers, lost = list[Entry](), dict[str, int](), set[str]()
        for entry in changed:
            try:
                if is_loop(entry):
                    entries.append(Entry(f"file:{entry.path}", False, 0, 0, oddity=LOOP))
                else:
                    entries.append(_entry(entry.path, entry.stat(), is_link=entry.is_symlink()))
                numbers[entry.name] = entry.inode()
            except FileNotFoundError:  # deleted meanwhile, or a broken link
                lost.add(entry.name)
        stayed = len(names) - sum(entry.name not in earlier for entry in changed)
        gone = earlier.keys() - names if stayed < len(earlier) else frozenset[str]()
        return News(entries, numbers, gone | (earlier.keys() & lost))

    def make(self, path: str) -> None:
        _local(path).mkdir(parents=True, exist_ok=True)

    def delete(self, path: str) -> None:
        local = _local(path)
        with suppress(FileNotFoundError):
            if local.is_dir() and not local.is_symlink():
                shutil.rmtree(local)
            else:
                local.unlink()

    def delete_file(self, path: str) -> None:
        _local(path).unlink(missing_ok=True)

    def rename(self, old: str, new: str) -> None:
        if _local(new).exists():
            raise _in_use(old)
        _local(old).rename(_local(new))

    def publish(self, old: str, new: str) -> None:
        """Moves the folder in one step."""
        if self.exists(old):
            self.rename(old, new)

    def copy(self, old: str, new: str, length: int) -> None:
        raise AssertionError(f"{old} is renamed")

    def write(self, path: str, content: bytes, *, durable: bool = True) -> None:
        """Writes a hidden file, then renames it over the old one."""
        local = _local(path)
        aside = local.with_name(f".{local.name}.writing")
        try:
            _write(aside, content, durable)
        except FileNotFoundError:
            local.parent.mkdir(parents=True, exist_ok=True)
            _write(aside, content, durable)
        aside.replace(local)

    def create(self, path: str, content: bytes) -> None:
        """The lock of a checkpoint prevents other runs from writing between the check and the write. After a loss of
        power the file is whole, missing, or torn; its reader has to detect that."""
        local = _local(path)
        if local.exists():
            raise _in_use(path)
        self.write(path, content, durable=False)
        _sync([local, local.parent])

    def read(self, path: str) -> bytes:
        return _local(path).read_bytes()

    def open(self, path: str, length: int | None = None) -> BinaryIO:
        return _local(path).open("rb")

    def ends(self, path: str, length: int, size: int) -> tuple[bytes, bytes]:
        handle = os.open(_local(path), os.O_RDONLY)
        try:
            first = os.pread(handle, min(size, length), 0)
            begin = max(size, length - size)
            return first, os.pread(handle, length - begin, begin) if begin < length else b""
        finally:
            os.close(handle)

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
        inside = (local for local in places if local.is_relative_to(top))
        _sync({*places, *(f for local in inside for f in takewhile(top.parent.__ne__, local.parents))})


def _write(path: Path, content: bytes, durable: bool) -> None:
    with path.open("wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def _sync(places: Collection[Path]) -> None:
    """Makes the disk keep files, and names in folders, in parallel, which takes about as long as one of them."""
    list(_SYNCS.map(_sync_one, places))


def _sync_one(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _in_use(old: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"{old} cannot be moved there, where something is already")


def _entry(local: str, status: os.stat_result, *, is_link: bool) -> Entry:
    modified, odd = status.st_mtime_ns // 1_000_000, oddity(status)
    return Entry(f"file:{local}", S_ISDIR(status.st_mode), modified, status.st_size, is_link, odd)


def _local(path: str) -> Path:
    """Returns the local file of a path in Spark's notation."""
    return _absolute(path) if path.startswith(("/", "file:")) else _normal(Path.cwd(), path)


@lru_cache(1024)
def _absolute(path: str) -> Path:
    """Returns the local file of a path that does not depend on the current directory. An epoch asks for each of its
    paths several times."""
    return _normal(Path("/"), path)


def _normal(folder: Path, path: str) -> Path:
    local = local_path(path)
    assert local is not None
    return Path(os.path.normpath(folder / local))


class RemoteStore(Store):
    """A store of fsspec. Listings are not cached, because others write there, too."""

    def __init__(self, scheme: str) -> None:
        check_scheme(scheme)
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
        self._is_s3 = _EXTRAS.get(scheme) == "s3"

    def exists(self, path: str) -> bool:
        return bool(self._system.exists(path))

    def absolute(self, path: str) -> str:
        return path.rstrip("/")

    def entries(self, path: str) -> Iterator[Entry]:
        path = path.rstrip("/")
        own = self._system._strip_protocol(path).rstrip("/")
        try:
            listed: list[dict[str, Any]] = self._system.ls(path, detail=True)
        except FileNotFoundError:
            return
        for entry in listed:
            name = str(entry["name"])
            is_folder = entry["type"] == "directory"
            if name.rstrip("/") == own and (is_folder or name.endswith("/")):
                continue  # an empty object in place of a folder, which some programs create
            entry_path = path if name == own else f"{path}/{name_of(name)}"
            yield Entry(entry_path, is_folder, _modified(entry), int(entry.get("size") or 0))

    def make(self, path: str) -> None:
        """Does nothing in object stores: a folder exists if it contains a file."""
        if self._renames:
            self._system.makedirs(path, exist_ok=True)

    def delete(self, path: str) -> None:
        """Lists what is there, and deletes that together: a library that lists by itself asks several times."""
        with suppress(FileNotFoundError):
            if self._renames:
                self._system.rm(path, recursive=True)
            elif paths := self._system.find(path, withdirs=True):
                self._system.rm(paths)

    def delete_file(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._system.rm_file(path)

    def rename(self, old: str, new: str) -> None:
        """Copies an object within the store, and deletes the old one."""
        if self._renames:
            self._system.mv(old, new)
        else:
            self._system.cp_file(old, new)
            self._system.rm_file(old)

    @property
    def renames(self) -> bool:
        return self._renames

    def publish(self, old: str, new: str) -> None:
        assert self._renames, old
        if self.exists(old):
            if self.exists(new):
                raise _in_use(old)
            self._system.mv(old, new)

    def copy(self, old: str, new: str, length: int) -> None:
        """Copies with one request. The library would ask for the length first."""
        if not self._is_s3 or length > _ONE_COPY:
            self._system.cp_file(old, new)
            return
        (bucket, key, _), (target, name, _) = map(self._system.split_path, (old, new))
        source = {"Bucket": bucket, "Key": key}
        self._system.call_s3("copy_object", Bucket=target, Key=name, CopySource=source)

    def write(self, path: str, content: bytes, *, durable: bool = True) -> None:
        """Writes with one put; in stores with a rename, into a hidden file first."""
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
        """Writes with one conditional put, which the service refuses if an object exists."""
        if self._renames:
            if self.exists(path):
                raise _in_use(path)
            self.write(path, content)
        else:
            self._system.pipe_file(path, content, mode="create")

    def read(self, path: str) -> bytes:
        """Reads with one request, which names a range: without one, the library asks for the length first."""
        return self._range(path, 0, None)

    def open(self, path: str, length: int | None = None) -> BinaryIO:
        """Opens a file. Reads a short one of known length whole, because the library would ask for the length."""
        if length is not None and length <= _WHOLE:
            return io.BytesIO(self._range(path, 0, length))
        return cast(BinaryIO, self._system.open(path, "rb", block_size=_BLOCK))

    def ends(self, path: str, length: int, size: int) -> tuple[bytes, bytes]:
        begin = max(size, length - size)
        return self._range(path, 0, min(size, length)), self._range(path, begin, length)

    def _range(self, path: str, begin: int, end: int | None) -> bytes:
        if end is not None and begin >= end:
            return b""
        try:
            return self._system.cat_file(path, start=begin, end=end)
        except FileNotFoundError:
            raise
        except Exception:  # some stores refuse a range after the end of a file
            if int(self._system.info(path)["size"]) >= (1 if end is None else end):
                raise
            return b""

    def checksum(self, paths: Iterable[str]) -> None:
        """Returns `None`: stores have their own checksums, and reading everything back would take a long time."""

    def sync(self, paths: Iterable[str], root: str) -> None:
        """Does nothing: a store answers only after it has kept an object."""


_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az"), "azure"),
}
"""Maps schemes to the extra of the package with their library."""
_RENAMING = frozenset({"hdfs"})
"""Schemes of stores that move a folder in one step."""
STORES = frozenset({*_EXTRAS, *_RENAMING})
"""Schemes of stores that a query may name."""
_BLOCK = 4 << 20
_WHOLE = 1 << 20
"""The greatest length of an object that is read in one request, if its length is known."""
_ONE_COPY = 5 << 30
"""The greatest length of an object that S3 copies in one request."""
_MOMENTS = ("LastModified", "last_modified", "mtime", "updated", "created")
"""Names of the modification time in different libraries."""


def _modified(entry: dict[str, Any]) -> int:
    """Returns the modification time in milliseconds since 1970; 0 if the store has none."""
    moment = next((entry[name] for name in _MOMENTS if entry.get(name) is not None), 0)
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    if isinstance(moment, datetime):
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return int(moment * 1000)
