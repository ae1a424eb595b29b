"""State of stateful operators: canonical rows in Parquet segments under the checkpoint (design, section 5)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import reduce

from attrs import evolve, frozen
from pyspark.sql import DataFrame, SparkSession

from cedilla.runtime.files import Files
from cedilla.runtime.frames import stacked
from cedilla.runtime.jobs import Jobs

_MANY_SEGMENTS = 8
"""A state of more segments is rewritten as one, without what is purged."""


@frozen
class Segment:
    """Rows that one epoch added; `schema` as a Spark DDL text, `length` in bytes."""

    path: str
    schema: str
    length: int = 0


class StateStore:
    """The segments of every state, by key. Changes are real once an epoch commits `segments`."""

    def __init__(self, spark: SparkSession, files: Files, root: str, jobs: Jobs) -> None:
        self._spark = spark
        self._files = files
        self._root = root
        self._jobs = jobs
        self.segments: dict[str, tuple[Segment, ...]] = {}
        self._written: dict[str, Future[int]] = {}  # since the last `discard`: path -> its length

    def read(self, key: str) -> DataFrame | None:
        """All rows of a state, `None` where there never were any. Columns that a segment lacks are null."""
        self.finish(key)
        frames = [
            self._spark.read.schema(schema).parquet(*paths) for schema, paths in self._by_schema(key).items()
        ]
        return reduce(stacked, frames) if frames else None

    def finish(self, *keys: str) -> None:
        """Wait until states are written."""
        for segment in (segment for key in keys for segment in self.segments.get(key, ())):
            if segment.path in self._written:
                self._written[segment.path].result()

    def _by_schema(self, key: str) -> dict[str, list[str]]:
        grouped: dict[str, list[str]] = {}
        for segment in self.segments.get(key, ()):
            grouped.setdefault(segment.schema, []).append(segment.path)
        return grouped

    @property
    def length(self) -> int:
        """Of all states, in bytes."""
        return sum(segment.length for segments in self.segments.values() for segment in segments)

    def append(self, key: str, rows: DataFrame, epoch: int) -> None:
        """Add rows; written beside other jobs, over leftovers of an epoch that did not commit."""
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

        def write() -> int:
            rows.write.mode("overwrite").parquet(path)
            return sum(file.length for file in self._files.list(path))

        self._written[path] = self._jobs.start(write)
        return Segment(path, ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in rows.schema.fields))

    def measured(self) -> dict[str, tuple[Segment, ...]]:
        """The segments, with the lengths of those that are written by now."""
        self.segments = {key: tuple(map(self._measured, found)) for key, found in self.segments.items()}
        return dict(self.segments)

    def _measured(self, segment: Segment) -> Segment:
        written = self._written.get(segment.path)
        return segment if written is None else evolve(segment, length=written.result())

    def discard(self, before: dict[str, tuple[Segment, ...]]) -> None:
        """Delete the files that were in use before, or were written since, and are not in use any more."""
        used = {segment.path for segments in self.segments.values() for segment in segments}
        known = [segment.path for segments in before.values() for segment in segments]
        for path in dict.fromkeys([*known, *self._written]):
            if path not in used:
                self._files.delete(path)
        self._written.clear()
