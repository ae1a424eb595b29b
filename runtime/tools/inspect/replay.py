"""`cedilla replay`: sends lines of a quarantine again, as a new file of their source, once their cause is mended.

A line that comes again is read by the accents of now. One that an accent after it describes would be read wrongly, so
it is refused (theory 2.5).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from attrs import evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Drop, EpochChange, Grow, Rename
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.plan import Source
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.parser import single_accents
from cedilla.runtime.connectors.records.change_events import EventReader
from cedilla.runtime.connectors.records.json_objects import object_of
from cedilla.runtime.connectors.records.lines import Line, local_path
from cedilla.runtime.connectors.records.nested import by_names
from cedilla.runtime.connectors.records.path_keys import keys_in
from cedilla.runtime.connectors.records.rejections import LATE
from cedilla.runtime.connectors.records.tuple_lines import tuples_of
from cedilla.runtime.connectors.storage.files import Files, FoundFile, name_of
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.control.markers.source_marker_parser import read_accent, read_epoch_change
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.checkpoint_folder import CheckpointFolder, read_checkpoint
from cedilla.runtime.epochs.checkpoint.inventory import quarantine_epoch, quarantine_files
from cedilla.runtime.epochs.checkpoint.journal import JOURNAL, read_journal
from cedilla.runtime.epochs.checkpoint.set_aside import SetAsideLine, set_aside_lines
from cedilla.runtime.tools.inspect.replayed_rows import rows_again

RECORD = "replayed.json"
"""The document of a checkpoint with the files of the quarantine whose lines were sent again, by source and code."""


@frozen
class Replay:
    """The lines of a source with a code, each after the number of its epoch, and the files of the quarantine that have
    them."""

    source: str
    code: str
    lines: tuple[tuple[int, SetAsideLine], ...]
    files: tuple[str, ...]


def replays(checkpoint: str, code: str, source: str | None, *, again: bool = False) -> list[Replay]:
    """Returns the lines with a code that were not sent again yet, by source; with `again`, all.

    Raises `DiagnosticError`: as `read_checkpoint`, RQ496 without any line, RQ478 for a quarantine or a record of
    replays that was changed.
    """
    root = read_checkpoint(checkpoint).root
    before = {} if again else _record(root)
    all_replays = [
        _replay(name, listed, code, before.get(name, {}).get(code, []))
        for name, listed in quarantine_files(Files(), root).items()
        if source in (None, name)
    ]
    all_replays = [replay for replay in all_replays if replay.lines]
    if not all_replays:
        hint = "`cedilla status` lists the codes in quarantine; --again sends lines once more"
        raise failure("RQ496", f"no line with {code} waits for a replay in {checkpoint}", hint=hint)
    return all_replays


def send(checkpoint: str, replay: Replay, *, as_now: bool = False) -> list[Path]:
    """Writes the lines into new files of the source's folder, and records that. Returns their paths: one for lines of
    files with the same keys in their paths.

    Raises `DiagnosticError`: RQ496 where the source cannot take them, RQ497 for a line before an accent that describes
    it, unless it is to be read `as_now`.
    """
    of = read_checkpoint(checkpoint)
    source = of.stored.plan.source_of[replay.source]
    at = _folder_of(evolve(source, path=of.path_of_run(source.path)), replay.code)
    if not as_now:
        _check_units(checkpoint, of, source, replay)
    by_folder: dict[Path, list[SetAsideLine]] = {}
    for _, line in replay.lines:
        by_folder.setdefault(_with_keys(at, line), []).append(line)
    name = f"replay-{replay.code}-{max(epoch for epoch, _ in replay.lines):012d}"
    contents = (
        (folder, content)
        for folder, lines in by_folder.items()
        for content in (rows_again(lines) if source.format_kind.columnar else [_lines_again(lines)])
    )
    paths: list[Path] = []
    for folder, content in [*contents]:
        folder.mkdir(parents=True, exist_ok=True)
        paths.append(_free(folder, name, "parquet" if source.format_kind.columnar else "jsonl"))
        _aside(paths[-1]).write_bytes(content)
    # The record comes first: after a crash in between, lines are missing until --again, and never there twice.
    _add_to_record(of.root, replay)
    for path in paths:
        _aside(path).rename(path)
    return paths


def _lines_again(lines: Sequence[SetAsideLine]) -> bytes:
    return b"".join(line.content + b"\n" for line in lines)


def _with_keys(at: Path, line: SetAsideLine) -> Path:
    """Returns the folder for a line below that of its source: the one with the keys that the line's file had."""
    file = local_path(unquote(line.file, errors="surrogateescape"))
    return file.parent if file is not None and keys_in(str(at.resolve()), str(file)) else at


def _aside(path: Path) -> Path:
    return path.with_name(f"_{path.name}")


def _replay(source: str, listed: Sequence[FoundFile], code: str, before: Sequence[str]) -> Replay:
    lines: list[tuple[int, SetAsideLine]] = []
    files: list[str] = []
    for path in (file.path for file in listed):
        name, number = name_of(path), quarantine_epoch(path)
        if number is None or name in before:
            continue
        mine = [line for line in set_aside_lines(Files(), path) if line.code == code]
        if mine:
            files.append(name)
        mine.sort(key=lambda line: (line.file, line.line))
        lines += ((number, line) for line in mine)
    return Replay(source, code, tuple(lines), tuple(files))


def takes_again(source: Source, code: str) -> bool:
    """Returns True if lines of a source with a code can be sent again."""
    return _refusal(source, code) is None


def _refusal(source: Source, code: str) -> tuple[str, str] | None:
    """Returns why a source does not take lines with a code, and the way out; `None` if it does."""
    if code == LATE:
        return "late tuples are late again", "a new checkpoint, with the tuples in their place"
    if source.table or source.format not in ("json", "parquet") or local_path(source.path) is None:
        why = "only streams of JSON and Parquet in local folders take lines again"
        return why, "--print writes the lines"
    if source.by_name:
        return f"`{source.name}` is ordered by name", "--print writes the lines; a file after the last name"
    return None


def _folder_of(source: Source, code: str) -> Path:
    """Returns the folder that takes the lines. Raises RQ496."""
    at = local_path(source.path)
    if (refusal := _refusal(source, code)) is not None or at is None:
        why, hint = refusal or ("", "")
        raise failure("RQ496", f"lines of `{source.name}` with {code} cannot be sent again: {why}", hint=hint)
    return at


def _free(folder: Path, name: str, suffix: str) -> Path:
    """Returns the path of a new file."""
    paths = (folder / f"{name}{f'-{n}' if n else ''}.{suffix}" for n in range(1_000_000))
    return next(path for path in paths if not (path.exists() or _aside(path).exists()))


# --- the units of now ------------------------------------------------------------------------------------


@frozen(eq=False, slots=False)
class AccentsRead:
    """The accents of a source in the journal, for lines that come again. They are read at first use."""

    source: Source
    state: SourceState
    journal: Mapping[str, Any]

    def misread(self, epoch: int, raw: str) -> str | None:
        """Returns an accent after a line, or next to it, that may describe it: it would be read wrongly now. `epoch`:
        of the line. Returns `None` without one."""
        recorded = self.journal.get("accents", [])
        first = min((accent["epoch"] for accent in recorded), default=None)
        if self.journal.get("accents_read") != len(recorded) and (first is None or first >= epoch):
            return "accents that the journal does not have any more"
        later = (text for number, text in self._listed if number >= epoch)
        return next((text for text in later if self._describes(text, raw)), None)

    @cached_property
    def _listed(self) -> Sequence[tuple[int, str]]:
        recorded = self.journal.get("accents", [])
        return [(a["epoch"], a["text"]) for a in recorded if a["source"] == self.source.name]

    @cached_property
    def _parsed(self) -> dict[str, Sequence[Accent] | EpochChange | None]:
        return {}

    def _describes(self, text: str, raw: str) -> bool:
        """Returns False if an accent certainly does not change how a line is read."""
        if text not in self._parsed:
            self._parsed[text] = _parsed(text, self.source, self.state)
        renamed = frozenset(self.state.names.of.values())
        return any(_describes(self._parsed[text], row, renamed) for row in _tuples(self.source, raw))


def _tuples(source: Source, raw: str) -> Sequence[Mapping[str, Any]]:
    """Returns the tuples in a line by the names of attributes, as far as they can be read."""
    if source.changes:
        try:
            return [by_names(EventReader.of(source).row(raw), source.paths)]
        except ValueError:
            return [{}]
    if source.format != "json":
        return [object_of(raw)]
    lines = tuples_of([Line(raw, "")], source)
    return [object_of(line.text) if line.item is None else line.item for line in lines]


def _check_units(checkpoint: str, folder: CheckpointFolder, source: Source, replay: Replay) -> None:
    if folder.commit is None:
        return
    journal = read_journal(Files(), f"{checkpoint.rstrip('/')}/{JOURNAL}") or {}
    accents = AccentsRead(source, folder.commit.sources[source.name], journal)
    for epoch, line in replay.lines:
        if (accent := accents.misread(epoch, line.raw)) is not None:
            raise _before(source, line, accent)


def _before(source: Source, line: SetAsideLine, accent: str) -> DiagnosticError:
    position = f"{line.file.rpartition('/')[2]}:{line.line}"
    return failure(
        "RQ497",
        f"a line of `{source.name}` came before or next to an accent that may describe it, and would be read by it now",
        notes=(f"{position}: {line.raw[:200]}", accent),
        hint="--print writes the lines: mend their values; --as-now sends them to be read in the units of now",
    )


def _parsed(text: str, source: Source, state: SourceState) -> Sequence[Accent] | EpochChange | None:
    """Returns the accents that a text stands for; `None` if its names are others by now."""
    try:
        if (change := read_epoch_change(state, text)) is not None:
            return change
        return [read_accent(source, state, single) for single in single_accents(text)]
    except DiagnosticError:
        return None


def _describes(
    parsed: Sequence[Accent] | EpochChange | None, row: Mapping[str, Any], renamed: Collection[str]
) -> bool:
    """Returns False if an accent certainly does not change how a tuple is read. `renamed`: attributes that it may have
    under another name."""
    if parsed is None or not isinstance(parsed, Sequence):
        return not isinstance(parsed, Grow)
    for accent in parsed:
        described = regions.attributes(accent.description)
        values = {n: row[n] for n in described if isinstance(row.get(n), int | str)}
        is_other = values.keys() == described and regions.contains(accent.description, values) is not True
        name = accent.primitive.attribute
        is_absent = bool(row) and name not in row
        is_absent = is_absent and (name not in renamed or isinstance(accent.primitive, Rename))
        if not (isinstance(accent.primitive, Drop) or is_other or is_absent):
            return True
    return False


# --- what was sent ---------------------------------------------------------------------------------------


def _record(root: str) -> dict[str, dict[str, list[str]]]:
    documents = SealedFiles(Files(), root)
    return documents.read(RECORD) if documents.exists(RECORD) else {}


def _add_to_record(root: str, replay: Replay) -> None:
    record = _record(root)
    of_source = record.setdefault(replay.source, {})
    of_source[replay.code] = sorted({*of_source.get(replay.code, []), *replay.files})
    SealedFiles(Files(), root).write(RECORD, json.dumps(record))


def texts(replays: Sequence[Replay]) -> Iterator[str]:
    """Yields the original lines."""
    for replay in replays:
        yield from (line.raw for _, line in replay.lines)
