"""Reads the content of a checkpoint's folder except its commit records, without Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from cedilla.grammar.diagnostics import Diagnostic, from_json
from cedilla.runtime.checkpoint.checkpoint import Commit
from cedilla.runtime.checkpoint.known_folders import KnownFolders
from cedilla.runtime.checkpoint.read_files import Batch, last_batch, seen
from cedilla.runtime.records.lines import local_path
from cedilla.runtime.storage.files import Files
from cedilla.runtime.storage.sealed import SealedFiles


@frozen
class Stored:
    """A state of an operator; `rows`: `None` where a record of old does not say."""

    name: str
    segments: int
    bytes: int
    rows: int | None = None


@frozen
class Failure:
    """The end of a run by a failure: its time and the last epoch."""

    time: str
    epoch: int
    diagnostics: tuple[Diagnostic, ...]


def stored(commit: Commit) -> Iterator[Stored]:
    """The states that a commit lists, with the sizes of their files."""
    for name, segments in commit.segments.items():
        folders = [local_path(segment.path) for segment in segments]
        size = sum(
            file.stat().st_size for f in folders if f is not None for file in f.rglob("*") if file.is_file()
        )
        rows = [segment.rows for segment in segments]
        yield Stored(name, len(segments), size, None if None in rows else sum(count or 0 for count in rows))


def quarantined(root: Path) -> dict[str, dict[str, int]]:
    """Source -> code -> lines set aside."""
    by_source: dict[str, dict[str, int]] = {}
    for folder in sorted((root / "quarantine").glob("*")):
        counts: Counter[str] = Counter()
        for file in folder.glob("*.jsonl"):
            with file.open(encoding="utf-8") as lines:
                counts.update(json.loads(line)["code"] for line in lines)
        if counts:
            by_source[folder.name] = dict(counts)
    return by_source


def failure(root: Path) -> Failure | None:
    """Returns the failure that ended a run last."""
    path = root / "error.json"
    if not path.exists():
        return None
    data = SealedFiles(Files(), str(root)).read(path.name)
    return Failure(data["time"], data["epoch"], tuple(map(from_json, data["diagnostics"])))


def backlog(root: Path, commit: Commit | None) -> dict[str, int]:
    """Stream -> files that no committed epoch has read, those of its folder of markers too; a stream whose folder
    cannot be seen from here is left out.
    """
    files, folders = Files(), KnownFolders.stored(Files(), str(root))
    last = last_batch(files, str(root))
    left = {} if last is None else _left(last, commit)
    taken = {file.path for _, read in seen(files, str(root), last) for file in read}
    waiting: dict[str, int] = {}
    for name, data in folders.streams.items():
        markers = folders.markers.get(name)
        both = [data] if markers is None else [data, markers]
        if all((at := local_path(folder.at)) is not None and at.exists() for folder in both):
            listed = [folder.record(f.path) for folder in both for f in files.tree(folder.at) if f.length]
            waiting[name] = len([path for path in listed if path not in taken]) + left.get(name, 0)
    return waiting


def _left(batch: Batch, commit: Commit | None) -> dict[str, int]:
    """Source -> files of the last batch that are not read yet."""
    done = commit.progress if commit is not None and commit.batch == batch.number else {}
    return {
        name: len(paths) - (done[name].files if name in done else 0) for name, paths in batch.files.items()
    }
