"""Quarantines rejected lines with code, reason, position and text, or ends the query, depending on settings (G34)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import column, quote
from cedilla.compiler.regions import POSITION
from cedilla.runtime.formats.source import CORRUPT
from cedilla.runtime.ingest.intake import ATTRIBUTE, CODE, SourceInput
from cedilla.runtime.items.nested import read_from
from cedilla.runtime.items.rejections import REASONS, is_fatal, is_ignored, refusal
from cedilla.runtime.storage.files import Files


def quarantine(
    spark: SparkSession,
    files: Files,
    read: Mapping[str, SourceInput],
    settings: Mapping[str, str],
    checkpoint: str,
    epoch: str,
) -> tuple[Counter[str], list[str]]:
    """Writes the rejected lines of an epoch's sources to the checkpoint. Returns their numbers by code, and notes about
    files without any valid line.

    Raises `DiagnosticError` with the first line of a code that a setting makes fatal.
    """
    total, notes = Counter[str](), list[str]()
    for name, part in read.items():
        total.update(part.read_counts.rejected)
        _refuse(spark, part, settings)
        if codes := [code for code in part.read_counts.rejected if not is_ignored(code, settings)]:
            folder = f"{checkpoint}/quarantine/{name}"
            _set_aside(spark, files, part, codes, f"{folder}/{epoch}.jsonl")
            notes += _about_whole_files(spark, part, codes, folder)
    return total, notes


def _about_whole_files(
    spark: SparkSession, read: SourceInput, codes: Sequence[str], folder: str
) -> Iterator[str]:
    """Yields a note with the first rejected line of the first file whose lines are all rejected. Files are only
    searched if enough lines are rejected for one of them."""
    counts, rejected = read.slice.scan.counts, sum(read.read_counts.rejected[code] for code in codes)
    if rejected < min(counts.values(), default=rejected) or (not counts and read.read_counts.kept):
        return
    number = F.expr(f"shiftright({column(POSITION)}, 47)").alias("number")
    bad = read.frame.where(F.expr(f"{CODE} IN ({', '.join(map(quote, codes))})"))
    bad_counts = {row["number"]: row["count"] for row in bad.groupBy(number).count().collect()}
    whole = sorted(n for n in bad_counts if not counts or bad_counts[n] == counts.get(n))
    if not whole:
        return
    file = read.slice.files[whole[0]]
    lines = _rejected_lines(spark, read, codes).where(F.col("position.file") == file.uri)
    first = lines.orderBy("position.line").first()
    assert first is not None
    more = f" and of {len(whole) - 1} more" if len(whole) > 1 else ""
    yield (
        f"every tuple of {file.shown}{more} is set aside in {folder}, "
        f"line {first['position']['line']} first: {first['reason']} ({first['code']})"
    )


def _set_aside(spark: SparkSession, files: Files, read: SourceInput, codes: Sequence[str], path: str) -> None:
    """Writes the rejected lines of a slice into one file, and replaces remains of a run that did not commit."""
    folder, _, name = path.rpartition("/")
    aside = f"{folder}/_{name}"
    lines = _rejected_lines(spark, read, codes).coalesce(1)
    lines.write.mode("overwrite").json(files.for_engine(aside))
    (file,) = files.list(aside)
    files.delete(path)
    files.rename(file.path, path)
    files.delete(aside)


def _refuse(spark: SparkSession, read: SourceInput, settings: Mapping[str, str]) -> None:
    for code, count in read.read_counts.rejected.items():
        if not is_fatal(code, settings):
            continue
        lines = _rejected_lines(spark, read, [code])
        first = lines.orderBy("position.file", "position.line").first()
        assert first is not None
        position = f"{first['position']['file']}:{first['position']['line']}"
        raise refusal(code, count, first["reason"], position, first["raw"])


def _rejected_lines(spark: SparkSession, read: SourceInput, codes: Sequence[str]) -> DataFrame:
    """Returns the rejected lines as read: code, reason, file, line, raw text. Only these lines are read a second
    time."""
    part, paths = read.slice, read.slice.format.paths
    read_at = [f"WHEN {quote(name)} THEN {quote(read_from(name, paths))}" for name in paths]
    where = f"CASE attribute {' '.join(read_at)} ELSE '' END" if read_at else "''"
    reasons = " ".join(
        f"WHEN {quote(code)} THEN concat(replace({quote(reason)}, '{{}}', attribute), {where})"
        for code, reason in REASONS.items()
    )
    bad = read.frame.where(F.expr(f"{CODE} IN ({', '.join(map(quote, codes))})")).selectExpr(
        f"{CODE} AS code", f"{ATTRIBUTE} AS attribute", column(CORRUPT), column(POSITION)
    )
    malformed = f"coalesce(fault, {quote(part.format.malformed)})"
    return part.format.located(spark, part.numbered, bad, read.fields).selectExpr(
        "code",
        f"CASE code {reasons} ELSE {malformed} END AS reason",
        "named_struct('file', file, 'line', line) AS position",
        "raw",
    )
