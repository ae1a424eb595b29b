"""Parts of files that tasks of the engine, or the driver, read separately."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

import pyarrow as pa
from attrs import frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from cedilla.runtime.engines.spark.workers import in_workers

P = TypeVar("P")


@frozen
class PartReader(ABC, Generic[P]):
    """Makes rows of parts. Tasks get it and call it with batches of part numbers. `schema`: that of the rows."""

    parts: tuple[P, ...]
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            yield from self.of_part(self.parts[number], number)

    @abstractmethod
    def of_part(self, part: P, number: int) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a part, in batches that are not empty: Spark takes an empty batch for the last one and
        ignores the rest."""

    def frame(self, spark: SparkSession) -> DataFrame:
        """Returns the rows of all parts, one task for each part; in no order."""
        count = len(self.parts)
        return in_workers(spark.range(0, count, 1, count), self, from_arrow_schema(self.schema))


@frozen
class FewRows(PartReader[P]):
    """Makes few rows for each part, as tuples of their values."""

    @abstractmethod
    def rows(self, part: P, number: int) -> Iterable[tuple[Any, ...]]:
        """Returns the rows of a part."""

    def of_part(self, part: P, number: int) -> Iterator[pa.RecordBatch]:
        if rows := list(self.rows(part, number)):
            columns = zip(*rows, strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, self.schema, strict=True)]
            yield pa.record_batch(arrays, schema=self.schema)

    def all(self, spark: SparkSession, *, by_driver: bool) -> list[Any]:
        """Returns the rows of all parts, read by the driver or by tasks."""
        if by_driver:
            return [row for number, part in enumerate(self.parts) for row in self.rows(part, number)]
        return [tuple(row) for row in self.frame(spark).collect()]
