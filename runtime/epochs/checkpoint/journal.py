"""The recent history of a run: what metrics and the live page show besides the last commit.

It is a view, of limited size: no run continues from it, and one that is damaged begins again.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import asdict, define, field, frozen

from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.connectors.formats.source import MAX_VALUES
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import seal, unseal
from cedilla.runtime.epochs.checkpoint.stored_plan import PLAN

JOURNAL = "journal.json"
_VERSION = 1

BUCKET = 10
"""Seconds of one entry of the history of epochs."""
_BUCKETS = 360
_ACCENTS, _WARNINGS = 300, 50
MAX_MEMBERS = MAX_VALUES
"""The most values of an attribute that have a record."""
_MAX_FIELDS = 100
"""The most undeclared fields of a source that are counted by name."""
_PAUSE, _PAUSE_OF_STORE = 1.0, 10.0
"""The fewest seconds between two writes, on this machine and in a store."""
_COST = 50
"""A write may take this part of the time since the one before."""

Undeclared = Mapping[str, Mapping[str, int]]
"""Source -> field that no attribute reads -> number of files."""
Members = Mapping[str, Mapping[str, Mapping[Any, int] | None]]
"""Source -> attribute -> value -> number of tuples; `None` for an attribute of very many values."""


@frozen
class ReadAccent:
    """An accent that an epoch has applied. `place`: the position in the file, in bytes if `by_bytes`."""

    source: str
    text: str
    file: str
    place: int
    by_bytes: bool


@frozen
class EpochEntry:
    """An epoch as the journal records it. `state`: rows and bytes after it. `records_left`: by source, the records of
    its topic that no epoch has read."""

    number: int
    tuples: int
    written: int
    seconds: float
    phases: Mapping[str, float]
    rejected: Mapping[str, int]
    state: tuple[int, int]
    files_left: int = 0
    records_left: Mapping[str, int] = field(factory=dict[str, int])
    accents: Sequence[ReadAccent] = ()
    count: int = 0
    """The number of accents; `accents` has the first ones."""
    warnings: Sequence[Diagnostic] = ()
    members: Members = field(factory=dict[str, dict[str, Mapping[Any, int] | None]])
    undeclared: Undeclared = field(factory=dict[str, dict[str, int]])


@define(eq=False)
class Journal:
    """The journal of the runs on a checkpoint. A journal without a path is not shown: it does not exist, or could not
    be written."""

    files: Files
    path: str | None = None
    content: dict[str, Any] = field(factory=dict[str, Any])
    clock: Callable[[], float] = time.time
    pause: float = _PAUSE
    _next: float = 0.0
    _is_written: bool = True
    _pending: dict[tuple[str, str], Counter[Any]] = field(factory=dict[tuple[str, str], Counter[Any]])
    """Tuples by value since the last write."""
    _too_many: set[tuple[str, str]] = field(factory=set[tuple[str, str]])
    """The attributes of sources that have had very many values in this run."""

    @classmethod
    def open(cls, files: Files, checkpoint: str, clock: Callable[[], float] = time.time) -> Journal:
        """Continues the journal of a checkpoint, or begins one."""
        path = f"{checkpoint.rstrip('/')}/{JOURNAL}"
        content = read_journal(files, path) or {
            "version": _VERSION,
            "epochs": [],
            "accents": [],
            "accents_read": 0,
            "warnings": [],
            "members": {},
            "totals": {"epochs": 0, "phases": {}},
        }
        pause = _PAUSE_OF_STORE if local_path(checkpoint) is None else _PAUSE
        content = {**content, "started": clock(), "files_left": 0, "records_left": {}}
        return cls(files, path, content, clock, pause)

    @property
    def is_kept(self) -> bool:
        """True while the journal can be seen."""
        return self.path is not None

    def counts(self, source: str, attribute: str) -> bool:
        """Returns True if the journal takes the values of an attribute: not once they were very many."""
        return self.is_kept and (source, attribute) not in self._too_many

    def note(self, entry: EpochEntry) -> None:
        """Adds a committed epoch, and writes the journal from time to time."""
        if self.path is None:
            return
        now = self.clock()
        content = self.content
        self._count(now, entry)
        for source, attributes in entry.members.items():
            for attribute, counts in attributes.items():
                self._take(source, attribute, counts)
        for source, fields in entry.undeclared.items():
            _count_fields(content.setdefault("undeclared", {}).setdefault(source, {}), fields)
        content["files_left"], content["records_left"] = entry.files_left, dict(entry.records_left)
        content["accents_read"] += entry.count
        stamp = {"time": now, "epoch": entry.number}
        if entry.accents:
            content["accents"] = [
                *content["accents"],
                *({**asdict(event), **stamp} for event in entry.accents),
            ][-_ACCENTS:]
        warnings = [shown(event) | stamp for event in entry.warnings if event.severity == "warning"]
        if warnings:
            content["warnings"] = [*content["warnings"], *warnings][-_WARNINGS:]
        self._is_written = False
        self.write_due()

    def write_due(self) -> None:
        """Writes the epochs that are not written yet, once that is due. A run that waits calls it, too."""
        if not self._is_written and self.clock() >= self._next:
            self.write()

    def write(self) -> None:
        """Writes the journal. Gives up where the checkpoint is gone or full: the run itself reports that."""
        if self.path is None:
            return
        began = self.clock()
        self._fold_members(began)
        try:
            if not self.files.exists(f"{self.path.rpartition('/')[0]}/{PLAN}"):
                return  # a new folder would prevent that the lost one is put back
            self.files.write(self.path, seal(JOURNAL, json.dumps(self.content)), durable=False)
        except DiagnosticError:
            self.path = None
            return
        self._is_written = True
        took = self.clock() - began
        self._next = began + max(self.pause, _COST * took)

    def _count(self, now: float, entry: EpochEntry) -> None:
        start = now - now % BUCKET
        buckets = self.content["epochs"]
        if not buckets or buckets[-1]["start"] != start:
            empty = {"epochs": 0, "tuples": 0, "written": 0, "seconds": 0.0, "slowest": 0.0}
            buckets.append({"start": start, **empty, "phases": {}, "rejected": {}})
            del buckets[:-_BUCKETS]
        bucket = buckets[-1]
        bucket["epochs"] += 1
        bucket["tuples"] += entry.tuples
        bucket["written"] += entry.written
        bucket["seconds"] += entry.seconds
        bucket["slowest"] = max(bucket["slowest"], entry.seconds)
        bucket["rows"], bucket["bytes"] = entry.state
        totals = self.content["totals"]
        totals["epochs"] += 1
        sums = (bucket["phases"], entry.phases), (totals["phases"], entry.phases)
        for before, values in (*sums, (bucket["rejected"], entry.rejected)):
            for name, value in values.items():
                before[name] = before.get(name, 0) + value

    def _take(self, source: str, attribute: str, counts: Mapping[Any, int] | None) -> None:
        """Adds the values of an epoch. An attribute that has had very many keeps no record: an old one would call all
        values silent."""
        pending = self._pending.setdefault((source, attribute), Counter())
        pending.update(counts or {})
        if counts is None or len(pending) > MAX_VALUES:
            del self._pending[source, attribute]
            self._too_many.add((source, attribute))
            self.content["members"].get(source, {}).pop(attribute, None)

    def _fold_members(self, now: float) -> None:
        """Adds the counts since the last write to the records of values: once a second, however short epochs are."""
        for (source, attribute), counts in self._pending.items():
            kept = self.content["members"].setdefault(source, {}).setdefault(attribute, {})
            for value, count in counts.items():
                name = member_name(value)
                if name in kept or len(kept) < MAX_MEMBERS:
                    kept[name] = _with_count(kept.get(name), now, now // 60, count)
        self._pending.clear()


def _count_fields(counts: dict[str, int], fields: Mapping[str, int]) -> None:
    """Adds the files of undeclared fields. Those beyond the most are left out."""
    for name, files in fields.items():
        if name in counts or len(counts) < _MAX_FIELDS:
            counts[name] = counts.get(name, 0) + files


def member_name(value: Any) -> str:
    """Returns the name of an attribute's value in the counts: a string unchanged, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _with_count(last: list[float] | None, now: float, minute: float, count: int) -> list[float]:
    """Returns a record: when it was last seen, tuples in all, the minute, tuples in it and in the one before."""
    if last is None:
        return [now, count, minute, count, 0]
    _, total, then, current, before = last
    if then == minute:
        return [now, total + count, minute, current + count, before]
    return [now, total + count, minute, count, current if then == minute - 1 else 0]


def shown(diagnostic: Diagnostic) -> dict[str, Any]:
    """Returns a diagnostic as a page shows it."""
    return {
        "code": diagnostic.code,
        "message": diagnostic.message,
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
    }


def read_journal(files: Files, path: str) -> dict[str, Any] | None:
    """Returns the content of a journal; `None` without one, of another version, or of a damaged one."""
    try:
        content = json.loads(unseal(JOURNAL, files.read(path))) if files.exists(path) else {}
    except (ValueError, DiagnosticError):
        return None
    return content if content.get("version") == _VERSION else None


def rates(records: Mapping[str, Sequence[float]], now: float) -> Iterator[tuple[str, float]]:
    """Yields values with their tuples in the last minute, from the current and the previous minute."""
    minute, share = now // 60, now % 60 / 60
    for name, (_, _, then, current, before) in records.items():
        if then == minute:
            yield name, current + before * (1 - share)
        elif then == minute - 1:
            yield name, current * (1 - share)
        else:
            yield name, 0.0
