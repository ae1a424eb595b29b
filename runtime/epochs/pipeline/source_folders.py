"""The folders of the streams of a run: the files that are in them, and whether a folder is there at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from attrs import define, field

from cedilla.compiler.plan import Plan, Source, folders
from cedilla.runtime.connectors.formats.listing import ByName
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.storage.folder_tree import NO_FILES, FolderTree, Listing
from cedilla.runtime.epochs.checkpoint.arrivals import Found
from cedilla.runtime.epochs.checkpoint.known_folders import KnownFolders
from cedilla.runtime.epochs.options.places import no_folder
from cedilla.runtime.epochs.pipeline.table_sources import TableSources


@define(eq=False)
class SourceFolders:
    """The folders of some streams. `tell` gets a line where a folder is gone or back; `is_once`: a folder that is gone
    ends the run."""

    files: Files
    plan: Plan
    streams: Sequence[Source]
    tables: TableSources
    known: KnownFolders
    tell: Callable[[str], None]
    is_once: bool = False
    cost: float = field(init=False, default=0.0)
    """Processor time of the last look at tables."""
    _gone: set[str] = field(init=False, factory=set[str])
    _trees: dict[str, FolderTree] = field(init=False, factory=dict[str, FolderTree])
    _last: dict[str, Found] = field(init=False, factory=dict[str, Found])
    _markers: dict[str, Listing] = field(init=False, factory=dict[str, Listing])
    """The last listing of each folder of markers, if no file of tuples cut it."""

    def look(self) -> dict[str, Found]:
        """The files of each stream; nothing of one that lacks a folder, or its markers would overtake its tuples. The
        same object as before where nothing has changed.

        Raises `DiagnosticError`: RQ345, RQ401, and what `TableSources.look` raises.
        """
        self.cost = 0.0
        for stream in self.streams:
            now, before = self._look(stream), self._last.get(stream.name)
            is_same = before is not None and now.data is before.data and now.markers is before.markers
            if not is_same or now.stop is not None or (before and before.stop is not None):
                self._last[stream.name] = now
        return dict(self._last)

    def _look(self, source: Source) -> Found:
        """Two folders cannot be listed at once: a file of tuples that comes while the markers are listed is the place
        where both stop."""
        is_table = source.format_kind.is_table
        by_name = self._names(source)
        data = NO_FILES if is_table else self._files_in(source.path)
        markers = NO_FILES if source.markers is None else self._files_in(source.markers)
        if self._is_gone(source, data, markers):
            return Found()
        if is_table:
            began = time.thread_time()
            data = Listing.of(self.tables.look(source.name))
            self.cost += time.thread_time() - began
        before = self._markers.get(source.name)
        if before is markers or not (before or markers):
            return Found(data, markers, None, by_name, not is_table)
        stop = self.tables.first_unread(source.name) if is_table else self._first_new(source, data)
        self._markers[source.name] = NO_FILES if stop else markers
        return Found(data, markers, stop, by_name, not is_table)

    def _files_in(self, folder: str) -> Listing:
        return self._trees.setdefault(folder, FolderTree(self.files, folder)).look()

    def _names(self, source: Source) -> ByName | None:
        if not source.by_name:
            return None
        absolute = self.files.absolute
        return ByName(absolute(source.path), absolute(source.markers) if source.markers else "")

    def _is_gone(self, source: Source, data: Listing, markers: Listing) -> bool:
        gone: set[str] = set()
        for name, folder, what in folders(self.plan, source.name):
            if (markers if folder == source.markers else data) or self.files.exists(folder):
                if folder in self._gone:
                    self.tell(f"{folder} of {what} is back")
                continue
            if self.is_once:
                raise no_folder(self.plan, name, folder, what)
            if folder not in self._gone:
                self.tell(f"{folder} of {what} is not there any more: the run waits for it")
            gone.add(folder)
        self._gone -= {folder for _, folder, _ in folders(self.plan, source.name)}
        self._gone |= gone
        return bool(gone)

    def _first_new(self, source: Source, data: Listing) -> FoundFile | None:
        """The first file of tuples that was not there before."""
        there_now = self.files.tree(source.path)
        new = (file for file in there_now if file.path not in data.files and file.length)
        order = (lambda f: (0, f.path)) if source.by_name else (lambda f: (f.modified, f.path))
        return min(new, key=order, default=None)
