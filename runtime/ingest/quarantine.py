"""Rejected lines: set aside with code, reason, place and text, or the end of the query, by setting (G34)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import column, quote
from cedilla.compiler.regions import POSITION
from cedilla.runtime.formats.source import CORRUPT
from cedilla.runtime.ingest.intake import ATTRIBUTE, CODE, Read
from cedilla.runtime.items.nested import read_from
from cedilla.runtime.items.rejections import REASONS, is_fatal, is_ignored, refusal
from cedilla.runtime.storage.files import Files


def quarantine(
    spark: SparkSession,
    files: Files,
    read: Mapping[str, Read],
    settings: Mapping[str, str],
    checkpoint: str,
    epoch: str,
) -> Counter[str]:
    """Set the rejected lines of an epoch's sources aside in a checkpoint, and count them by code.

    Raises `DiagnosticError` with the first line of a code that a setting makes fatal.
    """
    total: Counter[str] = Counter()
    for name, part in read.items():
        total.update(part.read_counts.rejected)
        _refuse(spark, part, settings)
        _set_aside(spark, files, part, settings, f"{checkpoint}/quarantine/{name}/{epoch}.jsonl")
    return total


def _set_aside(spark: SparkSession, files: Files, read: Read, settings: Mapping[str, str], path: str) -> None:
    """Write the rejected lines of a slice into one file, over what a run that did not commit has left."""
    codes = [code for code in read.read_counts.rejected if not is_ignored(code, settings)]
    if not codes:
        return
    folder, _, name = path.rpartition("/")
    aside = f"{folder}/_{name}"
    lines = _rejected_lines(spark, read, codes).coalesce(1)
    lines.write.mode("overwrite").json(files.for_engine(aside))
    (file,) = files.list(aside)
    files.delete(path)
    files.rename(file.path, path)
    files.delete(aside)


def _refuse(spark: SparkSession, read: Read, settings: Mapping[str, str]) -> None:
    for code, count in read.read_counts.rejected.items():
        if not is_fatal(code, settings):
            continue
        lines = _rejected_lines(spark, read, [code])
        first = lines.orderBy("position.file", "position.line").first()
        assert first is not None
        place = f"{first['position']['file']}:{first['position']['line']}"
        raise refusal(code, count, first["reason"], place, first["raw"])


def _rejected_lines(spark: SparkSession, read: Read, codes: Sequence[str]) -> DataFrame:
    """The rejected lines as they were read: code, reason, file, line, raw text. A second read, for these only."""
    part, paths = read.part, read.part.format.paths
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
