"""Gives tuples the values of the keys in the paths of their files, from a small table by the number of the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import Type, column, quote
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import POSITION
from cedilla.runtime.connectors.formats.lines.batches import arrow_value
from cedilla.runtime.connectors.formats.lines.tuple_statistics import AXES
from cedilla.runtime.connectors.formats.source import (
    CORRUPT,
    Batch,
    FileStatistics,
    InputFile,
    Members,
    StatisticsByFile,
    Types,
)
from cedilla.runtime.connectors.records.arrow_types import arrow_type
from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.connectors.records.nested import Paths
from cedilla.runtime.connectors.records.path_keys import Keys, key_values, keys_in, may_have_keys
from cedilla.runtime.connectors.records.rejections import OTHER_KEY
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.parquet import ColumnStatistics
from cedilla.runtime.engines.spark.frames import in_one_part, of_table

_FILE, _BAD = "$key file", "$key fault"


def keys_of_files(files: Files, source: Source, part: tuple[InputFile, ...]) -> dict[int, Keys]:
    """Returns the keys of a source's files, in their paths or in the log of a table, by the numbers of the files that
    have some."""
    if source.format_kind.is_table:
        return {number: file.keys for number, file in enumerate(part) if file.keys}
    if not may_have_keys(source) or not any("=" in file.path for file in part):
        return {}
    folder = files.absolute(source.path)
    by_number = ((n, keys_in(folder, file.path)) for n, file in enumerate(part) if not file.is_markers)
    return {number: keys for number, keys in by_number if keys}


@frozen
class PathKeys:
    """The fields of a slice that are keys in paths. `values`: number of a file -> field -> its value, as Arrow takes
    it; `faults`: the files with a value that is not of the field's type, with the reason."""

    types: Types
    values: Mapping[int, Mapping[str, Any]] = field(factory=dict[int, Mapping[str, Any]])
    faults: Mapping[int, str] = field(factory=dict[int, str])

    @classmethod
    def of(cls, keys: Mapping[int, Keys], types: Types, paths: Paths) -> PathKeys:
        """Returns the keys of files that are fields of these types."""
        values: dict[int, dict[str, Any]] = {}
        faults: dict[int, str] = {}
        for number, of_file in keys.items():
            for name, value, fault in key_values(of_file, types, paths):
                try:
                    values.setdefault(number, {})[name] = arrow_value(types[name], value)
                except ValueError:
                    faults.setdefault(number, fault)
        names = set[str]().union(*values.values())
        return cls({name: type_ for name, type_ in types.items() if name in names}, values, faults)

    def __bool__(self) -> bool:
        return bool(self.types or self.faults)

    def batch(self, spark: SparkSession, batch: Batch) -> Batch:
        """Returns the tuples of a batch with these values, which no scan knows."""
        rows = in_one_part(spark, batch.rows) if isinstance(batch.rows, pa.Table) else batch.rows

        def members() -> Members:
            return {name: counts for name, counts in batch.members().items() if name not in self.types}

        return evolve(
            batch,
            rows=self.frame(spark, rows),
            statistics=None if batch.statistics is None else self._statistics(batch.statistics),
            members=members,
            narrowed=None,
            unplaced=None,
        )

    def frame(self, spark: SparkSession, rows: DataFrame) -> DataFrame:
        """Returns tuples, as of `Format.tuples`, with these values. A tuple with another value of its own is
        corrupt."""
        numbers = [*dict.fromkeys((*self.values, *self.faults))]
        columns = [pa.array(numbers, pa.int32()), pa.array(map(self.faults.get, numbers), pa.string())]
        for name, type_ in self.types.items():
            values = [self.values.get(number, {}).get(name) for number in numbers]
            columns.append(pa.array(values, arrow_type(type_)))
        table = pa.table(columns, [_FILE, _BAD, *map(_key, self.types)])
        file = f"CAST({column(POSITION)} div {NEXT_FILE}L AS INT)"
        joined = rows.join(F.broadcast(of_table(spark, table)), F.expr(f"{file} = {column(_FILE)}"), "left")
        chosen = [self._chosen(name) for name in rows.columns if name != CORRUPT]
        return joined.selectExpr(*chosen, f"{self._corrupt()} AS {column(CORRUPT)}")

    def _chosen(self, name: str) -> str:
        if name not in self.types:
            return column(name)
        return f"coalesce({column(name)}, {column(_key(name))}) AS {column(name)}"

    def _corrupt(self) -> str:
        differing = (
            f"WHEN {column(name)} <> {column(_key(name))} THEN {quote(f'{OTHER_KEY} {name}')}"
            for name in self.types
        )
        differs = f"CASE {' '.join(differing)} END" if self.types else "CAST(NULL AS STRING)"
        return f"coalesce({column(CORRUPT)}, {column(_BAD)}, {differs})"

    def _statistics(self, statistics: StatisticsByFile) -> StatisticsByFile | None:
        """Returns the statistics of files with these values; `None` if some tuple may be corrupt."""
        by_file: dict[int, FileStatistics] = {}
        for number, file in statistics.items():
            values = self.values.get(number, {})
            own = (file.ranges.get(name) for name in values)
            if number in self.faults or any(of is None or of.nulls < file.rows for of in own):
                return None
            ranges = {name: _range(value, self.types[name]) for name, value in values.items()}
            by_file[number] = evolve(file, ranges={**file.ranges, **ranges})
        return by_file


def _key(name: str) -> str:
    return f"$key {name}"


def _range(value: Any, type_: Type) -> ColumnStatistics:
    at = value if type_.name in AXES else None
    return ColumnStatistics(0, at, at)
