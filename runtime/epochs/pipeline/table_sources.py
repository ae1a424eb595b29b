"""The tables with a log that a query reads: their files, version by version, as if they came into a folder in this
order."""

from __future__ import annotations

import json
from collections.abc import Callable, MutableMapping

from attrs import define, evolve, field

from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.parquet.table_log import LogEntry, TableLog, TablePosition
from cedilla.runtime.connectors.formats.parquet.table_logs import log_of
from cedilla.runtime.connectors.records.field_names import FieldNames
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint.inventory import TABLES

_MAX_VERSIONS = 1000
"""The greatest number of versions that one look reads."""


@define(eq=False)
class TableSources:
    """The tables of a plan's streams, if any. `documents` has the position up to which each is read; `skips`: True if
    versions that take rows back are passed over, which `tell` reports. `names` gets those of fields, by stream."""

    documents: SealedFiles
    logs: dict[str, TableLog]
    skips: bool
    tell: Callable[[str], None]
    names: MutableMapping[str, FieldNames]
    _read: dict[str, TablePosition] = field(init=False)
    _recorded: dict[str, object] = field(init=False)
    """The names of fields that the checkpoint has."""
    _identified: set[str] = field(init=False, factory=set[str])
    _failure: DiagnosticError | None = field(init=False, default=None)

    @classmethod
    def of(
        cls,
        plan: Plan,
        checkpoint: str,
        files: Files,
        tell: Callable[[str], None],
        names: MutableMapping[str, FieldNames],
    ) -> TableSources:
        """The tables of a plan, to be read from where a checkpoint has left them."""
        logs = {
            s.name: log_of(files, s.name, s.format, s.path) for s in plan.sources if s.format_kind.is_table
        }
        return cls(SealedFiles(files, checkpoint), logs, plan.settings["gaps"] == "skip", tell, names)

    def __attrs_post_init__(self) -> None:
        recorded = self.documents.read(TABLES) if self.logs and self.documents.exists(TABLES) else {}
        self._read = {
            name: TablePosition.loaded(recorded[name]) if name in recorded else log.begin()
            for name, log in self.logs.items()
        }
        self._recorded = {name: position.fields for name, position in self._read.items()}
        self._give_names()

    def __bool__(self) -> bool:
        return bool(self.logs)

    def look(self, name: str) -> list[FoundFile]:
        """The files of the versions of a table that have come, in order by their moments. Raises `DiagnosticError`:
        RQ431, RQ434, RQ438, RQ439, RQ452, RQ471, RQ472; if something came before, `finish` does."""
        log, read = self.logs[name], self._read[name]
        files: list[FoundFile] = []
        try:
            self._identify(log, read)
            for added in log.growth(read, skips=self.skips, tell=self.tell, most=_MAX_VERSIONS):
                files += added
        except DiagnosticError as problem:
            # The files before the version are committed first.
            if not files:
                raise
            self._failure = self._failure or problem
        finally:
            self._keep_names(name)
        return files

    def _identify(self, log: TableLog, read: TablePosition) -> None:
        """Once a run: raise RQ452 where the table is not the one that was read."""
        if log.source in self._identified:
            return
        self._identified.add(log.source)
        identity = log.identity(log.entries())
        if identity is not None and read.id is not None and identity != read.id:
            raise log.other()
        read.id = read.id or identity

    def _keep_names(self, name: str) -> None:
        """Keeps new names of fields before files are read by them: a repeated run uses the same."""
        fields = self._read[name].fields
        if fields == self._recorded[name]:
            return
        recorded = self.documents.read(TABLES) if self.documents.exists(TABLES) else {}
        before = TablePosition.loaded(recorded[name]) if name in recorded else self.logs[name].begin()
        self.documents.write(TABLES, json.dumps({**recorded, name: evolve(before, fields=fields).dumped()}))
        self._recorded[name] = fields
        self._give_names()

    def _give_names(self) -> None:
        self.names.update(
            (name, read.fields.names) for name, read in self._read.items() if read.fields is not None
        )

    def first_unread(self, name: str) -> FoundFile | None:
        """A file at the time of the first version that no look has read; markers that are later have to wait."""
        log, read = self.logs[name], self._read[name]
        entry = next(iter(log.unread(read, log.entries())), None)
        if entry is None:
            return None
        return FoundFile(entry.path or log.table, self._moment(log, entry, read), 1)

    @staticmethod
    def _moment(log: TableLog, entry: LogEntry, read: TablePosition) -> int:
        """A version that is not in the log may be as early as the one after the last."""
        return log.moment(entry, read) if log.follows(entry, read) else read.moment + 1

    def finish(self) -> None:
        """Writes how far the tables are read. Raises the error that `look` has deferred."""
        if not self.logs:
            return
        recorded = {name: read.dumped() for name, read in self._read.items()}
        self.documents.write(TABLES, json.dumps(recorded))
        if self._failure is not None:
            raise self._failure
