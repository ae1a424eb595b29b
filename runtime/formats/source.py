"""What a format of files is to a source: tuples and markers, each with its place in the stream (design, sections
5 and 6).

A place is one number that orders rows as they stand in the stream: the file, in the slice's order, in the bits
above 47; below them whatever a format orders the rows of one file by. Two reads of the same files give the same
numbers; another machine may give others, so only files and counts of rows are ever stored.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar

from attrs import evolve, frozen
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import quote
from cedilla.compiler.regions import POSITION
from cedilla.runtime.engines import costs
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

    `copy_of`: the file that people know, where this is a copy for Spark to read. `is_markers`: it is of the source's
    folder of markers.
    """

    path: str
    uri: str
    length: int = 0
    copy_of: InputFile | None = None
    is_markers: bool = False

    @property
    def known(self) -> InputFile:
        """The file for messages."""
        return self.copy_of or self

    @property
    def name(self) -> str:
        """The same as Spark's `input_file_name()` writes it: three slashes where there is no host."""
        return re.sub("^([^:/]+):/(?=[^/])", r"\1:///", self.uri)


@frozen
class Scan:
    """What a first look at files has found: markers in stream order, the numbers of files that have no tuple as far as
    that is known, and how many rows there are, markers too, where that is known.

    `ends_only`: only the edges of the files were seen, and places are before or behind all tuples of a file.
    """

    markers: tuple[MarkerLine, ...] = ()
    empty: frozenset[int] = frozenset()
    rows: int | None = None
    ends_only: bool = False

    def without(self, attributes: Collection[str]) -> Scan:
        """The same where some keys that are near a marker's are those of attributes."""
        if all(marker.kind != "near" for marker in self.markers):
            return self
        markers = (m for m in self.markers if m.kind != "near" or is_near_marker(m.text, attributes))
        return evolve(self, markers=tuple(markers))


@frozen
class Range:
    """The values of a column in a file. `nulls`: how many of its rows have none; `least`, `greatest`: of the others,
    as regions have them, where that is known."""

    nulls: int
    least: int | None = None
    greatest: int | None = None


@frozen
class Content:
    """What a file says of its rows without being read, all of which can be read as tuples or markers.

    `ranges`: attribute -> its values; one that is not named may have any.
    """

    rows: int
    ranges: Mapping[str, Range]


class Format(ABC):
    """A format of files. Every method reads with Spark; of data, only markers reach the driver."""

    malformed: ClassVar[str]
    """Why a tuple is rejected with RQ301, in words."""
    columnar: ClassVar[bool] = False
    """Whether a pass over some of the columns costs much less than one over all."""
    exact: ClassVar[bool] = True
    """Whether `scan` finds every marker; if not, those that `rows` has are counted, and `markers` is asked."""
    is_marker: ClassVar[str] = "`$accent` IS NOT NULL OR `$punctuation` IS NOT NULL"
    """SQL: whether a row of `rows` is a marker."""

    def discover(self, spark: SparkSession, path: str) -> list[InputFile]:
        """The files of a folder in stream order: by modification time, then by name."""
        return listed_files(spark, path)

    def readable(self, spark: SparkSession, files: Sequence[InputFile], folder: str) -> Sequence[InputFile]:
        """The files, and copies in a folder of those that Spark would misread."""
        return files

    def arriving(self, spark: SparkSession, path: str) -> DataFrame:
        """A streaming DataFrame of the files that appear in a folder or below it: path, uri, modified, length.

        However old they are: a file that is moved into place keeps its modification time, and by default Spark
        passes over what is a week older than the newest file.
        """
        reader = spark.readStream.schema(_LISTING).format("binaryFile").option("maxFileAge", "36500d")
        found = reader.options(**_DEEP).load(path)
        return found.where(_is_visible(spark, path)).selectExpr(*_LISTED)

    @abstractmethod
    def rows(self, spark: SparkSession, files: Sequence[InputFile], types: Types) -> DataFrame:
        """Every tuple and marker of the files, one a row.

        Columns: the attributes of `types`; `$accent` and `$punctuation`, not null in markers; `$corrupt`, the
        text where the row cannot be read; `$file`, as `InputFile.uri`; `$position`, its place.
        """

    def rows_but_of(
        self, empty: Collection[int], spark: SparkSession, files: Sequence[InputFile], types: Types
    ) -> DataFrame:
        """`rows`, for whoever can do without those of some files that have no tuple; `empty`: their numbers."""
        return self.rows(spark, files, types)

    def scan(self, spark: SparkSession, files: Sequence[InputFile]) -> Scan:
        """A first look at files; where it is not `exact`, it may overlook markers that are oddly written."""
        return Scan(tuple(self.markers(spark, files)))

    def scans(self, spark: SparkSession, slices: Sequence[Sequence[InputFile]]) -> list[Scan]:
        """The same of the files of several sources."""
        return [self.scan(spark, files) for files in slices]

    def scan_ends(self, files: Files, listed: Sequence[InputFile]) -> Scan | None:
        """The markers that a few bytes of each file tell of, without Spark; `None` where they do not tell."""
        return None

    @abstractmethod
    def markers(self, spark: SparkSession, files: Sequence[InputFile]) -> list[MarkerLine]:
        """The markers of the files in stream order. One Spark job; only markers reach the driver."""

    def contents(self, spark: SparkSession, files: Sequence[InputFile], types: Types) -> list[Content] | None:
        """What each of the files says of itself, if all do."""
        return None

    @abstractmethod
    def lines(self, spark: SparkSession, files: Sequence[InputFile]) -> DataFrame:
        """What people see of each row of `rows`: `raw`, its text; `file`; `line`, its number in the file for
        messages; `ordinal`, 1 for the first row of its file by place, and so on."""

    def with_faults(self, lines: DataFrame, types: Types) -> DataFrame:
        """Rows of `lines` and their `fault`: which value in `raw` is not of its attribute's type, in words; null where
        that is not what is wrong."""
        return lines.selectExpr("*", "CAST(NULL AS STRING) AS fault")

    @abstractmethod
    def fields(self, spark: SparkSession, files: Sequence[InputFile]) -> dict[str, str]:
        """The attributes that occur in the tuples of the files, with the types that Spark infers."""


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


# --- places --------------------------------------------------------------------------------------------------


def placed(
    spark: SparkSession,
    frame: DataFrame,
    files: Sequence[InputFile],
    columns: Sequence[str],
    inside: str,
    numbers: Sequence[int] | None = None,
    file: str = "_metadata.file_path",
    name: str | None = None,
) -> DataFrame:
    """Columns of what was read of files, with `$file` and `$position`.

    `columns`, `file`: as SQL; `inside`: SQL that orders the rows of one file, a number below 2^47; `numbers`: those
    of the files in the slice, where the frame has some of its files only; `name`: SQL of `InputFile.name`, for who
    would pay for `file` in every row, needed or not.
    """
    numbered = list(zip(numbers or range(len(files)), files, strict=True))
    named = f"{file} AS `{FILE}`"
    if len(numbered) <= costs.FILES_IN_EXPRESSION:
        calls = (each.uri if name is None else each.name for _, each in numbered)
        number = _number(name or file, [(n, text) for (n, _), text in zip(numbered, calls, strict=True)])
        return frame.selectExpr(*columns, named, f"shiftleft({number}, 47) + {inside} AS `{POSITION}`")
    rows = [(number, each.uri) for number, each in numbered]
    known = spark.createDataFrame(rows, "`$number` BIGINT, `$file` STRING")
    frame = frame.selectExpr(*columns, named, f"{inside} AS `$inside`").join(F.broadcast(known), FILE)
    frame = frame.selectExpr("*", f"shiftleft(`$number`, 47) + `$inside` AS `{POSITION}`")
    return frame.drop("$number", "$inside")


def _number(file: str, numbered: Sequence[tuple[int, str]]) -> str:
    """The number of a file, as SQL, by what Spark calls it."""
    if len(numbered) == 1:
        return f"{numbered[0][0]}L"
    cases = " ".join(f"WHEN {quote(text)} THEN {number}L" for number, text in numbered)
    return f"CASE {file} {cases} ELSE raise_error('a row of a file that was not asked for') END"
