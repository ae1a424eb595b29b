"""State of stateful operators: canonical rows in Parquet segments under the checkpoint (design, section 5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from attrs import frozen
from pyspark.sql import DataFrame, SparkSession

from cedilla.runtime.files import Files
from cedilla.runtime.frames import stacked

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
        self._written: list[str] = []  # since the last `discard`

    def read(self, key: str) -> DataFrame | None:
        """All rows of a state, `None` where there never were any. Columns that a segment lacks are null."""
        frames = [
            self._spark.read.schema(schema).parquet(*paths) for schema, paths in self._by_schema(key).items()
        ]
        return reduce(stacked, frames) if frames else None

    def _by_schema(self, key: str) -> dict[str, list[str]]:
        grouped: dict[str, list[str]] = {}
        for segment in self.segments.get(key, ()):
            grouped.setdefault(segment.schema, []).append(segment.path)
        return grouped

    def append(self, key: str, rows: DataFrame, epoch: int) -> None:
        """Add rows; written at once, over leftovers of an epoch that did not commit."""
        before = self.segments.get(key, ())
        self.segments[key] = (*before, self._write(f"{key}/epoch={epoch:012d}-{len(before)}", rows))

    def replace(self, key: str, rows: DataFrame, epoch: int) -> None:
        """Write the rows of a state anew, in the place of all it had."""
        self.segments[key] = (self._write(f"{key}/epoch={epoch:012d}-replaced", rows),)

    def clear(self, key: str) -> None:
        """Forget every row of a state."""
        self.segments.pop(key, None)

    def compact(self, key: str, epoch: int, live: Callable[[DataFrame], DataFrame]) -> None:
        """Rewrite a state of many segments as one; `live` drops what is purged and merges what can be."""
        if len(self.segments.get(key, ())) <= _MANY_SEGMENTS:
            return
        rows = self.read(key)
        assert rows is not None
        self.segments[key] = (self._write(f"{key}/epoch={epoch:012d}-compacted", live(rows)),)

    def _write(self, name: str, rows: DataFrame) -> Segment:
        path = f"{self._root}/{name}"
        rows.write.mode("overwrite").parquet(path)
        self._written.append(path)
        schema = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in rows.schema.fields)
        return Segment(path, schema)

    def discard(self, before: dict[str, tuple[Segment, ...]]) -> None:
        """Delete the files that were in use before, or were written since, and are not in use any more."""
        used = {segment.path for segments in self.segments.values() for segment in segments}
        known = [segment.path for segments in before.values() for segment in segments]
        for path in dict.fromkeys([*known, *self._written]):
            if path not in used:
                self._files.delete(path)
        self._written.clear()
