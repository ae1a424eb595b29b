"""Formats whose rows the engine reads by itself; each row gets its place there."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import quote
from cedilla.compiler.regions import POSITION
from cedilla.runtime.engines import costs
from cedilla.runtime.formats.source import CORRUPT, FILE, Format, InputFile, Numbered, Scan, Types, no_tuples
from cedilla.runtime.items.marker import MarkerLine

FILE_URI = "replace(_metadata.file_path, 'file:///', 'file:/')"
"""SQL: the file of a row, as `InputFile.uri`; file systems of Spark differ in how they write local ones."""


class ReadBySpark(Format):
    """A format that has a DataFrame of all rows, markers among them."""

    @abstractmethod
    def rows(self, spark: SparkSession, files: Numbered, types: Types) -> DataFrame:
        """Every tuple and marker of the files, one a row.

        Columns: those of `tuples`; `$accent` and `$punctuation`, not null in markers; `$file`, as `InputFile.uri`.
        """

    @abstractmethod
    def markers(self, spark: SparkSession, files: Numbered) -> list[MarkerLine]:
        """The markers of the files in stream order. One Spark job; only markers reach the driver."""

    @abstractmethod
    def lines(self, spark: SparkSession, files: Numbered) -> DataFrame:
        """What people see of each row of `rows`: `raw`, its text; `file`; `line`, its number in the file for
        messages; `ordinal`, 1 for the first row of its file by place, and so on."""

    @abstractmethod
    def with_faults(self, lines: DataFrame, types: Types) -> DataFrame:
        """Rows of `lines` and their `fault`: which value in `raw` is not of its attribute's type, in words; null where
        that is not what is wrong."""

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
        found = rows.offset(number).first()
        return None if found is None else int(found[0])

    def line_at(self, spark: SparkSession, file: InputFile, place: int) -> int:
        ordinal = self.rows_before(spark, file, place) + 1
        found = self.lines(spark, {0: file}).where(F.col("ordinal") == ordinal).select("line").first()
        assert found is not None
        return int(found[0])

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
    """Columns of what was read of files, with `$file` and `$position`.

    `columns`, `file`: as SQL; `inside`: SQL that orders the rows of one file, a number below 2^47.
    """
    named = f"{file} AS `{FILE}`"
    if len(files) <= costs.FILES_IN_EXPRESSION:
        number = _number(file, files)
        return frame.selectExpr(*columns, named, f"shiftleft({number}, 47) + {inside} AS `{POSITION}`")
    rows = [(number, each.uri) for number, each in files.items()]
    known = frame.sparkSession.createDataFrame(rows, "`$number` BIGINT, `$file` STRING")
    frame = frame.selectExpr(*columns, named, f"{inside} AS `$inside`").join(F.broadcast(known), FILE)
    frame = frame.selectExpr("*", f"shiftleft(`$number`, 47) + `$inside` AS `{POSITION}`")
    return frame.drop("$number", "$inside")


def _number(file: str, files: Numbered) -> str:
    """The number of a file, as SQL, by what Spark calls it."""
    if len(files) == 1:
        return f"{next(iter(files))}L"
    cases = " ".join(f"WHEN {quote(each.uri)} THEN {number}L" for number, each in files.items())
    return f"CASE {file} {cases} ELSE raise_error('a row of a file that was not asked for') END"
