"""Lines that Spark's JSON reader would take for something else: it reads the elements of a list as rows, and leaves out
what stands behind an object. A file that has such lines is read by a copy, in which they are no JSON.

Most files have one object without others inside on each line. Where the driver can open them, counts of bytes tell so:
0.15 s of processor time for 2,000,000 lines, of 9 s that Spark takes to read them. Others cost a Spark job.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from attrs import evolve
from pyspark.sql import SparkSession

from cedilla.compiler.expressions.types import quote
from cedilla.runtime.formats.source import CORRUPT, InputFile, listed_files
from cedilla.runtime.items.lines import is_compressed, lines_of, local_path

MARK = "\x01"
"""What a line begins with in a copy where Spark would misread it."""

STRICT = {"allowSingleQuotes": "false"}
"""Options of Spark's readers, so that JSON is what it is elsewhere."""

_CHUNK = 1 << 20
_SMALL = 1 << 18
"""Up to so many bytes the driver parses the lines of a file that are not plain."""
_LARGE = 1 << 26
_FEW_CORES = 6
"""The driver counts more bytes than that only where Spark is no faster."""

# The first brace that closes is the last byte.
_IS_PLAIN = (
    "startswith(value, '{') AND octet_length(substring_index(value, '}', 1)) = octet_length(value) - 1"
)
# One level of objects inside, if there is no more to it. Java's expressions recurse: long lines are parsed.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_OTHER = r'[^{}"]*+'
_INNER = r"\{" + _OTHER + f"(?:{_STRING}{_OTHER})*+" + r"\}"
_NESTED = r"^\{" + _OTHER + f"(?:(?:{_STRING}|{_INNER}){_OTHER})*+" + r"\}$"
_IS_NESTED = f"octet_length(value) < 4096 AND value RLIKE {quote(_NESTED)}"
_STRICT_SQL = ", ".join(f"'{name}', '{value}'" for name, value in STRICT.items())
OPTIONS = f"map('columnNameOfCorruptRecord', '{CORRUPT}', {_STRICT_SQL})"
"""The same and the name of the column for what is no JSON, as SQL."""
IS_READ = f"from_json(value, '`$accent` STRING, `{CORRUPT}` STRING', {OPTIONS}).`{CORRUPT}` IS NULL"
# As the first of two elements of a list, the second of which is ours.
_END = "$end of the line"
_LISTED = f"from_json(concat('[', value, ',{{\"{_END}\":1}}]'), 'array<struct<`{_END}`:int>>', {OPTIONS})"
_IS_ONE = f"coalesce(size({_LISTED}) = 2 AND get({_LISTED}, 1).`{_END}` = 1, false)"
_TRIMMED = "trim(LEADING ' \t\r' FROM value)"
MISREAD = (
    f"CASE WHEN {_IS_PLAIN} THEN false WHEN {_IS_NESTED} THEN false "
    f"WHEN {_TRIMMED} LIKE '[%' THEN true ELSE {_TRIMMED} != '' AND {IS_READ} AND NOT {_IS_ONE} END"
)


def has_plain_lines(path: Path) -> bool:
    """Whether every line is one flat object without blanks around it, as far as the counts of its bytes tell.

    Then each `}` but the last stands before the end of a line and the next line's `{`.
    """
    ends = braces = newlines = 0
    before = end = b""
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            if not end:
                chunk = chunk.removeprefix(b"\xef\xbb\xbf")
                end = b"\r\n" if chunk[chunk.find(b"\n") - 1 : chunk.find(b"\n")] == b"\r" else b"\n"
                if not chunk.startswith(b"{"):
                    return False
            between = b"}" + end + b"{"
            straddling = before + chunk[: len(between) - 1]
            ends += chunk.count(between) + straddling.count(between)
            braces += chunk.count(b"}")
            newlines += chunk.count(b"\n")
            before = (before + chunk[-len(between) :])[1 - len(between) :]
            returns = chunk.count(b"\r") if b"\r" in chunk else 0
            if braces > ends + 2 or (returns and end == b"\n"):
                return False
    return not end or (
        before.removesuffix(end).endswith(b"}")
        and braces == ends + 1
        and newlines == ends + before.endswith(end)
    )


def count(path: Path, sign: bytes) -> int:
    """How often two bytes stand in a file."""
    total, before = 0, b""
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            total += chunk.count(sign) + (before + chunk[:1]).count(sign)
            before = chunk[-1:]
    return total


def is_misread(line: str) -> bool:
    """Whether Spark would take a line for something else than it is."""
    text = line.strip(" \t\r")
    if text.startswith("["):
        return True
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return end < len(text)


def _has_misread(path: Path) -> bool:
    with closing(lines_of(path)) as lines:
        return any(is_misread(line.text) for line in lines)


def misread_files(spark: SparkSession, listed: Sequence[InputFile]) -> set[int]:
    """The numbers of the files that have lines which Spark would misread. A Spark job where the driver cannot tell."""
    asked: list[int] = []
    found: set[int] = set()
    total = sum(file.length for file in listed)
    # The driver counts about as fast as seven cores read.
    counts = total <= _LARGE or spark.sparkContext.defaultParallelism <= _FEW_CORES
    for number, file in enumerate(listed):
        path = local_path(file.path)
        if path is None or is_compressed(path) or not counts:
            asked.append(number)
        elif not has_plain_lines(path):
            if file.length > _SMALL:
                asked.append(number)
            elif _has_misread(path):
                found.add(number)
    if asked:
        names = {listed[number].uri: number for number in asked}
        lines = spark.read.text([listed[number].path for number in asked])
        misread = lines.where(MISREAD).select("_metadata.file_path").distinct()
        found.update(names[row[0]] for row in misread.collect())
    return found


def copied(spark: SparkSession, file: InputFile, folder: str) -> InputFile:
    """A copy of a file, in a new folder, in which lines that Spark would misread are no JSON; all lines stay."""
    lines = spark.read.text(file.path).selectExpr(
        f"IF({MISREAD} OR startswith(value, '{MARK}'), concat('{MARK}', value), value) AS value",
        "_metadata.file_block_start AS block",
        "monotonically_increasing_id() AS row",
    )
    lines.repartition(1).sortWithinPartitions("block", "row").select("value").write.text(folder)
    (copy,) = listed_files(spark, folder)
    return evolve(copy, copy_of=file)
