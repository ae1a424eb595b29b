"""The files of a folder that is looked at again and again. A look costs what is new, however many files are there.

A folder on this machine has a time, which changes with the names in it. If it has not changed, nothing is listed; if it
has, only new names are looked up. What is written into an old file changes no folder, so that all files are looked up
now and then, too. A store is only listed as a whole.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from attrs import define, field, frozen

from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.storage.stores import Entry, Store, name_of

_PAUSE, _PAUSE_OF_STORE = 200, 30
"""The least pause in processor time of a look at all files, so that folders of very many cost an idle run little. In a
store no other look finds new files."""
_SETTLED = 2_000_000_000
"""Nanoseconds after which two changes of a folder surely have different times."""
_NOTHING: Mapping[str, Entry] = {}

Stamp = tuple[int, int]
"""The time of a folder in nanoseconds, and its number on the disk."""


@frozen
class _Listed:
    """A folder as it was listed. `stamp`: from before that, `None` unless it tells all later changes."""

    stamp: Stamp | None
    entries: Mapping[str, Entry]


@define(eq=False)
class FolderLooks:
    """The listings of a folder and its subfolders in one look. `known`: those of an earlier look, whose files are not
    looked up again."""

    known: Mapping[str, _Listed] = field(factory=dict[str, _Listed])
    folders: dict[str, _Listed] = field(init=False, factory=dict[str, _Listed])

    def entries(self, store: Store, path: str) -> list[Entry]:
        """Returns the entries of a folder by path."""
        stamp = _stamp(path)
        is_settled = stamp is not None and time.time_ns() - stamp[0] > _SETTLED
        before = self.known[path].entries if path in self.known else _NOTHING
        entries = sorted(store.entries(path, before), key=lambda entry: entry.path)
        tells_changes = is_settled and not any(entry.is_link for entry in entries)
        self.folders[path] = _Listed(stamp if tells_changes else None, {name_of(e.path): e for e in entries})
        return entries


@define(eq=False)
class FolderTree:
    """The files of a folder and its subfolders at the last look."""

    files: Files
    path: str
    _found: list[FoundFile] = field(init=False, factory=list[FoundFile])
    _folders: Mapping[str, _Listed] = field(init=False, factory=dict[str, _Listed])
    _empty: list[str] = field(init=False, factory=list[str])
    """Files whose writers are not finished."""
    _next_whole: float = field(init=False, default=0.0)

    def look(self) -> list[FoundFile]:
        """Returns the files by path, as `Files.tree` for a source; the same list if nothing has changed."""
        is_whole = time.monotonic() >= self._next_whole
        if not is_whole and (local_path(self.path) is None or self._is_unchanged()):
            return self._found
        began, looks = time.thread_time(), FolderLooks({} if is_whole else self._folders)
        listed = self.files.tree(self.path, of_source=True, looks=looks)
        if listed != self._found:
            self._found = listed
        self._folders = looks.folders
        self._empty = [file.path for file in listed if not file.length]
        if is_whole:
            pause = _PAUSE_OF_STORE if local_path(self.path) is None else _PAUSE
            self._next_whole = time.monotonic() + pause * (time.thread_time() - began)
        return self._found

    def _is_unchanged(self) -> bool:
        has_grown = any(_size(path) for path in self._empty)
        return (
            bool(self._folders)
            and not has_grown
            and all(
                listed.stamp is not None and _stamp(path) == listed.stamp
                for path, listed in self._folders.items()
            )
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
