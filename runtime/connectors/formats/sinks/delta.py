"""A Delta table as a sink: the number of an epoch is the transaction id of its version."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pyarrow as pa

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.sinks.table import TableSink, plain_type
from cedilla.runtime.connectors.storage.delta import (
    EPOCH_KEY,
    load_deltalake,
    opened_table,
    storage_options,
    table_refusals,
)

_WRITER = "cedilla"
"""The application id of the table's transactions."""


class DeltaSink(TableSink):
    """An epoch is one version of the table."""

    format: ClassVar[str] = "delta"

    @classmethod
    def check_library(cls) -> None:
        load_deltalake()

    def types_of(self, table: str) -> Mapping[str, object]:
        opened = opened_table(table)
        fields = [] if opened is None else json.loads(opened.schema().to_json())["fields"]
        return {field["name"]: plain_type(field["type"]) for field in fields}

    def last_of(self, table: str) -> int | None:
        opened = opened_table(table)
        return None if opened is None else opened.transaction_version(_WRITER)

    def append(self, table: str, number: int, rows: Callable[[], pa.RecordBatchReader]) -> None:
        def append(commit: Any) -> None:
            load_deltalake().write_deltalake(
                table,
                rows(),
                mode="append",
                schema_mode="merge",
                commit_properties=commit,
                name=self._relation,
                storage_options=storage_options(table),
            )

        self._commit(table, number, append)

    def put(self, table: str, number: int, rows: Callable[[], pa.RecordBatchReader]) -> None:
        put = self.merge if self._latest else self.append
        put(table, number, rows)

    def merge(self, table: str, number: int, rows: Callable[[], pa.RecordBatchReader]) -> None:
        """Puts rows in the place of those with the same keys, in one version."""
        opened = opened_table(table)
        if opened is None:
            self.append(table, number, rows)
            return
        agree = " AND ".join(
            f"(old.{_quoted(name)} IS NOT DISTINCT FROM new.{_quoted(name)})" for name in self._latest
        )

        def merge(commit: Any) -> None:
            opened.merge(
                _with_all_columns(rows(), opened),
                agree,
                source_alias="new",
                target_alias="old",
                merge_schema=True,
                commit_properties=commit,
            ).when_matched_update_all().when_not_matched_insert_all().execute()

        self._commit(table, number, merge)

    def _commit(self, table: str, number: int, write: Callable[[Any], None]) -> None:
        """Writes an epoch as one version of a table."""
        deltalake = load_deltalake()
        commit = deltalake.CommitProperties(
            app_transactions=[deltalake.Transaction(_WRITER, number)],
            custom_metadata={EPOCH_KEY: str(number)},
        )
        try:
            with table_refusals(table):
                write(commit)
        except DiagnosticError:
            # A store may have written the version although its answer was lost; the retry is then refused as a
            # duplicate.
            last = self.last_of(table)
            if last is None or last < number:
                raise


def _with_all_columns(rows: pa.RecordBatchReader, opened: Any) -> pa.RecordBatchReader:
    """Returns rows with null in the columns of a table that they lack, or values of earlier rows would stay."""
    lacking = [
        field for field in pa.schema(opened.schema().to_arrow()) if field.name not in rows.schema.names
    ]
    schema = pa.schema([*rows.schema, *lacking])

    def whole(batch: pa.RecordBatch) -> pa.RecordBatch:
        nulls = (pa.nulls(batch.num_rows, field.type) for field in lacking)
        return pa.RecordBatch.from_arrays([*batch.columns, *nulls], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, map(whole, rows))


def _quoted(name: str) -> str:
    """Returns a name as the library's SQL takes it."""
    return f'"{name.replace(chr(34), chr(34) * 2)}"'
