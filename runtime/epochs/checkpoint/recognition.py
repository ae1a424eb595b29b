"""Recognises the files of a listing: those that were read, and since then were moved, rotated, copied or overwritten.

A listing gives paths, lengths and times. If these are not the recorded ones, fingerprints decide, so files that stay
cost nothing. A file that was read is known by its bytes; a path only says where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice

from attrs import define, evolve, field, frozen

from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.runtime.connectors.storage.files import Files, FoundFile, name_of
from cedilla.runtime.connectors.storage.folder_tree import Listing
from cedilla.runtime.epochs.checkpoint.known_folders import KnownFolder
from cedilla.runtime.epochs.checkpoint.read_files import KnownFiles, ReadFile

_LAST = 8
"""The number of lost files, the last that were read, whose bytes new files may begin with."""


@frozen
class Looked:
    """A listed file whose bytes were looked at. `at`: its recorded path."""

    file: FoundFile
    at: str
    fingerprint: str

    @property
    def record(self) -> ReadFile:
        """Returns the record that its bytes are read."""
        return ReadFile(self.at, self.file.length, self.file.modified, self.fingerprint)


Told = dict[str, Looked]
"""Recorded path -> the file there that was reported as changed."""


@frozen(eq=False)
class Seen:
    """The result of a look, for the next one. `mark`: of its listing; `open`: the listed files that had no record, or
    another one; `lost`: the recorded paths that are not there, those that went last at the end, `None` before the
    first question."""

    mark: object
    open: tuple[FoundFile, ...]
    lost: dict[str, None] | None


@define(eq=False, slots=False)
class Recognition:
    """The meaning of a listing of one folder of a stream.

    `known`: the records of the stream; `what`: the content of the folder, for messages; `told`: what earlier
    looks have reported; `earlier`: what the last one has left. Results: the files to read are `new`, with their
    fingerprints by path; `records` are new records of paths, and one without length says that nothing of what a path
    has was read; `seen` is for the next look.
    """

    files: Files
    folder: KnownFolder | None
    listed: Listing
    known: KnownFiles
    what: str
    told: Told
    earlier: Seen | None = None
    new: list[FoundFile] = field(init=False, factory=list[FoundFile])
    fingerprints: dict[str, str] = field(init=False, factory=dict[str, str])
    records: dict[str, ReadFile] = field(init=False, factory=dict[str, ReadFile])
    notes: list[str] = field(init=False, factory=list[str])
    warnings: list[Diagnostic] = field(init=False, factory=list[Diagnostic])
    moved_from: set[str] = field(init=False, factory=set[str])
    """The recorded paths whose bytes are elsewhere."""
    seen: Seen = field(init=False)
    _changed: dict[str, Looked] = field(init=False, factory=dict[str, Looked])
    """The files at recorded paths that have other bytes than were read, by these paths."""

    def look(self) -> None:
        """Finds the results. Raises `DiagnosticError` RQ452 where neither reading nor skipping would be right."""
        unseen, changed, stayed = self._apart()
        if not unseen and all(self._is_told(file, at) for file, at in changed):
            return
        fresh = {one.at: one for one in self._looked(pair for pair in unseen if pair[0].length)}
        for one in self._looked(changed):
            if self.known.by_path[one.at].has(one.file.length, one.fingerprint):
                self.records[one.at] = one.record
            else:
                self._changed[one.at] = one
        moved = self._moved({**fresh, **self._changed})
        left = self.moved_from = {read.path for _, read in moved.values()}
        renamed = {at: pair for at, pair in moved.items() if self._is_same_file(*pair)}
        self._tell_moved(moved, renamed)
        lost = {at: one for at, one in self._changed.items() if at not in left}
        grown = {at for at, one in lost.items() if self._begins_with(one, self.known.by_path[at])}
        self._tell_changed({at: one for at, one in lost.items() if at not in moved}, grown, stayed)
        candidates = [
            *fresh.values(),
            *(one for at, one in self._changed.items() if at in left or at in moved),
        ]
        read = [one for one in candidates if one.at not in renamed]
        left = left | self._begun([one for one in read if one.at not in moved], lost.keys() - grown)
        self.new = [*(file for file, _ in unseen if not file.length), *(one.file for one in read)]
        self.fingerprints = {one.file.path: one.fingerprint for one in read}
        self.records |= {at: ReadFile(at, 0, None) for at in left}
        self.records |= {at: one.record for at, (one, _) in renamed.items()}

    def look_at_paths(self) -> None:
        """Finds the new files by their paths alone."""
        self.new = [file for file, _ in self._apart()[0]]

    # --- what is there ---

    @property
    def _recorded(self) -> Callable[[str], str]:
        return str if self.folder is None or not self.folder.has_moved else self.folder.record

    def _apart(self) -> tuple[list[tuple[FoundFile, str]], list[tuple[FoundFile, str]], int]:
        """Returns the files whose paths have no record, and those whose lengths or times differ from it, with these
        paths; and the number of the others. Of files that were there at the last look, only those are asked that it
        has left open."""
        recorded, records = self._recorded, self.known.by_path
        unseen, changed = list[tuple[FoundFile, str]](), list[tuple[FoundFile, str]]()
        for file in self._asked():
            read = records.get(at := recorded(file.path))
            if read is None or not read.length:
                unseen.append((file, at))
            elif read.length != file.length or read.modified not in (file.modified, None):
                changed.append((file, at))
        self.seen = Seen(self.listed.mark, tuple(file for file, _ in (*unseen, *changed)), self._lost_since())
        return unseen, changed, len(self.listed) - len(unseen) - len(changed)

    @property
    def _is_next(self) -> bool:
        """True if the listing says what has changed since the last look."""
        return self.earlier is not None and self.earlier.mark in (self.listed.before, self.listed.mark)

    def _asked(self) -> Iterable[FoundFile]:
        if self.earlier is None or not self._is_next:
            return self.listed
        files = self.listed.files
        left = (files[file.path] for file in self.earlier.open if file.path in files)
        changed = self.listed.changed if self.earlier.mark is self.listed.before else ()
        return {file.path: file for file in (*left, *changed)}.values()

    def _lost_since(self) -> dict[str, None] | None:
        """Returns the lost paths of the last look with those that went since, if they were asked for."""
        if self.earlier is None or self.earlier.lost is None or not self._is_next:
            return None
        lost, recorded = self.earlier.lost, self._recorded
        if self.earlier.mark is self.listed.before:
            for file in self.listed.changed:
                lost.pop(recorded(file.path), None)
            lost |= dict.fromkeys(map(recorded, self.listed.gone))
        return lost

    def _lost(self) -> dict[str, None]:
        """Returns the recorded paths in this folder that are not there."""
        if self.seen.lost is None:
            gone = (at for at in self.known.by_path if self._is_here(at) and self._present(at) is None)
            self.seen = evolve(self.seen, lost=dict.fromkeys(gone))
        assert self.seen.lost is not None
        return self.seen.lost

    def _is_here(self, recorded: str) -> bool:
        """Returns True for the recorded path of a file in this folder."""
        return self.folder is None or self.folder.holds(recorded)

    def _present(self, recorded: str) -> FoundFile | None:
        """Returns the listed file with a recorded path."""
        is_moved = self.folder is not None and self.folder.has_moved
        return self.listed.files.get(self.folder.locate(recorded) if self.folder and is_moved else recorded)

    def _is_told(self, file: FoundFile, at: str) -> bool:
        return at in self.told and self.told[at].file == file

    def _looked(self, listed: Iterable[tuple[FoundFile, str]]) -> Iterator[Looked]:
        """Yields files with their fingerprints, without those that are gone since they were listed."""
        some = list(listed)
        yield from (self.told[at] for file, at in some if self._is_told(file, at))
        others = [(file, at) for file, at in some if not self._is_told(file, at)]
        prints = self.files.fingerprints([file for file, _ in others])
        for (file, at), fingerprint in zip(others, prints, strict=True):
            if fingerprint is None:
                self.notes.append(
                    f"{file.path} was moved, deleted or cut while it was listed: it is not read yet"
                )
            else:
                yield Looked(file, at, fingerprint)

    # --- what was read under another name ---

    def _moved(self, candidates: Mapping[str, Looked]) -> dict[str, tuple[Looked, ReadFile]]:
        """Returns, by its recorded path, each file with the bytes of a record whose path does not have them any
        more."""
        if not candidates:
            return {}
        pairs = [
            (one, read)
            for one in candidates.values()
            for key in (one.fingerprint, (one.file.modified, name_of(one.at)))
            for read in self.known.with_bytes(one.file.length, key)
            if one.at != read.path and self._is_here(read.path) and self._is_free(read, one)
        ]
        pairs.sort(key=lambda pair: (pair[0].file.modified != pair[1].modified, pair[0].at))
        chosen, left = dict[str, tuple[Looked, ReadFile]](), set[str]()
        for one, read in pairs:
            if one.at not in chosen and read.path not in left:
                chosen[one.at] = one, read
                left.add(read.path)
        return chosen

    def _is_free(self, read: ReadFile, one: Looked) -> bool:
        """Returns True if the path of a record does not have its bytes, which another file has."""
        present = self._present(read.path)
        if present is None or read.path in self._changed:
            return True
        if one.file.modified != read.modified:
            return False
        # The time of a listing does not tell two files of one moment apart.
        fingerprint = self.files.fingerprint(present)
        if fingerprint in (None, read.fingerprint):
            return fingerprint is None
        self._changed[read.path] = Looked(present, read.path, str(fingerprint))
        return True

    def _is_same_file(self, one: Looked, read: ReadFile) -> bool:
        """Returns True if a file has the time of a record, or a file with other bytes has its path."""
        return one.file.modified == read.modified or read.path in self._changed

    def _begun(self, fresh: Sequence[Looked], changed: Set[str]) -> set[str]:
        """Returns the paths of lost files with whose bytes new files begin, and warns of these. Raises RQ452 where
        other files have such paths: the new one is the lost one, which has grown before it was moved."""
        if not fresh:
            return set()
        by_path = self.known.by_path
        gone = (by_path[at] for at in reversed(self._lost()) if at in by_path and by_path[at].length)
        lost = [*islice(gone, _LAST), *(by_path[at] for at in sorted(changed)[:_LAST])]
        left = set[str]()
        for one in fresh:
            for read in (read for read in lost if read.path not in left and self._begins_with(one, read)):
                was = self._read_text(read)
                what = f"{one.file.path} with {self.what} begins with all that {was} had when it was read"
                if read.path in changed:
                    raise failure("RQ452", f"{what}, and another file is there now", hint=_GROWN)
                left.add(read.path)
                self._warn("RQ458", f"{what}, and that is gone", _TWICE)
                break
        return left

    def _begins_with(self, one: Looked, read: ReadFile) -> bool:
        is_longer = 0 < read.length < one.file.length
        return is_longer and self.files.fingerprint(one.file, read.length) == read.fingerprint

    # --- messages ---

    def _tell_moved(
        self, moved: Mapping[str, tuple[Looked, ReadFile]], renamed: Mapping[str, tuple[Looked, ReadFile]]
    ) -> None:
        for one, read in [*renamed.values()][:1]:
            others = "" if len(renamed) == 1 else f"; so are {len(renamed) - 1:,} more"
            self.notes.append(
                f"{one.file.path} with {self.what} is {self._read_text(read)}, which was read and has moved{others}"
            )
        for at, (one, read) in moved.items():
            if at not in renamed:
                before = self._read_text(read)
                message = (
                    f"{one.file.path} with {self.what} has the bytes of {before}, which was read and is gone"
                )
                self._warn("RQ458", message, _TWICE)

    def _tell_changed(self, changed: Mapping[str, Looked], grown: Set[str], stayed: int) -> None:
        """Warns of files that are not read again. Raises RQ452 if all known paths have other files."""
        others = [one for at, one in changed.items() if at not in grown]
        if len(others) > 1 and not (stayed or self.records) and len(others) == len(self._changed):
            first = others[0]
            raise failure(
                "RQ452",
                f"the folder with {self.what} has other files by the names of those that were read: {first.file.path} "
                f"{_difference(self.known.by_path[first.at], first.file)}",
                hint=_OTHERS,
            )
        new = [one for one in changed.values() if not self._is_told(one.file, one.at)]
        self.told.update(changed)
        for one in new[:1]:
            read = self.known.by_path[one.at]
            what = (
                f"is {one.file.length - read.length:,} bytes longer than when it was read"
                if one.at in grown
                else f"is not what it was when it was read: it {_difference(read, one.file)}"
            )
            more = "" if len(new) == 1 else f"; so are {len(new) - 1:,} more"
            self._warn("RQ457", f"{one.file.path} with {self.what} {what}{more}", _ONCE)

    def _warn(self, code: str, message: str, hint: str) -> None:
        self.warnings.append(Diagnostic(code, "warning", message, help=hint))

    def _read_text(self, read: ReadFile) -> str:
        return read.path if self.folder is None else self.folder.locate(read.path)


def _difference(read: ReadFile, file: FoundFile) -> str:
    if read.length == file.length:
        return f"has {file.length:,} bytes as before, and other ones"
    return f"had {read.length:,} bytes, and has {file.length:,}"


_ONCE = "a file is read once: write new lines into a new file; to read this one again, give it a new name"
_TWICE = (
    "it is read as a new file; if it is that one, its rows count twice: move a file that was read without changing its "
    "time"
)
_GROWN = (
    "the lines that were not read as a new file, and the whole one under a name that begins with `_`; move files that "
    "are complete"
)
_OTHERS = (
    "the files that were read in their places, if another disk is mounted there; for other files other names, or a new "
    "checkpoint with other outputs"
)
