"""Formats whose rows the engine reads; SQL gives each row its position."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import quote
from cedilla.compiler.regions import POSITION
from cedilla.runtime.engines import costs
from cedilla.runtime.formats.source import CORRUPT, FILE, Format, InputFile, Numbered, Scan, Types, no_tuples
from cedilla.runtime.records.marker import MarkerLine

FILE_URI = "replace(_metadata.file_path, 'file:///', 'file:/')"
"""The file of a row as SQL, equal to `InputFile.uri`; Spark's file systems write local paths differently."""


class ReadBySpark(Format):
    """A format with a DataFrame of all rows, including markers."""

    @abstractmethod
    def rows(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        """Returns every tuple and marker of the files, one in each row.

        Columns: those of `tuples`; `$accent` and `$punctuation`, not null in markers; `$file`, as `InputFile.uri`.
        """

    @abstractmethod
    def markers(self, spark: SparkSession, files: Numbered) -> list[MarkerLine]:
        """Returns the markers of the files in stream order. Runs one Spark job; only markers reach the driver."""

    @abstractmethod
    def lines(self, spark: SparkSession, files: Numbered) -> DataFrame:
        """Returns the rows of `rows` for messages: `raw`, the text; `file`; `line`, the number in the file; `ordinal`,
        the number of the row in its file by position, from 1."""

    @abstractmethod
    def with_faults(self, lines: DataFrame, types: Types) -> DataFrame:
        """Adds `fault` to rows of `lines`: the value in `raw` that is not of its attribute's type, as text. It is null
        if the error is another one."""

    def tuples(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        if not files:
            return no_tuples(spark, types)
        rows = self.rows(spark, files, types).where("`$accent` IS NULL AND `$punctuation` IS NULL")
        return rows.drop("$accent", "$punctuation", FILE)

    def scans(self, spark: SparkSession, slices: Sequence[Numbered]) -> list[Scan]:
        return [Scan(tuple(self.markers(spark, files))) if files else Scan() for files in slices]

    def rows_before(self, spark: SparkSession, file: InputFile, place: int) -> int:
        return self.rows(spark, {0: file}, {}).where(F.col(POSITION) < place).count()

    def place_of_row(self, spark: SparkSession, file: InputFile, number: int) -> int | None:
        rows = self.rows(spark, {0: file}, {}).select(POSITION).orderBy(POSITION)
        row = rows.offset(number).first()
        return None if row is None else int(row[0])

    def line_at(self, spark: SparkSession, file: InputFile, place: int) -> int:
        ordinal = self.rows_before(spark, file, place) + 1
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
        with_faults = self.with_faults(lines, types)
        return with_faults.withColumn("fault", F.expr(f"coalesce(fault, `{CORRUPT}`)")).drop("ordinal")


def placed(
    frame: DataFrame,
    files: Numbered,
    columns: Sequence[str],
    inside: str,
    file: str = FILE_URI,
) -> DataFrame:
    """Returns columns of rows read from files, with `$file` and `$position`.

    `columns`, `file`: as SQL; `inside`: SQL that orders the rows of one file, a number below 2^47.
    """
    named = f"{file} AS `{FILE}`"
    if len(files) <= costs.FILES_IN_EXPRESSION:
        number = _number(file, files)
        return frame.selectExpr(*columns, named, f"shiftleft({number}, 47) + {inside} AS `{POSITION}`")
    rows = [(number, input_file.uri) for number, input_file in files.items()]
    numbers = frame.sparkSession.createDataFrame(rows, "`$number` BIGINT, `$file` STRING")
    frame = frame.selectExpr(*columns, named, f"{inside} AS `$inside`").join(F.broadcast(numbers), FILE)
    frame = frame.selectExpr("*", f"shiftleft(`$number`, 47) + `$inside` AS `{POSITION}`")
    return frame.drop("$number", "$inside")


def _number(file: str, files: Numbered) -> str:
    """Returns the number of a file as SQL, from the name that Spark uses."""
    if len(files) == 1:
        return f"{next(iter(files))}L"
    cases = " ".join(f"WHEN {quote(input_file.uri)} THEN {number}L" for number, input_file in files.items())
    return f"CASE {file} {cases} ELSE raise_error('a row of a file that was not asked for') END"
