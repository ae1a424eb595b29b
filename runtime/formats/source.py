"""What a format of files is to a source: tuples and markers, each with its place in the stream (design, sections
5 and 6).

A place is one number that orders rows as they stand in the stream: the file, in the slice's order, in the bits
above 47; below them whatever a format orders the rows of one file by. Two reads of the same files give the same
numbers; only files and counts of rows are ever stored.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar

import pyarrow as pa
from attrs import evolve, field, frozen
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler.regions import POSITION
from cedilla.runtime.items.csv_records import unknown_columns
from cedilla.runtime.items.marker import MarkerLine, Types
from cedilla.runtime.items.near_markers import is_near_marker
from cedilla.runtime.items.nested import Paths
from cedilla.runtime.items.record_files import record_file

CORRUPT = "$corrupt"
FILE = "$file"
MAX_FILES = 1 << 15
"""Files of one slice; the file's number has 15 bits of a place."""


@frozen
class InputFile:
    """A file: its path, its length in bytes. `is_markers`: it is of the source's folder of markers; `modified`: when it
    was modified, in milliseconds."""

    path: str
    length: int = 0
    is_markers: bool = False
    modified: int | None = None

    @property
    def shown(self) -> str:
        """What people are told: the path; of records, the topic and the partition."""
        return self.path if (records := record_file(self.path)) is None else records.place

    @property
    def uri(self) -> str:
        """The same, a path with what Java's URIs do not take escaped."""
        return _ESCAPED.sub(lambda sign: _percent(sign[0]), self.shown)


_ESCAPED = re.compile(r"[\x00-\x20\x7f-\xa0\s\ud800-\udfff\"#%<>?\[\\\]^`{|}]")
"""Java escapes control characters and blanks of all scripts. A surrogate is a byte of a name that is not UTF-8."""


def _percent(sign: str) -> str:
    return "".join(f"%{byte:02X}" for byte in sign.encode("utf-8", "surrogateescape"))


@frozen
class Scan:
    """What the search for markers has found in files: the markers in stream order, the numbers of files that have no
    tuple as far as that is known, and how many tuples there are, where that is known. `counts`: the same of each file
    that has some."""

    markers: tuple[MarkerLine, ...] = ()
    empty: frozenset[int] = frozenset()
    tuples: int | None = None
    counts: Mapping[int, int] = field(factory=dict[int, int])

    def without(self, attributes: Collection[str]) -> Scan:
        """The same where some keys that are near a marker's are those of attributes: such lines are tuples. Columns of
        CSV stay where none is an attribute."""
        if all(marker.kind not in ("near", "columns") for marker in self.markers):
            return self
        known = frozenset(attributes)
        return evolve(self, markers=tuple(m for m in self.markers if _stays(m, known)))


def _stays(marker: MarkerLine, known: frozenset[str]) -> bool:
    if marker.kind == "columns":
        return unknown_columns(marker.text, known, "") is not None
    return marker.kind != "near" or is_near_marker(marker.text, known)


@frozen
class Range:
    """The values of a column in a file. `nulls`: how many of its rows have none; `least`, `greatest`: of the others,
    as regions have them, where that is known."""

    nulls: int
    least: int | None = None
    greatest: int | None = None


@frozen
class Content:
    """What a file says of its rows, all of which can be read as tuples or markers.

    `rows`: how many they are, without the markers where `places` is known; `ranges`: attribute -> its values; one that
    is not named may have any; `places`: between which the tuples stand, the second excluded.
    """

    rows: int
    ranges: Mapping[str, Range]
    places: tuple[int, int] | None = None


Numbered = Mapping[int, InputFile]
"""Files of a slice, or some of them, by their numbers in it."""


class Format(ABC):
    """A format of files. Of data, only markers, counts and small slices reach the driver."""

    malformed: ClassVar[str]
    """Why a tuple is rejected with RQ301, in words."""
    by_bytes: ClassVar[bool] = False
    """Whether a row's place in its file is a byte, and not the number of the row."""
    columnar: ClassVar[bool] = False
    """Whether a pass over some of the columns costs much less than one over all."""

    @property
    def paths(self) -> Paths:
        """Where the values of attributes are read, if not by their names."""
        return {}

    @abstractmethod
    def tuples(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        """Every tuple of the files, one a row.

        Columns: the attributes of `types`; `$corrupt`, not null where the row cannot be read; `$position`, its place.
        """

    def tuples_with_notes(
        self, spark: SparkSession, files: Numbered, types: Types, *, keep: bool = False
    ) -> tuple[DataFrame, Callable[[], dict[int, Content] | None]] | None:
        """As `tuples`; and what is told, once a job has read all of them, of what each file says of its rows. `None`:
        its tasks note nothing. `keep`: what the first job reads is kept for the others, as long as that function is."""
        return None

    def parsed(self, files: Numbered, types: Types) -> tuple[pa.Table, dict[int, Content] | None] | None:
        """The `tuples` as a table, and what each of the files says of itself, if all do, where files are so small that
        the driver parses them; else `None`."""
        return None

    @abstractmethod
    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        """The markers of the files of several sources, all of them, and what else the search tells."""

    def tuples_with_contents(
        self, spark: SparkSession, files: Numbered, types: Types
    ) -> tuple[DataFrame, dict[int, Content] | None]:
        """The `tuples`, and what each of the files says of itself, if all do."""
        return self.tuples(spark, files, types), None

    @abstractmethod
    def rows_before(self, spark: SparkSession, file: InputFile, place: int) -> int:
        """How many rows a file has before a place in it, markers too."""

    @abstractmethod
    def place_of_row(self, spark: SparkSession, file: InputFile, number: int) -> int | None:
        """The place in a file of the row behind so many; `None` where there is none."""

    @abstractmethod
    def line_at(self, spark: SparkSession, file: InputFile, place: int) -> int:
        """The line, as people count them, of the row at a place in a file."""

    @abstractmethod
    def located(self, spark: SparkSession, files: Numbered, bad: DataFrame, types: Types) -> DataFrame:
        """What people see of some tuples, `bad`, those of `tuples` with more columns: `raw`, the text; `file`, as
        `InputFile.uri`; `line`, for messages; `fault`, what is wrong with a value or the row in words, or null."""

    @abstractmethod
    def fields(self, spark: SparkSession, files: Numbered) -> dict[str, str]:
        """The attributes that occur in the tuples of the files, with the types that are inferred, as Spark names
        them."""


def no_tuples(spark: SparkSession, types: Types) -> DataFrame:
    """The columns of `Format.tuples`, without rows."""
    kinds = {**{name: type_.spark for name, type_ in types.items()}, CORRUPT: "STRING", POSITION: "BIGINT"}
    return spark.range(0).selectExpr(*(f"CAST(NULL AS {kind}) AS {quoted(n)}" for n, kind in kinds.items()))


def quoted(name: str) -> str:
    """The name of a field, whatever signs it has, as SQL."""
    return f"`{name.replace('`', '``')}`"
