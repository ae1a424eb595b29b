"""Reads the snapshots of an Iceberg table in their order: the data files that each has added.

Files know a field by its id (Iceberg's specification, "Column Projection"). The history of a table is that of its
branch `main`: each snapshot names the one before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from attrs import evolve, field, frozen

from cedilla.runtime.connectors.formats.parquet.table_log import (
    FIRST,
    Added,
    LogEntry,
    TableFields,
    TableLog,
    TablePosition,
    moment_text,
)
from cedilla.runtime.connectors.records.field_names import Field, FieldNames
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import FoundFile
from cedilla.runtime.connectors.storage.iceberg import IcebergTable, iceberg_refusals, opened_iceberg

_NAME_MAPPING = "schema.name-mapping.default"
"""The property with the ids of columns in files that do not have them."""


@frozen
class IcebergLog(TableLog):
    """The snapshots of an Iceberg table."""

    format: ClassVar[str] = "iceberg"
    kept_by: ClassVar[str] = "`history.expire.max-snapshot-age-ms`"
    word: ClassVar[str] = "snapshot"

    _last: list[IcebergTable] = field(init=False, factory=list[IcebergTable], eq=False, repr=False)
    """The table at the last look, if there was one."""

    def entries(self) -> list[LogEntry]:
        opened = opened_iceberg(self.files, self.table, self._last[0] if self._last else None)
        if opened is None:
            raise self.missing(
                "an Iceberg table", "the folder that contains `metadata`, or `CATALOG:NAMESPACE.TABLE`"
            )
        self._last[:] = [opened]
        snapshots = {of.snapshot_id: of for of in opened.metadata.snapshots}
        chain: list[LogEntry] = []
        of = snapshots.get(opened.metadata.current_snapshot_id)
        while of is not None:
            parent = FIRST if of.parent_snapshot_id is None else of.parent_snapshot_id
            chain.append(LogEntry(of.snapshot_id, parent, of.timestamp_ms, order=of.sequence_number or 0))
            of = snapshots.get(parent)
        return [*reversed(chain)]

    def identity(self, entries: Sequence[LogEntry]) -> str | None:
        return str(self._table.metadata.table_uuid)

    def present(self, entries: Sequence[LogEntry]) -> TableFields:
        metadata = self._table.metadata
        names = FieldNames.of(self._fields(metadata.schema()), by_id=True)
        mapping = json.loads(metadata.properties.get(_NAME_MAPPING, "[]"))
        by_column = tuple(
            (name, str(of["field-id"])) for of in mapping for name in of["names"] if "field-id" in of
        )
        last = max(schema.schema_id for schema in metadata.schemas)
        return TableFields(evolve(names, by_column=by_column), {}, last)

    def is_cut(self, first: LogEntry) -> bool:
        """Some libraries take the name of an expired snapshot out of the next one, which then looks like the first."""
        return True

    def follows(self, entry: LogEntry, at: TablePosition) -> bool:
        is_next = entry.parent == FIRST and 0 < entry.order == at.order + 1
        return is_next or super().follows(entry, at)

    def unread(self, at: TablePosition, entries: Sequence[LogEntry]) -> list[LogEntry]:
        versions = [entry.version for entry in entries]
        return [*entries[versions.index(at.version) + 1 :]] if at.version in versions else [*entries]

    def taken_back(self, at: TablePosition, entries: Sequence[LogEntry]) -> str | None:
        history = {of for entry in entries for of in (entry.version, entry.parent)}
        is_there = any(of.snapshot_id == at.version for of in self._table.metadata.snapshots)
        if at.version == FIRST or at.version in history or not is_there:
            return None
        return "is no longer in the history of the table, which so takes back rows"

    def added(self, entry: LogEntry, fields: TableFields) -> Added:
        from pyiceberg.manifest import ManifestContent, ManifestEntryStatus
        from pyiceberg.table.snapshots import Operation

        with iceberg_refusals(self.table):
            snapshot = self._table.metadata.snapshot_by_id(entry.version)
            schema = self._schema(snapshot.schema_id)
            fields, notes = self._seeing(fields, schema)
            if snapshot.summary is not None and snapshot.summary.operation is Operation.REPLACE:
                return Added((), None, fields, notes)
            files: list[FoundFile] = []
            removes = False
            for manifest, of in self._manifest_entries(snapshot):
                if of.snapshot_id != entry.version or of.status == ManifestEntryStatus.EXISTING:
                    continue
                if manifest.content == ManifestContent.DELETES or of.status == ManifestEntryStatus.DELETED:
                    removes = True
                else:
                    files.append(
                        self._file(of.data_file, manifest, fields, entry.version, schema, entry.modified)
                    )
        change = None if not removes else "rewrites rows" if files else "deletes rows"
        return Added(files, change, fields, notes)

    def snapshot(self, entry: LogEntry, fields: TableFields) -> tuple[list[FoundFile], TableFields]:
        from pyiceberg.manifest import ManifestContent, ManifestEntryStatus

        with iceberg_refusals(self.table):
            schema_ids = {of.snapshot_id: of.schema_id for of in self._table.metadata.snapshots}
            snapshot = self._table.metadata.snapshot_by_id(entry.version)
            listed = [
                (manifest, of)
                for manifest, of in self._manifest_entries(snapshot)
                if of.status != ManifestEntryStatus.DELETED
            ]
            if any(manifest.content == ManifestContent.DELETES for manifest, _ in listed):
                raise self.refused(
                    f"has lost its first snapshots, and deletes rows of the files of snapshot {entry.version}",
                    "`CALL ... rewrite_data_files` with `delete-file-threshold` 1; then a new checkpoint",
                )
            last = max((of.sequence_number or 0 for _, of in listed), default=0)
            files: list[FoundFile] = []
            for manifest, of in listed:
                own = schema_ids.get(of.snapshot_id)
                schema = None if own is None else self._schema(own)
                # Older files are earlier; a sequence number counts as a millisecond.
                moment = entry.modified - (last - (of.sequence_number or 0))
                files.append(self._file(of.data_file, manifest, fields, of.snapshot_id, schema, moment))
            return files, fields

    def between(self, version: int, entry: LogEntry) -> str:
        return f"snapshots between {version} and {entry.version} have"

    @property
    def _table(self) -> IcebergTable:
        return self._last[0]

    def _schema(self, number: int | None) -> Any:
        """Returns a schema by its id, which tables of the first version of the format do not have."""
        metadata = self._table.metadata
        return next((of for of in metadata.schemas if of.schema_id == number), metadata.schema())

    def _seeing(self, fields: TableFields, schema: Any) -> tuple[TableFields, list[str]]:
        if schema.schema_id <= fields.up_to:
            return fields, []
        return self.next_fields(fields, schema.schema_id, self._fields(schema), {})

    def _fields(self, schema: Any) -> list[Field]:
        """Returns the fields of a schema. Raises `DiagnosticError` RQ472 for one whose value files may not have."""
        for of in schema.fields:
            if of.initial_default is not None:
                raise self.refused(
                    f"has the initial default {of.initial_default} of `{of.name}`, which older files do not have",
                    "a table without initial defaults, which a job fills",
                )
        return [Field(str(of.field_id), str(of.field_id), of.name) for of in schema.fields]

    def _manifest_entries(self, snapshot: Any) -> Iterator[tuple[Any, Any]]:
        """Yields the entries of a snapshot, each with its manifest."""
        for manifest in snapshot.manifests(self._table.io):
            for of in manifest.fetch_manifest_entry(self._table.io, discard_deleted=False):
                yield manifest, of

    def _file(
        self, of: Any, manifest: Any, fields: TableFields, version: int, schema: Any, modified: int
    ) -> FoundFile:
        """Returns a data file. Raises `DiagnosticError`: RQ472 if it is not Parquet, RQ484."""
        if of.file_format.name != "PARQUET":
            hint = "`write.format.default = parquet`; then a new table, which a job fills"
            raise self.refused(f"has files in {of.file_format.name.title()}, and Parquet is read", hint)
        local = local_path(of.file_path)
        path = of.file_path if local is None else str(local)
        self.files.check_inside(path, self._table.metadata.location)
        of_record = {} if schema is None else {"schema": str(schema.schema_id)}
        values = self._partition(of, self._table.metadata.specs()[manifest.partition_spec_id])
        keys = self.keys(values, fields, **of_record, snapshot=str(version))
        return FoundFile(self.files.absolute(path), modified, of.file_size_in_bytes, keys)

    def _partition(self, of: Any, spec: Any) -> Mapping[str, str | None]:
        """Returns the values that a table has taken out of a file, as texts by the ids of fields. If the file has a
        value, too, that one counts (specification, "Column Projection"); metrics say so."""
        from pyiceberg.transforms import IdentityTransform

        values: dict[str, str | None] = {}
        in_file = {*(of.value_counts or ()), *(of.column_sizes or ())}
        for number, part in enumerate(spec.fields):
            is_whole = isinstance(part.transform, IdentityTransform) and part.source_id not in in_file
            if is_whole and (kind := self._type(part.source_id)) is not None:
                value = of.partition[number]
                text = None if value is None else part.transform.to_human_string(kind, value)
                is_moment = text is not None and str(kind) == "timestamp"
                values[str(part.source_id)] = moment_text(text) if is_moment and text else text
        return values

    def _type(self, number: int) -> Any:
        """Returns the newest type of a field by its id; `None` for a field of a structure."""
        for schema in reversed(self._table.metadata.schemas):
            with suppress(StopIteration):
                return next(of.field_type for of in schema.fields if of.field_id == number)
        return None
