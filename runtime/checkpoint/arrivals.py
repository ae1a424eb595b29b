"""Batches: which files have come since the last one, whoever has found them.

Engines come and go over a checkpoint, so what was seen is the checkpoint's own record, not an engine's. `batch.json`
has the files of the last batch, `files/` the names of those of all before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote

from attrs import define, evolve, field, frozen

from cedilla.runtime.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.formats.listing import in_order
from cedilla.runtime.formats.source import InputFile
from cedilla.runtime.items.record_files import record_file
from cedilla.runtime.storage.files import Files, FoundFile, name_of

_TOGETHER = 8
"""So many records of as many batches each become one."""
_RECORD = re.compile(r"(\d+)-(\d+)\.json")


@frozen
class Found:
    """Files of a stream, and of its folder of markers, some of which may be known. `stop`: a file of tuples that is not
    to be read yet, nor anything that comes after it."""

    data: Sequence[FoundFile] = ()
    markers: Sequence[FoundFile] = ()
    stop: FoundFile | None = None


@frozen
class Batch:
    """Its number, and the paths of its files by source."""

    number: int
    files: Mapping[str, Sequence[str]]


@define(eq=False)
class Arrivals:
    """Makes batches of found files. Holds the name of every file that any batch has had."""

    checkpoint: Checkpoint
    _last: Batch | None = field(init=False)
    """It may not be done."""
    _seen: dict[str, set[str]] = field(init=False, factory=dict[str, set[str]])

    def __attrs_post_init__(self) -> None:
        root, files = self.checkpoint.path, self.checkpoint.files
        self._last = last_batch(files, root)
        for source, paths in seen(files, root, self._last):
            self._seen.setdefault(source, set()).update(paths)

    @property
    def last(self) -> int | None:
        """The last batch, `None` before the first."""
        return None if self._last is None else self._last.number

    def batch(self, found: Mapping[str, Found]) -> tuple[int, dict[str, list[InputFile]]] | None:
        """A new batch: its number, and of each stream the files that none has had, in order; `None` if all are known.

        It is kept by `Checkpoint.order`, which is to be called before the next one is asked for.
        """
        new = {
            name: in_order(self._unseen(name, each.data), self._unseen(name, each.markers), each.stop)
            for name, each in found.items()
        }
        if not any(new.values()):
            return None
        if self._last is not None:
            _remember(self.checkpoint, self._last)
        number = 0 if self._last is None else self._last.number + 1
        self._last = Batch(number, {name: [file.path for file in files] for name, files in new.items()})
        self._see(self._last.files)
        return number, new

    def added(self, found: Mapping[str, Sequence[FoundFile]]) -> dict[str, list[InputFile]]:
        """The files of streams that no batch has had, as those that the last batch has from now on, behind its own.

        They are kept by `Checkpoint.keep_order`.
        """
        assert self._last is not None
        new = {name: in_order(self._unseen(name, each), ()) for name, each in found.items()}
        paths = {name: [file.path for file in files] for name, files in new.items()}
        self._last = evolve(
            self._last,
            files={n: [*before, *paths.get(n, ())] for n, before in self._last.files.items()},
        )
        self._see(paths)
        return new

    def _see(self, paths: Mapping[str, Sequence[str]]) -> None:
        for name, some in paths.items():
            self._seen.setdefault(name, set()).update(some)

    def _unseen(self, name: str, found: Iterable[FoundFile]) -> list[FoundFile]:
        of_all, seen = self._seen.get("", ()), self._seen.get(name, ())
        return [file for file in found if file.path not in seen and file.path not in of_all]


def last_batch(files: Files, root: str) -> Batch | None:
    """The last batch of a checkpoint, `None` before the first."""
    if not files.exists(place := f"{root}/batch.json"):
        return None
    data = json.loads(files.read(place))
    return Batch(
        data["batch"], {name: [file[0] for file in listed] for name, listed in data["files"].items()}
    )


def seen(files: Files, root: str, last: Batch | None) -> Iterator[tuple[str, Sequence[str]]]:
    """The paths of the files of all batches, by source; of those that only Spark's record knows, which was the only one
    before, by an empty name."""
    if last is not None:
        yield from last.files.items()
    records = _records(files, root)
    for record in records:
        yield from json.loads(files.read(f"{root}/files/{record.name}")).items()
    if not records or min(record.first for record in records) > 0:
        for source in files.folders(f"{root}/spark/sources", ""):
            for log in files.list(f"{root}/spark/sources/{source}"):
                entries = (json.loads(line) for line in files.read(log.path).splitlines()[1:])
                yield "", [re.sub("^file:/+", "file:/", unquote(entry["path"])) for entry in entries]


@frozen(order=True)
class _Record:
    """The batches that a file of `files/` is about."""

    first: int
    last: int

    @property
    def name(self) -> str:
        return f"{self.first:012d}-{self.last:012d}.json"

    @property
    def count(self) -> int:
        return self.last - self.first + 1


def _records(files: Files, root: str) -> list[_Record]:
    """What there is, in order, without those that are part of another: a crash has kept them from deletion."""
    names = (_RECORD.fullmatch(name_of(file.path)) for file in files.list(f"{root}/files"))
    records = sorted(_Record(int(name[1]), int(name[2])) for name in names if name)
    return [
        r for r in records if not any(o != r and o.first <= r.first and r.last <= o.last for o in records)
    ]


def _remember(checkpoint: Checkpoint, batch: Batch) -> None:
    """Write the files of a batch; where there are many records, fewer and longer ones."""
    root, files = checkpoint.path, checkpoint.files
    # Records of topics never come again: the commit record has their offsets.
    names = {name: [p for p in paths if record_file(p) is None] for name, paths in batch.files.items()}
    _write(checkpoint, _Record(batch.number, batch.number), names)
    records = _records(files, root)
    while len(same := [r for r in records if r.count == records[-1].count]) >= _TOGETHER:
        together: dict[str, list[str]] = {}
        for record in same:
            for name, some in json.loads(files.read(f"{root}/files/{record.name}")).items():
                together.setdefault(name, []).extend(some)
        longer = _Record(same[0].first, same[-1].last)
        _write(checkpoint, longer, together)
        for record in same:
            files.delete(f"{root}/files/{record.name}")
        records = [*(record for record in records if record not in same), longer]


def _write(checkpoint: Checkpoint, record: _Record, paths: Mapping[str, Sequence[str]]) -> None:
    checkpoint.files.write(f"{checkpoint.path}/files/{record.name}", json.dumps(dict(paths)))
