"""A source whose markers come from a folder of their own, too: files in JSON Lines that hold markers and nothing else,
for whoever cannot write into the files of the producer.

They are files of the stream like the others, of another format. Their place among the others is settled where files are
listed (`base.with_markers`), and remembered with the batch, so a run that is done again finds the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

from attrs import evolve
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.runtime.engines.files import Files
from cedilla.runtime.formats.jsonl_source import JsonLines
from cedilla.runtime.formats.source import FILE, POSITION, Content, Format, InputFile, MarkerLine, Scan, Types
from cedilla.runtime.items.marker import NEXT_FILE, STRAY, file_of

_MARKERS = JsonLines()


class Marked(Format):
    """A format of tuples, and marker files between its files (`InputFile.is_markers`)."""

    def __init__(self, base: Format) -> None:
        self._base = base
        # What is asked of the class, of others; here each has its own.
        for name in ("malformed", "columnar", "exact", "is_marker"):
            setattr(self, name, getattr(base, name))

    def readable(self, spark: SparkSession, files: Sequence[InputFile], folder: str) -> Sequence[InputFile]:
        if not _has_markers(files):
            return self._base.readable(spark, files, folder)
        found = list(files)
        data, marks = _numbers(files)
        for format_, numbers, name in ((self._base, data, "tuples"), (_MARKERS, marks, "markers")):
            if numbers:
                own = format_.readable(spark, [files[number] for number in numbers], f"{folder}/{name}")
                for number, file in zip(numbers, own, strict=True):
                    found[number] = evolve(file, is_markers=files[number].is_markers)
        return found

    def rows(self, spark: SparkSession, files: Sequence[InputFile], types: Types) -> DataFrame:
        data, marks = _numbers(files)
        parts = [
            _renumbered(format_.rows(spark, [files[number] for number in numbers], types), numbers)
            for format_, numbers in ((self._base, data), (_MARKERS, marks))
            if numbers
        ]
        return reduce(DataFrame.unionByName, parts)

    def rows_but_of(
        self, empty: Collection[int], spark: SparkSession, files: Sequence[InputFile], types: Types
    ) -> DataFrame:
        if _has_markers(files):
            return self.rows(spark, files, types)
        return self._base.rows_but_of(empty, spark, files, types)

    def scan(self, spark: SparkSession, files: Sequence[InputFile]) -> Scan:
        return self.scans(spark, [files])[0]

    def scans(self, spark: SparkSession, slices: Sequence[Sequence[InputFile]]) -> list[Scan]:
        plain = [files for files in slices if not _has_markers(files)]
        of_plain = iter(self._base.scans(spark, plain) if plain else [])
        return [
            Scan(tuple(self.markers(spark, files)), frozenset(_numbers(files)[1]))
            if _has_markers(files)
            else next(of_plain)
            for files in slices
        ]

    def scan_ends(self, files: Files, listed: Sequence[InputFile]) -> Scan | None:
        return None if _has_markers(listed) else self._base.scan_ends(files, listed)

    def markers(self, spark: SparkSession, files: Sequence[InputFile]) -> list[MarkerLine]:
        """Also the first line of a marker file that is none, as one that ends the query."""
        data, marks = _numbers(files)
        found: list[MarkerLine] = []
        if data:
            of_data = self._base.markers(spark, [files[number] for number in data])
            found += [_moved(marker, data) for marker in of_data]
        if marks:
            listed = [files[number] for number in marks]
            found += [_moved(marker, marks) for marker in _MARKERS.markers(spark, listed)]
            rows = _MARKERS.rows(spark, listed, {}).where(f"NOT coalesce({_MARKERS.is_marker}, false)")
            stray = rows.select(POSITION).orderBy(POSITION).first()
            if stray is not None:
                text = _text_at(spark, listed, int(stray[0]))
                wrong = MarkerLine("spoilt", text, int(stray[0]), problem=STRAY, code="RQ224")
                found.append(_moved(wrong, marks))
        return sorted(found, key=lambda marker: marker.position)

    def contents(self, spark: SparkSession, files: Sequence[InputFile], types: Types) -> list[Content] | None:
        return None if _has_markers(files) else self._base.contents(spark, files, types)

    def lines(self, spark: SparkSession, files: Sequence[InputFile]) -> DataFrame:
        data, marks = _numbers(files)
        parts = [
            format_.lines(spark, [files[number] for number in numbers])
            for format_, numbers in ((self._base, data), (_MARKERS, marks))
            if numbers
        ]
        return reduce(DataFrame.unionByName, parts)

    def fields(self, spark: SparkSession, files: Sequence[InputFile]) -> dict[str, str]:
        data, _ = _numbers(files)
        return self._base.fields(spark, [files[number] for number in data]) if data else {}


def _text_at(spark: SparkSession, files: Sequence[InputFile], position: int) -> str:
    """The text of a line by its place."""
    file = files[file_of(position)]
    before = F.col(f"`{FILE}`").eqNullSafe(file.uri) & (F.col(f"`{POSITION}`") < position)
    ordinal = _MARKERS.rows(spark, files, {}).where(before).count() + 1
    found = _MARKERS.lines(spark, [file]).where(F.col("ordinal") == ordinal).select("raw").first()
    return "" if found is None else str(found[0])


def _has_markers(files: Sequence[InputFile]) -> bool:
    return any(file.is_markers for file in files)


def _numbers(files: Sequence[InputFile]) -> tuple[list[int], list[int]]:
    """The numbers of the files of tuples, and of those of markers."""
    data = [number for number, file in enumerate(files) if not file.is_markers]
    return data, [number for number, file in enumerate(files) if file.is_markers]


def _moved(marker: MarkerLine, numbers: Sequence[int]) -> MarkerLine:
    """A marker of some files of a slice, `numbers`, at its place in the slice."""
    shift = (numbers[marker.file] - marker.file) * NEXT_FILE
    return evolve(marker, position=marker.position + shift)


def _renumbered(frame: DataFrame, numbers: Sequence[int]) -> DataFrame:
    """The same for rows: every gap in the numbers moves the files behind it."""
    gaps = [
        (place, number - place - (numbers[place - 1] - place + 1 if place else 0))
        for place, number in enumerate(numbers)
    ]
    steps = [
        f"IF(`{POSITION}` >= {place * NEXT_FILE}L, {gap * NEXT_FILE}L, 0L)" for place, gap in gaps if gap
    ]
    moved = F.expr(" + ".join([f"`{POSITION}`", *steps]))
    return frame.withColumn(POSITION, moved) if steps else frame
