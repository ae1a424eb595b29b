"""What a format of files is to a source: tuples and markers, each with its place in the stream (design, sections
5 and 6).

A place is one number that orders rows as they stand in the stream: the file, in the slice's order, in the bits
above 47; below them whatever a format orders the rows of one file by. Two reads of the same files give the same
numbers; only files and counts of rows are ever stored.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar

from attrs import evolve, frozen
from pyspark.sql import DataFrame, Row, SparkSession

from cedilla.compiler.regions import POSITION
from cedilla.runtime.engines.files import Files
from cedilla.runtime.items.lines import merged
from cedilla.runtime.items.marker import MarkerLine, Types
from cedilla.runtime.items.near_markers import is_near_marker

CORRUPT = "$corrupt"
FILE = "$file"
MAX_FILES = 1 << 15
"""Files of one slice; the file's number has 15 bits of a place."""


@frozen
class InputFile:
    """A file: its path, the same as Spark's `_metadata.file_path` writes it, its length in bytes.

    `is_markers`: it is of the source's folder of markers.
    """

    path: str
    uri: str
    length: int = 0
    is_markers: bool = False


@frozen
class Scan:
    """What the search for markers has found in files: the markers in stream order, the numbers of files that have no
    tuple as far as that is known, and how many tuples there are, where that is known."""

    markers: tuple[MarkerLine, ...] = ()
    empty: frozenset[int] = frozenset()
    tuples: int | None = None

    def without(self, attributes: Collection[str]) -> Scan:
        """The same where some keys that are near a marker's are those of attributes: such lines are tuples."""
        if all(marker.kind != "near" for marker in self.markers):
            return self
        kept = (m for m in self.markers if m.kind != "near" or is_near_marker(m.text, attributes))
        return evolve(self, markers=tuple(kept))


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

    def discover(self, spark: SparkSession, path: str) -> list[InputFile]:
        """The files of a folder in stream order: by modification time, then by name."""
        return listed_files(spark, path)

    def arriving(self, spark: SparkSession, path: str) -> DataFrame:
        """A streaming DataFrame of the files that appear in a folder or below it: path, uri, modified, length.

        However old they are: a file that is moved into place keeps its modification time, and by default Spark
        passes over what is a week older than the newest file.
        """
        reader = spark.readStream.schema(_LISTING).format("binaryFile").option("maxFileAge", "36500d")
        found = reader.options(**_DEEP).load(path)
        return found.where(_is_visible(spark, path)).selectExpr(*_LISTED)

    @abstractmethod
    def tuples(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        """Every tuple of the files, one a row.

        Columns: the attributes of `types`; `$corrupt`, not null where the row cannot be read; `$position`, its place.
        """

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


# --- listing -------------------------------------------------------------------------------------------------

_EPOCH_FILE = re.compile(r"/epoch=\d+/[^/]+$")
_LISTING = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_LISTED = ("path", "_metadata.file_path AS uri", "unix_micros(modificationTime) AS modified", "length")


_DEEP = {"recursiveFileLookup": "true"}


def _is_visible(spark: SparkSession, path: str) -> str:
    """SQL: whether no part of a file's name below a folder is hidden. Spark itself shows `_a=b` and `_metadata`."""
    return f"NOT substr(path, {len(Files().absolute(path)) + 1}) RLIKE '/[._]'"


def listed_files(spark: SparkSession, path: str) -> list[InputFile]:
    """The files of a folder and of those below it, but for hidden ones, in stream order. One Spark job."""
    found = spark.read.format("binaryFile").options(**_DEEP).load(path)
    return in_order(found.where(_is_visible(spark, path)).selectExpr(*_LISTED).collect())


def in_order(listed: Iterable[Row]) -> list[InputFile]:
    """Files in stream order; rows of path, uri, modified, length.

    By modification time, then by name; the files of another query's output by name alone, as they are written
    aside in another order (design, section 6).
    """
    return [InputFile(r["path"], r["uri"], r["length"]) for r in sorted(listed, key=_place)]


def with_markers(data: Iterable[Row], markers: Iterable[Row]) -> list[InputFile]:
    """The files of a stream and of its folder of markers, rows as for `in_order`, in stream order (`lines.merged`)."""
    ordered = sorted(markers, key=lambda row: (row["modified"], row["path"]))
    return [
        InputFile(row["path"], row["uri"], row["length"], is_markers=is_markers)
        for row, is_markers in merged(sorted(data, key=_place), ordered, lambda row: row["modified"])
    ]


def _place(row: Row) -> tuple[int, str]:
    return 0 if _EPOCH_FILE.search(row["path"]) else row["modified"], row["path"]
