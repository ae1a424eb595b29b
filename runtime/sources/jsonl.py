"""JSON Lines: a tuple is an object, a marker an object with one key (design, section 6).

A row's place in its file is the block (14 bits) and the row of the task that reads the block (33 bits).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from cedilla.runtime.sources.base import (
    CORRUPT,
    FILE,
    POSITION,
    Format,
    InputFile,
    MarkerLine,
    Scan,
    Types,
    placed,
)

# A marker must never be lost as a bad tuple: what follows it would be taken for something else (G34).
_SPOILT = f"`{CORRUPT}` LIKE '%\"$accent\"%' OR `{CORRUPT}` LIKE '%\"$punctuation\"%'"
# A line that `rows` has no row for is blank.
_NOT_BLANK = r"ascii(value) > 32 OR value RLIKE '\\S'"
_ARRAY = "ascii(value) = 91"
_LIKELY = "contains(value, '\"$accent\"') OR contains(value, '\"$punctuation\"')"
_PARSED = (
    f"from_json(value, '`$accent` STRING, `$punctuation` STRING, `{CORRUPT}` STRING', "
    f"map('columnNameOfCorruptRecord', '{CORRUPT}'))"
)
_PLACE = (f"_metadata.file_path AS `{FILE}`", "_metadata.file_block_start AS `$block`")
_INSIDE = "shiftleft(shiftright(`$block`, 22), 33) + (`$row` & 8589934591L)"


class JsonLines(Format):
    """One line is one tuple or marker; large files are read by several tasks."""

    malformed: ClassVar[str] = "the line is no JSON object, or a value is not of its attribute's type"

    def rows(self, spark: SparkSession, files: Sequence[InputFile], types: Types) -> DataFrame:
        """Every line of the files that is not blank."""
        fields = ["`$accent` STRING", "`$punctuation` STRING", f"`{CORRUPT}` STRING"]
        fields += [f"`{name}` {type_.spark}" for name, type_ in types.items()]
        frame = (
            spark.read.schema(", ".join(fields))
            .option("columnNameOfCorruptRecord", CORRUPT)
            .json([file.path for file in files])
            .selectExpr("*", *_PLACE, "monotonically_increasing_id() AS `$row`")
        )
        return placed(spark, frame, files, _INSIDE).drop("$block", "$row")

    def scan(self, spark: SparkSession, files: Sequence[InputFile]) -> Scan:
        """One pass over the lines as text: those that look like markers are parsed, the others are counted."""
        seen = Observation()
        lines = (
            spark.read.text([file.path for file in files])
            .selectExpr("value", *_PLACE)
            .where(_NOT_BLANK)
            .observe(seen, F.expr("count(1) AS lines"), F.expr(f"count_if({_ARRAY}) AS arrays"))
            .selectExpr("*", "monotonically_increasing_id() AS `$row`")
        )
        likely = (
            lines.where(_LIKELY).selectExpr("*", f"{_PARSED} AS `$parsed`").selectExpr("*", "`$parsed`.*")
        )
        markers = _in_order(placed(spark, likely, files, _INSIDE))
        counted = seen.get
        if counted["arrays"]:  # their elements are rows of their own
            return super().scan(spark, files)
        return Scan(tuple(markers), counted["lines"] - len(markers))

    def markers(self, spark: SparkSession, files: Sequence[InputFile]) -> list[MarkerLine]:
        return _in_order(self.rows(spark, files, {}))

    def lines(self, spark: SparkSession, files: Sequence[InputFile]) -> DataFrame:
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

    def fields(self, spark: SparkSession, files: Sequence[InputFile]) -> dict[str, str]:
        inferred = spark.read.option("columnNameOfCorruptRecord", CORRUPT).json([f.path for f in files])
        marks = {"$accent", "$punctuation", CORRUPT}
        return {f.name: f.dataType.simpleString() for f in inferred.schema.fields if f.name not in marks}


def _in_order(rows: DataFrame) -> list[MarkerLine]:
    """The markers among rows. One Spark job."""
    found = (
        rows.where(f"`$accent` IS NOT NULL OR `$punctuation` IS NOT NULL OR {_SPOILT}")
        .select("`$accent`", "`$punctuation`", f"`{CORRUPT}`", POSITION)
        .collect()
    )
    result: list[MarkerLine] = []
    for accent, punctuation, corrupt, position in sorted(found, key=lambda row: row[3]):
        kind = "spoilt" if corrupt is not None else "accent" if accent is not None else "punctuation"
        text = {"spoilt": corrupt, "accent": accent, "punctuation": punctuation}[kind]
        result.append(MarkerLine(kind, text, position))
    return result
