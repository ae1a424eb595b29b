"""The folders of sources: their paths now, and those when a checkpoint began to read them.

Files are recorded by the old paths. So the files of a folder that is moved, linked, mounted or written in another way
are known by their places in it. A folder under another path is recognised by its files.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from os.path import normpath

from attrs import evolve, field, frozen

from cedilla.compiler.plan import Plan, Source
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.records.record_files import record_file
from cedilla.runtime.connectors.storage.files import Files, FoundFile, name_of
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint.read_files import ReadFile, last_batch, read_files

PATHS = "paths.json"
_KINDS = "streams", "markers", "tables"
_RECORDED = "_recorded"
_COMPARED = 3
"""The number of files whose bytes are compared if only their lengths agree."""


@frozen
class KnownFolder:
    """A folder that is `at` a path, whose files are recorded as if it were at the path `recorded`; as URIs."""

    at: str
    recorded: str

    @property
    def has_moved(self) -> bool:
        """Returns True if the recorded paths of files differ from their real ones."""
        return self.at != self.recorded

    def holds(self, recorded: str) -> bool:
        """Returns True for the recorded path of a file in the folder."""
        return recorded == self.recorded or recorded.startswith(f"{self.recorded}/")

    def record(self, path: str) -> str:
        """Returns the recorded path of a file in the folder."""
        return _moved(path, self.at, self.recorded)

    def locate(self, path: str) -> str:
        """Returns the real path for a recorded one."""
        return _moved(path, self.recorded, self.at)


def _is_relative(path: str) -> bool:
    return (local := local_path(path)) is not None and not local.is_absolute()


def _moved(path: str, before: str, after: str) -> str:
    rest = path.removeprefix(before)
    return after + rest if rest != path and rest[:1] in ("", "/") else path


Folders = Mapping[str, KnownFolder]
"""By the names of sources."""


@frozen
class KnownFolders:
    """The folders of a plan's streams, of their markers, and of its tables. `home`: the checkpoint, which has the files
    of topics; `notes`: messages about folders under other paths."""

    home: str = ""
    streams: Folders = field(factory=dict[str, KnownFolder])
    markers: Folders = field(factory=dict[str, KnownFolder])
    tables: Folders = field(factory=dict[str, KnownFolder])
    notes: Sequence[str] = ()

    def record(self, source: str, path: str, *, is_markers: bool = False) -> str:
        """Returns the recorded path of a file of a source."""
        folder = self.folder(source, is_markers=is_markers)
        return path if folder is None else folder.record(path)

    def place(self, source: str, recorded: str) -> tuple[str, bool] | None:
        """Returns the place of a recorded file by its name: the name in its folder, and True for a file of tuples,
        which comes after markers of the same name. `None`: its folder is not that of a source any more."""
        for of, has_tuples in ((self.streams, True), (self.markers, False)):
            if source in of and recorded.startswith(f"{(root := of[source].recorded)}/"):
                return recorded.removeprefix(f"{root}/"), has_tuples
        return None

    def locate(self, source: str, file: InputFile) -> InputFile:
        """The file that is there by the one that is recorded."""
        if (records := record_file(file.path)) is not None:
            return evolve(file, path=records.path(f"{self.home}/topics/{source}"))
        folder = self.folder(source, is_markers=file.is_markers)
        return file if folder is None else evolve(file, path=folder.locate(file.path))

    def folder(self, source: str, *, is_markers: bool = False) -> KnownFolder | None:
        """The folder of a source, or of its markers."""
        return self.markers.get(source) if is_markers else self.streams.get(source, self.tables.get(source))

    def path_of_run(self, plan: Plan, path: str) -> str:
        """Returns a path of a query for a process in another folder than the run: a relative one is below the folder of
        the run, which the paths of streams show."""
        for source in plan.sources:
            if (at := self.streams.get(source.name)) is not None and _is_relative(source.path):
                base = at.at.removesuffix(f"/{normpath(source.path)}")
                return f"{base}/{path}" if base != at.at and _is_relative(path) else path
        return path

    def write(self, files: Files) -> None:
        """Keep them in the checkpoint."""
        content = {
            f"{kind}{suffix}": {name: getattr(folder, part) for name, folder in getattr(self, kind).items()}
            for kind in _KINDS
            for suffix, part in (("", "at"), (_RECORDED, "recorded"))
        }
        SealedFiles(files, self.home).write(PATHS, json.dumps(content))

    @classmethod
    def stored(cls, files: Files, home: str) -> KnownFolders:
        """The folders as the last run had them; none in a new checkpoint."""
        documents = SealedFiles(files, home)
        if not documents.exists(PATHS):
            return cls(home)
        content = documents.read(PATHS)

        def of(kind: str) -> dict[str, KnownFolder]:
            recorded = content[f"{kind}{_RECORDED}"]
            return {n: KnownFolder(path, recorded[n]) for n, path in content[kind].items()}

        streams, markers, tables = map(of, _KINDS)
        return cls(home, streams, markers, tables)

    @classmethod
    def of(cls, files: Files, home: str, plan: Plan) -> KnownFolders:
        """The folders of a plan. Raises `DiagnosticError` RQ452 where a folder is under another path, and it is in
        doubt whether its files are those that were read."""
        before = cls.stored(files, home)
        read = cache(lambda: read_files(files, home))
        listed = cache(lambda: {} if (batch := last_batch(files, home)) is None else batch.files)
        notes: list[str] = []

        def known(source: Source, path: str, last: KnownFolder | None, what: str) -> KnownFolder:
            at = files.absolute(path)
            if last is None or last.at == at:
                return last or KnownFolder(at, at)
            moved = KnownFolder(at, last.recorded)
            of_source = read().get(source.name, ()), listed().get(source.name, ())
            if not _Recognition(
                files, source, f"{what} `{source.name}`", path, last, moved, *of_source
            ).is_same():
                return KnownFolder(at, at)
            notes.append(f"{path} of {what} `{source.name}` is the folder that was read as {last.at}")
            return moved

        def kept(of: Folders, what: str, paths: Mapping[str, str | None]) -> dict[str, KnownFolder]:
            return {
                name: known(plan.source_of[name], path, of.get(name), what)
                for name, path in paths.items()
                if path is not None
            }

        streams = [s for s in plan.sources if not (s.table or s.is_topic or s.is_catalogued)]
        return cls(
            home,
            kept(before.streams, "stream", {s.name: s.path for s in streams}),
            kept(before.markers, "the markers of stream", {s.name: s.markers for s in plan.sources}),
            kept(before.tables, "table", {s.name: s.path for s in plan.sources if s.table}),
            notes,
        )


@frozen
class _Recognition:
    """Decides if the folder of a source under another path is the one that was read. `listed`: the files of the last
    batch. Some of them may not be read yet."""

    files: Files
    source: Source
    what: str
    path: str
    last: KnownFolder
    moved: KnownFolder
    read: Collection[ReadFile]
    listed: Collection[ReadFile]

    def is_same(self) -> bool:
        """Raises RQ452 if it cannot decide."""
        if self._is_link():
            return True
        files = self.files.tree(self.moved.at)
        recorded, pairs = self._paired(self.read, files)
        if not recorded and not self.source.format_kind.is_table:
            return not self.files.exists(self.last.at) or self._is_copy(files)
        if not pairs:
            self._check_depth(recorded, files)
            return False
        # A copy does not always keep times, and a file that was mended has another length.
        if 2 * sum(read.is_like(file) for read, file in pairs) <= len(pairs):
            self._check_lengths(pairs)
        return True

    def _paired(
        self, of: Collection[ReadFile], files: Iterable[FoundFile]
    ) -> tuple[dict[str, ReadFile], list[tuple[ReadFile, FoundFile]]]:
        """Returns the records of the old folder by their paths, and those that have a file at their place here."""
        root = self.last.recorded
        recorded = {f.path: f for f in of if f.path == root or f.path.startswith(f"{root}/")}
        places = ((self.moved.record(file.path), file) for file in files)
        return recorded, [(recorded[path], file) for path, file in places if path in recorded]

    def _is_copy(self, files: Iterable[FoundFile]) -> bool:
        """Returns True if files that a batch has listed, and not read, are here, too: they would be read there and then
        here. Some may be mended. Raises RQ452 if all of them are others."""
        _, pairs = self._paired(self.listed, files)
        if pairs and not any(
            read.is_like(file) or read.has(file.length, self.files.fingerprint(file)) for read, file in pairs
        ):
            raise self._refused(f"{pairs[0][1].path} is not the file that was listed by this name")
        return bool(pairs)

    def _is_link(self) -> bool:
        places = [local_path(folder.at) for folder in (self.last, self.moved)]
        old, new = (None if path is None else path.resolve() for path in places)
        return old is not None and old == new and old.exists()

    def _check_lengths(self, pairs: Sequence[tuple[ReadFile, FoundFile]]) -> None:
        for read, file in pairs:
            if read.length != file.length:
                raise self._refused(f"{file.path} is not the file that was read by this name")
        for read, file in pairs[:_COMPARED]:
            if not read.has(file.length, self.files.fingerprint(file)):
                raise self._refused(f"{file.path} does not have the bytes that were read by this name")

    def _check_depth(self, read_files: Mapping[str, ReadFile], files: Iterable[FoundFile]) -> None:
        """Files that were read, at other places in the folder, would be read again."""
        read = {(name_of(f.path), f.length, f.modified) for f in read_files.values()}
        for file in files:
            if file.path not in read_files and (name_of(file.path), file.length, file.modified) in read:
                raise self._refused(f"{file.path} was read, but at another place in the folder")
        if self.source.format_kind.is_table and read_files:
            raise self._refused("none of the files that were read is in it")

    def _refused(self, why: str) -> DiagnosticError:
        message = f"{self.path} of {self.what} is not the folder {self.last.at} that was read: {why}"
        return failure("RQ452", message, self.source.span, hint=_HINT)


_HINT = (
    "the folder that was read, moved unchanged, or a link to it at its old path; for other files, a folder that has "
    "both below it, or a new checkpoint with other outputs"
)
