"""Reads the content of a checkpoint's folder except its commit records, without Spark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from attrs import frozen

from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, from_json
from cedilla.runtime.connectors.formats.parquet.table_log import TablePosition
from cedilla.runtime.connectors.formats.parquet.table_logs import log_of
from cedilla.runtime.connectors.storage.files import Files, FoundFile, name_of
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.known_folders import KnownFolder, KnownFolders
from cedilla.runtime.epochs.checkpoint.read_files import Batch, known_files, last_batch
from cedilla.runtime.epochs.checkpoint.set_aside import counts_by_code
from cedilla.runtime.epochs.state.segments import rows_of

_ERROR = "error.json"
TABLES = "delta.json"
"""The document that says up to which version tables with a log are read, and what the stream calls their fields."""


@frozen
class Stored:
    """A state of an operator; `rows`: `None` if an old record does not have it."""

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
        size = sum(segment.length for segment in segments)
        yield Stored(name, len(segments), size, rows_of(segments))


def quarantine_files(files: Files, root: str) -> dict[str, list[FoundFile]]:
    """Source -> the files of its quarantine, in the order of their epochs."""
    home = f"{root}/quarantine"
    return {
        source: [file for file in files.list(f"{home}/{source}") if file.path.endswith(".jsonl")]
        for source in files.folders(home, "")
    }


_FILE = re.compile(r"epoch=(\d+)\.jsonl")


def quarantine_epoch(path: str) -> int | None:
    """Returns the epoch of a file of the quarantine; `None` of a file that no run has written."""
    name = _FILE.fullmatch(name_of(path))
    return None if name is None else int(name[1])


def quarantined(root: str) -> dict[str, dict[str, int]]:
    """Source -> code -> lines set aside; `UNREADABLE` counts those that no run has written."""
    files, by_source = Files(), dict[str, dict[str, int]]()
    for source, listed in quarantine_files(files, root).items():
        counts: Counter[str] = Counter()
        for file in listed:
            with files.open(file.path) as lines:
                counts.update(counts_by_code(lines))
        if counts:
            by_source[source] = dict(counts)
    return by_source


def failure(root: str) -> Failure | None:
    """Returns the failure that ended a run last."""
    documents = SealedFiles(Files(), root)
    if not documents.exists(_ERROR):
        return None
    data = documents.read(_ERROR)
    return Failure(data["time"], data["epoch"], tuple(map(from_json, data["diagnostics"])))


def backlog(root: str, commit: Commit | None) -> dict[str, int]:
    """Stream -> files that no committed epoch has read, those of its folder of markers too; a stream whose folder
    cannot be seen from here is left out.
    """
    files = Files()
    folders, last = KnownFolders.stored(files, root), last_batch(files, root)
    left = {} if last is None else _left(last, commit)
    by_source = known_files(files, root, last)
    taken = {path for records in by_source.values() for path, file in records.by_path.items() if file.length}
    documents = SealedFiles(files, root)
    tables = documents.read(TABLES) if documents.exists(TABLES) else {}
    waiting: dict[str, int] = {}
    for name, data in folders.streams.items():
        markers = folders.markers.get(name)
        read = TablePosition.loaded(tables[name]) if name in tables else None
        listed = _recorded_paths(files, [data] if markers is None else [data, markers], read)
        if listed is not None:
            waiting[name] = len([path for path in listed if path not in taken]) + left.get(name, 0)
    return waiting


def _recorded_paths(
    files: Files, folders: Sequence[KnownFolder], read: TablePosition | None
) -> list[str] | None:
    """Returns the recorded paths of the files in some folders; `None` if one of them cannot be seen from here.

    `read`: up to where it is read if the first folder is a table with a log, which has other files, too.
    """
    try:
        if not all(files.exists(folder.at) for folder in folders):
            return None
        if read is None:
            return [folder.record(f.path) for folder in folders for f in files.tree(folder.at) if f.length]
        log = log_of(files, "", read.format, folders[0].at)
        later = log.growth(read, skips=True, tell=lambda note: None)
        added = [folders[0].record(file.path) for files_of_version in later for file in files_of_version]
        return added + (_recorded_paths(files, folders[1:], None) or [])
    except DiagnosticError:  # a store without an account here
        return None


def _left(batch: Batch, commit: Commit | None) -> dict[str, int]:
    """Source -> files of the last batch that are not read yet."""
    done = commit.progress if commit is not None and commit.batch == batch.number else {}
    return {
        name: len(paths) - (done[name].files if name in done else 0) for name, paths in batch.files.items()
    }
