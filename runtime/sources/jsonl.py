"""JSON Lines folders as sources: tuples and markers, each with its place in the stream (design, sections 5, 6).

A place is one number that orders rows as their lines stand: file (in the slice's order), block of the file,
row of the task that reads it. Two reads of the same files give the same numbers; another machine may give
others, so only files and counts of lines are ever stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.types import Type, column, quote

POSITION = "$position"
CORRUPT = "$corrupt"
MAX_FILES = 1 << 15
"""Files of one slice; the file's number has 15 bits of a place, the block 14, the row 33."""

NEXT_FILE = 1 << 47
"""The first place of a slice's second file."""

_INLINE_FILES = 64


@frozen
class InputFile:
    """A file: its path, and the same as Spark's `_metadata.file_path` writes it."""

    path: str
    uri: str


@frozen
class MarkerLine:
    """A marker as it was read, with its place in the slice.

    `kind`: accent, punctuation, or spoilt: a line that was meant as a marker but is no JSON object.
    """

    kind: str
    text: str
    position: int

    @property
    def file(self) -> int:
        """The index of its file in the slice."""
        return file_of(self.position)


_EPOCH_FILE = re.compile(r"/epoch=\d+/[^/]+$")
# A marker must never be lost as a bad tuple: what follows it would be taken for something else (G34).
_SPOILT = f"`{CORRUPT}` LIKE '%\"$accent\"%' OR `{CORRUPT}` LIKE '%\"$punctuation\"%'"
_LISTING = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_LISTED = ("path", "_metadata.file_path AS uri", "unix_micros(modificationTime) AS modified")


def file_of(position: int) -> int:
    """The index in the slice of the file that a place lies in."""
    return position // NEXT_FILE


def discover(spark: SparkSession, path: str) -> list[InputFile]:
    """The files of a folder in stream order: by modification time, then by name."""
    listing = spark.read.format("binaryFile").load(path)
    return in_order(listing.selectExpr(*_LISTED).collect())


def arriving(spark: SparkSession, path: str) -> DataFrame:
    """A streaming DataFrame of the files that appear in a folder: path, uri, modified.

    However old they are: a file that is moved into place keeps its modification time, and by default Spark
    passes over what is a week older than the newest file.
    """
    reader = spark.readStream.schema(_LISTING).format("binaryFile").option("maxFileAge", "36500d")
    return reader.load(path).selectExpr(*_LISTED)


def in_order(listed: Iterable[Row]) -> list[InputFile]:
    """Files in stream order; rows of path, uri, modified.

    By modification time, then by name; the files of another query's output by name alone, as they are written
    aside in another order (design, section 6).
    """
    return [InputFile(r["path"], r["uri"]) for r in sorted(listed, key=_place)]


def _place(row: Row) -> tuple[int, str]:
    return 0 if _EPOCH_FILE.search(row["path"]) else row["modified"], row["path"]


def rows(spark: SparkSession, files: Sequence[InputFile], types: Mapping[str, Type]) -> DataFrame:
    """Every line of the files: attributes, marker columns, the text where malformed, and its place."""
    fields = ["`$accent` STRING", "`$punctuation` STRING", f"`{CORRUPT}` STRING"]
    fields += [f"`{name}` {type_.spark}" for name, type_ in types.items()]
    frame = (
        spark.read.schema(", ".join(fields))
        .option("columnNameOfCorruptRecord", CORRUPT)
        .json([file.path for file in files])
    )
    return _placed(spark, frame, files)


def markers(spark: SparkSession, files: Sequence[InputFile]) -> list[MarkerLine]:
    """The markers of the files in stream order. One Spark job; only markers reach the driver."""
    found = (
        rows(spark, files, {})
        .where(f"`$accent` IS NOT NULL OR `$punctuation` IS NOT NULL OR {_SPOILT}")
        .select("`$accent`", "`$punctuation`", f"`{CORRUPT}`", POSITION)
        .collect()
    )
    result: list[MarkerLine] = []
    for accent, punctuation, corrupt, position in sorted(found, key=lambda row: row[3]):
        kind = "spoilt" if corrupt is not None else "accent" if accent is not None else "punctuation"
        text = {"spoilt": corrupt, "accent": accent, "punctuation": punctuation}[kind]
        result.append(MarkerLine(kind, text, position))
    return result


def lines(spark: SparkSession, files: Sequence[InputFile]) -> DataFrame:
    """Every line that is not blank, with its text, its number in the file, and the same place as in `rows`."""
    text = spark.read.text([file.path for file in files])
    numbered = text.selectExpr(
        "value AS raw",
        "_metadata.file_path AS file",
        "_metadata.file_block_start AS block",
        "monotonically_increasing_id() AS line_id",
    ).selectExpr("*", "row_number() OVER (PARTITION BY file ORDER BY block, line_id) AS line")
    return numbered.where("raw RLIKE '\\\\S'").selectExpr(
        "raw", "file", "line", "row_number() OVER (PARTITION BY file ORDER BY line) AS ordinal"
    )


def fields(spark: SparkSession, files: Sequence[InputFile]) -> dict[str, str]:
    """The fields that occur in the files with the types that Spark infers, but for markers."""
    inferred = spark.read.option("columnNameOfCorruptRecord", CORRUPT).json([file.path for file in files])
    marks = {"$accent", "$punctuation", CORRUPT}
    return {f.name: f.dataType.simpleString() for f in inferred.schema.fields if f.name not in marks}


def _placed(spark: SparkSession, frame: DataFrame, files: Sequence[InputFile]) -> DataFrame:
    with_row = frame.select(
        "*",
        F.col("_metadata.file_path").alias("$file"),
        F.col("_metadata.file_block_start").alias("$block"),
        F.monotonically_increasing_id().alias("$row"),
    )
    if len(files) <= _INLINE_FILES:
        cases = " ".join(f"WHEN {quote(file.uri)} THEN {i}L" for i, file in enumerate(files))
        number = f"CASE {column('$file')} {cases} END" if len(files) > 1 else "0L"
    else:
        numbers = spark.createDataFrame(
            [(file.uri, i) for i, file in enumerate(files)], "`$file` STRING, `$number` BIGINT"
        )
        with_row = with_row.join(F.broadcast(numbers), "$file")
        number = "`$number`"
    place = f"shiftleft({number}, 47) + shiftleft(shiftright(`$block`, 22), 33) + (`$row` & 8589934591L)"
    return with_row.withColumn(POSITION, F.expr(place)).drop("$block", "$row", "$number")
