"""The files of a folder that is looked at again and again. A look costs what is new, however many files are there.

A folder on this machine has a time, which changes with the names in it. A folder whose time has not changed is not
listed; of one that has, the names are listed and new ones looked up. A line that is added to an old file changes no
folder, so all files are looked up now and then, too. A store is only listed as a whole.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

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
_DISKS = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"})
"""File systems whose times come from the clock of this machine; those of a network have the clock of a server."""
_TICK = 0.02
"""More seconds than the clock that gives files their times may be behind."""
_MANY = 5_000
"""The names of a folder from which it takes longer to list them twice than to wait for a tick."""

Stamp = tuple[int, int, int]
"""The time of a folder in nanoseconds, its number on the disk, and that of the disk."""


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
    numbers: dict[str, int] = field(factory=dict[str, int])
    unsure: frozenset[str] = frozenset()
    files: dict[str, FoundFile] = field(factory=dict[str, FoundFile])
    folders: set[str] = field(factory=set[str])

    def see(self, path: str) -> None:
        """Takes the stamp of the folder before it is listed. It tells all later changes if it is old enough, for which
        a folder of many names waits."""
        stamp = _stamp(path)
        left = 0.0 if stamp is None else _TICK - _age(stamp)
        if stamp is not None and 0 < left <= _TICK and len(self.numbers) >= _MANY and _is_disk(stamp[2]):
            time.sleep(left)
            stamp = _stamp(path)
        now = time.monotonic()
        if stamp != self.stamp:
            self.stamp, self.since = stamp, now
        if stamp is None:
            self.tells_changes = False
            return
        is_fine, age = stamp[0] % 1_000_000_000 != 0, _age(stamp)
        is_stable = now - self.since >= (_STEP if is_fine else _LONG_STEP)
        self.tells_changes = is_stable or age > (_TICK if is_fine and _is_disk(stamp[2]) else _LONG_STEP)

    def is_unchanged(self, path: str) -> bool:
        """Returns True if its names, and the files that names do not tell all of, are what they were."""
        return (
            self.tells_changes
            and _stamp(path) == self.stamp
            and not any(_size(self.files[name].path) for name in self.unsure if name in self.files)
        )


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
        """Lists what has changed of a folder of this machine and its subfolders. `is_whole`: looks all files up."""
        folder = self._folders.setdefault(path, _Folder())
        if is_whole or not folder.is_unchanged(path):
            self._list_names(path, folder, look, is_whole=is_whole)
        self.files.check_no_table(path, folder.folders)
        for name in sorted(folder.folders):
            if not is_hidden(name):
                self._list(f"{path.rstrip('/')}/{name}", look, is_whole=is_whole)

    def _list_names(self, path: str, folder: _Folder, look: _Look, *, is_whole: bool) -> None:
        folder.see(path)
        news = self.files.news(path, {} if is_whole else folder.numbers, folder.unsure)
        entries = {name_of(entry.path): entry for entry in sorted(news.entries, key=lambda entry: entry.path)}
        gone = folder.numbers.keys() - news.numbers.keys() if is_whole else news.gone
        for name in sorted((gone | folder.unsure) - entries.keys()):
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
        for name in gone:
            folder.numbers.pop(name, None)
        folder.numbers |= news.numbers
        folder.unsure = frozenset(
            name for name, entry in entries.items() if not entry.is_known or name not in news.numbers
        )
        folder.tells_changes &= not any(entry.is_link for entry in entries.values())

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
            folder.is_unchanged(path) for path, folder in self._folders.items()
        )


def _stamp(path: str) -> Stamp | None:
    """Returns the stamp of a folder on this machine, if it is there."""
    local = local_path(path)
    try:
        status = None if local is None else local.stat()
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_ino, status.st_dev)


def _age(stamp: Stamp) -> float:
    return time.time() - stamp[0] / 1e9


@cache
def _is_disk(device: int) -> bool:
    """Returns True if a device is a disk, whose times are those of this machine."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:  # not on Linux
        return False
    ends = (mount.partition(" - ") for mount in mounts)
    return any(left.split()[2] == number and right.split()[0] in _DISKS for left, _, right in ends)


def _size(path: str) -> int:
    local = local_path(path)
    try:
        return 0 if local is None else local.stat().st_size
    except OSError:
        return 1  # it is gone
