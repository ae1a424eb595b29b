"""Formats whose rows the engine reads; SQL gives each row its position."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import quote
from cedilla.compiler.regions import POSITION
from cedilla.runtime.connectors.formats.jsonl.batches import with_row_faults
from cedilla.runtime.connectors.formats.source import (
    CORRUPT,
    FILE,
    Format,
    InputFile,
    Numbered,
    Types,
    no_tuples,
)
from cedilla.runtime.engines.spark import costs

_FILE_URI = "replace(_metadata.file_path, 'file:///', 'file:/')"
"""The file of a row as SQL, equal to `InputFile.uri`; Spark's file systems write local paths differently."""
_INDEX = "_metadata.row_index"
"""The number of a row in its file as SQL, from 0."""


class ReadBySpark(Format):
    """A format with a DataFrame of all rows, including markers."""

    @abstractmethod
    def rows(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        """Returns every tuple and marker of the files, one in each row.

        Columns: those of `tuples`; `$accent` and `$punctuation`, not null in markers; `$file`, as `InputFile.uri`.
        """

    @abstractmethod
    def lines(self, spark: SparkSession, files: Numbered) -> DataFrame:
        """Returns the rows of `rows` for messages: `raw`, the text; `file`; `line`, the number in the file; `ordinal`,
        the number of the row in its file by position, from 1."""

    def tuples(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        if not files:
            return no_tuples(spark, types)
        rows = self.rows(spark, files, types).where("`$accent` IS NULL AND `$punctuation` IS NULL")
        return rows.drop("$accent", "$punctuation", FILE)

    def rows_before(self, spark: SparkSession, file: InputFile, position: int) -> int:
        return self.rows(spark, {0: file}, {}).where(F.col(POSITION) < position).count()

    def place_of_row(self, spark: SparkSession, file: InputFile, number: int) -> int | None:
        rows = self.rows(spark, {0: file}, {}).select(POSITION).orderBy(POSITION)
        row = rows.offset(number).first()
        return None if row is None else int(row[0])

    def line_at(self, spark: SparkSession, file: InputFile, position: int) -> int:
        ordinal = self.rows_before(spark, file, position) + 1
        row = self.lines(spark, {0: file}).where(F.col("ordinal") == ordinal).select("line").first()
        assert row is not None
        return int(row[0])

    def located(self, spark: SparkSession, files: Numbered, bad: DataFrame, types: Types) -> DataFrame:
        every = self.rows(spark, files, {}).selectExpr(
            f"`{FILE}` AS file",
            f"`{POSITION}`",
            f"row_number() OVER (PARTITION BY `{FILE}` ORDER BY `{POSITION}`) AS ordinal",
        )
        lines = bad.join(every, POSITION).join(self.lines(spark, files), ["file", "ordinal"])
        with_faults = with_row_faults(lines, types)
        with_faults = with_faults.withColumn("bytes", F.expr("CAST(NULL AS STRING)"))
        return with_faults.withColumn("fault", F.expr(f"coalesce(fault, `{CORRUPT}`)")).drop("ordinal")


def placed(frame: DataFrame, files: Numbered, columns: Sequence[str]) -> DataFrame:
    """Returns columns of rows read from files, as SQL, with `$file` and `$position`."""
    named = f"{_FILE_URI} AS `{FILE}`"
    if len(files) <= costs.FILES_IN_EXPRESSION:
        position = f"shiftleft({_number(files)}, 47) + {_INDEX} AS `{POSITION}`"
        return frame.selectExpr(*columns, named, position)
    rows = [(number, input_file.uri) for number, input_file in files.items()]
    numbers = frame.sparkSession.createDataFrame(rows, "`$number` BIGINT, `$file` STRING")
    frame = frame.selectExpr(*columns, named, f"{_INDEX} AS `$inside`").join(F.broadcast(numbers), FILE)
    frame = frame.selectExpr("*", f"shiftleft(`$number`, 47) + `$inside` AS `{POSITION}`")
    return frame.drop("$number", "$inside")


def _number(files: Numbered) -> str:
    """Returns the number of a file as SQL, from the name that Spark uses."""
    if len(files) == 1:
        return f"{next(iter(files))}L"
    cases = " ".join(f"WHEN {quote(input_file.uri)} THEN {number}L" for number, input_file in files.items())
    return f"CASE {_FILE_URI} {cases} ELSE raise_error('a row of a file that was not asked for') END"
