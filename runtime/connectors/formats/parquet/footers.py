"""Reads the footers of Parquet files: columns, rows, the values of columns, and the possible presence of markers.

The driver reads some kilobytes of each file, without a job of the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any

from attrs import field, frozen
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, NullType, StringType

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.parquet.types import (
    Column,
    Settings,
    columns_of,
    has_halves,
    repeated,
)
from cedilla.runtime.connectors.records.field_names import OWN_NAMES, FieldNames
from cedilla.runtime.connectors.records.foreign import DAMAGED, UNREADABLE_HINT, Unreadable, damage_told
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.storage.parquet import (
    ColumnStatistics,
    Metadata,
    RowGroup,
    own_metadata,
    read_metadata,
    row_groups_of,
    values_of,
)

MARKERS = ("$accent", "$punctuation")
REPEATED = "RQ319"
"""The code of a file with two columns of one name."""
REPEATED_HINT = "replace the file by one whose columns have different names, and run again"
THREADS = 8
"""Number of files that are read in parallel."""
_MAX_STATISTICS = 20_000
"""Maximum number of column chunks of a file whose statistics are read, about 0.1 s."""


@frozen
class Footer:
    """The contents of a file's footer.

    `columns`: name -> type. `ranges`: name -> values, if statistics give them. `marked`: the file may contain a marker.
    `problem`: the reason why the file cannot be read, with its `code` and `hint`; the rest is then empty. `groups`: its
    row groups. `has_halves`: it has half floats, so no scan of the engine reads it. `stored`: the names in the file of
    columns that have another one in the stream, under which `columns` and `ranges` have them. `plain`: the columns that
    Sail reads like Spark.
    """

    rows: int = 0
    columns: Mapping[str, DataType] = {}
    ranges: Mapping[str, ColumnStatistics] = {}
    marked: bool = False
    problem: str | None = None
    code: str = DAMAGED
    hint: str = UNREADABLE_HINT
    groups: tuple[RowGroup, ...] = field(default=(), repr=False)
    has_halves: bool = False
    stored: Mapping[str, str] = {}
    plain: frozenset[str] = frozenset()

    def column(self, name: str) -> str:
        """Returns the name in the file of a column of the stream."""
        return self.stored.get(name, name)


def row_count(files: Files, file: FoundFile) -> int:
    """Returns the number of rows of a file of an output from its footer."""
    return own_metadata(files, file).num_rows


def read_footers(spark: SparkSession, paths: Sequence[str], names: FieldNames = OWN_NAMES) -> list[Footer]:
    """Returns the footer of each file. `names`: those that columns have in the stream."""
    read = partial(_read, Files(), _settings(spark), names)
    if len(paths) <= 1:
        return [read(path) for path in paths]
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(read, paths))


@lru_cache(maxsize=1)
def _settings(spark: SparkSession) -> Settings:
    """Returns the session's settings; cached, because each one costs a message to the engine."""
    return Settings(
        _is_set(spark, "spark.sql.legacy.parquet.nanosAsLong", "false"),
        _is_set(spark, "spark.sql.parquet.binaryAsString", "false"),
        _is_set(spark, "spark.sql.parquet.inferTimestampNTZ.enabled", "true"),
    )


def _is_set(spark: SparkSession, name: str, default: str) -> bool:
    return str(spark.conf.get(name, default)).lower() == "true"


def _read(files: Files, settings: Settings, names: FieldNames, path: str) -> Footer:
    try:
        metadata = read_metadata(files, path)
    except Unreadable as error:
        return Footer(problem=f"it is not a Parquet file, or cut off ({error})")
    except DiagnosticError as error:
        refused = error.diagnostics[0]
        problem = refused.message.removeprefix(f"{path}: ").replace(path, "it")
        hint = refused.help or UNREADABLE_HINT
        return Footer(problem=problem, code=refused.code, hint=hint)
    try:
        with damage_told():
            return _footer(metadata, columns_of(metadata.schema, settings), names)
    except Unreadable as error:
        return Footer(problem=f"its footer is damaged ({error})")


def _footer(metadata: Metadata, columns: Mapping[str, Column], names: FieldNames) -> Footer:
    if (name := _repeated(metadata.schema)) is not None:
        return Footer(problem=f"two of its columns have the name `{name}`", code=REPEATED, hint=REPEATED_HINT)
    stored: Mapping[str, str] = {}
    if names != OWN_NAMES:
        try:
            own = names.columns(metadata.schema.to_arrow_schema())
        except Unreadable as error:
            return Footer(problem=str(error))
        columns = {name: columns[column] for column, name in own.items()}
        stored = {name: column for column, name in own.items() if column != name}
    kinds = {name: column.kind for name, column in columns.items()}
    for name in MARKERS:
        if not isinstance(kind := kinds.get(name, StringType()), StringType | NullType):
            return Footer(problem=f"its column `{name}` is {kind.simpleString()}, and has to be string")
    marked = any(
        _has_values(metadata, columns[name].leaf)
        for name in MARKERS
        if isinstance(kinds.get(name), StringType)
    )
    ranges: dict[str, ColumnStatistics] = {}
    if metadata.num_row_groups * metadata.num_columns <= _MAX_STATISTICS:
        for name, column in columns.items():
            if name in MARKERS or column.leaf is None:
                continue
            if metadata.num_row_groups and (values := values_of(metadata, column.leaf)) is not None:
                ranges[name] = values
    return Footer(
        metadata.num_rows,
        kinds,
        ranges,
        marked,
        groups=row_groups_of(metadata),
        has_halves=has_halves(metadata.schema),
        stored=stored,
        plain=frozenset(name for name, column in columns.items() if column.is_plain),
    )


def _repeated(schema: Any) -> str | None:
    """Returns a name that two columns of a schema have, if Arrow can read the schema."""
    try:
        with damage_told():
            return repeated(schema.to_arrow_schema())
    except Unreadable:
        return None


def _has_values(metadata: Metadata, leaf: int | None) -> bool:
    """Returns True if a column may have a value that is not null, by the counts of nulls in statistics."""
    values = None if leaf is None else values_of(metadata, leaf)
    return values is None or values.nulls < metadata.num_rows
