"""JSON Lines: a tuple is an object, a marker an object with one key (design, section 6).

A row's place in its file is the block (14 bits) and the row of the task that reads the block (33 bits).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.runtime.sources.base import CORRUPT, FILE, POSITION, Format, InputFile, MarkerLine, Types, placed

# A marker must never be lost as a bad tuple: what follows it would be taken for something else (G34).
_SPOILT = f"`{CORRUPT}` LIKE '%\"$accent\"%' OR `{CORRUPT}` LIKE '%\"$punctuation\"%'"
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
            .select(
                "*",
                F.col("_metadata.file_path").alias(FILE),
                F.col("_metadata.file_block_start").alias("$block"),
                F.monotonically_increasing_id().alias("$row"),
            )
        )
        return placed(spark, frame, files, _INSIDE).drop("$block", "$row")

    def markers(self, spark: SparkSession, files: Sequence[InputFile]) -> list[MarkerLine]:
        found = (
            self.rows(spark, files, {})
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
