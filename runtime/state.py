"""State of stateful operators: canonical rows in Parquet segments under the checkpoint (design, section 5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from attrs import frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.runtime.files import Files

_MANY_SEGMENTS = 8
"""A state of more segments is rewritten as one, without what is purged."""


@frozen
class Segment:
    """Rows that one epoch added; `schema` as a Spark DDL text."""

    path: str
    schema: str


class StateStore:
    """The segments of every state, by key. Changes are real once an epoch commits `segments`."""

    def __init__(self, spark: SparkSession, files: Files, root: str) -> None:
        self._spark = spark
        self._files = files
        self._root = root
        self.segments: dict[str, tuple[Segment, ...]] = {}

    def read(self, key: str) -> DataFrame | None:
        """All rows of a state, `None` where there never were any. Columns that a segment lacks are null."""
        frames = [
            self._spark.read.schema(schema).parquet(*paths) for schema, paths in self._by_schema(key).items()
        ]
        return reduce(_stacked, frames) if frames else None

    def _by_schema(self, key: str) -> dict[str, list[str]]:
        grouped: dict[str, list[str]] = {}
        for segment in self.segments.get(key, ()):
            grouped.setdefault(segment.schema, []).append(segment.path)
        return grouped

    def append(self, key: str, rows: DataFrame, epoch: int) -> None:
        """Add rows; written at once, over leftovers of an epoch that did not commit."""
        path = f"{self._root}/{key}/epoch={epoch:012d}-{len(self.segments.get(key, ()))}"
        rows.write.mode("overwrite").parquet(path)
        segment = Segment(
            path, ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in rows.schema.fields)
        )
        self.segments[key] = (*self.segments.get(key, ()), segment)

    def clear(self, key: str) -> None:
        """Forget every row of a state."""
        self.segments.pop(key, None)

    def compact(self, key: str, epoch: int, live: Callable[[DataFrame], DataFrame]) -> None:
        """Rewrite a state of many segments as one; `live` drops what is purged and merges what can be."""
        if len(self.segments.get(key, ())) <= _MANY_SEGMENTS:
            return
        rows = self.read(key)
        assert rows is not None
        path = f"{self._root}/{key}/epoch={epoch:012d}-compacted"
        kept = live(rows)
        kept.write.mode("overwrite").parquet(path)
        schema = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in kept.schema.fields)
        self.segments[key] = (Segment(path, schema),)

    def discard(self, before: dict[str, tuple[Segment, ...]]) -> None:
        """Delete the files that were in use before and are not any more."""
        used = {segment.path for segments in self.segments.values() for segment in segments}
        for segments in before.values():
            for segment in segments:
                if segment.path not in used:
                    self._files.delete(segment.path)


def _stacked(first: DataFrame, second: DataFrame) -> DataFrame:
    """Both together; an attribute that was altered in between is DOUBLE in the later one, so widen the other."""
    types = {f.name: f.dataType for f in second.schema.fields}
    widened = [
        F.col(f"`{f.name}`").cast("double").alias(f.name)
        if types.get(f.name, f.dataType).simpleString() == "double" and f.dataType.simpleString() != "double"
        else F.col(f"`{f.name}`")
        for f in first.schema.fields
    ]
    return first.select(*widened).unionByName(second, allowMissingColumns=True)
