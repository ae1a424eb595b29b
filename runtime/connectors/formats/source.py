"""The interface of file formats for sources: tuples and markers with positions in the stream (design, sections 5 and
6).

A position is one number that orders rows as in the stream. The bits above 47 are the number of the file in the slice; a
format orders the rows of one file in the lower bits. Two reads of the same files give the same numbers. Only files and
counts of rows are ever stored.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa
from attrs import evolve, field, frozen
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler.regions import POSITION
from cedilla.runtime.connectors.records.change_events import NO_COLUMNS, Columns
from cedilla.runtime.connectors.records.csv_records import unknown_columns
from cedilla.runtime.connectors.records.field_names import OWN_NAMES, FieldNames
from cedilla.runtime.connectors.records.marker import MarkerLine, Types
from cedilla.runtime.connectors.records.near_markers import is_near_marker
from cedilla.runtime.connectors.records.nested import Paths
from cedilla.runtime.connectors.records.record_files import record_file
from cedilla.runtime.connectors.storage.parquet import ColumnStatistics

CORRUPT = "$corrupt"
FILE = "$file"
MAX_FILES = 1 << 15
"""Maximum number of files of one slice; the file's number has 15 bits of a position."""


@frozen
class InputFile:
    """A file: its path and its length in bytes. `is_markers`: it belongs to the source's folder of markers. `modified`:
    its modification time in milliseconds; `fingerprint`: `Files.fingerprint`, if known. `keys`: those of a file of a
    table, which its log has."""

    path: str
    length: int = 0
    is_markers: bool = False
    modified: int | None = None
    fingerprint: str | None = None
    keys: Mapping[str, str | None] | None = field(default=None, hash=False)

    @property
    def shown(self) -> str:
        """Returns the name of the file for messages: the path; of records, the topic and the partition."""
        return self.path if (records := record_file(self.path)) is None else records.place

    @property
    def uri(self) -> str:
        """Returns the same name, with the characters that Java escapes in URIs."""
        return _ESCAPED.sub(lambda sign: _percent(sign[0]), self.shown)


_ESCAPED = re.compile(r"[\x00-\x20\x7f-\xa0\s\ud800-\udfff\"#%<>?\[\\\]^`{|}]")
"""Java escapes control characters and blanks of all scripts. A surrogate is a byte of a name that is not UTF-8."""


def _percent(sign: str) -> str:
    return "".join(f"%{byte:02X}" for byte in sign.encode("utf-8", "surrogateescape"))


Searched = MutableMapping[Any, Sequence[Any]]
"""Parts of files -> their blocks, which were read to search for markers. The reader of the tuples takes them out."""


@frozen
class Scan:
    """The result of a search for markers in files. `markers`: in stream order. `empty`: the numbers of files that are
    known to contain no tuple. `tuples`: the number of tuples, if known. `counts`: the same for each file that contains
    some. `searched`: what was read for it, if the tuples are read from that.
    """

    markers: tuple[MarkerLine, ...] = ()
    empty: frozenset[int] = frozenset()
    tuples: int | None = None
    counts: Mapping[int, int] = field(factory=dict[int, int])
    searched: Searched = field(factory=dict[Any, Sequence[Any]], eq=False, repr=False)

    def without(self, attributes: Collection[str]) -> Scan:
        """Returns the scan without suspicious lines whose keys are names of attributes: such lines are tuples. A CSV
        header remains only if it names no attribute."""
        if all(marker.kind not in ("suspicious_key", "columns") for marker in self.markers):
            return self
        names = frozenset(attributes)
        return evolve(self, markers=tuple(m for m in self.markers if _stays(m, names)))


def _stays(marker: MarkerLine, columns: frozenset[str]) -> bool:
    if marker.kind == "columns":
        return unknown_columns(marker.text, columns, "") is not None
    return marker.kind != "suspicious_key" or is_near_marker(marker.text, columns)


@frozen
class FileStatistics:
    """Statistics of a file whose rows can all be read as tuples or markers.

    `rows`: the number of rows, without markers if `places` is known. `ranges`: attribute -> its values; an attribute
    that is not in it may have any. `places`: the positions between which the tuples are, the second excluded.
    """

    rows: int
    ranges: Mapping[str, ColumnStatistics]
    places: tuple[int, int] | None = None


Numbered = Mapping[int, InputFile]
"""Files of a slice, or some of them, by their numbers in it."""
Members = Mapping[str, Mapping[Any, int] | None]
"""Field -> value -> number of rows; `None` for a field of very many values."""
MAX_VALUES = 10_000
"""The most different values of a field in some rows that are counted."""


@frozen
class Counted:
    """The fields whose values are counted, in the rows between two positions, the second excluded."""

    names: tuple[str, ...] = ()
    low: int = 0
    high: int = MAX_FILES << 47


NO_FIELDS = Counted()
Conditions = Sequence[tuple[str, str]]
"""Conditions on fields that are texts: the field, and SQL over it."""
Span = tuple[int, int]
"""Two positions, the second excluded."""
EVERYWHERE: Span = (NO_FIELDS.low, NO_FIELDS.high)


@frozen
class FieldKinds:
    """The kinds of a field's values, under Spark's names: that of the `first` defined one in stream order, and the kind
    that all have in `common`; `void` without a defined value."""

    first: str
    common: str


StatisticsByFile = Mapping[int, FileStatistics]
"""Statistics of files of a slice by their numbers in it."""


@frozen(eq=False)
class Unplaced:
    """A scan that reads only columns that are used, and has null in place of positions. `rows`: returns the rows.
    `check`: raises an error, after the jobs, if they may have missed some."""

    rows: Callable[[], DataFrame]
    check: Callable[[], None]


@frozen(eq=False)
class Batch:
    """The tuples of some files, read once. `rows`: as `Format.tuples` returns them; an Arrow table if they are few.
    `statistics`: those of each file; `None` unless every file has them. `kept`: what the rows need in memory.
    `members`: counts the values of fields, which another thread may do. `narrowed`: returns the rows again, only those
    that satisfy conditions on texts, each given as its field and SQL over the field; `None` if that saves nothing.
    `unplaced`: reads the rows again by a scan of the embedded engine; `None` if no such scan reads them. `is_parsed`:
    the rows are in files of this epoch, which the engine reads faster than it keeps rows."""

    rows: pa.Table | DataFrame
    statistics: StatisticsByFile | None = None
    kept: object = None
    members: Callable[[], Members] = dict
    narrowed: Callable[[Conditions], DataFrame] | None = None
    unplaced: Unplaced | None = None
    is_parsed: bool = False


class Format(ABC):
    """A format of files. Only markers, counts and small slices of data reach the driver."""

    malformed: ClassVar[str]
    """The text of RQ301 for a rejected tuple."""
    by_bytes: ClassVar[bool] = False
    """True if the position of a row in its file is a byte, False if it is the number of the row."""
    columnar: ClassVar[bool] = False
    """True if a pass over some of the columns costs much less than one over all."""

    @property
    def paths(self) -> Paths:
        """Returns the paths of attributes whose values are not read by their names."""
        return {}

    @property
    def field_names(self) -> FieldNames:
        """Returns the names that columns of files have in the stream."""
        return OWN_NAMES

    def with_paths(self, paths: Paths) -> Format:
        """Returns the format with the paths of fields after accents."""
        return self

    @property
    def columns(self) -> Columns:
        """Returns the columns that rows of a table have, if tuples are such rows."""
        return NO_COLUMNS

    def expecting(self, columns: Columns) -> Format:
        """Returns the format that refuses rows without some columns, if tuples are rows of a table."""
        return self

    def with_tests_of_texts(self) -> Format:
        """Returns the format with a test of each text, where it otherwise fails a job for one that is not UTF-8."""
        return self

    @abstractmethod
    def tuples(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        """Returns every tuple of the files, one in each row.

        Columns: the attributes of `types`; `$corrupt`, not null if the row cannot be read; `$position`.
        """

    def read(
        self,
        spark: SparkSession,
        files: Numbered,
        types: Types,
        scratch: str,
        counted: Counted = NO_FIELDS,
        searched: Searched | None = None,
    ) -> Batch:
        """Returns `tuples` for several jobs, with statistics. `scratch`: a folder for what is written for them.
        `searched`: that of the files' scan, which is empty then."""
        return Batch(self.tuples(spark, files, types))

    @abstractmethod
    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        """Returns the scans of the files of several sources, with all of their markers."""

    @abstractmethod
    def rows_before(self, spark: SparkSession, file: InputFile, position: int) -> int:
        """Returns the number of rows of a file before a position in it, including markers."""

    @abstractmethod
    def place_of_row(self, spark: SparkSession, file: InputFile, number: int) -> int | None:
        """Returns the position in a file of the row with a number from 0; `None` if the file is shorter."""

    @abstractmethod
    def line_at(self, spark: SparkSession, file: InputFile, position: int) -> int:
        """Returns the line number, for messages, of the row at a position in a file."""

    def rows_at(
        self, spark: SparkSession, file: InputFile, places: Sequence[int]
    ) -> list[tuple[str | None, int]]:
        """Returns the rows at positions in a file, given in order: the text of each row, if rows are text, and its
        line."""
        return [(None, self.line_at(spark, file, position)) for position in places]

    @abstractmethod
    def located(self, spark: SparkSession, files: Numbered, bad: DataFrame, types: Types) -> DataFrame:
        """Returns the rows `bad`, a part of `tuples` with more columns, for messages: `raw`, the text; `bytes`,
        in base64 if they are not UTF-8, or null; `file`, as `InputFile.uri`; `line`; `fault`, the error in a value or
        the row as text, or null."""

    @abstractmethod
    def fields(
        self, spark: SparkSession, files: Numbered, between: Span = EVERYWHERE
    ) -> dict[str, FieldKinds]:
        """Returns the attributes in the tuples of the files between two positions."""


def no_tuples(spark: SparkSession, types: Types) -> DataFrame:
    """Returns the columns of `Format.tuples` without rows."""
    kinds = {**{name: type_.spark for name, type_ in types.items()}, CORRUPT: "STRING", POSITION: "BIGINT"}
    return spark.range(0).selectExpr(*(f"CAST(NULL AS {kind}) AS {quoted(n)}" for n, kind in kinds.items()))


def quoted(name: str) -> str:
    """Returns the name of a field, with any characters, as SQL."""
    return f"`{name.replace('`', '``')}`"
