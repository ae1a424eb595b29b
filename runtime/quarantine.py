"""Rejected lines: set aside with code, reason, place and text, or the end of the query, by setting (G34)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.regions import POSITION
from cedilla.compiler.types import quote
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.files import Files
from cedilla.runtime.intake import REJECT, Read
from cedilla.runtime.slices import Slice

REASONS = {
    "RQ302": "a required attribute is missing",
    "RQ303": "a value is outside its attribute's declared domain",
    "RQ304": "an attribute is defined where it does not exist: before its add or after its drop",
    "RQ305": "a punctuation has closed the tuple's region",
    "RQ306": "the line has an attribute that was never declared or added",
}
"""Why a tuple is rejected, by code; for RQ301 its format says it (`Format.malformed`)."""

_LATE = "RQ305"
_SETTING = {_LATE: "late", "RQ306": "drift"}
"""The setting that decides about a code, where it is not `invalid`."""


def set_aside(spark: SparkSession, files: Files, read: Read, settings: Mapping[str, str], path: str) -> None:
    """Write the rejected lines of a slice into one file, over what a run that did not commit has left."""
    ignored = _LATE if settings["late"] == "ignore" else None
    codes = [code for code in read.tally.rejected if code != ignored]
    if not codes:
        return
    folder, _, name = path.rpartition("/")
    aside = f"{folder}/_{name}"
    lines = rejected_lines(spark, read.frame, read.part, codes).coalesce(1)
    lines.write.mode("overwrite").json(aside)
    (file,) = files.list(aside)
    files.delete(path)
    files.rename(file.path, path)
    files.delete(aside)


def refuse(spark: SparkSession, read: Read, settings: Mapping[str, str]) -> None:
    """Raise `DiagnosticError` with the first line of a code that a setting makes fatal."""
    for code, count in read.tally.rejected.items():
        setting = _SETTING.get(code, "invalid")
        if settings[setting] != "abort":
            continue
        lines = rejected_lines(spark, read.frame, read.part, [code])
        first = lines.orderBy("position.file", "position.line").first()
        assert first is not None
        place = f"{first['position']['file']}:{first['position']['line']}"
        raise DiagnosticError(
            [
                Diagnostic(
                    code,
                    "error",
                    f"{count} rejected: {first['reason']}",
                    notes=(f"{place}: {first['raw']}",),
                    help=f"`set {setting} = quarantine;` sets them aside",
                )
            ]
        )


def rejected_lines(spark: SparkSession, frame: DataFrame, part: Slice, codes: Sequence[str]) -> DataFrame:
    """The rejected lines as they were read: code, reason, file, line, raw text. A second read, for these only."""
    said = {"RQ301": part.format.malformed, **REASONS}
    reasons = " ".join(f"WHEN {quote(code)} THEN {quote(reason)}" for code, reason in said.items())
    every = part.format.rows(spark, part.files, {}).selectExpr(
        "`$file` AS file",
        f"`{POSITION}` AS place",
        f"row_number() OVER (PARTITION BY `$file` ORDER BY `{POSITION}`) AS ordinal",
    )
    bad = frame.where(F.col(REJECT).isin(list(codes))).selectExpr(
        f"`{REJECT}` AS code", f"`{POSITION}` AS place"
    )
    return (
        bad.join(every, "place")
        .join(part.format.lines(spark, part.files), ["file", "ordinal"])
        .selectExpr(
            "code",
            f"CASE code {reasons} END AS reason",
            f"named_struct('file', {_known(part)}, 'line', line) AS position",
            "raw",
        )
    )


def _known(part: Slice) -> str:
    """The name of a file as people know it, as SQL."""
    copies = [file for file in part.files if file.copy_of]
    cases = " ".join(f"WHEN {quote(file.uri)} THEN {quote(file.known.uri)}" for file in copies)
    return f"CASE file {cases} ELSE file END" if cases else "file"
