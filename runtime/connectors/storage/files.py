"""Files in any store that the engine supports: local folders, object stores, HDFS. Works without an engine."""

from __future__ import annotations

import errno
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

from attrs import field, frozen

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.diagnostics.printable import has_secret
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.records.links import check_inside, check_links, not_a_file
from cedilla.runtime.connectors.records.table_folders import is_table, table_kind
from cedilla.runtime.connectors.storage.stores import (
    Entry,
    LocalStore,
    News,
    RemoteStore,
    Store,
    is_hidden,
    name_of,
    scheme_of,
)
from cedilla.runtime.connectors.storage.system_errors import help_of, refused

__all__ = ["Files", "FoundFile", "epoch_name", "for_each", "name_of"]

T = TypeVar("T")
R = TypeVar("R")

_BLOCK = 4 << 20
_END = 16 << 10
"""The bytes of a file's beginning, and of its end, that its fingerprint is made of."""
_READERS = 32
"""The number of objects of a store that are read at once."""


@frozen
class FoundFile:
    """A file of a listing: its path, its modification time in milliseconds, its length in bytes. `keys`: its values
    in the log of a table, which count like keys in paths."""

    path: str
    modified: int
    length: int
    keys: Mapping[str, str | None] | None = field(default=None, hash=False)


def _found(entry: Entry) -> FoundFile:
    return FoundFile(entry.path, entry.modified, entry.length)


def epoch_name(number: int) -> str:
    """Returns the name of an epoch's folder."""
    return f"epoch={number:012d}"


def for_each(items: Sequence[T], function: Callable[[T], R], path: str) -> list[R]:
    """Returns the results of a function for each item, side by side if they are in a store, as their `path`: each of
    them waits for it."""
    if len(items) > 1 and local_path(path) is None:
        with ThreadPoolExecutor(_READERS) as threads:
            return list(threads.map(function, items))
    return [function(item) for item in items]


class Files:
    """File operations; paths are strings as users write them.

    Every operation raises `DiagnosticError`: RQ430 if the scheme of a path is unknown or its library is missing, RQ431
    if the store refuses. `allowed`: the local folders that links below others may lead to.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = [root for path in allowed if (root := local_path(path)) is not None]
        local = LocalStore()
        self._stores: dict[str, Store] = {"": local, "file": local}

    @contextmanager
    def _of(self, path: str) -> Iterator[Store]:
        scheme = scheme_of(path)
        try:
            if scheme not in self._stores:
                self._stores[scheme] = RemoteStore(scheme)
            yield self._stores[scheme]
        except DiagnosticError:
            raise
        except Exception as problem:  # libraries of stores raise errors of any type
            if not isinstance(problem, OSError) and scheme in ("", "file"):
                raise
            raise _refused(path, problem) from problem

    def exists(self, path: str) -> bool:
        with self._of(path) as store:
            return store.exists(path)

    def absolute(self, path: str) -> str:
        """Returns the path as a URI that does not depend on the current directory."""
        with self._of(path) as store:
            return store.absolute(path)

    def for_engine(self, path: str) -> str:
        """Returns the path for an engine with another current directory. A path without a scheme gets none, because
        engines treat `file:` differently."""
        with self._of(path) as store:
            return store.for_engine(path)

    def list(self, path: str) -> list[FoundFile]:
        """Returns the visible files of a folder (or the file itself) by name; empty if the path does not exist."""
        return [_found(entry) for entry in self._visible(path) if not (entry.is_folder or entry.oddity)]

    def _visible(self, path: str) -> list[Entry]:
        return [entry for entry in self._entries(path) if not is_hidden(entry.path)]

    def _entries(self, path: str) -> list[Entry]:
        with self._of(path) as store:
            return sorted(store.entries(path), key=lambda entry: entry.path)

    def tree(self, path: str, *, of_source: bool = False) -> list[FoundFile]:
        """Returns the visible files of a folder and its subfolders by path; empty if the path does not exist.
        `of_source`: all of them are read. Raises `DiagnosticError`: RQ345 if a folder is a table whose files are read;
        as `files_in`."""
        return self._tree(path, local_path(path), of_source)

    def news(self, path: str, earlier: Mapping[str, int], unsure: Set[str]) -> News:
        """Returns what `LocalStore.news` does, for a folder on this machine."""
        with self._of(path) as store:
            assert isinstance(store, LocalStore)
            return store.news(path, earlier, unsure)

    def check_no_table(self, path: str, folders: Set[str]) -> None:
        """Raises `DiagnosticError` RQ345 if a folder of a source is a table. `folders`: the names of its
        subfolders."""
        kind = table_kind(
            folders.__contains__,
            lambda name: (name_of(entry.path) for entry in self._entries(f"{path.rstrip('/')}/{name}")),
        )
        if kind is not None:
            raise is_table(path, kind)

    def files_in(self, entries: Iterable[Entry], root: Path | None) -> tuple[list[FoundFile], list[str]]:
        """Returns the visible files of some entries, and the names of the visible folders. `root`: the local folder
        that is read. Raises `DiagnosticError`: RQ465 for what is neither, RQ484 for a link as `check_links` does."""
        visible = [entry for entry in entries if not is_hidden(entry.path)]
        if root is not None:
            links = (local_path(entry.path) for entry in visible if entry.is_link)
            check_links((link for link in links if link is not None), root, self._allowed)
        for entry in visible:
            if entry.oddity is not None:
                raise not_a_file(entry.path, entry.oddity)
        files = [_found(entry) for entry in visible if not entry.is_folder]
        return files, [name_of(entry.path) for entry in visible if entry.is_folder]

    def _tree(self, path: str, root: Path | None, of_source: bool) -> list[FoundFile]:
        entries = self._entries(path)
        if of_source:
            self.check_no_table(path, {name_of(entry.path) for entry in entries if entry.is_folder})
        files, below = self.files_in(entries, root)
        in_folders = (self._tree(f"{path.rstrip('/')}/{name}", root, of_source) for name in below)
        return [*files, *(file for in_folder in in_folders for file in in_folder)]

    def check_inside(self, path: str, folder: str) -> None:
        """Raises `DiagnosticError` RQ484 for a local file outside of a folder and all allowed ones."""
        local, root = local_path(path), local_path(folder)
        if local is not None:
            check_inside(local, Path() if root is None else root, self._allowed)

    def folders(self, path: str, prefix: str) -> list[str]:
        """Returns the names of a folder's subfolders with a prefix; empty if the path does not exist."""
        with self._of(path) as store:
            names = [name_of(entry.path) for entry in store.entries(path) if entry.is_folder]
        return sorted(name for name in names if name.startswith(prefix))

    def names(self, path: str) -> list[str]:
        """Returns the names of all that a folder contains, also of what is hidden; empty if the path does not exist."""
        return [name_of(entry.path) for entry in self._entries(path)]

    def make(self, path: str) -> None:
        """Creates a folder and its parents, in stores with folders."""
        with self._of(path) as store:
            store.make(path)

    def delete(self, path: str) -> None:
        """Removes a file, or a folder with its contents, if it exists."""
        with self._of(path) as store:
            store.delete(path)

    def delete_file(self, path: str) -> None:
        """Removes a file, if it exists; a store is not asked what is below its path."""
        with self._of(path) as store:
            store.delete_file(path)

    def rename(self, old: str, new: str) -> None:
        """Moves a file inside a store; `new` does not exist yet, and appears as a whole."""
        with self._of(new) as store:
            store.rename(old, new)

    def renames(self, path: str) -> bool:
        """Returns True if the store of a path moves a folder in one step; otherwise files are copied."""
        with self._of(path) as store:
            return store.renames

    def publish(self, old: str, new: str) -> None:
        """Moves a folder of files in one step, if it exists. It can be repeated after a crash."""
        with self._of(new) as store:
            store.publish(old, new)

    def copy(self, copies: Sequence[tuple[FoundFile, str]]) -> None:
        """Copies files to paths of the same store, side by side."""
        for_each(copies, self._copy, copies[0][1] if copies else "")

    def _copy(self, copied: tuple[FoundFile, str]) -> None:
        file, target = copied
        with self._of(target) as store:
            store.copy(file.path, target, file.length)

    def read(self, path: str) -> str:
        """Returns the text of a file."""
        with self._of(path) as store:
            return store.read(path).decode()

    def read_if_there(self, path: str) -> str | None:
        """Returns the text of a file, `None` without one."""
        try:
            return self.read(path)
        except DiagnosticError as problem:
            if isinstance(problem.__cause__, FileNotFoundError):
                return None
            raise

    def blocks(self, path: str, length: int | None = None) -> Iterator[bytes]:
        """Yields the bytes of a file in blocks of a few megabytes. `length`: as for `open`."""
        with self._of(path) as store, store.open(path, length) as file:
            while block := file.read(_BLOCK):
                yield block

    def count(self, path: str, sign: bytes, length: int | None = None) -> int:
        """Counts occurrences of some bytes that do not overlap in a file. `length`: as for `open`."""
        total, rest = 0, b""
        for block in self.blocks(path, length):
            text = rest + block
            total += text.count(sign)
            rest = text[max(0, len(text) - len(sign) + 1) :]
        return total

    def open(self, path: str, length: int | None = None) -> BinaryIO:
        """Opens a file for reading and seeking. `length`: in bytes, if it is known and nobody changes the file; a store
        is then not asked for it."""
        with self._of(path) as store:
            return store.open(path, length)

    def fingerprints(self, files: Sequence[FoundFile]) -> list[str | None]:
        """Returns the fingerprint of each file, `None` for one that is gone or shorter than it was listed."""
        return for_each(files, self.fingerprint, files[0].path if files else "")

    def fingerprint(self, file: FoundFile, length: int | None = None) -> str | None:
        """Returns what tells the bytes of a file from others: checksums of the first and the last 16 KiB. `length`:
        that of the beginning to look at. `None` if the file is gone, or shorter."""
        asked = file.length if length is None else length
        try:
            with self._of(file.path) as store:
                first, last = store.ends(file.path, asked, _END)
        except DiagnosticError as problem:
            if isinstance(problem.__cause__, FileNotFoundError):
                return None
            raise
        is_whole = len(first) + len(last) == min(asked, 2 * _END)
        return f"{zlib.crc32(first):08x}-{zlib.crc32(last):08x}" if is_whole else None

    def checksum(self, files: Iterable[FoundFile]) -> str | None:
        """Returns the checksum of the names and contents of files of one folder, by name; `None` for stores that check
        contents themselves."""
        paths = [file.path for file in files]
        with self._of(paths[0] if paths else "") as store:
            return store.checksum(paths)

    def sync(self, paths: Iterable[str], root: str) -> None:
        """Makes files, and the folders up to `root` that name them, durable through a loss of power."""
        with self._of(root) as store:
            store.sync(paths, root)

    def write(self, path: str, content: str | bytes, *, durable: bool = True) -> None:
        """Writes a whole file in one step, and replaces an old one. `durable`: it survives a loss of power."""
        with self._of(path) as store:
            store.write(path, content.encode() if isinstance(content, str) else content, durable=durable)

    def create(self, path: str, content: str) -> bool:
        """Writes a new file in one step. Returns False if a file with other content exists."""
        with self._of(path) as store:
            try:
                store.create(path, content.encode())
            except FileExistsError:
                # A store may have written the file although its answer was lost; a retry then finds its own content.
                return self.read(path) == content
        return True


def _refused(path: str, problem: Exception) -> DiagnosticError:
    if isinstance(problem, OSError) and local_path(path) is not None:
        return refused(problem, path)
    text = "" if has_secret(path) else str(problem)  # a library's text may repeat a part of the path
    message = (isinstance(problem, OSError) and problem.strerror) or text or type(problem).__name__
    is_lost = isinstance(problem, FileNotFoundError)
    hint = help_of(errno.ENOENT) if is_lost else "the service, and the account in the environment"
    return failure("RQ431", f"{path}: {message}", hint=hint)
