"""What lies in the folder of a checkpoint beside its commit records, read without Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from cedilla.grammar.diagnostics import Diagnostic, from_json
from cedilla.runtime.checkpoint.checkpoint import Commit
from cedilla.runtime.checkpoint.checkpoint_folder import local_path
from cedilla.runtime.items.lines import files_of


@frozen
class Stored:
    """A state of an operator; `rows`: `None` where a record of old does not say."""

    name: str
    segments: int
    bytes: int
    rows: int | None = None


@frozen
class Failure:
    """What ended a run: when, and after which epoch."""

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
        yield Stored(name, len(segments), size, None if None in rows else sum(each or 0 for each in rows))


def quarantined(root: Path) -> dict[str, dict[str, int]]:
    """Source -> code -> lines set aside."""
    found: dict[str, dict[str, int]] = {}
    for folder in sorted((root / "quarantine").glob("*")):
        counts: Counter[str] = Counter()
        for file in folder.glob("*.jsonl"):
            with file.open(encoding="utf-8") as lines:
                counts.update(json.loads(line)["code"] for line in lines)
        if counts:
            found[folder.name] = dict(counts)
    return found


def failure(root: Path) -> Failure | None:
    """What ended the last run that a diagnostic ended."""
    path = root / "error.json"
    if not path.exists():
        return None
    data = json.loads(path.read_text("utf-8"))
    return Failure(data["time"], data["epoch"], tuple(map(from_json, data["diagnostics"])))


def backlog(root: Path, commit: Commit | None) -> dict[str, int]:
    """Stream -> files that no committed epoch has read, those of its folder of markers too; a stream whose folder
    cannot be seen from here is left out.

    Spark's log names the files that some batch has taken, `batch.json` those of the last one.
    """
    record = root / "paths.json"
    if not record.exists():
        return {}
    batch = _last_batch(root)
    taken = _taken(root) | {file for files in batch.files.values() for file in files}
    left = _left(batch, commit)
    waiting: dict[str, int] = {}
    known = json.loads(record.read_text("utf-8"))
    for name, path in known["streams"].items():
        paths = [path, known["markers"][name]] if name in known.get("markers", {}) else [path]
        folders = [folder for each in paths if (folder := local_path(each)) is not None and folder.exists()]
        if len(folders) == len(paths):
            files = {file.resolve() for folder in folders for file in files_of(str(folder))}
            waiting[name] = len(files - taken) + left.get(name, 0)
    return waiting


@frozen
class _Batch:
    number: int
    files: Mapping[str, list[Path]]


def _last_batch(root: Path) -> _Batch:
    path = root / "batch.json"
    if not path.exists():
        return _Batch(-1, {})
    data = json.loads(path.read_text("utf-8"))
    named = {name: [local_path(file[0]) for file in files] for name, files in data["files"].items()}
    return _Batch(data["batch"], {n: [f.resolve() for f in files if f] for n, files in named.items()})


def _left(batch: _Batch, commit: Commit | None) -> dict[str, int]:
    """Source -> files of the last batch that are not read yet."""
    done = commit.progress if commit is not None and commit.batch == batch.number else {}
    return {
        name: len(files) - (done[name].files if name in done else 0) for name, files in batch.files.items()
    }


def _taken(root: Path) -> set[Path]:
    """The files that are in the logs of Spark's file sources, which it compacts now and then."""
    logs = [log for log in (root / "spark" / "sources").glob("*/*") if not log.name.startswith(".")]
    entries = (json.loads(line) for log in logs for line in log.read_text("utf-8").splitlines()[1:])
    files = (local_path(entry["path"]) for entry in entries)
    return {file.resolve() for file in files if file is not None}
