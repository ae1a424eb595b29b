"""Quarantines rejected lines with code, reason, position and text, or ends the query, depending on settings (G34)."""

from __future__ import annotations

from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice

from attrs import define, field
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import column, quote
from cedilla.compiler.regions import POSITION
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.formats.source import CORRUPT
from cedilla.runtime.connectors.records.json_objects import object_of
from cedilla.runtime.connectors.records.nested import read_from
from cedilla.runtime.connectors.records.record_files import record_file
from cedilla.runtime.connectors.records.rejections import (
    LATE,
    REASONS,
    is_fatal,
    is_ignored,
    of_states,
    refusal,
)
from cedilla.runtime.connectors.records.unreadable import HEAD, BadLine, unreadable
from cedilla.runtime.connectors.storage.engine_failures import writing
from cedilla.runtime.connectors.storage.files import Files, epoch_name, name_of
from cedilla.runtime.control.markers.bad_markers import SetAside
from cedilla.runtime.epochs.ingest.late_tuples import Lines
from cedilla.runtime.epochs.ingest.read_counts import ATTRIBUTE, CODE
from cedilla.runtime.epochs.ingest.refused_markers import marker_lines
from cedilla.runtime.epochs.ingest.source_input import SourceInput

_ASIDE = "_run="
"""Prefix of the names of folders into which runs write rejected lines before the commit."""
_MARKERS = "markers.jsonl"
"""The file of rejected markers, next to the file of tuples."""
_LOOKED_AT, _MAX_HEADS = 1000, 32
"""The most rejected lines and files of an epoch that are searched for a common cause."""


@define(eq=False)
class Quarantine:
    """The rejected lines of a query, in its checkpoint.

    They are set aside under the number of the `run`, and appear once their epoch is committed: no other run writes over
    them.
    """

    spark: SparkSession
    files: Files
    settings: Mapping[str, str]
    checkpoint: str
    run: int
    of_states: frozenset[str] = frozenset()
    """The sources whose last states alone are tuples."""
    _aside: list[str] = field(init=False, factory=list[str])
    """The sources with rejected lines in the epoch that is to be committed."""
    _told: set[str] = field(init=False, factory=set[str])
    """The sources with a warning about the cause of their bad lines."""
    _lines: Lines = field(init=False, factory=dict[tuple[str, Fraction, str], int | None])
    """The lines of the tuples that have moved heartbeats."""

    def set_aside(
        self, read: Mapping[str, SourceInput], epoch: int, markers: Sequence[SetAside] = ()
    ) -> tuple[Counter[str], list[str], list[Diagnostic]]:
        """Writes the rejected lines and markers of an epoch's sources aside. Returns their numbers by code, notes about
        files without any valid line, and warnings about markers.

        Raises `DiagnosticError` with the first line of a code that a setting makes fatal.
        """
        total, notes = Counter(marker.code for marker in markers), list[str]()
        causes: list[Diagnostic] = []
        self._aside.clear()
        for name, part in read.items():
            total.update(part.read_counts.rejected)
            late = self._about_late(part)
            if name in self.of_states:
                _refuse(self.spark, part, of_states(self.settings), late, may_stay=False)
            else:
                _refuse(self.spark, part, self.settings, late)
            notes += late
            if codes := [c for c in part.read_counts.rejected if not is_ignored(c, self.settings)]:
                self._write(part, codes, self._epoch_folder(name, epoch, self.run))
                self._aside.append(name)
                cause = self._cause(name, part, epoch) if "RQ301" in codes else None
                causes += [] if cause is None else [cause]
                notes += (
                    _about_whole_files(self.spark, part, codes, self._folder(name)) if cause is None else ()
                )
        return total, notes, [*causes, *self._set_markers_aside(read, epoch, markers)]

    def _about_late(self, read: SourceInput) -> list[str]:
        """Returns a note about late tuples if they are most of what was read: then a clock may have been wrong."""
        late = read.read_counts.rejected.get(LATE, 0)
        is_most = late > read.read_counts.kept
        return [read.late.note(late, self.files, self._lines)] if read.late is not None and is_most else []

    def _cause(self, name: str, read: SourceInput, epoch: int) -> Diagnostic | None:
        """Returns RQ346, once for a source, about the lines that an epoch has set aside; from what it has written, so
        no job runs."""
        if name in self._told or read.slice.format.columnar:
            return None
        lines: list[BadLine] = []
        heads = _Heads(self.files, {file.uri: file.path for file in read.slice.numbered.values()})
        for file in self.files.list(self._epoch_folder(name, epoch, self.run)):
            with self.files.open(file.path) as stream:
                lines += (line for text in islice(stream, _LOOKED_AT) for line in heads.bad_lines(text))
        is_all = len(lines) >= read.read_counts.rejected["RQ301"]
        warning = unreadable(name, lines, is_all=is_all)
        self._told |= set() if warning is None else {name}
        return warning

    def _set_markers_aside(
        self, read: Mapping[str, SourceInput], epoch: int, markers: Sequence[SetAside]
    ) -> list[Diagnostic]:
        warnings: list[Diagnostic] = []
        for name in dict.fromkeys(marker.source for marker in markers):
            mine = [marker for marker in markers if marker.source == name]
            text, new_notes = marker_lines(self.spark, read[name].slice, mine, self.settings)
            warnings += new_notes
            self.files.write(f"{self._epoch_folder(name, epoch, self.run)}/{_MARKERS}", text)
            self._aside += [] if name in self._aside else [name]
        return warnings

    def publish(self, epoch: int) -> None:
        """Makes the rejected lines of a committed epoch visible."""
        for name in self._aside:
            self._publish(name, epoch, self.run)

    def recover(self, last: int, run: int) -> None:
        """Publishes the lines of the last epoch, which `run` has committed, and deletes those of epochs that did not
        commit."""
        for name in self.files.folders(f"{self.checkpoint}/quarantine", ""):
            folder = self._folder(name)
            self._publish(name, last, run)
            for aside in self.files.folders(folder, _ASIDE):
                if aside <= f"{_ASIDE}{self.run:06d}":
                    self.files.delete(f"{folder}/{aside}")
            for file in self.files.list(folder):
                if name_of(file.path) > f"{epoch_name(last)}.jsonl":
                    self.files.delete(file.path)

    def _folder(self, source: str) -> str:
        return f"{self.checkpoint}/quarantine/{source}"

    def _epoch_folder(self, source: str, epoch: int, run: int) -> str:
        return f"{self._folder(source)}/{_ASIDE}{run:06d}/{epoch_name(epoch)}"

    def _write(self, read: SourceInput, codes: Sequence[str], folder: str) -> None:
        """Writes the rejected lines of a slice into one file, and replaces remains of an epoch that did not commit."""
        lines = _rejected_lines(self.spark, read, codes).coalesce(1)
        with writing(folder):
            lines.write.mode("overwrite").json(self.files.for_engine(folder))
        self.files.sync([file.path for file in self.files.list(folder)], self.checkpoint)

    def _publish(self, source: str, epoch: int, run: int) -> None:
        folder = self._epoch_folder(source, epoch, run)
        files = self.files.list(folder)
        for file in files:
            suffix = "-markers" if name_of(file.path) == _MARKERS else ""
            path = f"{self._folder(source)}/{epoch_name(epoch)}{suffix}.jsonl"
            self.files.delete(path)
            self.files.rename(file.path, path)
        if files:
            self.files.delete(folder.rpartition("/")[0])


@define
class _Heads:
    """The first bytes of the files of rejected lines, each read once. `paths`: by URI."""

    files: Files
    paths: Mapping[str, str]
    _read: dict[str, bytes] = field(init=False, factory=dict[str, bytes])

    def bad_lines(self, text: bytes) -> Iterator[BadLine]:
        """Yields the line of a text that a run has set aside with RQ301."""
        match object_of(text):
            case {"code": "RQ301", "position": {"file": str(uri), "line": int(line)}, **others}:
                path = self.paths.get(uri)
                if path is None:
                    return
                kept, raw = others.get("bytes"), str(others.get("raw", ""))
                own = raw.encode() if kept is None else b64decode(str(kept))
                is_record = record_file(path) is not None
                yield BadLine(f"{path}:{line}", own[:HEAD] if is_record else self._head(path))
            case _:
                pass

    def _head(self, path: str) -> bytes:
        if path not in self._read:
            if len(self._read) == _MAX_HEADS:
                return b""
            with self.files.open(path) as stream:
                self._read[path] = stream.read(HEAD)
        return self._read[path]


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


def _refuse(
    spark: SparkSession,
    read: SourceInput,
    settings: Mapping[str, str],
    late: Sequence[str],
    *,
    may_stay: bool = True,
) -> None:
    """Raises the error of a code that ends the query. `late`: notes about late tuples. `may_stay`: as that of
    `refusal`."""
    for code, count in read.read_counts.rejected.items():
        if not is_fatal(code, settings):
            continue
        lines = _rejected_lines(spark, read, [code])
        first = lines.orderBy("position.file", "position.line").first()
        assert first is not None
        position = f"{first['position']['file']}:{first['position']['line']}"
        notes = late if code == LATE else ()
        raise refusal(code, count, first["reason"], position, first["raw"], notes, may_stay=may_stay)


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
        "bytes",
    )
