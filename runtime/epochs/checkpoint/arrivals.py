"""Batches: the files that have come since the last one.

Several engines may run over a checkpoint, so the files that were read are in its own records, not in an engine's.
`batch.json` has the files of the last batch, `files/` the names of those of all before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.runtime.connectors.formats.listing import ByName, in_order
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.records.file_names import disorder_note
from cedilla.runtime.connectors.records.record_files import record_file
from cedilla.runtime.connectors.storage.files import FoundFile
from cedilla.runtime.connectors.storage.folder_tree import Listing
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.read_files import (
    Batch,
    KnownFiles,
    ReadFile,
    Record,
    known_files,
    last_batch,
    records,
)
from cedilla.runtime.epochs.checkpoint.recognition import Looked, Recognition, Seen, Told

_TOGETHER = 8
"""The number of records, of equally many batches each, that become one."""


def _listing(files: Listing | Iterable[FoundFile]) -> Listing:
    return files if isinstance(files, Listing) else Listing.of(files)


@frozen
class Found:
    """Files of a stream, and of its folder of markers; some of them may be known.

    `stop`: a file of tuples that is not to be read yet, nor anything that comes after it; `by_name`: the order of
    names, if that is declared; `is_whole`: `data` has all files of the folder.
    """

    data: Listing = field(factory=Listing, converter=_listing)
    markers: Listing = field(factory=Listing, converter=_listing)
    stop: FoundFile | None = None
    by_name: ByName | None = None
    is_whole: bool = False


@define(eq=False)
class Arrivals:
    """Makes batches of found files. Holds the record of every file that any batch has had."""

    checkpoint: Checkpoint
    _last: Batch | None = field(init=False)
    """It may not be done."""
    _known: dict[str, KnownFiles] = field(init=False)
    _records: list[Record] = field(init=False)
    """The files that record batches."""
    _seen: dict[tuple[str, bool], Seen] = field(init=False, factory=dict[tuple[str, bool], Seen])
    """The result of the last look at the tuples, and at the markers, of a stream."""
    _found_out: dict[str, dict[str, ReadFile]] = field(init=False, factory=dict[str, dict[str, ReadFile]])
    """The findings of a look at paths that were read."""
    _last_names: dict[str, tuple[str, bool]] = field(init=False, factory=dict[str, tuple[str, bool]])
    """Of each stream that is ordered by name the place of the last file, `KnownFolders.place`."""
    _noted: set[str] = field(init=False, factory=set[str])
    """The streams that notes were about."""
    _told: Told = field(init=False, factory=dict[str, Looked])
    notes: list[str] = field(init=False, factory=list[str])
    """Notes on the order of files, one for each stream of a run."""
    changes: list[str] = field(init=False, factory=list[str])
    """Notes on files that were read and have moved."""
    warnings: list[Diagnostic] = field(init=False, factory=list[Diagnostic])
    """Warnings of files that were read and have changed."""

    def __attrs_post_init__(self) -> None:
        root, files = self.checkpoint.path, self.checkpoint.files
        self._last = last_batch(files, root)
        self._known = known_files(files, root, self._last)
        self._records = records(files, root)

    @property
    def last(self) -> int | None:
        """The last batch, `None` before the first."""
        return None if self._last is None else self._last.number

    def batch(self, listed: Mapping[str, Found]) -> tuple[int, dict[str, list[InputFile]]] | None:
        """A new batch: its number, and of each stream the files that none has had, in order; `None` if all are known.

        It is kept by `Checkpoint.order`, which is to be called before the next one is asked for.
        """
        new = {name: self._new(name, files) for name, files in listed.items()}
        self._keep_found_out()
        if not any(new.values()):
            return None
        if self._last is not None:
            self._records = _remember(self.checkpoint, self._last, self._records)
        number = 0 if self._last is None else self._last.number + 1
        self._last = Batch(number, self._recorded(new))
        self._see(self._last.files)
        return number, new

    def _keep_found_out(self) -> None:
        """Keeps the records of paths that have changed since they were read, with the last batch."""
        if self._last is None or not self._found_out:
            return
        since = {name: [*self._last.since.get(name, ())] for name in {**self._last.since, **self._found_out}}
        for name, records_of_source in self._found_out.items():
            since[name] += records_of_source.values()
        self._last = evolve(self._last, since=since)
        self._found_out.clear()
        self.checkpoint.keep_since(since)

    def added(self, listed: Mapping[str, Iterable[FoundFile]]) -> dict[str, list[InputFile]]:
        """Adds files of streams that no batch has had to the last batch, after its own, and returns them.

        They are kept by `Checkpoint.keep_order`.
        """
        assert self._last is not None
        new = {
            name: in_order(file for file in files if file.path not in self._of(name).by_path)
            for name, files in listed.items()
        }
        recorded = self._recorded(new)
        before = self._last.files
        names = dict.fromkeys([*before, *recorded])  # an edit may have added a stream
        files = {name: [*before.get(name, ()), *recorded.get(name, ())] for name in names}
        self._last = evolve(self._last, files=files)
        self._see(recorded)
        return new

    def _new(self, name: str, listed: Found) -> list[InputFile]:
        data = self._recognised(name, listed.data, is_whole=listed.is_whole)
        markers = self._recognised(name, listed.markers, is_markers=True)
        fingerprints = {**data.fingerprints, **markers.fingerprints}
        new = [
            evolve(file, fingerprint=fingerprints.get(file.path))
            for file in in_order(data.new, markers.new, listed.stop, listed.by_name)
        ]
        if listed.by_name and new:
            self._check_names(name, new)
        paths = [file.path for file in new if not file.is_markers and record_file(file.path) is None]
        by_name = listed.by_name is not None
        if name not in self._noted and (note := disorder_note(name, paths, by_name=by_name)) is not None:
            self._noted.add(name)
            self.notes.append(note)
        return new

    def _recognised(
        self, name: str, listed: Listing, *, is_markers: bool = False, is_whole: bool = True
    ) -> Recognition:
        """Returns what the listing of a folder means; if it `is_whole`, as records of topics and versions of tables
        are not, files are known by their bytes."""
        recognition = Recognition(
            self.checkpoint.files,
            self.checkpoint.folders.folder(name, is_markers=is_markers),
            listed,
            self._of(name),
            f"{'markers' if is_markers else 'tuples'} of `{name}`",
            self._told,
            self._seen.get((name, is_markers)),
        )
        recognition.look() if is_whole else recognition.look_at_paths()
        self._seen[name, is_markers] = recognition.seen
        self.changes += recognition.notes
        self.warnings += recognition.warnings
        if recognition.records:
            self._found_out.setdefault(name, {}).update(recognition.records)
            self._see({name: [*recognition.records.values()]})
        return recognition

    def _check_names(self, name: str, new: Sequence[InputFile]) -> None:
        """Raise RQ453 where a file comes by its name before one that a batch has had."""
        place_of = self.checkpoint.folders.place
        if name not in self._last_names:
            recorded = (place_of(name, read.path) for read in self._of(name).by_path.values() if read.length)
            self._last_names[name] = max(filter(None, recorded), default=("", False))
        record = self.checkpoint.folders.record
        places = [place_of(name, record(name, f.path, is_markers=f.is_markers)) for f in new]
        last = self._last_names[name]
        for file, at in zip(new, places, strict=True):
            if at is not None and at < last:
                message = f"{file.path} of `{name}`, which is ordered by name, comes before {last[0]}, which was read"
                hint = "a name that comes after it; or a new checkpoint with other outputs, which reads all in order"
                raise failure("RQ453", message, hint=hint)
        self._last_names[name] = max(last, *filter(None, places))

    def _recorded(self, new: Mapping[str, Sequence[InputFile]]) -> dict[str, list[ReadFile]]:
        record = self.checkpoint.folders.record
        return {
            name: [ReadFile.of(f, record(name, f.path, is_markers=f.is_markers)) for f in files]
            for name, files in new.items()
        }

    def _see(self, read: Mapping[str, Sequence[ReadFile]]) -> None:
        for name, some in read.items():
            self._of(name).update(some)

    def _of(self, name: str) -> KnownFiles:
        return self._known.setdefault(name, KnownFiles())


def _remember(checkpoint: Checkpoint, batch: Batch, before: Sequence[Record]) -> list[Record]:
    """Writes the files of a batch; fewer and longer ones if there are many records. Returns the records after it."""
    root, files = checkpoint.path, checkpoint.files
    # Records of topics never come again: the commit record has their offsets.
    names = {
        name: [
            file.stored
            for file in (*batch.files.get(name, ()), *batch.since.get(name, ()))
            if record_file(file.path) is None
        ]
        for name in dict.fromkeys([*batch.files, *batch.since])
    }
    own = Record(batch.number, batch.number)
    _write(checkpoint, own, names)
    listed = [*(record for record in before if record != own), own]
    while len(same := [r for r in listed if r.count == listed[-1].count]) >= _TOGETHER:
        together: dict[str, list[Any]] = {}
        for record in same:
            for name, some in checkpoint.documents.read(f"files/{record.name}").items():
                together.setdefault(name, []).extend(some)
        longer = Record(same[0].first, same[-1].last)
        _write(checkpoint, longer, together)
        for record in same:
            files.delete_file(f"{root}/files/{record.name}")
        listed = [*(record for record in listed if record not in same), longer]
    return listed


def _write(checkpoint: Checkpoint, record: Record, listed: Mapping[str, Sequence[Any]]) -> None:
    """A run that has lost its checkpoint writes over nothing here."""
    name, text = f"files/{record.name}", json.dumps(dict(listed))
    if not checkpoint.documents.create(name, text):
        checkpoint.check_there()
        checkpoint.documents.write(name, text)
