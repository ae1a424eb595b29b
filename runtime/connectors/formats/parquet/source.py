"""Parquet: a row is a tuple, or a marker if its column `$accent` or `$punctuation` is not null.

The position of a row in its file is its index. Files may differ in columns and types. One scan reads files that agree,
with their own types, so that Spark prunes columns and row groups. A conversion to the declared types follows the scan.
With Spark Connect, tasks read the files, because not all such engines give the position of a row.

Over 400 lines, as the source, its scan and its batches share one choice of columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import copy
from functools import partial, reduce
from typing import ClassVar

from attrs import evolve, frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType, DataType, NullType, StringType, StructField, StructType

from cedilla.compiler.expressions.types import Type, quote
from cedilla.compiler.regions import POSITION
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.lines.tuple_statistics import summed
from cedilla.runtime.connectors.formats.parquet.conversions import (
    JSON_OPTIONS,
    common,
    converted,
    kind_of,
    range_of,
    readable,
)
from cedilla.runtime.connectors.formats.parquet.footers import MARKERS, THREADS, Footer, read_footers
from cedilla.runtime.connectors.formats.parquet.row_groups import (
    BAD,
    FoundRow,
    beside_markers,
    frame_of_parts,
    markers_in,
    parts_of,
    values_in,
)
from cedilla.runtime.connectors.formats.parquet.sail_scans import Stays, local_paths, of_one_nan
from cedilla.runtime.connectors.formats.parquet.scan_columns import is_beyond, is_in_range, utf8_only
from cedilla.runtime.connectors.formats.parquet.types import Unknown, read_as
from cedilla.runtime.connectors.formats.read_by_spark import ReadBySpark, placed
from cedilla.runtime.connectors.formats.source import (
    CORRUPT,
    EVERYWHERE,
    FILE,
    MAX_FILES,
    NO_FIELDS,
    Batch,
    Conditions,
    Counted,
    FieldKinds,
    FileStatistics,
    InputFile,
    Members,
    Numbered,
    Scan,
    Searched,
    Span,
    Types,
    Unplaced,
    quoted,
)
from cedilla.runtime.connectors.records.field_names import OWN_NAMES, FieldNames
from cedilla.runtime.connectors.records.foreign import Unreadable
from cedilla.runtime.connectors.records.marker import NEXT_FILE, MarkerLine
from cedilla.runtime.connectors.records.near_markers import more_beside
from cedilla.runtime.connectors.records.nested import Paths
from cedilla.runtime.connectors.records.rejections import misfit
from cedilla.runtime.connectors.storage.parquet import ColumnStatistics
from cedilla.runtime.connectors.storage.stores import is_pattern, is_utf8, scheme_of
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.connect import engine_in
from cedilla.runtime.engines.spark.frames import is_connect, union_by_name

_CACHE_SIZE = 2 * MAX_FILES


@frozen
class _Group:
    """Files that one scan reads: their footers by their numbers in the slice, and the columns to read with their
    types. `stored`: the columns with another name in the files, and that name."""

    columns: tuple[tuple[str, DataType], ...]
    stored: tuple[tuple[str, str], ...]
    footers: Mapping[int, Footer]

    @property
    def schema(self) -> StructType:
        columns = ((name, kind) for name, kind in self.columns if not isinstance(kind, Unknown))
        return StructType([StructField(name, read_as(kind)) for name, kind in columns])

    @property
    def stored_schema(self) -> StructType:
        """Returns the schema with the names of the files."""
        stored = dict(self.stored)
        return StructType([StructField(stored.get(of.name, of.name), of.dataType) for of in self.schema])

    def named(self, scan: DataFrame) -> DataFrame:
        """Returns the rows of the files with the names of the stream."""
        if not self.stored:
            return scan
        stored = dict(self.stored)
        return scan.selectExpr(
            *(f"{quoted(stored.get(of.name, of.name))} AS {quoted(of.name)}" for of in self.schema)
        )

    def is_in_range(self, name: str, type_: Type) -> bool:
        """Returns True if statistics of all files prove that the moments of a column are in the years 1 to 9999."""
        return all(is_in_range(footer, name, type_) for footer in self.footers.values())


class Parquet(ReadBySpark):
    """One row is one tuple or marker; several tasks read large files.

    `markers` reads the footers again; later calls for the same files use these.
    """

    malformed: ClassVar[str] = "a value is not of its attribute's type"
    columnar: ClassVar[bool] = True

    def __init__(self, names: FieldNames = OWN_NAMES) -> None:
        self._names = names
        self._seen: dict[str, Footer] = {}
        self._is_tested = False
        self._conditions: Conditions = ()

    @property
    def field_names(self) -> FieldNames:
        return self._names

    def with_tests_of_texts(self) -> Parquet:
        changed = copy(self)
        changed._is_tested = True
        return changed

    def rows(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        """Returns every row of the files. A file that cannot be read is one row with the reason in `$corrupt`."""
        wanted = [name for name in types if name not in MARKERS]
        footers = self._footers(spark, files)
        parts = [
            self._rows(spark, files, group, types)
            for group in _groups(footers, lambda f: (*wanted, *(MARKERS if f.marked else ())))
        ]
        unreadable = [
            (footer.problem, files[number].uri, number << 47)
            for number, footer in footers.items()
            if footer.problem
        ]
        if unreadable or not parts:
            few = _few(spark, unreadable, **{CORRUPT: "STRING", FILE: "STRING", POSITION: "BIGINT"})
            nulls = {**dict.fromkeys(MARKERS, "STRING"), **{n: type_.spark for n, type_ in types.items()}}
            nothing = (f"CAST(NULL AS {kind}) AS {quoted(name)}" for name, kind in nulls.items())
            parts.append(few.selectExpr("*", *nothing))
        columns = dict.fromkeys((*MARKERS, *types, CORRUPT, FILE, POSITION))
        return union_by_name(columns, *parts)

    def _rows(self, spark: SparkSession, files: Numbered, group: _Group, types: Types) -> DataFrame:
        columns = dict(group.columns)
        chosen = [
            quoted(name) if name in columns else f"CAST(NULL AS STRING) AS {quoted(name)}" for name in MARKERS
        ]
        wrong: list[str] = []
        for name, type_ in types.items():
            value, unfit = converted(
                quoted(name),
                columns.get(name, NullType()),
                type_,
                is_in_range=group.is_in_range(name, type_),
            )
            chosen.append(f"{value} AS {quoted(name)}")
            if unfit:
                kind = columns[name].simpleString()
                reason = misfit(name, type_, f"a value of a column of type {kind}")
                wrong.append(f"WHEN {unfit} THEN {quote(reason)}")
        corrupt = f"CASE {' '.join(wrong)} END" if wrong else "CAST(NULL AS STRING)"
        if self._is_tested:
            corrupt = f"coalesce({quoted(BAD)}, {corrupt})"
        return self._placed(spark, files, group, [*chosen, f"{corrupt} AS `{CORRUPT}`"])

    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        """Returns the scans; no job runs, and files without markers in their footers are not read."""
        return [self._scan(spark, files) for files in slices]

    def _scan(self, spark: SparkSession, files: Numbered) -> Scan:
        markers = self.markers(spark, files)
        markers_by_file = Counter(marker.file for marker in markers)
        footers = self._footers(spark, files)
        empty = {
            n for n, footer in footers.items() if not footer.problem and footer.rows == markers_by_file[n]
        }
        return Scan(tuple(markers), frozenset(empty))

    def read(
        self,
        spark: SparkSession,
        files: Numbered,
        types: Types,
        scratch: str,
        counted: Counted = NO_FIELDS,
        searched: Searched | None = None,
    ) -> Batch:
        """Returns the tuples in their own files, and the statistics of footers. The driver counts values from their
        columns, which are small, unless the files have very many rows."""
        statistics = None if self._is_tested else self._statistics(spark, files, types)
        members = partial(_members, files, self._footers(spark, files), counted)
        rows = self.tuples(spark, files, types)
        narrowed = partial(self._narrowed, spark, files, types)
        unplaced = None if statistics is None else self._unplaced(spark, files, types)
        return Batch(rows, statistics, members=members, narrowed=narrowed, unplaced=unplaced)

    def _unplaced(self, spark: SparkSession, files: Numbered, types: Types) -> Unplaced | None:
        """Returns a scan of the tuples by Sail; `None` if another engine reads them, or tasks have to."""
        footers = self._footers(spark, files)
        paths = local_paths(files, footers, types)
        if not paths or not any(footer.rows for footer in footers.values()) or engine_in(spark) != "sail":
            return None
        groups = [*_groups(footers, lambda _: (*types,))]

        def of_group(group: _Group) -> DataFrame:
            scan = spark.read.schema(group.stored_schema).parquet(*(paths[n] for n in group.footers))
            columns = dict(group.columns)
            values = (_unplaced_value(name, columns.get(name), type_) for name, type_ in types.items())
            nothing = f"CAST(NULL AS STRING) AS `{CORRUPT}`", f"CAST(NULL AS BIGINT) AS `{POSITION}`"
            return group.named(scan).selectExpr(*values, *nothing)

        return Unplaced(
            lambda: reduce(DataFrame.union, map(of_group, groups)), Stays.of(paths.values()).check
        )

    def _narrowed(
        self, spark: SparkSession, files: Numbered, types: Types, conditions: Conditions
    ) -> DataFrame:
        """Returns the tuples that satisfy conditions. The scan has them before the test of texts, which no reader of
        Parquet knows, so that row groups are skipped; a text that is not UTF-8 satisfies none of a text that is."""
        changed = copy(self)
        changed._conditions = conditions
        return changed.tuples(spark, files, types)

    def _statistics(
        self, spark: SparkSession, files: Numbered, types: Types
    ) -> dict[int, FileStatistics] | None:
        by_file: dict[int, FileStatistics] = {}
        for number, footer in self._footers(spark, files).items():
            kinds = {name: footer.columns.get(name, NullType()) for name in types}
            if footer.problem or any(
                converted(n, kinds[n], t, is_in_range=is_in_range(footer, n, t))[1] for n, t in types.items()
            ):
                return None
            ranges = {
                name: range_of(footer.ranges[name], kinds[name], type_)
                for name, type_ in types.items()
                if name in footer.ranges
            }
            lacking = {
                name: ColumnStatistics(footer.rows)
                for name, kind in kinds.items()
                if isinstance(kind, NullType)
            }
            by_file[number] = FileStatistics(footer.rows, {**ranges, **lacking})
        return by_file

    def markers(self, spark: SparkSession, files: Numbered) -> list[MarkerLine]:
        """Returns the markers of the files in stream order. The driver reads only files that may contain some."""
        looked = self._look(spark, list(files.values()))
        with ThreadPoolExecutor(THREADS) as threads:
            by_file = threads.map(lambda n: _markers(n, files[n], looked[files[n].path]), files)
            return sorted((marker for markers in by_file for marker in markers), key=lambda m: m.position)

    def located(self, spark: SparkSession, files: Numbered, bad: DataFrame, types: Types) -> DataFrame:
        """As of other formats. The type of a column that no engine reads is the reason, not the text of its value."""
        kinds = (item for footer in self._footers(spark, files).values() for item in footer.columns.items())
        unknown = {name for name, kind in kinds if isinstance(kind, Unknown)}
        return super().located(spark, files, bad, {n: t for n, t in types.items() if n not in unknown})

    def lines(self, spark: SparkSession, files: Numbered) -> DataFrame:
        """Returns the rows: `raw` is the row as JSON, `line` its index in the file from 0."""
        footers = self._footers(spark, files)
        parts: list[DataFrame] = []
        for group in map(_readable_group, _groups(footers, lambda footer: tuple(footer.columns))):
            values = ", ".join(
                f"{readable(quoted(name), kind)} AS {quoted(name)}" for name, kind in group.columns
            )
            raw = f"to_json(struct({values}), {JSON_OPTIONS})" if values else "'{}'"
            rows = self._placed(spark, files, group, [f"{raw} AS raw"], of_messages=True)
            parts.append(rows.selectExpr("raw", f"`{FILE}`", f"`{POSITION}` % {NEXT_FILE}L AS line"))
        unreadable = [(f.problem, files[number].uri, 0) for number, f in footers.items() if f.problem]
        if unreadable or not parts:
            parts.append(_few(spark, unreadable, **{"raw": "STRING", FILE: "STRING", "line": "BIGINT"}))
        return union_by_name(("raw", FILE, "line"), *parts).selectExpr(
            "raw",
            f"`{FILE}` AS file",
            "line",
            "CAST(line + 1 AS INT) AS ordinal",
        )

    def fields(
        self, spark: SparkSession, files: Numbered, between: Span = EVERYWHERE
    ) -> dict[str, FieldKinds]:
        """Returns the columns of the files; of a file that is cut, those with a value between the positions."""
        kinds: dict[str, list[str]] = {}
        for number, footer in sorted(self._footers(spark, files).items()):
            begin, end = number * NEXT_FILE, (number + 1) * NEXT_FILE
            if end <= between[0] or between[1] <= begin:
                continue
            columns = {
                name: kind_of(kind)
                for name, kind in footer.columns.items()
                if name not in MARKERS and not isinstance(kind, NullType)
            }
            if footer.rows and (begin < between[0] or between[1] < end):
                columns = self._with_values(spark, number, files[number], columns, between)
            for name, kind in columns.items():
                kinds.setdefault(name, []).append(kind)
        return {name: FieldKinds(of_column[0], common({*of_column})) for name, of_column in kinds.items()}

    def _with_values(
        self, spark: SparkSession, number: int, file: InputFile, columns: Mapping[str, str], between: Span
    ) -> dict[str, str]:
        """Returns the columns of a file that have a value between two positions."""
        (group,) = _groups(self._footers(spark, {number: file}), lambda footer: tuple(footer.columns))
        values = [f"{quoted(name)} IS NOT NULL AS `{n}`" for n, name in enumerate(columns)]
        rows = self._placed(spark, {number: file}, group, values)
        inside = rows.where(f"`{POSITION}` >= {between[0]}L AND `{POSITION}` < {between[1]}L")
        has_value = inside.agg(*(F.max(f"`{n}`").alias(f"{n}") for n in range(len(columns)))).first()
        assert has_value is not None
        return {name: kind for n, (name, kind) in enumerate(columns.items()) if has_value[n]}

    # --- scans ---

    def is_scanned(self, spark: SparkSession, file: InputFile) -> bool:
        """Returns True if the engine reads a file and gives the position of a row; otherwise tasks read it.

        Spark treats the path of a file as a pattern, and does not find names that are not UTF-8.
        """
        is_plain = not is_pattern(file.path) and is_utf8(file.path)
        return is_plain and not is_connect(spark) and not self._is_tested

    def _placed(
        self,
        spark: SparkSession,
        files: Numbered,
        group: _Group,
        expressions: Sequence[str],
        *,
        of_messages: bool = False,
    ) -> DataFrame:
        """Returns SQL expressions over the rows of a group, with `$file` and `$position`. A text that is not UTF-8
        fails the job, unless a test sets its row aside, or it is shown in messages."""
        chosen = {number: files[number] for number in group.footers}
        scanned = {
            number: file
            for number, file in chosen.items()
            if self.is_scanned(spark, file) and _is_plain(group.footers[number], group)
        }
        frames: list[DataFrame] = []
        if scanned:
            paths = (file.path for file in scanned.values())
            scan = group.named(spark.read.schema(group.stored_schema).parquet(*paths))
            for name, condition in self._conditions:
                if isinstance(dict(group.columns).get(name), StringType):
                    scan = scan.where(condition)
            checked = scan if of_messages else scan.selectExpr(*utf8_only(group.schema, [*scanned.values()]))
            frames.append(placed(checked, scanned, expressions))
        parts = [
            part
            for number in chosen.keys() - scanned.keys()
            for part in parts_of(chosen[number], number, group.footers[number].groups, costs.PART)
        ]
        if parts:
            is_tested = of_messages or self._is_tested
            rows = frame_of_parts(spark, parts, group.schema, dict(group.stored), is_tested=is_tested)
            frames.append(rows.selectExpr(*expressions, f"`{FILE}`", f"`{POSITION}`"))
        return reduce(DataFrame.union, frames)

    # --- footers ---

    def _look(self, spark: SparkSession, files: Sequence[InputFile]) -> dict[str, Footer]:
        """Reads the footers again, because a file may have been repaired since."""
        if len(self._seen) > _CACHE_SIZE:
            self._seen.clear()
        paths = [file.path for file in files]
        footers = dict(zip(paths, read_footers(spark, paths, self._names), strict=True))
        self._seen.update(footers)
        return footers

    def _footers(self, spark: SparkSession, files: Numbered) -> dict[int, Footer]:
        # Another thread may read other files at the same time and clear the cache.
        cached = {file.path: self._seen.get(file.path) for file in files.values()}
        read = self._look(spark, [file for file in files.values() if cached[file.path] is None])
        return {number: cached[file.path] or read[file.path] for number, file in files.items()}


# --- scans ---------------------------------------------------------------------------------------------------


def _is_plain(footer: Footer, group: _Group) -> bool:
    """Returns True for a file of a group whose values a scan of the engine reads."""
    unknown = {name for name, kind in footer.columns.items() if isinstance(kind, Unknown)}
    return not (is_beyond(footer) or footer.has_halves or unknown & {field.name for field in group.schema})


def _readable_group(group: _Group) -> _Group:
    """Returns a group whose columns contain, for messages, each value that can be shown."""
    kinds = ((name, kind.shown if isinstance(kind, Unknown) else kind) for name, kind in group.columns)
    return evolve(group, columns=tuple((name, kind) for name, kind in kinds if kind is not None))


def _groups(
    footers: Mapping[int, Footer], wanted: Callable[[Footer], Sequence[str] | None]
) -> Iterator[_Group]:
    """Groups the files that have rows by the types of their wanted columns; `None`: excludes a file."""
    footers_by_columns: dict[
        tuple[tuple[tuple[str, DataType], ...], tuple[tuple[str, str], ...]], dict[int, Footer]
    ] = {}
    for number, footer in footers.items():
        names = wanted(footer) if footer.rows else None
        if names is not None:
            kinds = ((name, footer.columns.get(name, NullType())) for name in names)
            columns = tuple((name, kind) for name, kind in kinds if not isinstance(kind, NullType))
            stored = tuple((name, own) for name, _ in columns if (own := footer.column(name)) != name)
            footers_by_columns.setdefault((columns, stored), {})[number] = footer
    return (_Group(*columns, of) for columns, of in footers_by_columns.items())


def _markers(number: int, file: InputFile, footer: Footer) -> list[MarkerLine]:
    """Returns the markers of a file; for an unreadable file, a malformed marker with the reason."""
    begin, problem = number * NEXT_FILE, footer.problem
    try:
        names = [name for name in MARKERS if isinstance(footer.columns.get(name), StringType)]
        own = {name: footer.column(name) for name in names}
        markers = markers_in(file.path, own) if footer.marked else []
        beside = (
            beside_markers(file.path, {marker.row: own[marker.column] for marker in markers})
            if markers
            else {}
        )
    except Unreadable as error:
        problem, markers, beside = str(error), [], {}
    if problem:
        message_and_hint = (f"{file.path} cannot be read as Parquet: {problem}", footer.hint)
        return [MarkerLine("malformed", problem, begin, problem=message_and_hint, code=footer.code)]
    return [_marker(begin, row, beside.get(row.row)) for row in markers]


def _marker(begin: int, row: FoundRow, beside: Sequence[str] | None) -> MarkerLine:
    """Returns the marker in a row of a file that begins at a position. `beside`: other columns with values there."""
    position = begin + row.row
    if row.problem is not None:
        wrong = f"the marker has {row.problem}", "send the marker as UTF-8"
        return MarkerLine("malformed", row.text, position, problem=wrong)
    if beside is not None:
        return MarkerLine("malformed", row.text, position, problem=more_beside(beside))
    return MarkerLine(row.column[1:], row.text, position, next=position + 1)


def _members(files: Numbered, footers: Mapping[int, Footer], counted: Counted) -> Members:
    """Counts values in the rows of files; in none if the files have very many rows."""
    if sum(footer.rows for footer in footers.values()) > costs.COUNTED_BY_DRIVER:
        return {}

    def of_file(number: int) -> Members:
        kinds, begin = footers[number].columns, number * NEXT_FILE
        names = {n: footers[number].column(n) for n in counted.names if isinstance(kinds.get(n), AtomicType)}
        return (
            values_in(files[number].path, names, counted.low - begin, counted.high - begin) if names else {}
        )

    by_file: list[Members] = []
    with ThreadPoolExecutor(THREADS) as threads, suppress(DiagnosticError, Unreadable):  # the jobs report it
        by_file.extend(threads.map(of_file, footers))
    return {name: summed(of[name] for of in by_file if name in of) for name in counted.names}


def _unplaced_value(name: str, kind: DataType | None, type_: Type) -> str:
    """Returns SQL for the value of an attribute in a scan by Sail. `kind`: that of its column, if there is one."""
    value, _ = converted(of_one_nan(quoted(name), kind or NullType()), kind or NullType(), type_)
    return f"{value} AS {quoted(name)}"


def _few(spark: SparkSession, rows: Sequence[tuple[object, ...]], **types: str) -> DataFrame:
    """Returns a frame of few rows or none."""
    if rows:
        return spark.createDataFrame(rows, ", ".join(f"`{name}` {kind}" for name, kind in types.items()))
    return spark.range(0).selectExpr(*(f"CAST(NULL AS {kind}) AS `{name}`" for name, kind in types.items()))


class TableFiles(Parquet):
    """The files of tables with a log. Files in object stores are read like the log, with the account that the library
    takes from its environment; Spark would need its own clients and settings.

    `paths`: those of attributes that are read from the log's record of a file.
    """

    def __init__(self, names: FieldNames = OWN_NAMES, paths: Paths | None = None) -> None:
        super().__init__(names.hiding(paths or ()))
        self._paths = paths or {}

    @property
    def paths(self) -> Paths:
        return self._paths

    def with_paths(self, paths: Paths) -> TableFiles:
        changed = copy(self)
        changed._paths = paths
        return changed

    def is_scanned(self, spark: SparkSession, file: InputFile) -> bool:
        return super().is_scanned(spark, file) and scheme_of(file.path) in ("", "file", "hdfs")
