"""Reads the log of a Delta table: for streams that read a growing table, and for the page, which shows the newest rows
of an output.

A version is one file of JSON Lines, named by its number, that appears as a whole (Delta's protocol, "Delta Log
Entries"). With column mapping, files know a field by its id or by a name of their own ("Column Mapping").
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import unquote

import pyarrow as pa
from attrs import evolve, frozen

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.formats.parquet.table_log import (
    FIRST,
    Added,
    LogEntry,
    Partition,
    TableFields,
    TableLog,
    moment_text,
)
from cedilla.runtime.connectors.records.field_names import OWN_NAMES, Field, FieldNames
from cedilla.runtime.connectors.records.foreign import json_value
from cedilla.runtime.connectors.storage.delta import EPOCH_KEY, opened_table, table_refusals
from cedilla.runtime.connectors.storage.files import FoundFile, name_of

_ENTRY = re.compile(r"(\d{20})\.json")
_FEATURES = frozenset(
    {
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "columnMapping",
    }
)
"""Features that a reader of plain files supports; for some, the entries show if a table uses them."""
_MAPPING = "delta.columnMapping."


@frozen
class DeltaLog(TableLog):
    """The log of a Delta table."""

    format: ClassVar[str] = "delta"
    kept_by: ClassVar[str] = "`delta.logRetentionDuration`"

    def entries(self) -> list[LogEntry]:
        named = ((_ENTRY.fullmatch(name_of(f.path)), f) for f in self.files.list(f"{self.table}/_delta_log"))
        numbered = sorted(((int(n[1]), f) for n, f in named if n), key=lambda entry: entry[0])
        if not numbered:
            raise self.missing("a Delta table: it has no log", "the folder that contains `_delta_log`")
        return [LogEntry(number, number - 1, file.modified, file.path) for number, file in numbered]

    def identity(self, entries: Sequence[LogEntry]) -> str | None:
        with self._of_version(entries[0]):
            ids = ((action.get("metaData") or {}).get("id") for action in self._actions(entries[0]))
            return next((str(id_) for id_ in ids if id_), None)

    def present(self, entries: Sequence[LogEntry]) -> TableFields:
        for entry in reversed(entries):
            with self._of_version(entry):
                listed = [a["metaData"] for a in self._actions(entry) if a.get("metaData")]
                if listed:
                    return self._with_metadata(TableFields(), entries[-1].version, listed[-1])[0]
        if entries[0].parent == FIRST:
            return TableFields()
        opened = opened_table(self.table, entries[-1].version)
        with table_refusals(self.table), self._of_version(entries[-1]):
            return self._with_metadata(TableFields(), entries[-1].version, _metadata_of(opened))[0]

    def added(self, entry: LogEntry, fields: TableFields) -> Added:
        notes: list[str] = []
        with self._of_version(entry):
            actions = [*self._actions(entry)]
            for action in actions:
                self._check(action.get("protocol") or {})
                if metadata := action.get("metaData"):
                    fields, more = self._with_metadata(fields, entry.version, metadata)
                    notes += more
            changes = [(kind, a[kind]) for a in actions for kind in ("add", "remove") if a.get(kind)]
            adds = [a for kind, a in changes if kind == "add" and a["dataChange"]]
            removed = any(kind == "remove" and a.get("dataChange", True) for kind, a in changes)
            files = [
                self._listed_file(
                    a["path"],
                    entry.modified,
                    a["size"],
                    self._keys_of(a.get("partitionValues"), fields, entry),
                )
                for a in adds
            ]
        change = None
        if removed:
            change = "rewrites rows" if files else "deletes rows"
        elif any(a.get("deletionVector") for a in adds):
            change = "deletes rows"
        return Added(files, change, fields, notes)

    def epochs(self) -> Iterator[tuple[int, list[FoundFile]]]:
        """Yields the epochs that a run has written as versions of the table, newest first, with their files that are
        still there: who compacts the table removes them. Raises `DiagnosticError` RQ439."""
        for entry in reversed(self.entries()):
            with self._of_version(entry):
                actions = [*self._actions(entry)]
                infos = [action["commitInfo"] for action in actions if action.get("commitInfo")]
                numbers = [int(info[EPOCH_KEY]) for info in infos if EPOCH_KEY in info]
                adds = [action["add"] for action in actions if numbers and action.get("add")]
                added = [self._listed_file(add["path"], entry.modified, add["size"]) for add in adds]
            if numbers:
                yield numbers[0], [file for file in added if self.files.exists(file.path)]

    def snapshot(self, entry: LogEntry, fields: TableFields) -> tuple[list[FoundFile], TableFields]:
        opened = opened_table(self.table, entry.version)
        with table_refusals(self.table):
            metadata = _metadata_of(opened)
            added = pa.table(opened.get_add_actions(flatten=False)).to_pylist()
            has_deletions = any(batch.num_rows for batch in opened.deletion_vectors())
        if has_deletions:
            raise self.refused(
                f"has lost its first versions, and its files in version {entry.version} contain rows that are deleted",
                "`REORG TABLE ... APPLY (PURGE)` writes them without these rows; then a new checkpoint",
            )
        with self._of_version(entry):
            fields, _ = self._with_metadata(fields, entry.version, metadata)
            in_log = {of.name: name for name, of in fields.partitions.items()}
            files: list[FoundFile] = []
            for add in added:
                values = {in_log[name]: _text(value) for name, value in (add.get("partition") or {}).items()}
                keys = self._keys_of(values, fields, entry)
                files.append(
                    self._listed_file(add["path"], add["modification_time"], add["size_bytes"], keys)
                )
            return files, fields

    def _actions(self, entry: LogEntry) -> Iterator[Any]:
        lines = self.files.read(entry.path).split("\n")
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

    def _listed_file(
        self, path: str, modified: int, size: Any, keys: Mapping[str, str | None] | None = None
    ) -> FoundFile:
        """Returns a file of the table. Raises `ValueError` for a path or a size that no file has."""
        name = unquote(path)
        if not name or b"\0" in os.fsencode(name):
            raise ValueError(f"{path!r} is not the path of a file")
        if type(size) is not int or not 0 <= size < 2**63:
            raise ValueError(f"{path} has no size")
        whole = name if re.match(r"[a-zA-Z][\w+.-]*:/|/", name) else f"{self.table}/{name}"
        self.files.check_inside(whole, self.table)
        return FoundFile(self.files.absolute(whole), modified, size, keys)

    def _keys_of(
        self, values: Mapping[str, Any] | None, fields: TableFields, entry: LogEntry
    ) -> Mapping[str, str | None]:
        """Returns the values of partitions as texts of the stream's fields; an empty text is null."""
        texts: dict[str, str | None] = {}
        for name, value in (values or {}).items():
            text = None if value is None or value == "" else str(value)
            is_moment = name in fields.partitions and fields.partitions[name].type.startswith("timestamp")
            texts[name] = moment_text(text) if text is not None and is_moment else text
        return self.keys(texts, fields, version=str(entry.version))

    def _with_metadata(
        self, fields: TableFields, version: int, metadata: Mapping[str, Any]
    ) -> tuple[TableFields, list[str]]:
        """Returns the fields after a version with metadata, and notes on names. Raises `DiagnosticError` RQ472 if the
        table no longer says which column is which."""
        mode = metadata.get("configuration", {}).get(f"{_MAPPING}mode", "none")
        if mode not in ("none", "name", "id"):
            raise self.refused(f"has the column mapping `{mode}`", "the mapping `name` or `id`")
        schema = metadata.get("schemaString")
        of = [_field(stored, mode) for stored in json_value(schema)["fields"]] if schema else []
        kinds = {name: (own, kind) for name, own, kind in of}
        columns = metadata.get("partitionColumns") or ()
        partitions = {
            name: Partition(own.key, own.name, kind)
            for name, (own, kind) in kinds.items()
            if own.name in columns
        }
        is_mapped = fields.names.names is not None
        if version <= fields.up_to:  # the names are those of a later version
            return evolve(fields, partitions=partitions), []
        if mode == "none":
            if is_mapped:
                raise self.refused(
                    "has given up its column mapping, so its files do not say which field was which",
                    "a new checkpoint, with other outputs",
                )
            return TableFields(OWN_NAMES, partitions, version), []
        own_fields = [own for _, own, _ in of]
        if not is_mapped:
            names = FieldNames.of(own_fields, by_id=mode == "id")
            return TableFields(names, partitions, version), []
        return self.next_fields(fields, version, own_fields, partitions)

    def _check(self, protocol: Mapping[str, Any]) -> None:
        """Raises `DiagnosticError` RQ472 if a table asks its readers for more than this one has."""
        if unknown := sorted(set(protocol.get("readerFeatures") or ()) - _FEATURES):
            which = ", ".join(unknown)
            hint = f"`ALTER TABLE ... DROP FEATURE {unknown[0]}`; or a table without it, which a job fills"
            raise self.refused(f"asks for {which}, which Cedilla does not know", hint)


def _field(stored: Mapping[str, Any], mode: str) -> tuple[str, Field, str]:
    """Returns a field of a schema: the name that the log uses for it, the field, and its type."""
    metadata = stored.get("metadata") or {}
    name, kind = stored["name"], stored["type"]
    physical, id_ = metadata.get(f"{_MAPPING}physicalName", name), str(metadata.get(f"{_MAPPING}id", ""))
    key = id_ if mode == "id" else name if mode == "none" else physical
    return key if mode == "none" else physical, Field(key, id_, name), kind if isinstance(kind, str) else ""


def _metadata_of(opened: Any) -> Mapping[str, Any]:
    """Returns the metadata of a table that the library has opened, as an entry of a log has it."""
    metadata = opened.metadata()
    return {
        "configuration": metadata.configuration,
        "partitionColumns": metadata.partition_columns,
        "schemaString": opened.schema().to_json(),
    }


def _text(value: Any) -> str | None:
    """Returns a value of a partition as an entry of a log has it."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case datetime():
            return value.replace(tzinfo=None).isoformat()
        case _:
            return str(value)
