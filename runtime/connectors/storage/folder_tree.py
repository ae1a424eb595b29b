"""The files of a folder that is looked at again and again. A look costs what is new, however many files are there.

A folder on this machine has a time, which changes with the names in it. If it has not changed, nothing is listed; if it
has, the names are, and only new ones are looked up. A line that is added to an old file changes no folder, so
all files are looked up now and then, too. A store is only listed as a whole.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping

from attrs import define, field, frozen

from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.storage.stores import is_hidden, name_of

_PAUSE, _PAUSE_OF_STORE = 200, 30
"""The least pause in processor time of a look at all files, so that folders of very many cost an idle run little. In a
store no other look finds new files."""
_STEP, _LONG_STEP = 0.05, 2.0
"""Seconds after which two changes of a folder surely have different times, on file systems that keep parts of seconds,
and on others."""

Stamp = tuple[int, int]
"""The time of a folder in nanoseconds, and its number on the disk."""


@frozen(eq=False)
class Listing:
    """The files of a folder at a look, by path. `changed`: those that were not there at the look before, or had another
    length or time; `gone`: paths that were there. `before`: the mark of that look, `None` if it is unknown."""

    files: Mapping[str, FoundFile] = field(factory=dict[str, FoundFile])
    changed: Collection[FoundFile] = ()
    gone: Collection[str] = ()
    before: object | None = None
    mark: object = field(factory=object)

    @classmethod
    def of(cls, files: Iterable[FoundFile]) -> Listing:
        """Returns a listing with nothing known of an earlier look."""
        by_path = {file.path: file for file in files}
        return cls(by_path, by_path.values())

    def __iter__(self) -> Iterator[FoundFile]:
        return iter(self.files.values())

    def __len__(self) -> int:
        return len(self.files)


NO_FILES = Listing()


@define(eq=False)
class _Folder:
    """A folder of this machine at its last look. `stamp`: from before that, `since` when it is known, by the monotonic
    clock. `numbers`: of the names on the disk; `unsure`: names that have to be looked up again. `files`: the visible
    ones by name; `folders`: all subfolders."""

    stamp: Stamp | None = None
    since: float = 0.0
    tells_changes: bool = False
    numbers: Mapping[str, int] = field(factory=dict[str, int])
    unsure: frozenset[str] = frozenset()
    files: dict[str, FoundFile] = field(factory=dict[str, FoundFile])
    folders: set[str] = field(factory=set[str])

    def see(self, stamp: Stamp | None) -> None:
        """Takes the stamp of the folder before it is listed. It tells all later changes if it is old enough."""
        now = time.monotonic()
        if stamp != self.stamp:
            self.stamp, self.since = stamp, now
        if stamp is None:
            self.tells_changes = False
            return
        step = _STEP if stamp[0] % 1_000_000_000 else _LONG_STEP
        self.tells_changes = now - self.since >= step or time.time() - stamp[0] / 1e9 > _LONG_STEP


@define(eq=False)
class _Look:
    """The differences that a look finds."""

    changed: dict[str, FoundFile] = field(factory=dict[str, FoundFile])
    gone: list[str] = field(factory=list[str])


@define(eq=False)
class FolderTree:
    """The files of a folder and its subfolders at the last look."""

    files: Files
    path: str
    _listing: Listing = field(init=False, factory=Listing)
    _found: dict[str, FoundFile] = field(init=False, factory=dict[str, FoundFile])
    """The files of the last listing."""
    _folders: dict[str, _Folder] = field(init=False, factory=dict[str, _Folder])
    _next_whole: float = field(init=False, default=0.0)

    def look(self) -> Listing:
        """Returns the files, as `Files.tree` does for a source; the same listing if nothing has changed. The files of
        an earlier listing are then those of the new one."""
        is_whole, is_local = time.monotonic() >= self._next_whole, local_path(self.path) is not None
        if not is_whole and (not is_local or self._is_unchanged()):
            return self._listing
        began, look = time.thread_time(), _Look()
        if is_local:
            self._list(self.path, look, is_whole=is_whole)
        else:
            self._list_store(look)
        if look.changed or look.gone:
            self._listing = Listing(self._found, look.changed.values(), look.gone, before=self._listing.mark)
        if is_whole:
            pause = _PAUSE if is_local else _PAUSE_OF_STORE
            self._next_whole = time.monotonic() + pause * (time.thread_time() - began)
        return self._listing

    def _list_store(self, look: _Look) -> None:
        now = {file.path: file for file in self.files.tree(self.path, of_source=True)}
        look.gone += self._found.keys() - now.keys()
        look.changed |= {path: file for path, file in now.items() if self._found.get(path) != file}
        self._found = now

    def _list(self, path: str, look: _Look, *, is_whole: bool) -> None:
        """Lists a folder of this machine and its subfolders. `is_whole`: looks all files up."""
        folder = self._folders.setdefault(path, _Folder())
        folder.see(_stamp(path))
        numbers, new = self.files.news(path, {} if is_whole else folder.numbers, folder.unsure)
        entries = {name_of(entry.path): entry for entry in sorted(new, key=lambda entry: entry.path)}
        missing = folder.numbers.keys() - numbers.keys() | folder.unsure
        for name in sorted(missing - numbers.keys() - entries.keys()):
            self._forget(path, folder, name, look)
        files, _ = self.files.files_in(entries.values(), local_path(self.path))
        for name, entry in entries.items():
            if name in (folder.files if entry.is_folder else folder.folders):  # one in the place of the other
                self._forget(path, folder, name, look)
            if entry.is_folder:
                folder.folders.add(name)
        for file in files:
            if folder.files.get(name := name_of(file.path)) != file:
                folder.files[name] = self._found[file.path] = look.changed[file.path] = file
        folder.numbers = numbers
        folder.unsure = frozenset(
            name for name, entry in entries.items() if not entry.is_known or name not in numbers
        )
        folder.tells_changes &= not any(entry.is_link for entry in entries.values())
        self.files.check_no_table(path, folder.folders)
        for name in sorted(folder.folders):
            if not is_hidden(name):
                self._list(f"{path.rstrip('/')}/{name}", look, is_whole=is_whole)

    def _forget(self, path: str, folder: _Folder, name: str, look: _Look) -> None:
        """Takes a name out of a folder, with the files below it."""
        file = folder.files.pop(name, None)
        if file is not None:
            del self._found[file.path]
            look.gone.append(file.path)
        if name in folder.folders:
            folder.folders.discard(name)
            below = f"{path.rstrip('/')}/{name}"
            if (lost := self._folders.pop(below, None)) is not None:
                for inner in sorted({*lost.files, *lost.folders}):
                    self._forget(below, lost, inner, look)

    def _is_unchanged(self) -> bool:
        return bool(self._folders) and all(
            folder.tells_changes
            and _stamp(path) == folder.stamp
            and not any(_size(folder.files[name].path) for name in folder.unsure if name in folder.files)
            for path, folder in self._folders.items()
        )


def _stamp(path: str) -> Stamp | None:
    """Returns the stamp of a folder on this machine, if it is there."""
    local = local_path(path)
    try:
        status = None if local is None else local.stat()
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_ino)


def _size(path: str) -> int:
    local = local_path(path)
    try:
        return 0 if local is None else local.stat().st_size
    except OSError:
        return 1  # it is gone
