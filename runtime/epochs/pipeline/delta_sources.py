"""The Delta tables that a query reads: their files, version by version, as if they came into a folder in this order."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from attrs import asdict, define, evolve, field

from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.parquet.delta_log import DeltaLog, LogEntry
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint.inventory import TABLES

_MAX_VERSIONS = 1000
"""The greatest number of versions that one look reads."""


@define
class _Read:
    """Up to where a table is read: its `version`, and the latest `moment` of its files, in milliseconds. `id`: the
    table's own, where its log has the first version."""

    version: int = -1
    moment: int = 0
    id: str | None = None


@define(eq=False)
class DeltaSources:
    """The tables of a plan's streams, if any. `place`: the file with the last version that is read of each; `skips`:
    True if versions that take rows back are passed over, which `tell` reports."""

    documents: SealedFiles
    logs: Mapping[str, DeltaLog]
    skips: bool
    tell: Callable[[str], None]
    _read: dict[str, _Read] = field(init=False, factory=dict[str, _Read])
    _identified: set[str] = field(init=False, factory=set[str])
    _failure: DiagnosticError | None = field(init=False, default=None)

    @classmethod
    def of(cls, plan: Plan, checkpoint: str, files: Files, tell: Callable[[str], None]) -> DeltaSources:
        """The tables of a plan, to be read from where a checkpoint has left them."""
        logs = {s.name: DeltaLog(files, s.name, s.path) for s in plan.sources if s.format_kind.is_table}
        documents = SealedFiles(files, checkpoint)
        sources = cls(documents, logs, plan.settings["gaps"] == "skip", tell)
        recorded = documents.read(TABLES) if logs and documents.exists(TABLES) else {}
        sources._read = {name: _Read(**recorded.get(name, {})) for name in logs}
        return sources

    def __bool__(self) -> bool:
        return bool(self.logs)

    def look(self, name: str) -> list[FoundFile]:
        """The files of the versions of a table that have come, in order by their moments. Raises `DiagnosticError`:
        RQ431, RQ434, RQ438, RQ439, RQ452, RQ471, RQ472; if something came before, `finish` does."""
        log, read = self.logs[name], self._read[name]
        files: list[FoundFile] = []
        try:
            entries = log.entries()
            self._identify(log, entries[0], read)
            if read.version < 0 < entries[0].version:
                before = sorted(log.snapshot(entries[0]), key=lambda file: (file.modified, file.path))
                files += before
                read.version, read.moment = entries[0].version, max((f.modified for f in before), default=0)
            for entry in [e for e in entries if e.version > read.version][:_MAX_VERSIONS]:
                files += self._take(log, entry, read)
        except DiagnosticError as problem:
            # The files before the version are committed first.
            if not files:
                raise
            self._failure = self._failure or problem
        return files

    def _identify(self, log: DeltaLog, first: LogEntry, read: _Read) -> None:
        """Once a run: raise RQ452 where the table is not the one that was read."""
        if log.source in self._identified:
            return
        self._identified.add(log.source)
        identity = log.identity(first)
        if identity is not None and read.id is not None and identity != read.id:
            raise log.other()
        read.id = read.id or identity

    def _take(self, log: DeltaLog, entry: LogEntry, read: _Read) -> list[FoundFile]:
        if entry.version > read.version + 1:
            raise log.gone(range(read.version + 1, entry.version))
        added, change = log.added(entry)
        if change is not None:
            refusal = log.changed(entry.version, change)
            if not self.skips:
                raise refusal
            self.tell(f"{refusal.diagnostics[0].message}: passed over")
            added = []
        moment = _moment(entry, read)
        read.version, read.moment = entry.version, moment
        return [evolve(file, modified=moment) for file in added]

    def first_unread(self, name: str) -> FoundFile | None:
        """The entry of the first version that no look has read; markers that are later than it have to wait."""
        read = self._read[name]
        unread = (entry for entry in self.logs[name].entries() if entry.version > read.version)
        entry = next(unread, None)
        if entry is None:
            return None
        # A version that is not in the log may be as early as the one after the last.
        is_next = entry.version == read.version + 1
        return evolve(entry.file, modified=_moment(entry, read) if is_next else read.moment + 1)

    def finish(self) -> None:
        """Writes how far the tables are read. Raises the error that `look` has deferred."""
        if not self.logs:
            return
        recorded = {name: asdict(read) for name, read in self._read.items()}
        self.documents.write(TABLES, json.dumps(recorded))
        if self._failure is not None:
            raise self._failure


def _moment(entry: LogEntry, read: _Read) -> int:
    """Returns the time of a version. Clocks of writers differ: versions keep their order."""
    return max(entry.file.modified, read.moment + 1)
