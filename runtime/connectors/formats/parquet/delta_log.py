"""Reads the log of a Delta table: the files that each version has added, for streams that read a growing table, and
for the page, which shows the newest rows of an output.

A version is one file of JSON Lines, named by its number, that appears as a whole (Delta's protocol, "Delta Log
Entries"). Only growing tables are supported. Versions that remove rows, and tables with values outside their files, are
refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from attrs import evolve, field, frozen

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.foreign import json_value
from cedilla.runtime.connectors.storage.delta import EPOCH_KEY, opened_table, table_refusals
from cedilla.runtime.connectors.storage.files import Files, FoundFile, name_of

_ENTRY = re.compile(r"(\d{20})\.json")
_FEATURES = frozenset(
    {
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "columnMapping",
    }
)
"""Features that a reader of plain files supports; for some, the entries show if a table uses them."""


@frozen
class LogEntry:
    """An existing version: its number and its file."""

    version: int
    file: FoundFile


@frozen
class DeltaLog:
    """The log of the table that a source reads."""

    files: Files
    source: str
    table: str = field(converter=lambda path: path.rstrip("/"))

    def entries(self) -> list[LogEntry]:
        """Returns the existing versions in order. Raises `DiagnosticError` RQ439 if there is no log."""
        named = ((_ENTRY.fullmatch(name_of(f.path)), f) for f in self.files.list(f"{self.table}/_delta_log"))
        entries = sorted((LogEntry(int(n[1]), f) for n, f in named if n), key=lambda entry: entry.version)
        if not entries:
            message = f"{self.table}, which stream `{self.source}` reads, is not a Delta table: it has no log"
            raise failure(
                "RQ439", message, hint="the folder that contains `_delta_log`; a table without rows is fine"
            )
        return entries

    def identity(self, entry: LogEntry) -> str | None:
        """Returns the id of the table if a version contains it, as the first one does."""
        with self._of_version(entry):
            ids = ((action.get("metaData") or {}).get("id") for action in self._actions(entry))
            return next((str(id_) for id_ in ids if id_), None)

    def added(self, entry: LogEntry) -> tuple[list[FoundFile], str | None]:
        """Returns the files that a version adds, with the modification time of its entry, and its effect on existing
        rows as text (`None` without effect). Raises `DiagnosticError`: RQ439, RQ472."""
        with self._of_version(entry):
            actions = [*self._actions(entry)]
            for action in actions:
                self._check(action.get("protocol") or {}, action.get("metaData") or {})
            changes = [(kind, a[kind]) for a in actions for kind in ("add", "remove") if a.get(kind)]
            files = [a for kind, a in changes if kind == "add" and a["dataChange"]]
            removed = any(kind == "remove" and a.get("dataChange", True) for kind, a in changes)
            taken = [self._listed_file(a["path"], entry.file.modified, a["size"]) for a in files]
        if removed:
            return taken, "rewrites rows" if taken else "deletes rows"
        return taken, "deletes rows" if any(a.get("deletionVector") for a in files) else None

    def epochs(self) -> Iterator[tuple[int, list[FoundFile]]]:
        """Yields the epochs that a run has written as versions of the table, newest first, with their files that are
        still there: who compacts the table removes them. Raises `DiagnosticError` RQ439."""
        for entry in reversed(self.entries()):
            with self._of_version(entry):
                actions = [*self._actions(entry)]
                infos = [action["commitInfo"] for action in actions if action.get("commitInfo")]
                numbers = [int(info[EPOCH_KEY]) for info in infos if EPOCH_KEY in info]
                adds = [action["add"] for action in actions if numbers and action.get("add")]
                added = [self._listed_file(add["path"], entry.file.modified, add["size"]) for add in adds]
            if numbers:
                yield numbers[0], [file for file in added if self.files.exists(file.path)]

    def _actions(self, entry: LogEntry) -> Iterator[Any]:
        lines = self.files.read(entry.file.path).split("\n")
        return (json_value(line) for line in lines if line.strip())

    @contextmanager
    def _of_version(self, entry: LogEntry) -> Iterator[None]:
        """Turns the errors about an entry that is not of Delta's protocol into RQ439."""
        try:
            yield
        except (ValueError, KeyError, AttributeError, TypeError, OverflowError) as problem:
            message = f"version {entry.version} of {self.table} cannot be read: {problem}"
            hint = "its entry in `_delta_log`, as Delta's protocol has it"
            raise failure("RQ439", message, hint=hint) from None

    def snapshot(self, entry: LogEntry) -> list[FoundFile]:
        """Returns the files of the table at a version whose predecessors have left the log, older files first. Raises
        `DiagnosticError`: RQ431, RQ471, RQ472."""
        opened = opened_table(self.table, entry.version)
        with table_refusals(self.table):
            metadata = opened.metadata()
            added = pa.table(opened.get_add_actions(flatten=True)).to_pylist()
        self._check(
            {}, {"partitionColumns": metadata.partition_columns, "configuration": metadata.configuration}
        )
        with self._of_version(entry):
            return [
                self._listed_file(add["path"], add["modification_time"], add["size_bytes"]) for add in added
            ]

    def _listed_file(self, path: str, modified: int, size: Any) -> FoundFile:
        """Returns a file of the table. Raises `ValueError` for a path or a size that no file has."""
        name = unquote(path)
        if not name or b"\0" in os.fsencode(name):
            raise ValueError(f"{path!r} is not the path of a file")
        if type(size) is not int or not 0 <= size < 2**63:
            raise ValueError(f"{path} has no size")
        whole = name if re.match(r"[a-zA-Z][\w+.-]*:/|/", name) else f"{self.table}/{name}"
        self.files.check_inside(whole, self.table)
        return FoundFile(self.files.absolute(whole), modified, size)

    def growth(self, *, skips: bool) -> list[FoundFile]:
        """Returns the files of all present versions in order, each at the time of its version. `skips`: passes over
        versions that take rows back, for which it otherwise raises as `changed` does."""
        first, *later = self.entries()
        files = (
            sorted(self.snapshot(first), key=lambda file: (file.modified, file.path)) if first.version else []
        )
        moment = max((file.modified for file in files), default=0)
        for entry in later if first.version else (first, *later):
            added, change = self.added(entry)
            if change is not None and not skips:
                raise self.changed(entry.version, change)
            moment = max(entry.file.modified, moment + 1)
            files += [evolve(file, modified=moment) for file in added if change is None]
        return files

    def _check(self, protocol: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        """Raises `DiagnosticError` RQ472 if a table contains values that its files do not show."""
        columns = ", ".join(metadata.get("partitionColumns", ()))
        mapping = metadata.get("configuration", {}).get("delta.columnMapping.mode", "none")
        unknown = sorted(set(protocol.get("readerFeatures") or ()) - _FEATURES)
        if columns:
            self._refuse(f"is partitioned by {columns}, and its files do not have these columns")
        if mapping != "none":
            self._refuse("has other names for its columns than its files (`delta.columnMapping.mode`)")
        if unknown:
            self._refuse(f"asks for {', '.join(unknown)}, which Cedilla does not know")

    def _refuse(self, why: str) -> None:
        hint = "a table with plain columns, into which a job writes what is new"
        raise failure("RQ472", f"{self.table}, which stream `{self.source}` reads, {why}", hint=hint)

    def gone(self, versions: Iterable[int]) -> DiagnosticError:
        """Returns RQ439: versions that were not read have left the log."""
        first, *rest = versions
        which = f"version {first} has" if not rest else f"versions {first} to {rest[-1]} have"
        message = f"{which} left the log of {self.table} before stream `{self.source}` has read them"
        hint = "a new checkpoint, with other outputs; `delta.logRetentionDuration` keeps the log for longer"
        return failure("RQ439", message, hint=hint)

    def other(self) -> DiagnosticError:
        """Returns RQ452: the table is not the one that was read before."""
        message = f"{self.table} of stream `{self.source}` is not the table that was read: its id is another"
        return failure("RQ452", message, hint="that table; or a new checkpoint with other outputs")

    def changed(self, version: int, what: str) -> DiagnosticError:
        """Returns RQ438: a version does more than add rows."""
        message = f"version {version} of {self.table} {what} that stream `{self.source}` may have read"
        hint = (
            "`--set gaps=skip` continues after it: rows that were read remain, and rows that it adds are not read; "
            "a new checkpoint, with other outputs, reads the current table"
        )
        return failure("RQ438", message, hint=hint)
