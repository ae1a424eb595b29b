"""A table log: the files that each version of a growing table has added, for formats whose tables have a log.

A version follows one other. Those that add rows are read in their order, and those that take rows back are refused. A
stream knows the fields of a table by their names at its start (`FieldNames`). Values that a table takes out of its
files come with the file, as the keys of folders do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

from attrs import define, evolve, field, frozen

from cedilla.compiler.plan.record_fields import RECORD, path_of
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.field_names import Field, FieldNames
from cedilla.runtime.connectors.storage.files import Files, FoundFile

FIRST = -1
"""The version before the first one."""


@frozen
class LogEntry:
    """An existing version: its number, that of the version that it follows, and the time of its writer's clock in
    milliseconds. `path`: its file, if it has one of its own; `order`: its place among all versions, if their
    numbers do not give it."""

    version: int
    parent: int
    modified: int
    path: str = ""
    order: int = 0


@frozen
class Partition:
    """A column whose values a table takes out of its files: the key of its field, its name and type in the table."""

    key: str
    name: str
    type: str


@frozen
class TableFields:
    """The fields of a table as a stream knows them: their `names`, and by the names that the log uses for them, the
    columns of its `partitions`. `up_to`: the last version whose fields they are. `called`: the names in the table of
    fields that have another one in the stream, by the latter."""

    names: FieldNames = field(factory=FieldNames)
    partitions: Mapping[str, Partition] = field(factory=dict[str, Partition])
    up_to: int = FIRST
    called: Mapping[str, str] = field(factory=dict[str, str])


@define
class TablePosition:
    """Up to where a table is read: its `version`, and the latest `moment` of its files, in milliseconds. `id`: the
    table's own, if its log has it. `fields`: `None` before the first look. `format`: that of the table. `order`: that
    of the version."""

    format: str
    version: int = FIRST
    moment: int = 0
    id: str | None = None
    fields: TableFields | None = None
    order: int = 0

    def dumped(self) -> Mapping[str, Any]:
        """Returns the position as JSON has it, for a checkpoint."""
        fields = None
        if self.fields is not None:
            partitions = {name: [of.key, of.name, of.type] for name, of in self.fields.partitions.items()}
            names = self.fields.names.dumped()
            fields = {
                "names": names,
                "partitions": partitions,
                "up_to": self.fields.up_to,
                "called": dict(self.fields.called),
            }
        position = {"version": self.version, "order": self.order, "moment": self.moment, "id": self.id}
        return {"format": self.format, **position, "fields": fields}

    @classmethod
    def loaded(cls, stored: Mapping[str, Any]) -> TablePosition:
        """Returns the position of a checkpoint; older ones have no fields, as their tables have plain columns."""
        fields = None
        if (of := stored.get("fields")) is not None:
            partitions = {name: Partition(*kept) for name, kept in of["partitions"].items()}
            fields = TableFields(FieldNames.loaded(of["names"]), partitions, of["up_to"], of["called"])
        elif stored["version"] > FIRST:
            fields = TableFields()
        version, order = stored["version"], stored.get("order", 0)
        format_ = stored.get("format", "delta")
        return cls(format_, version, stored["moment"], stored["id"], fields, order)


@frozen
class Added:
    """The effect of a version. `files`: those that it adds; `change`: what it does with earlier rows, as text, `None`
    if nothing; `fields`: those of the table after it; `notes`: what it does with names."""

    files: Sequence[FoundFile] = ()
    change: str | None = None
    fields: TableFields = field(factory=TableFields)
    notes: Sequence[str] = ()


@frozen
class TableLog(ABC):
    """The log of the table that a source reads."""

    format: ClassVar[str]
    """The name of the format in the language."""
    kept_by: ClassVar[str]
    """The setting that keeps the log of a table for longer, for hints."""
    word: ClassVar[str] = "version"
    """The word of the format for a version."""

    files: Files
    source: str
    table: str = field(converter=lambda path: path.rstrip("/"))

    @abstractmethod
    def entries(self) -> list[LogEntry]:
        """Returns the existing versions in order. Raises `DiagnosticError` RQ439 without a log."""

    @abstractmethod
    def identity(self, entries: Sequence[LogEntry]) -> str | None:
        """Returns the id of the table, if its log still has it."""

    @abstractmethod
    def present(self, entries: Sequence[LogEntry]) -> TableFields:
        """Returns the fields of the table at its last version. Raises `DiagnosticError` RQ472."""

    @abstractmethod
    def added(self, entry: LogEntry, fields: TableFields) -> Added:
        """Returns the effect of a version on a table with some fields. Raises `DiagnosticError`: RQ439, RQ472."""

    @abstractmethod
    def snapshot(self, entry: LogEntry, fields: TableFields) -> tuple[list[FoundFile], TableFields]:
        """Returns the files of the table at a version whose predecessors have left the log, in no order, and its
        fields then."""

    def begin(self) -> TablePosition:
        """Returns the position before everything."""
        return TablePosition(self.format)

    def is_cut(self, first: LogEntry) -> bool:
        """Returns True if versions before the first existing one may have left the log."""
        return first.parent != FIRST

    def follows(self, entry: LogEntry, at: TablePosition) -> bool:
        """Returns True if a version is the next one after a position."""
        return entry.parent == at.version

    def taken_back(self, at: TablePosition, entries: Sequence[LogEntry]) -> str | None:
        """Returns what a table does with rows that were read if a position is no longer in its history, as text."""
        return None

    def unread(self, at: TablePosition, entries: Sequence[LogEntry]) -> list[LogEntry]:
        """Returns the versions after a position."""
        return [entry for entry in entries if entry.version > at.version]

    def growth(
        self, at: TablePosition, *, skips: bool, tell: Callable[[str], None], most: int | None = None
    ) -> Iterator[list[FoundFile]]:
        """Yields the files of each version after a position, which moves, each at the time of its version. `skips`:
        passes over versions that take rows back, and tells so; `most`: the greatest number of versions.

        Raises `DiagnosticError`: RQ438, RQ439, RQ472, and as the library of the table does.
        """
        entries = self.entries()
        if at.fields is None:
            at.fields = self.present(entries)
        if at.version == FIRST and entries and self.is_cut(entries[0]):
            first = entries[0]
            listed, at.fields = self.snapshot(first, at.fields)
            before = sorted(listed, key=lambda file: (file.modified, file.path))
            at.version, at.order = first.version, first.order
            at.moment = max((file.modified for file in before), default=0)
            yield before
        if (change := self.taken_back(at, entries)) is not None:
            refusal = self.changed(at.version, change)
            if not skips:
                raise refusal
            tell(f"{refusal.diagnostics[0].message}: passed over")
            at.version, at.order = entries[-1].version, entries[-1].order
        for entry in islice(self.unread(at, entries), most):
            if not self.follows(entry, at):
                raise self.gone(at.version, entry)
            added = self.added(entry, at.fields)
            files = added.files
            if added.change is not None:
                refusal = self.changed(entry.version, added.change)
                if not skips:
                    raise refusal
                tell(f"{refusal.diagnostics[0].message}: passed over")
                files = ()
            for note in added.notes:
                tell(f"{self.word} {entry.version} of {self.table} {note}")
            at.moment, at.fields = self.moment(entry, at), added.fields
            at.version, at.order = entry.version, entry.order
            yield [evolve(file, modified=at.moment) for file in files]

    @staticmethod
    def moment(entry: LogEntry, at: TablePosition) -> int:
        """Returns the time of a version. Clocks of writers differ: versions keep their order."""
        return max(entry.modified, at.moment + 1)

    def next_fields(
        self, fields: TableFields, version: int, of: Sequence[Field], partitions: Mapping[str, Partition]
    ) -> tuple[TableFields, list[str]]:
        """Returns the fields after a version that has these, and notes on names that now differ from the stream's."""
        names = fields.names.seeing(of)
        called = {own: name for name, own in names.others(of)}
        notes = [
            f"has `{name}`, which stream `{self.source}` reads as `{own}`"
            for own, name in called.items()
            if fields.called.get(own) != name
        ]
        return TableFields(names, partitions, version, called), notes

    def keys(
        self, values: Mapping[str, str | None], fields: TableFields, **of_record: str
    ) -> Mapping[str, str | None]:
        """Returns the values of a file that are not in its columns, by the names of the stream: values of partitions,
        and fields of its record, such as the schema."""
        names = None if fields.names.names is None else dict(fields.names.names)
        keys: dict[str, str | None] = {}
        for column, value in values.items():
            key = fields.partitions[column].key if column in fields.partitions else column
            if (name := key if names is None else names.get(key)) is not None:
                keys[name] = value
        return {**keys, **{path_of(RECORD, name)[0]: value for name, value in of_record.items()}}

    def missing(self, what: str, hint: str) -> DiagnosticError:
        """Returns RQ439: the table does not exist."""
        message = f"{self.table}, which stream `{self.source}` reads, is not {what}"
        return failure("RQ439", message, hint=f"{hint}; a table without rows is fine")

    def refused(self, why: str, hint: str) -> DiagnosticError:
        """Returns RQ472: files of the table do not show its rows."""
        return failure("RQ472", f"{self.table}, which stream `{self.source}` reads, {why}", hint=hint)

    def gone(self, version: int, entry: LogEntry) -> DiagnosticError:
        """Returns RQ439: versions after one, and before an entry, have left the log before they were read."""
        which, stream = self.between(version, entry), f"stream `{self.source}`"
        message = f"{which} left the log of {self.table} before {stream} has read them"
        hint = f"a new checkpoint, with other outputs; {self.kept_by} keeps the log for longer"
        return failure("RQ439", message, hint=hint)

    def between(self, version: int, entry: LogEntry) -> str:
        """Returns the versions between one and an entry in words."""
        first, last = version + 1, entry.version - 1
        return f"version {first} has" if first == last else f"versions {first} to {last} have"

    def other(self) -> DiagnosticError:
        """Returns RQ452: the table is not the one that was read before."""
        message = f"{self.table} of stream `{self.source}` is not the table that was read: its id is another"
        return failure("RQ452", message, hint="that table; or a new checkpoint with other outputs")

    def changed(self, version: int, what: str) -> DiagnosticError:
        """Returns RQ438: a version does more than add rows."""
        message = f"{self.word} {version} of {self.table} {what} that stream `{self.source}` may have read"
        hint = (
            "`--set gaps=skip` continues after it: rows that were read remain, and rows that it adds are not read; "
            "a new checkpoint, with other outputs, reads the current table"
        )
        return failure("RQ438", message, hint=hint)


def moment_text(text: str) -> str:
    """Returns the text of a moment in UTC, `2020-01-01 10:00:00`, as ISO 8601 has it."""
    return text if text.endswith("Z") else f"{text.replace(' ', 'T', 1)}Z"
