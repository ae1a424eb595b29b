"""The files that batches have had, as a checkpoint records them: `batch.json` and `files/`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from attrs import frozen

from cedilla.runtime.formats.source import InputFile
from cedilla.runtime.storage.files import Files, FoundFile, name_of

_RECORD = re.compile(r"(\d+)-(\d+)\.json")


@frozen
class ReadFile:
    """A file that a batch has had, by its recorded path; its length in bytes and its modification time, `None` in
    records of earlier versions."""

    path: str
    length: int | None = None
    modified: int | None = None

    def is_like(self, other: FoundFile) -> bool:
        """Whether a file has the same length and time."""
        return (self.length, self.modified) == (other.length, other.modified)


@frozen
class Batch:
    """Its number, and its files by source."""

    number: int
    files: Mapping[str, Sequence[ReadFile]]


def input_file(stored: list[Any]) -> InputFile:
    """A file of a batch; records of before have its URI in the second place, and perhaps what is not known any more."""
    path, *rest = stored
    if isinstance(rest[0], str):
        return InputFile(path, rest[1], is_markers=bool(rest[2:] and rest[-1]))
    return InputFile(path, *rest)


def last_batch(files: Files, root: str) -> Batch | None:
    """The last batch of a checkpoint, `None` before the first."""
    if not files.exists(place := f"{root}/batch.json"):
        return None
    data = json.loads(files.read(place))
    return Batch(data["batch"], {name: [*map(_of_batch, listed)] for name, listed in data["files"].items()})


def _of_batch(stored: list[Any]) -> ReadFile:
    """A file of a batch, as `Checkpoint.order` keeps them."""
    file = input_file(stored)
    return ReadFile(file.path, file.length, file.modified)


def read_files(files: Files, root: str) -> dict[str, list[ReadFile]]:
    """The files of all batches, by source, without those that the last commit has not read whole."""
    found: dict[str, list[ReadFile]] = {}
    for source, read in seen(files, root, _done(files, root, last_batch(files, root))):
        found.setdefault(source, []).extend(read)
    return found


def _done(files: Files, root: str, last: Batch | None) -> Batch | None:
    """What is read whole of a batch."""
    commits = [f.path for f in files.list(f"{root}/commits") if f.path.endswith(".json")]
    if last is None or not commits:
        return None
    commit = json.loads(files.read(commits[-1]))
    if commit["batch"] != last.number:
        return None
    progress = commit["progress"]
    return Batch(
        last.number, {n: read[: progress[n]["files"]] for n, read in last.files.items() if n in progress}
    )


def seen(files: Files, root: str, last: Batch | None) -> Iterator[tuple[str, Sequence[ReadFile]]]:
    """The files of all batches, by source; of those that only Spark's record knows, which was the only one
    before, by an empty name."""
    if last is not None:
        yield from last.files.items()
    listed = records(files, root)
    for record in listed:
        for source, stored in json.loads(files.read(f"{root}/files/{record.name}")).items():
            # Earlier versions have only the paths.
            yield source, [ReadFile(f) if isinstance(f, str) else ReadFile(*f) for f in stored]
    if not listed or min(record.first for record in listed) > 0:
        for source in files.folders(f"{root}/spark/sources", ""):
            for log in files.list(f"{root}/spark/sources/{source}"):
                entries = (json.loads(line) for line in files.read(log.path).splitlines()[1:])
                yield "", [ReadFile(re.sub("^file:/+", "file:/", unquote(e["path"]))) for e in entries]


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
    """What there is, in order, without those that are part of another: a crash has kept them from deletion."""
    names = (_RECORD.fullmatch(name_of(file.path)) for file in files.list(f"{root}/files"))
    found = sorted(Record(int(name[1]), int(name[2])) for name in names if name)
    return [r for r in found if not any(o != r and o.first <= r.first and r.last <= o.last for o in found)]
