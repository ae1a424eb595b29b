"""State of stateful operators: canonical rows in Parquet segments under the checkpoint (design, section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial

from attrs import evolve, frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DateType, IntegerType, LongType, TimestampType

from cedilla.compiler import regions
from cedilla.compiler.regions import Tree
from cedilla.runtime.connectors.formats.file_sums import checksum
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.engine_failures import writing
from cedilla.runtime.connectors.storage.files import Files, for_each
from cedilla.runtime.connectors.storage.parquet import own_metadata
from cedilla.runtime.connectors.storage.written import folders_made, read_parquet, written
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.columns import Columns, conformed, dump_columns, load_columns, struct_of
from cedilla.runtime.engines.spark.frames import is_connect, stacked
from cedilla.runtime.engines.spark.jobs import Jobs
from cedilla.runtime.epochs.state.segments import (
    Bounds,
    Segment,
    Segments,
    bounds_of,
    check_files,
    first_small,
    paths,
)

_AXES = (IntegerType, LongType, TimestampType, DateType)
"""The types whose values are whole numbers in regions."""

_MEASURES = "length", "bounds", "rows", "files", "checksum"


@frozen
class _Written:
    """The files of a segment: their bytes (0 without rows), the number of rows, bounds of all rows, the number of
    files, and their checksum."""

    length: int
    rows: int
    bounds: Bounds
    files: int
    checksum: str | None


class StateStore:
    """The segments of every state, by key. Changes take effect when an epoch commits `segments`."""

    def __init__(self, spark: SparkSession, files: Files, root: str, jobs: Jobs, run: int = 0) -> None:
        """`run`: the number of the run. The names of its segments contain it, so that another run never overwrites
        them."""
        self._spark = spark
        self._files = files
        self._root = root
        self._run = run
        self._jobs = jobs
        self.segments: dict[str, tuple[Segment, ...]] = {}
        # Of epochs that are not committed, by path.
        self._writes: dict[str, Future[_Written]] = {}
        # Path -> its epoch, and the rows in memory to read in its place.
        self._in_memory: dict[str, tuple[int, DataFrame]] = {}
        # Key -> the region that no later epoch reads.
        self._purged: dict[str, Tree] = {}
        # Those of the last commit, as measured; the epoch in flight lists them as planned.
        self._known: dict[str, Segment] = {}
        # Segments that were found in a store, or written there.
        self._seen: set[str] = set()
        # Left out by the last commit; the epoch in flight may list them.
        self._empty: frozenset[str] = frozenset()
        self.is_in_one_part = False
        """True if every frame of tuples or of state has one part in this epoch, so that Spark groups and joins without
        a shuffle."""

    def read(self, key: str, columns: Columns, region: Tree = True) -> DataFrame | None:
        """Returns the rows of a state with some columns; purged rows and rows outside `region` may be missing. Columns
        that a segment lacks are null, and those of narrower types are widened. An empty state gives `None`.

        Waits for segments that are still being written, unless their rows are in memory.
        """
        self._forget(key)
        return self._rows(self.segments.get(key, ()), columns, regions.complement(region))

    def names(self, key: str) -> frozenset[str]:
        """Returns the names of the columns that some rows of a state have."""
        return frozenset(name for segment in self.segments.get(key, ()) for name in segment.types)

    def _rows(self, segments: Iterable[Segment], columns: Columns, unasked: Tree = False) -> DataFrame | None:
        frames: list[DataFrame] = []
        stored: dict[str, tuple[Columns, list[str]]] = {}
        for segment in segments:
            if segment.path in self._in_memory:
                rows = self._in_memory[segment.path][1]
                frames.append(conformed(rows, load_columns(segment.types), columns))
                continue
            write = self._writes.get(segment.path)
            measured = segment if write is None else _measured(segment, write.result())
            if (write is not None and not measured.length) or measured.lies_in(unasked):
                continue
            if write is None:
                self._check_there(segment)
            _, paths = stored.setdefault(str(segment.types), (load_columns(segment.types), []))
            paths.append(self._files.for_engine(segment.path))
        for stored_columns, paths in stored.values():
            for rows in read_parquet(self._spark, struct_of(stored_columns), paths):
                whole = rows.coalesce(1) if self.is_in_one_part else rows
                frames.append(conformed(whole, stored_columns, columns))
        return stacked(columns, *frames)

    def _check_there(self, segment: Segment) -> None:
        """Raises the errors of `check_files`, because not all engines notice missing files. Stores are asked once,
        because they are slow."""
        if segment.path in self._seen:
            return
        check_files(self._files, segment)
        if local_path(segment.path) is None:
            self._seen.add(segment.path)

    @property
    def length(self) -> int:
        """The length of all states in bytes, as far as known."""
        return sum(map(self.length_of, self.segments))

    def length_of(self, key: str, region: Tree = True) -> int:
        """Returns the length of the rows to read from one state in bytes, as far as known."""
        unasked = regions.complement(region)
        return sum(self._length(s) for s in self.segments.get(key, ()) if not s.lies_in(unasked))

    def _length(self, segment: Segment) -> int:
        write = self._writes.get(segment.path)
        done = write is not None and write.done() and write.exception() is None
        return write.result().length if write is not None and done else segment.length

    def purge(self, key: str, region: Tree) -> None:
        """Sets the region that no later epoch reads. Segments inside it are dropped without being read.

        With that, and with the rows of the previous epoch in memory (`append`), a window query went from 0.76 of
        Spark's speed to 0.92 (tests/benchmarks/tuning-notes.md).
        """
        self._purged[key] = region

    def _forget(self, key: str) -> None:
        region = self._purged.get(key, False)
        left = tuple(s for s in self.segments.pop(key, ()) if not s.lies_in(region))
        if left:
            self.segments[key] = left

    @property
    def keeps_in_memory(self) -> bool:
        """True if the engine keeps persisted rows; not all engines with Spark Connect do."""
        return not is_connect(self._spark)

    def append(
        self, key: str, rows: DataFrame, columns: Columns, epoch: int, *, in_memory: DataFrame | None = None
    ) -> None:
        """Adds rows, written in parallel to other jobs, and replaces remains of an epoch that did not commit.
        `columns`: of the rows.

        `in_memory`: rows that the next epoch may read instead, without waiting: the same rows, or rows with the same
        effect together with all older rows of this state. They stay in memory until that epoch is committed. They must
        not be computed from state: to recompute them, Spark might need files that are deleted by then, and its plans
        would grow from epoch to epoch.
        """
        before = self.segments.get(key, ())
        segment = self._write(f"{key}/epoch={epoch:012d}-{len(before)}", rows, columns)
        if in_memory is not None:
            self._in_memory[segment.path] = epoch, in_memory
        self.segments[key] = (*before, segment)

    def replace(self, key: str, rows: DataFrame, columns: Columns, epoch: int) -> None:
        self.segments[key] = (self._write(f"{key}/epoch={epoch:012d}-replaced", rows, columns),)

    def clear(self, key: str) -> None:
        """Removes every row of a state."""
        self.segments.pop(key, None)

    def is_full(self, key: str) -> bool:
        """Returns True if a state has the maximum number of segments before it is rewritten."""
        return len(self.segments.get(key, ())) >= costs.SEGMENTS

    def compact(
        self,
        key: str,
        columns: Columns,
        epoch: int,
        live: Callable[[DataFrame], DataFrame],
        *,
        merges: bool = True,
        in_parts: bool = False,
    ) -> None:
        """Rewrites many segments of a state as one. `live` drops purged rows, and `merges` rows that belong together;
        `columns` are those of its rows.

        If it merges none, an epoch rewrites some `costs.REWRITTEN` bytes of the newest segments at most, and beside
        them the oldest one that may have purged rows. `in_parts`: keeps the segment in memory separate, because the
        rows to read in its place may be more than it has.
        """
        if len(self.segments.get(key, ())) <= costs.SEGMENTS:
            return
        self._forget(key)
        listed = self.segments.get(key, ())
        near = [segment for segment in listed if in_parts and segment.path in self._in_memory]
        far = [segment for segment in listed if segment not in near]
        first = 0 if merges else first_small([*map(self._length, far)])
        if not merges and len(far) - first <= costs.SEGMENTS:
            return
        stem, settled = f"{key}/epoch={epoch:012d}", far[:first]
        for number, segment in enumerate(settled):
            if self._is_stale(key, segment, epoch):
                settled[number : number + 1] = self._rewritten(f"{stem}-purged", [segment], columns, live)
                break
        compacted = self._rewritten(f"{stem}-compacted", far[first:], columns, live)
        self.segments[key] = (*settled, *compacted, *near)

    def _is_stale(self, key: str, segment: Segment, epoch: int) -> bool:
        """Returns True for a segment that is old and may have purged rows."""
        closed = self._purged.get(key, False)
        is_old = epoch - segment.epoch >= costs.RESTING
        return is_old and closed is not False and not segment.lies_in(regions.complement(closed))

    def _rewritten(
        self, name: str, segments: Sequence[Segment], columns: Columns, live: Callable[[DataFrame], DataFrame]
    ) -> list[Segment]:
        rows = self._rows(segments, columns)
        return [] if rows is None else [self._write(name, live(rows), columns)]

    def _write(self, name: str, rows: DataFrame, columns: Columns) -> Segment:
        path = f"{self._root}/{name}-{self._run}"
        target = self._files.for_engine(path)
        axes = [name for name, kind in columns.items() if isinstance(kind, _AXES)]

        def write() -> _Written:
            with writing(path):
                is_made = folders_made(self._spark, self._files, path)
                rows.write.mode("append" if is_made else "overwrite").parquet(target)
            files = written(self._spark, self._files, path)
            footers = for_each(files, partial(own_metadata, self._files), path)
            count = sum(footer.num_rows for footer in footers)
            bounds = bounds_of(footers, axes)
            # Spark writes a file even without rows.
            length = sum(file.length for file in files) if count else 0
            self._files.sync([file.path for file in files], self._root)
            if local_path(path) is None:
                self._seen.add(path)
            return _Written(length, count, bounds, len(files), checksum(self._spark, self._files, files))

        self._writes[path] = self._jobs.start(write)
        return Segment(path, dump_columns(columns))

    # --- epochs ---

    def begin(self, epoch: int, *, is_in_one_part: bool = False) -> None:
        """Called before the jobs of an epoch: keeps only the previous epoch's rows in memory. `is_in_one_part`:
        whether the epoch has few rows."""
        self.is_in_one_part = is_in_one_part
        self._in_memory = {path: (n, rows) for path, (n, rows) in self._in_memory.items() if n >= epoch - 1}

    def release_memory(self) -> None:
        """Releases all rows in memory."""
        self._in_memory.clear()

    def reset(self, segments: Segments) -> None:
        """Continues from the segments of an epoch. Later epochs were abandoned, and their writes are finished."""
        self.segments = dict(segments)
        used = paths(segments)
        self._writes = {path: write for path, write in self._writes.items() if path in used}
        self._in_memory = {path: rows for path, rows in self._in_memory.items() if path in used}
        self._purged.clear()

    def unused(self, before: Segments) -> frozenset[str]:
        """Returns the segments that were in use before, or written since, and are not in use any more."""
        return frozenset({*paths(before), *self._writes}) - paths(self.segments)

    def measured(self, segments: Segments) -> dict[str, tuple[Segment, ...]]:
        """Returns segments with their lengths, after all of them are written; without empty ones."""

        def measure(segment: Segment) -> Iterator[Segment]:
            write = self._writes.get(segment.path)
            if segment.path in self._empty:
                return
            if write is None:
                yield self._known.get(segment.path, segment)
            elif (files := write.result()).length:
                yield _measured(segment, files)

        by_key = {
            key: tuple(measured for segment in of_key for measured in measure(segment))
            for key, of_key in segments.items()
        }
        return {key: measured for key, measured in by_key.items() if measured}

    def commit(self, planned: Segments, segments: Segments, unused: Iterable[str]) -> None:
        """Records the segments of a committed epoch, as planned and as measured, and deletes files that are not used
        any more."""
        self._empty = paths(planned) - paths(segments)
        unused = {*unused, *self._empty}
        self._known = {segment.path: segment for listed in segments.values() for segment in listed}
        self.segments = {
            key: tuple(self._known.get(s.path, s) for s in listed if s.path not in unused)
            for key, listed in self.segments.items()
        }
        gone = [path for path in sorted(unused) if self._has_files(path)]
        for path in (*self._known, *unused):
            self._writes.pop(path, None)
        for path in unused:
            self._in_memory.pop(path, None)
        for_each(gone, self._files.delete, self._root)

    def _has_files(self, path: str) -> bool:
        """Returns False for a segment that has got none, as engines write it without rows."""
        write = self._writes.get(path)
        return write is None or not write.done() or write.exception() is not None or write.result().files > 0


def _measured(segment: Segment, measures: _Written) -> Segment:
    return evolve(segment, **{name: getattr(measures, name) for name in _MEASURES})
