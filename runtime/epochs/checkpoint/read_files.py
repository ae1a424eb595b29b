"""The files that batches have had, as a checkpoint records them: `batch.json` and `files/`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any

from attrs import define, evolve, field, frozen

from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.storage.files import Files, FoundFile, name_of
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint.commit_log import last_record

_RECORD = re.compile(r"(\d+)-(\d+)\.json")
_BATCH = re.compile(r"batch-(\d+)\.json")


@frozen
class ReadFile:
    """A file that was read, by its recorded path. `length`: in bytes, 0 if nothing of what the path has was read;
    `modified`: in milliseconds since 1970, `fingerprint`: `Files.fingerprint`, if known."""

    path: str
    length: int
    modified: int | None
    fingerprint: str | None = None

    @property
    def stored(self) -> tuple[str, int, int | None, str | None]:
        """The record as a document has it (`records_of`)."""
        return self.path, self.length, self.modified, self.fingerprint

    @property
    def key(self) -> object:
        """Distinguishes its bytes from others of its length: the fingerprint, or a pair of time and name."""
        return self.fingerprint or (self.modified, name_of(self.path))

    @classmethod
    def of(cls, file: InputFile, path: str) -> ReadFile:
        """Returns the record of a file under a path."""
        return cls(path, file.length, file.modified, file.fingerprint)

    def has(self, length: int, fingerprint: str | None) -> bool:
        """Returns True for bytes with the same length and fingerprint; records of older versions have none."""
        return self.length == length and self.fingerprint in (None, fingerprint)

    def is_like(self, other: FoundFile) -> bool:
        """Returns True if a file has the same length and time."""
        return (self.length, self.modified) == (other.length, other.modified)


@define(eq=False)
class KnownFiles:
    """The records of a stream by path, the last one of each, and by what tells the bytes of a file."""

    by_path: dict[str, ReadFile] = field(factory=dict[str, ReadFile])
    _by_bytes: dict[tuple[int, object], dict[str, None]] | None = field(init=False, default=None)

    def update(self, read: Iterable[ReadFile]) -> None:
        """Adds records, in their order."""
        for file in read:
            self.by_path[file.path] = file
            if self._by_bytes is not None:
                _index(self._by_bytes, file)

    def with_bytes(self, length: int, key: object) -> list[ReadFile]:
        """Returns the records with a length, and a fingerprint or, without one, a pair of time and name."""
        if self._by_bytes is None:
            self._by_bytes = {}
            for file in self.by_path.values():
                _index(self._by_bytes, file)
        same = (self.by_path[path] for path in self._by_bytes.get((length, key), ()))
        return [file for file in same if (file.length, file.key) == (length, key)]


def _index(by_bytes: dict[tuple[int, object], dict[str, None]], file: ReadFile) -> None:
    if file.length:
        by_bytes.setdefault((file.length, file.key), {})[file.path] = (
            None  # very many may have the same bytes
        )


Known = Mapping[str, Sequence[ReadFile]]
"""Records by source."""


@frozen
class Batch:
    """Its number, its files by source, and the last epoch `after` which it began. `since`: what was found out
    after it about paths that were read."""

    number: int
    files: Mapping[str, Sequence[ReadFile]]
    after: int = -1
    since: Known = field(factory=dict[str, Sequence[ReadFile]])


def last_batch(files: Files, root: str) -> Batch | None:
    """The last batch of a checkpoint, `None` before the first."""
    documents = SealedFiles(files, root)
    if (name := batch_name(documents)) is None:
        return None
    data = documents.read(name)
    read = {
        name: [ReadFile.of(file, file.path) for file in starmap(InputFile, listed)]
        for name, listed in data["files"].items()
    }
    return Batch(data["batch"], read, data["after"], records_of(data.get("since", {})))


def records_of(stored: Mapping[str, Sequence[Any]]) -> dict[str, list[ReadFile]]:
    """Returns the records of a document, by source."""
    return {source: [*starmap(ReadFile, read)] for source, read in stored.items()}


def batch_of_run(run: int) -> str:
    """The document of the batch that a run works on."""
    return f"batch-{run:06d}.json"


def batch_names(documents: SealedFiles) -> list[str]:
    """Returns the documents of batches, of the last run last."""
    numbered = [(int(match[1]), name) for name in documents.names() if (match := _BATCH.fullmatch(name))]
    return [name for _, name in sorted(numbered)]


def batch_name(documents: SealedFiles) -> str | None:
    """The document of the last batch, if there is one."""
    return next(reversed(batch_names(documents)), None)


def take_over(documents: SealedFiles, run: int) -> None:
    """Keep the last batch under the number of a run: a run that has lost its checkpoint does not write over that."""
    names, own = batch_names(documents), batch_of_run(run)
    if names and own not in names:
        documents.write(own, documents.text(names[-1]))
    for name in names:
        if name != own:
            documents.delete(name)


def read_files(files: Files, root: str) -> dict[str, list[ReadFile]]:
    """The files of all batches, by source, without those that the last commit has not read whole."""
    by_source = known_files(files, root, _done(files, root, last_batch(files, root)))
    return {
        source: [f for f in records.by_path.values() if f.length] for source, records in by_source.items()
    }


def known_files(files: Files, root: str, last: Batch | None) -> dict[str, KnownFiles]:
    """Returns what is known of each path, by source: the last record counts."""
    by_source: dict[str, KnownFiles] = {}
    for source, read in seen(files, root, last):
        by_source.setdefault(source, KnownFiles()).update(read)
    return by_source


def _done(files: Files, root: str, last: Batch | None) -> Batch | None:
    """Returns the files of a batch that were read to their end."""
    commit = None if last is None else last_record(SealedFiles(files, root)).data
    if last is None or commit is None or commit["batch"] != last.number:
        return None
    progress = commit["progress"]
    done = {n: read[: progress[n]["files"]] for n, read in last.files.items() if n in progress}
    return evolve(last, files=done)


def seen(files: Files, root: str, last: Batch | None) -> Iterator[tuple[str, Sequence[ReadFile]]]:
    """Yields the files of all batches, by source; later records of a path come later."""
    for record in records(files, root):
        yield from records_of(SealedFiles(files, root).read(f"files/{record.name}")).items()
    if last is not None:
        yield from last.files.items()
        yield from last.since.items()


@frozen(order=True)
class Record:
    """The batches that a file of `files/` is about."""

    first: int
    last: int

    @property
    def name(self) -> str:
        return f"{self.first:012d}-{self.last:012d}.json"

    @property
    def count(self) -> int:
        return self.last - self.first + 1


def records(files: Files, root: str) -> list[Record]:
    """Returns the records in order, without those that another one contains: a crash prevented their deletion."""
    names = (_RECORD.fullmatch(name_of(file.path)) for file in files.list(f"{root}/files"))
    in_order = sorted(Record(int(name[1]), int(name[2])) for name in names if name)
    return [
        r for r in in_order if not any(o != r and o.first <= r.first and r.last <= o.last for o in in_order)
    ]
