"""Files wherever the engine finds them: local folders, object stores, HDFS. No engine is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from attrs import frozen

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.storage.stores import LocalStore, RemoteStore, Store, is_hidden, name_of, scheme_of

__all__ = ["Files", "FoundFile", "epoch_name", "name_of"]

_BLOCK = 4 << 20


@frozen
class FoundFile:
    """A file of a listing: its path, its modification time in milliseconds, its length in bytes."""

    path: str
    modified: int
    length: int


def epoch_name(number: int) -> str:
    """The name of what an epoch has written."""
    return f"epoch={number:012d}"


class Files:
    """File operations; paths are strings as users write them.

    Every operation raises `DiagnosticError`: RQ430 where the scheme of a path is unknown or its library is missing,
    RQ431 where the store refuses.
    """

    def __init__(self) -> None:
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
        except Exception as problem:  # of whatever kind the library of a store has
            if not isinstance(problem, OSError) and scheme in ("", "file"):
                raise
            raise _refused(path, problem) from problem

    def exists(self, path: str) -> bool:
        with self._of(path) as store:
            return store.exists(path)

    def absolute(self, path: str) -> str:
        """The same place as a URI that does not depend on the current directory."""
        with self._of(path) as store:
            return store.absolute(path)

    def for_engine(self, path: str) -> str:
        """The same place for an engine, whose current directory may be another. What has no scheme gets none: engines
        differ in what they make of `file:`."""
        with self._of(path) as store:
            return store.for_engine(path)

    def list(self, path: str) -> list[FoundFile]:
        """The visible files of a folder (or the file itself), by name; nothing where there is none."""
        with self._of(path) as store:
            found = [
                FoundFile(entry.path, entry.modified, entry.length)
                for entry in store.entries(path)
                if not entry.is_folder and not is_hidden(entry.path)
            ]
        return sorted(found, key=lambda file: file.path)

    def tree(self, path: str) -> list[FoundFile]:
        """The visible files of a folder and of those below it, by their paths; nothing where there is none."""
        below = (name for name in self.folders(path, "") if not is_hidden(name))
        return [*self.list(path), *(f for name in below for f in self.tree(f"{path.rstrip('/')}/{name}"))]

    def folders(self, path: str, prefix: str) -> list[str]:
        """The names of a folder's folders that start with a prefix; nothing where there is none."""
        with self._of(path) as store:
            names = [name_of(entry.path) for entry in store.entries(path) if entry.is_folder]
        return sorted(name for name in names if name.startswith(prefix))

    def make(self, path: str) -> None:
        """A folder and those above it, where the store has folders."""
        with self._of(path) as store:
            store.make(path)

    def delete(self, path: str) -> None:
        """Remove a file or a folder with all in it, if it is there."""
        with self._of(path) as store:
            store.delete(path)

    def rename(self, old: str, new: str) -> None:
        """Move a file inside a store; `new` does not exist, and appears whole."""
        with self._of(new) as store:
            store.rename(old, new)

    def publish(self, old: str, new: str) -> None:
        """Move a folder of files, if it is there: in one step where the store has such a step; else file by file in
        the order of their names, `old` being the last to go. Done again after a crash, it comes to the same."""
        with self._of(new) as store:
            store.publish(old, new)

    def read(self, path: str) -> str:
        """The text of a file."""
        with self._of(path) as store, store.open(path) as file:
            return file.read().decode()

    def blocks(self, path: str) -> Iterator[bytes]:
        """The bytes of a file, a few megabytes at a time."""
        with self._of(path) as store, store.open(path) as file:
            while block := file.read(_BLOCK):
                yield block

    def count(self, path: str, sign: bytes) -> int:
        """How often some bytes stand in a file, none of which are in two places at once."""
        total, rest = 0, b""
        for block in self.blocks(path):
            seen = rest + block
            total += seen.count(sign)
            rest = seen[max(0, len(seen) - len(sign) + 1) :]
        return total

    def open(self, path: str) -> BinaryIO:
        """A file to read from and to seek in."""
        with self._of(path) as store:
            return store.open(path)

    def checksum(self, found: Iterable[FoundFile]) -> str | None:
        """The checksum of the names and the contents of files of one folder, by name; `None` where they are in a store,
        which checks contents itself."""
        paths = [file.path for file in found]
        with self._of(paths[0] if paths else "") as store:
            return store.checksum(paths)

    def sync(self, paths: Iterable[str], root: str) -> None:
        """Make files last through a loss of power, and the folders that name them, up to `root`."""
        with self._of(root) as store:
            store.sync(paths, root)

    def write(self, path: str, content: str | bytes, *, durable: bool = True) -> None:
        """Write a whole file in one step, over what was there; `durable`: it lasts through a loss of power."""
        with self._of(path) as store:
            store.write(path, content.encode() if isinstance(content, str) else content, durable=durable)

    def create(self, path: str, content: str) -> bool:
        """Write a whole file in one step where none is; False where a file of another content is there already."""
        with self._of(path) as store:
            try:
                store.create(path, content.encode())
            except FileExistsError:
                # A store may have taken the file and lost its answer: a second try finds its own content.
                return self.read(path) == content
        return True


def _refused(path: str, problem: Exception) -> DiagnosticError:
    said = (isinstance(problem, OSError) and problem.strerror) or str(problem) or type(problem).__name__
    is_local = scheme_of(path) in ("", "file")
    hint = "the rights and the space there" if is_local else "the service, and the account in the environment"
    if isinstance(problem, FileNotFoundError):
        hint = "the file in its place again: the run goes on there; an empty one, where it is lost"
    return failure("RQ431", f"{path}: {said}", hint=hint)
