"""JSON Lines: a tuple is an object, a marker an object with one key (design, section 6).

A row's place in its file is the block (14 bits) and the row of the task that reads the block (33 bits).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, ClassVar

from pyspark.sql import DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cedilla.compiler.expressions.types import column, quote
from cedilla.runtime.engines.files import Files
from cedilla.runtime.formats.faults import json_fault
from cedilla.runtime.formats.file_ends import scan_ends
from cedilla.runtime.formats.moments import of_text
from cedilla.runtime.formats.objects import IS_READ, MARK, MISREAD, OPTIONS, STRICT, copied, misread_files
from cedilla.runtime.formats.source import (
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
from cedilla.runtime.items.json_objects import parse_line
from cedilla.runtime.items.near_markers import CANDIDATE, near_key
from cedilla.runtime.items.rejections import NO_OBJECT

_SPOILT = f"`{CORRUPT}` LIKE '%\"$accent\"%' OR `{CORRUPT}` LIKE '%\"$punctuation\"%'"
# A line that `rows` has no row for is blank.
_NOT_BLANK = r"value >= '!' OR value RLIKE '[^ \t\r]'"
# A marker's key is the only one, so it comes first; to search whole lines for it costs more than to read them. What
# is overlooked so is noticed by the count of markers. Most lines are neither copied nor searched at all.
_LIKELY = (
    """startswith(value, '{"$') OR NOT startswith(value, '{"') AND contains(left(value, 16), '"$') OR """
    + CANDIDATE
)
# Not as metadata, which would be copied into every row.
_NAME, _BLOCK = "input_file_name()", "input_file_block_start()"
_INSIDE = f"shiftleft(shiftright({_BLOCK}, 22), 33) + (monotonically_increasing_id() & 8589934591L)"


def _inside(block: int, row: int) -> int:
    """The same of a line's block and row."""
    return (block >> 22 << 33) + (row & 8589934591)


class JsonLines(Format):
    """One line is one tuple or marker; large files are read by several tasks."""

    malformed: ClassVar[str] = "the line is no JSON object, or a value is not of its attribute's type"
    exact: ClassVar[bool] = False
    # A marker must never be lost as a bad tuple: what follows it would be taken for something else (G34).
    is_marker: ClassVar[str] = f"{Format.is_marker} OR {_SPOILT}"

    def rows(self, spark: SparkSession, files: Sequence[InputFile], types: Types) -> DataFrame:
        """Every line of the files that is not blank.

        Timestamps and dates are read as texts: Spark's reader takes many that are none, `T05` for today.
        """
        texts = {name: type_ for name, type_ in types.items() if type_.name in ("timestamp", "date")}
        fields = ["`$accent` STRING", "`$punctuation` STRING", f"`{CORRUPT}` STRING"]
        fields += [
            f"`{name.replace('`', '``')}` {'STRING' if name in texts else type_.spark}"
            for name, type_ in types.items()
        ]
        frame = (
            spark.read.schema(", ".join(fields))
            .options(columnNameOfCorruptRecord=CORRUPT, **STRICT)
            .json([file.path for file in files])
        )
        read = placed(spark, frame, files, [*_needed(types)], _INSIDE, name=_NAME)
        return _with_moments(read, texts, types) if texts else read

    def scan(self, spark: SparkSession, files: Sequence[InputFile]) -> Scan:
        """One pass over the lines as text: only those that look like markers are parsed."""
        return self.scans(spark, [files])[0]

    def scans(self, spark: SparkSession, slices: Sequence[Sequence[InputFile]]) -> list[Scan]:
        """One Spark job for all sources."""
        seen = Observation()
        counts = (f"count_if(slice = {number}) AS `{number}`" for number in range(len(slices)))
        lines = (_lines(spark, files).selectExpr("value", f"{n} AS slice") for n, files in enumerate(slices))
        likely = (
            reduce(DataFrame.unionAll, lines)
            .where(_NOT_BLANK)
            .observe(seen, F.expr(f"struct({', '.join(counts)}) AS rows"))
            .selectExpr("slice", "value", "monotonically_increasing_id() AS row")
            .where(_LIKELY)
            .selectExpr("slice", "value", f"{_NAME} AS file", f"{_BLOCK} AS block", "row")
        )
        found: list[list[Row]] = [[] for _ in slices]
        for row in likely.collect():
            found[row["slice"]].append(row)
        return [
            _scan(files, rows, count)
            for files, rows, count in zip(slices, found, seen.get["rows"], strict=True)
        ]

    def readable(self, spark: SparkSession, files: Sequence[InputFile], folder: str) -> Sequence[InputFile]:
        misread = misread_files(spark, files)
        return [
            copied(spark, file, f"{folder}/{n}") if n in misread else file for n, file in enumerate(files)
        ]

    def scan_ends(self, files: Files, listed: Sequence[InputFile]) -> Scan | None:
        return scan_ends(files, listed)

    def markers(self, spark: SparkSession, files: Sequence[InputFile]) -> list[MarkerLine]:
        found = self.rows(spark, files, {}).where(self.is_marker)
        rows = found.select("`$accent`", "`$punctuation`", f"`{CORRUPT}`", POSITION).collect()
        near = (marker for marker in self.scan(spark, files).markers if marker.kind == "near")
        return sorted((*near, *filter(None, (_marker(*row) for row in rows))), key=lambda m: m.position)

    def lines(self, spark: SparkSession, files: Sequence[InputFile]) -> DataFrame:
        numbered = (
            _lines(spark, files)
            .selectExpr(
                "value AS raw",
                "_metadata.file_path AS file",
                "_metadata.file_block_start AS block",
                "monotonically_increasing_id() AS line_id",
            )
            .selectExpr("*", "row_number() OVER (PARTITION BY file ORDER BY block, line_id) AS line")
        )
        copies = ", ".join(quote(file.uri) for file in files if file.copy_of)
        is_marked = f"startswith(raw, '{MARK}') AND file IN ({copies})" if copies else "false"
        return numbered.where(_NOT_BLANK.replace("value", "raw")).selectExpr(
            f"IF({is_marked}, substr(raw, 2), raw) AS raw",
            "file",
            "line",
            "row_number() OVER (PARTITION BY file ORDER BY line) AS ordinal",
        )

    def with_faults(self, lines: DataFrame, types: Types) -> DataFrame:
        is_object = f"NOT {MISREAD} AND {IS_READ}".replace("value", "raw")
        fault = f"CASE WHEN {is_object} THEN {json_fault('raw', types)} ELSE {quote(NO_OBJECT)} END"
        return lines.selectExpr("*", f"{fault} AS fault")

    def fields(self, spark: SparkSession, files: Sequence[InputFile]) -> dict[str, str]:
        """The names of all values. Spark infers no type of what is always `{}`, and fails where a line has a name
        twice: such lines tell no types."""
        lines = _lines(spark, files)
        texts = f"from_json(value, 'map<string,string>', {OPTIONS})"
        names = f"explode(map_keys({texts})) AS name"
        found = {row[0] for row in lines.selectExpr(names).distinct().collect()} - _OWN_NAMES
        keys = "json_object_keys(value)"
        once = lines.where(f"coalesce(size({keys}) = size(array_distinct({keys})), true)")
        java: Any = spark._jvm  # type: ignore[attr-defined]
        rows = getattr(once.select("value")._jdf, "as")(java.org.apache.spark.sql.Encoders.STRING())
        reader: Any = spark.read.options(columnNameOfCorruptRecord=CORRUPT, **STRICT)._jreader  # type: ignore[attr-defined]
        inferred = StructType.fromJson(json.loads(reader.json(rows).schema().json()))
        kinds = {field.name: field.dataType.simpleString() for field in inferred.fields}
        return {name: kinds.get(name, "void") for name in sorted(found)}


_OWN_NAMES = frozenset(
    ("", "$accent", "$punctuation", CORRUPT, POSITION, FILE, "$reject", "$beyond", "$inside", "$number")
)
"""No column of a field can have these (docs/limits.md)."""


def _needed(types: Types) -> Iterator[str]:
    """The columns of `rows`. Whoever asks whether a row is corrupt needs all attributes: Spark parses the values of no
    others, so the jobs of an epoch would not agree on what is rejected."""
    yield from ("`$accent`", "`$punctuation`", *map(column, types))
    nulls = " + ".join(f"IF({each} IS NULL, 1, 0)" for each in map(column, (CORRUPT, *types)))
    yield f"IF({nulls} < 0, '', {column(CORRUPT)}) AS {column(CORRUPT)}" if types else column(CORRUPT)


def _with_moments(read: DataFrame, texts: Types, types: Types) -> DataFrame:
    """Rows with the values of texts in their places; one that is none makes its row corrupt."""
    values = {name: column(f"$value${name}") for name in texts}
    found = read.selectExpr("*", *(f"{of_text(column(n), texts[n])} AS {values[n]}" for n in texts))
    wrong = " OR ".join(f"{column(n)} IS NOT NULL AND {values[n]} IS NULL" for n in texts)
    return found.selectExpr(
        "`$accent`",
        "`$punctuation`",
        *(f"{values[n]} AS {column(n)}" if n in texts else column(n) for n in types),
        f"CASE WHEN {wrong} THEN coalesce({column(CORRUPT)}, '') ELSE {column(CORRUPT)} END AS {column(CORRUPT)}",
        f"`{FILE}`",
        f"`{POSITION}`",
    )


def _lines(spark: SparkSession, files: Sequence[InputFile]) -> DataFrame:
    return spark.read.text([file.path for file in files])


def _scan(files: Sequence[InputFile], likely: Sequence[Row], rows: int) -> Scan:
    """What a slice is found to hold, by its lines that may be markers and the number of all."""
    numbers = {file.name: number for number, file in enumerate(files)}
    covered: Counter[int] = Counter()
    markers: list[MarkerLine] = []
    for _, text, file, block, row in likely:
        number = numbers[file]
        if marker := _marker_of(text, (number << 47) + _inside(block, row)):
            markers.append(marker)
            covered[number] += len(text.encode()) + 1  # with its end
    empty = {number for number, file in enumerate(files) if file.length <= covered[number]}
    return Scan(tuple(sorted(markers, key=lambda m: m.position)), frozenset(empty), rows)


def _marker_of(text: str, place: int) -> MarkerLine | None:
    """What a line that may be a marker is; `None`: a tuple."""
    try:
        item = parse_line(text)
    except ValueError:
        return _marker(None, None, text, place)
    if near_key(text, item) is not None:
        return MarkerLine("near", text, place)
    accent, punctuation = item.get("$accent"), item.get("$punctuation")
    return _marker(accent and str(accent), punctuation and str(punctuation), None, place)


def _marker(
    accent: str | None, punctuation: str | None, corrupt: str | None, place: int
) -> MarkerLine | None:
    """What a row that may be a marker is; `None`: a tuple."""
    if corrupt is not None:
        spoilt = '"$accent"' in corrupt or '"$punctuation"' in corrupt
        return MarkerLine("spoilt", corrupt.removeprefix(MARK), place) if spoilt else None
    if accent is not None:
        return MarkerLine("accent", accent, place)
    return None if punctuation is None else MarkerLine("punctuation", punctuation, place)
