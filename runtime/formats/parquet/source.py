"""Parquet: a row is a tuple, or a marker where its column `$accent` or `$punctuation` is not null.

A row's place in its file is its index. Files may differ in their columns and in the types of these: those that
agree are read by one scan, with the types they have, so Spark prunes columns and row groups; what a declared type
takes is converted above the scan. By Spark Connect, tasks read them: not all such engines tell the place of a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import ClassVar

from attrs import frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from cedilla.compiler.expressions.scalar_sql import java_text
from cedilla.compiler.expressions.types import Type, quote
from cedilla.compiler.regions import POSITION
from cedilla.runtime.engines import costs
from cedilla.runtime.engines.frames import is_connect
from cedilla.runtime.formats.encode import TIMESTAMP
from cedilla.runtime.formats.jsonl.batches import with_row_faults
from cedilla.runtime.formats.parquet.footers import MARKERS, THREADS, Footer, read_footers
from cedilla.runtime.formats.parquet.row_groups import UNREADABLE_HINT, frame_of_parts, markers_in, parts_of
from cedilla.runtime.formats.read_by_spark import ReadBySpark, placed
from cedilla.runtime.formats.source import (
    CORRUPT,
    FILE,
    MAX_FILES,
    Content,
    InputFile,
    Numbered,
    Range,
    Scan,
    Types,
    quoted,
)
from cedilla.runtime.items.marker import NEXT_FILE, MarkerLine
from cedilla.runtime.storage.parquet import UNREADABLE, reason
from cedilla.runtime.storage.stores import scheme_of

_REMEMBERED = 2 * MAX_FILES


@frozen
class _Group:
    """Files that one scan reads: their footers by their numbers in the slice, and the columns that are read with their
    types."""

    columns: tuple[tuple[str, DataType | None], ...]
    footers: Mapping[int, Footer]

    @property
    def schema(self) -> StructType:
        return StructType([StructField(name, kind) for name, kind in self.columns if kind is not None])


class Parquet(ReadBySpark):
    """One row is one tuple or marker; large files are read by several tasks.

    `markers` has the footers read anew; what else is asked of the files follows what was seen then.
    """

    malformed: ClassVar[str] = "a value is not of its attribute's type"
    columnar: ClassVar[bool] = True

    def __init__(self) -> None:
        self._seen: dict[str, Footer] = {}

    def rows(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        """Every row of the files. A file that cannot be read is one row, `$corrupt` says why."""
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
        return reduce(DataFrame.unionByName, parts)

    def _rows(self, spark: SparkSession, files: Numbered, group: _Group, types: Types) -> DataFrame:
        columns = dict(group.columns)
        chosen = [
            quoted(name) if name in columns else f"CAST(NULL AS STRING) AS {quoted(name)}" for name in MARKERS
        ]
        wrong: list[str] = []
        for name, type_ in types.items():
            value, unfit = _converted(quoted(name), columns.get(name, NullType()), type_)
            chosen.append(f"{value} AS {quoted(name)}")
            if unfit:
                wrong.append(f"WHEN {unfit} THEN {quote(f'{name}: {_said(columns[name])}')}")
        corrupt = f"CASE {' '.join(wrong)} END" if wrong else "CAST(NULL AS STRING)"
        return self._placed(spark, files, group, [*chosen, f"{corrupt} AS `{CORRUPT}`"])

    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        """No job where no file can have a marker, by its footer."""
        return [self._scan(spark, files) for files in slices]

    def _scan(self, spark: SparkSession, files: Numbered) -> Scan:
        markers = self.markers(spark, files)
        found = Counter(marker.file for marker in markers)
        footers = self._footers(spark, files)
        empty = {n for n, footer in footers.items() if not footer.problem and footer.rows == found[n]}
        return Scan(tuple(markers), frozenset(empty))

    def tuples_with_contents(
        self, spark: SparkSession, files: Numbered, types: Types
    ) -> tuple[DataFrame, dict[int, Content] | None]:
        return self.tuples(spark, files, types), self._contents(spark, files, types)

    def _contents(self, spark: SparkSession, files: Numbered, types: Types) -> dict[int, Content] | None:
        found: dict[int, Content] = {}
        for number, footer in self._footers(spark, files).items():
            kinds = {name: footer.columns.get(name, NullType()) for name in types}
            if footer.problem or any(_converted(n, kinds[n], types[n])[1] for n in types):
                return None
            ranges = {
                name: _as_converted(footer.ranges[name], kinds[name], type_)
                for name, type_ in types.items()
                if name in footer.ranges
            }
            lacking = {name: Range(footer.rows) for name, kind in kinds.items() if isinstance(kind, NullType)}
            found[number] = Content(footer.rows, {**ranges, **lacking})
        return found

    def markers(self, spark: SparkSession, files: Numbered) -> list[MarkerLine]:
        """The markers of the files in stream order. Only files that may have some are read, by the driver."""
        looked = self._look(spark, list(files.values()))
        with ThreadPoolExecutor(THREADS) as threads:
            found = threads.map(lambda n: _markers(n, files[n], looked[files[n].path]), files)
            return sorted((marker for markers in found for marker in markers), key=lambda m: m.position)

    def with_faults(self, lines: DataFrame, types: Types) -> DataFrame:
        return with_row_faults(lines, types)

    def lines(self, spark: SparkSession, files: Numbered) -> DataFrame:
        """`raw`: the row as JSON; `line`: its index in the file, from 0."""
        footers = self._footers(spark, files)
        parts: list[DataFrame] = []
        for group in _groups(footers, lambda footer: tuple(footer.columns)):
            values = ", ".join(
                f"{_readable(quoted(name), kind)} AS {quoted(name)}"
                for name, kind in group.columns
                if kind is not None
            )
            raw = f"to_json(struct({values}), {_OPTIONS})" if values else "'{}'"
            rows = self._placed(spark, files, group, [f"{raw} AS raw"])
            parts.append(rows.selectExpr("raw", f"`{FILE}`", f"`{POSITION}` % {NEXT_FILE}L AS line"))
        unreadable = [(f.problem, files[number].uri, 0) for number, f in footers.items() if f.problem]
        if unreadable or not parts:
            parts.append(_few(spark, unreadable, **{"raw": "STRING", FILE: "STRING", "line": "BIGINT"}))
        return reduce(DataFrame.unionByName, parts).selectExpr(
            "raw",
            f"`{FILE}` AS file",
            "line",
            "CAST(line + 1 AS INT) AS ordinal",
        )

    def fields(self, spark: SparkSession, files: Numbered) -> dict[str, str]:
        kinds: dict[str, set[str]] = {}
        for footer in self._footers(spark, files).values():
            for name, kind in footer.columns.items():
                if name not in MARKERS and not isinstance(kind, NullType):
                    kinds.setdefault(name, set()).add(_kind(kind))
        return {name: _common(found) for name, found in kinds.items()}

    # --- scans ---

    def scanned(self, spark: SparkSession, files: Sequence[InputFile]) -> bool:
        """Whether the engine reads files by itself, and tells the place of a row; else tasks do."""
        return not is_connect(spark)

    def _placed(
        self, spark: SparkSession, files: Numbered, group: _Group, expressions: Sequence[str]
    ) -> DataFrame:
        """SQL over the rows of a group, with `$file` and `$position`."""
        chosen = {number: files[number] for number in group.footers}
        if self.scanned(spark, list(chosen.values())):
            scan = spark.read.schema(group.schema).parquet(*(file.path for file in chosen.values()))
            return placed(scan, chosen, expressions, _INDEX)
        parts = [
            part
            for number, file in chosen.items()
            for part in parts_of(file, number, group.footers[number].groups, costs.PART)
        ]
        rows = frame_of_parts(spark, parts, group.schema)
        return rows.selectExpr(*expressions, f"`{FILE}`", f"`{POSITION}`")

    # --- footers ---

    def _look(self, spark: SparkSession, files: Sequence[InputFile]) -> dict[str, Footer]:
        """Read the footers anew: a file may have been mended since."""
        if len(self._seen) > _REMEMBERED:
            self._seen.clear()
        paths = [file.path for file in files]
        found = dict(zip(paths, read_footers(spark, paths), strict=True))
        self._seen.update(found)
        return found

    def _footers(self, spark: SparkSession, files: Numbered) -> dict[int, Footer]:
        # Another thread may look at other files meanwhile, and forget these.
        known = {file.path: self._seen.get(file.path) for file in files.values()}
        found = self._look(spark, [file for file in files.values() if known[file.path] is None])
        return {number: known[file.path] or found[file.path] for number, file in files.items()}


# --- scans ---------------------------------------------------------------------------------------------------

_INDEX = "_metadata.row_index"


def _groups(
    footers: Mapping[int, Footer], wanted: Callable[[Footer], Sequence[str] | None]
) -> Iterator[_Group]:
    """The files that have rows, those with the same types in the wanted columns together; `None`: not this file."""
    found: dict[tuple[tuple[str, DataType | None], ...], dict[int, Footer]] = {}
    for number, footer in footers.items():
        names = wanted(footer) if footer.rows else None
        if names is not None:
            kinds = ((name, footer.columns.get(name, NullType())) for name in names)
            columns = tuple((name, kind) for name, kind in kinds if not isinstance(kind, NullType))
            found.setdefault(columns, {})[number] = footer
    return (_Group(columns, of) for columns, of in found.items())


def _markers(number: int, file: InputFile, footer: Footer) -> list[MarkerLine]:
    """The markers of a file; of one that cannot be read, that it is so."""
    place, problem = number * NEXT_FILE, footer.problem
    try:
        names = [name for name in MARKERS if isinstance(footer.columns.get(name), StringType)]
        found = markers_in(file.path, names) if footer.marked else []
    except UNREADABLE as error:
        problem, found = reason(error), []
    if problem:
        told = (f"{file.path} cannot be read as Parquet: {problem}", UNREADABLE_HINT)
        return [MarkerLine("spoilt", problem, place, problem=told, code="RQ414")]
    return [MarkerLine(name[1:], text, place + i, next=place + i + 1) for name, text, i in found]


def _few(spark: SparkSession, rows: Sequence[tuple[object, ...]], **types: str) -> DataFrame:
    """A frame of few rows, or of none."""
    if rows:
        return spark.createDataFrame(rows, ", ".join(f"`{name}` {kind}" for name, kind in types.items()))
    return spark.range(0).selectExpr(*(f"CAST(NULL AS {kind}) AS `{name}`" for name, kind in types.items()))


class DeltaFiles(Parquet):
    """The files of tables of Delta. Those in object stores are read as the log of the table is, with the account that
    the library takes from its environment: Spark would ask for clients and settings of its own."""

    def scanned(self, spark: SparkSession, files: Sequence[InputFile]) -> bool:
        return super().scanned(spark, files) and all(
            scheme_of(file.path) in ("", "file", "hdfs") for file in files
        )


# --- types ---------------------------------------------------------------------------------------------------

_WHOLE = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
"""The types of whole numbers, with their digits."""

_KINDS: dict[type[DataType], str] = {
    **dict.fromkeys(_WHOLE, "bigint"),
    FloatType: "double",
    DoubleType: "double",
}


def _converted(value: str, kind: DataType | None, type_: Type) -> tuple[str, str | None]:
    """SQL: a value of a column as one of an attribute; and where it is none, `None` if that cannot be."""
    converted, nothing = f"CAST({value} AS {type_.spark})", f"CAST(NULL AS {type_.spark})"
    if kind is None:  # nothing is known of it but that it is there
        return nothing, "true"
    if isinstance(kind, NullType):
        return nothing, None
    if kind.simpleString() == type_.spark.lower():
        return value, None
    if type_.name == "string":
        return _text(value, kind)
    if _widens(kind, type_):
        return converted, None
    if _narrows(kind, type_):
        converted = f"try_cast({value} AS {type_.spark})"
        return converted, f"{value} IS NOT NULL AND NOT {converted} <=> {value}"
    return nothing, f"{value} IS NOT NULL"


def _as_converted(values: Range, kind: DataType | None, type_: Type) -> Range:
    """The values of a column as those of an attribute; of some types that keep neither order nor nulls, less."""
    same = type_.name in ("int", "long") or (kind is not None and kind.simpleString() == type_.spark.lower())
    return values if same else Range(values.nulls)


def _widens(kind: DataType, type_: Type) -> bool:
    """Whether the type takes every value of a column: a whole number of more digits, a double of any number."""
    whole = _WHOLE.get(type(kind))
    if type_.name == "timestamp":
        return isinstance(kind, TimestampNTZType)
    if type_.name == "double":
        return whole is not None or isinstance(kind, FloatType | DecimalType)
    if type_.name in ("int", "long"):
        return whole is not None and whole <= _WHOLE[IntegerType if type_.name == "int" else LongType]
    if type_.name != "decimal":
        return False
    digits, scale = (kind.precision, kind.scale) if isinstance(kind, DecimalType) else (whole or 99, 0)
    return digits - scale <= type_.parameters[0] - type_.parameters[1] and scale <= type_.parameters[1]


def _narrows(kind: DataType, type_: Type) -> bool:
    """Whether the type takes some values of a column, and the others can be told."""
    return type_.name in ("int", "long", "decimal") and isinstance(kind, (DecimalType, *_WHOLE))


def _text(value: str, kind: DataType) -> tuple[str, str | None]:
    """As in JSON, a string takes anything by its text."""
    if isinstance(kind, StringType):
        return value, None
    if isinstance(kind, BinaryType):
        text = f"IF(is_valid_utf8({value}), CAST({value} AS STRING), NULL)"
        return text, f"{value} IS NOT NULL AND {text} IS NULL"
    if isinstance(kind, TimestampType | TimestampNTZType):
        return f"date_format({value}, {quote(TIMESTAMP)})", None
    if isinstance(kind, FloatType | DoubleType):
        return java_text(value), None
    if isinstance(kind, ArrayType | MapType | StructType):
        return f"to_json({value}, {_OPTIONS})", None
    return f"CAST({value} AS STRING)", None


_OPTIONS = f"map('timestampFormat', {quote(TIMESTAMP)})"


def _readable(value: str, kind: DataType) -> str:
    """SQL: a value as it is shown; a float with the digits that it has as a double."""
    return f"CAST({value} AS DOUBLE)" if isinstance(kind, FloatType) else value


def _said(kind: DataType | None) -> str:
    return "of a type that Spark does not know" if kind is None else kind.simpleString()


def _kind(kind: DataType | None) -> str:
    """The type that `fields` gives: of numbers the widest, as Spark infers it of JSON."""
    if kind is None:
        return "unknown"
    return _KINDS.get(type(kind), kind.simpleString())


def _common(kinds: set[str]) -> str:
    """What files that differ in a column's type have in common: every value has a text."""
    if len(kinds) == 1:
        return next(iter(kinds))
    return "double" if kinds == {"bigint", "double"} else "string"
