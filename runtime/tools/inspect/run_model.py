"""One read-only model of a run, from its checkpoint: the live page and the metrics show parts of it.

Every list has a limit, and what is costly is remembered: texts by commit, the quarantine by file, lines by place.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict

from cedilla.compiler import regions
from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.regions import Level
from cedilla.grammar.diagnostics import DiagnosticError, render
from cedilla.grammar.diagnostics.codes import codes
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.control.change_detection.groups import counted_attributes, time_axis
from cedilla.runtime.control.change_detection.monitor_record import reported_changes
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.checkpoint_folder import CheckpointFolder, read_checkpoint
from cedilla.runtime.epochs.checkpoint.commits import seconds
from cedilla.runtime.epochs.checkpoint.inventory import backlog
from cedilla.runtime.epochs.checkpoint.journal import JOURNAL, read_journal, shown
from cedilla.runtime.epochs.checkpoint.ownership import read_owner, run_state
from cedilla.runtime.tools.inspect.members import MemberTable, member_tables
from cedilla.runtime.tools.inspect.plan_graph import plan_graph, with_state
from cedilla.runtime.tools.inspect.quarantine_counts import QuarantineCounts, counts_of
from cedilla.runtime.tools.inspect.replay import AccentsRead, takes_again
from cedilla.runtime.tools.inspect.status import Status, facts_of, status_of
from cedilla.runtime.tools.inspect.stream_status import Stream

MAX_SHOWN = 100
"""The most accents, waiting things and examples of each list."""
_MAX_TEXT = 400
"""The most characters of a text in these lists."""
_DAMAGED = ("RQ411", "RQ451", "RQ452", "RQ478", "RQ479")
"""Errors after which more may be lost than an error of a marker or of a tuple loses."""
_STATEMENT = re.compile(r"accent \w+ \[\[.*?\]\];")
_PLAIN_LINES = 64 << 20
"""The longest file whose lines are counted."""

Model = dict[str, Any]


class RunModel:
    """Reads the model of a checkpoint again and again."""

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._files = Files()
        self._folder: CheckpointFolder | None = None
        self._graph: tuple[Plan, Any] | None = None
        self._quarantine: QuarantineCounts | None = None
        self._lines: dict[tuple[str, int], int | None] = {}
        self._left: tuple[float, dict[str, int]] = (0.0, {})
        self._members: dict[str, dict[str, MemberTable]] = {}

    @property
    def folder(self) -> CheckpointFolder | None:
        """The checkpoint as last read."""
        return self._folder

    def members(self, source: str, attribute: str) -> MemberTable | None:
        """Returns the values of an attribute as last read; `None` if accents do not describe it."""
        return self._members.get(source, {}).get(attribute)

    def read(self) -> Model:
        """Returns the model as plain JSON values. Raises `DiagnosticError` as `read_checkpoint` does."""
        now = self._clock()
        folder = self._folder = read_checkpoint(self.path)
        if self._quarantine is None or self._quarantine.root != folder.root:
            self._quarantine = QuarantineCounts(folder.root)
        plan, commit = folder.stored.plan, folder.commit
        journal = read_journal(self._files, f"{self.path.rstrip('/')}/{JOURNAL}") or {}
        by_source = {
            s.name: counted_attributes(s, commit.sources[s.name]) for s in plan.sources if commit is not None
        }
        aside = self._quarantine.read(by_source)
        facts = facts_of(plan, commit) if commit is not None else {}
        status = status_of(
            self.path, folder, counts_of(aside), self._backlog(now), facts, journal.get("undeclared", {})
        )
        return {
            "version": 1,
            "time": now,
            "path": self.path,
            "query": {"name": plan.name, "text": plan.text},
            "run": self._run(status, plan, journal, now),
            "files_left": {**status.backlog},
            "records_left": journal.get("records_left", {}),
            "sources": [self._source(s, status, journal, now) for s in plan.sources],
            "outputs": [_output(item, status, plan) for item in status.outputs],
            "accents": self._accents(status, journal),
            "doubtful": _doubtful(status, folder, journal),
            "quarantine": self._set_aside(aside, journal),
            "stop": _stop(status),
            "plan": with_state(self._plan_graph(plan), status.state, _waiting_by_node(status, plan)),
            "epochs": journal.get("epochs", []),
            "totals": {
                "read": dict(status.read),
                "written": dict(status.written),
                "rejected": dict(status.counters),
                **journal.get("totals", {"epochs": 0, "phases": {}}),
            },
            "state": [asdict(item) for item in status.state],
        }

    # --- the run ---

    def _run(self, status: Status, plan: Plan, journal: Mapping[str, Any], now: float) -> Model:
        owner = read_owner(self._files, self.path)
        committed = _seconds(status.committed)
        return {
            "state": run_state(self._files, self.path, owner),
            "since": None if owner is None else _seconds(owner.since),
            "process": None if owner is None else owner.process,
            "host": None if owner is None else owner.host,
            "engine": status.engine,
            "epoch": status.epoch,
            "committed": committed,
            "age": None if committed is None else max(0.0, round(now - committed, 1)),
            "batch_files_left": journal.get("files_left", 0),
            "type": _command(status, plan, self.path),
        }

    def _backlog(self, now: float) -> dict[str, int]:
        """Returns the files that wait. Lists folders seldom where that takes long."""
        assert self._folder is not None
        due, left = self._left
        if now >= due:
            began = time.monotonic()
            left = backlog(self._folder.root, self._folder.commit)
            self._left = now + max(1.0, 20 * (time.monotonic() - began)), left
        return left

    def _source(self, source: Source, status: Status, journal: Mapping[str, Any], now: float) -> Model:
        assert self._folder is not None
        assert self._quarantine is not None
        commit, plan = self._folder.commit, self._folder.stored.plan
        of_status = next((candidate for candidate in status.sources if candidate.name == source.name), None)
        if commit is None or of_status is None:
            return {"name": source.name, "table": source.table, "groups": [], "accents": [], "closed": None}
        rejected = self._quarantine.members(source.name)
        tables = [] if source.table else member_tables(plan, source, commit, journal, rejected, now)
        self._members[source.name] = {table.attribute: table for table in tables}
        return {
            "name": source.name,
            "table": source.table,
            "read": status.read.get(source.name, 0),
            "accents": _shortened(of_status.accents),
            "in_force": len(of_status.accents),
            "stated": [{"text": a.text[:_MAX_TEXT], "line": a.line} for a in source.accents[:MAX_SHOWN]],
            "closed": closed_time(source, commit.sources[source.name], now),
            "closed_text": of_status.closed,
            "undeclared": dict(of_status.undeclared),
            "offsets": dict(of_status.offsets),
            "groups": [table.model() for table in tables],
        }

    def _accents(self, status: Status, journal: Mapping[str, Any]) -> Model:
        recorded = journal.get("accents", [])[-MAX_SHOWN:]
        waiting = [*(rows.text() for rows in status.rows_waiting), *status.waiting]
        return {
            "read": journal.get("accents_read", 0),
            "in_force": sum(len(stream.accents) for stream in status.sources),
            "waiting": len(status.waiting),
            "line": [self._placed(accent) for accent in recorded],
            "waits": _shortened(waiting),
        }

    def _placed(self, accent: Mapping[str, Any]) -> Model:
        file = accent["file"]
        line = self._line(file, accent["place"]) if accent["by_bytes"] else None
        name = file.rpartition("/")[2]
        return {**accent, "where": f"{name}:{line}" if line else name, "line": line}

    def _line(self, file: str, offset: int) -> int | None:
        """Returns the line of a position in a plain file that is still there."""
        if (file, offset) not in self._lines:
            self._lines[file, offset] = _line_of(file, offset)
        return self._lines[file, offset]

    # --- errors ---

    def _set_aside(
        self, aside: Mapping[str, Mapping[str, Mapping[str, Any]]], journal: Mapping[str, Any]
    ) -> list[Model]:
        assert self._folder is not None
        meanings, plan, commit = codes(), self._folder.stored.plan, self._folder.commit
        accents = {
            source.name: AccentsRead(source, commit.sources[source.name], journal)
            for source in plan.sources
            if commit is not None and source.name in commit.sources
        }
        of_source = [
            {
                "source": source,
                "code": code,
                "meaning": meanings[code].meaning if code in meanings else "",
                "fix": meanings[code].fix if code in meanings else "",
                "count": of_code["count"],
                "newest": of_code["newest"],
                "replay": self._replay(code, of_code["newest"], accents.get(source)),
            }
            for source, by_code in aside.items()
            for code, of_code in by_code.items()
        ]
        return sorted(of_source, key=lambda entry: -entry["count"])[:MAX_SHOWN]

    def _replay(self, code: str, newest: Sequence[Mapping[str, Any]], accents: AccentsRead | None) -> str:
        """Returns the command for lines that are mended: one that sends them again, else one that prints them. The
        newest lines stand for all."""
        is_sent = (
            accents is not None
            and takes_again(accents.source, code)
            and all(accents.misread(line["epoch"] or 0, line["raw"]) is None for line in newest)
        )
        return shlex.join(["cedilla", "replay", self.path, "--code", code, *([] if is_sent else ["--print"])])

    def _plan_graph(self, plan: Plan) -> Any:
        if self._graph is None or self._graph[0] != plan:
            self._graph = plan, plan_graph(plan)
        return self._graph[1]


def _stop(status: Status) -> Model | None:
    error = status.error
    if error is None:
        return None
    last = -1 if status.epoch is None else status.epoch
    first = next((d for d in error.diagnostics if d.severity == "error"), error.diagnostics[0])
    done = f"everything up to epoch {last} is committed" if last >= 0 else "nothing is committed yet"
    return {
        "time": _seconds(error.time),
        "epoch": error.epoch,
        "went_on": last > error.epoch,
        "code": first.code,
        "message": first.message,
        "place": None if first.span is None else str(first.span),
        "text": render(error.diagnostics, {}),
        "mend": [*([first.help] if first.help else []), *first.notes],
        "fix": codes()[first.code].fix if first.code in codes() else "",
        "committed": done,
        "nothing_lost": first.code not in _DAMAGED,
    }


def _command(status: Status, plan: Plan, path: str) -> str:
    """Returns the command that continues a run."""
    engine = ["--engine", status.engine] if status.engine not in (None, "spark") else []
    return shlex.join(["cedilla", "run", f"{plan.name}.rq", "--checkpoint", path, *engine])


def _seconds(moment: str | None) -> float | None:
    """Returns a moment of a checkpoint as seconds since 1970."""
    return seconds(moment) if moment else None


def closed_time(source: Source, state: SourceState, now: float) -> Model | None:
    """Returns how far the time axis of a source is closed: the value before which no tuple comes.

    `behind`: the seconds from a timestamp to now.
    """
    if source.table or state.closed is True:
        return {"attribute": None, "value": None, "text": "the stream has ended", "behind": None}
    axis = time_axis(source)
    if axis is None or not isinstance(state.closed, Level):
        return None
    others = regions.attributes(state.closed) - {axis}
    closed = regions.forall(state.closed, others, state.universe)
    if not (
        isinstance(closed, Level) and closed.attribute == axis and closed.pieces[0] is True and closed.cuts
    ):
        return None
    value, type_ = closed.cuts[0][0], state.types[axis]
    behind = round(now - float(value) / 1_000_000, 1) if type_.name == "timestamp" else None
    return {"attribute": axis, "value": float(value), "text": type_.wire(value).strip('"'), "behind": behind}


def _output(stream: Stream, status: Status, plan: Plan) -> Model:
    emit = next(candidate for candidate in plan.emits if candidate.name == stream.name)
    return {
        "name": stream.name,
        "relation": emit.relation,
        "path": emit.path,
        "format": emit.format,
        "written": status.written.get(stream.name),
        "accents": _shortened(stream.accents),
        "closed": stream.closed,
        "units": dict(stream.units),
    }


def _doubtful(status: Status, folder: CheckpointFolder, journal: Mapping[str, Any]) -> list[Model]:
    """Returns doubtful accents and jumps, the newest first, each with an accent statement to paste."""
    doubts: list[Model] = []
    suspected = {name for name, kept in (folder.commit.suspects if folder.commit else {}).items() if kept}
    for name in suspected:
        assert folder.commit is not None
        for change in reversed(reported_changes(folder.commit.suspects[name])):
            statement = f"accent {name} {change.accent};" if change.accent else None
            message = f"{change.where} jumps like {change.conversion}, and no accent says so"
            doubts.append(_doubt("RQ223", message, [change.place], statement, None))
    for warning in reversed(journal.get("warnings", [])):
        if not ("RQ217" <= warning["code"] <= "RQ232") or (warning["code"] == "RQ223" and suspected):
            continue
        stated = _STATEMENT.search(f"{warning['message']} {warning['help']}")
        statement = stated and stated[0]
        doubts.append(
            _doubt(warning["code"], warning["message"], warning["notes"], statement, warning["help"])
            | {"time": warning["time"]}
        )
    doubts += [
        _doubt("RQ218", f"converted more than once: {text}", [], None, None) for text in status.doubtful
    ]
    return doubts[:MAX_SHOWN]


def _doubt(code: str, message: str, notes: Sequence[str], paste: str | None, help_: str | None) -> Model:
    key = f"{code} {message} {notes[-1] if notes else ''}"
    return {
        "code": code,
        "message": message,
        "notes": list(notes),
        "paste": paste,
        "help": help_,
        "key": key,
        "time": None,
    }


def _waiting_by_node(status: Status, plan: Plan) -> dict[str, list[str]]:
    waiting: dict[str, list[str]] = {}
    for rows in status.rows_waiting:
        waiting.setdefault(rows.operator, []).append(rows.text())
    names = [operator.name for operator in plan.operators]
    for text in status.waiting:
        for name in names:
            if f" at {name}," in text:
                waiting.setdefault(name, []).append(text)
    return {name: _shortened(texts) for name, texts in waiting.items()}


def _shortened(texts: Sequence[str]) -> list[str]:
    """Returns the first texts, each of limited length: one accent may name thousands of values.

    >>> _shortened(['t where s in {' + ', '.join(f'"a{n}"' for n in range(200)) + '}: waits'])
    ['t where s in {"a0", "a1", "a2", "a3", "a4", "a5", ... 194 more}: waits']
    """
    short = (_LIST.sub(_first_values, text) for text in texts[:MAX_SHOWN])
    return [text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]} ..." for text in short]


def _first_values(listed: re.Match[str]) -> str:
    values = _VALUE.findall(listed[1])
    return (
        listed[0]
        if len(values) <= 2 * _LISTED
        else (f"{{{', '.join(values[:_LISTED])}, ... {len(values) - _LISTED:,} more}}")
    )


_STRING = r'"(?:[^"\\]|\\.)*"'
_LIST, _VALUE = re.compile(rf'\{{((?:{_STRING}|[^"{{}}])*)\}}'), re.compile(rf'{_STRING}|[^\s,"][^,"]*')
_LISTED = 6
"""The values of a list that are shown where it has more than twice as many."""


def _line_of(file: str, offset: int) -> int | None:
    path = local_path(file)
    if path is None or path.suffix in (".gz", ".zst", ".bz2", ".parquet"):
        return None
    try:
        if offset > _PLAIN_LINES:
            return None
        with Path(path).open("rb") as opened:
            return opened.read(offset).count(b"\n") + 1
    except OSError:
        return None


def problems(error: DiagnosticError) -> Iterator[Model]:
    """Returns the diagnostics of a checkpoint that cannot be read, for a page."""
    return map(shown, error.diagnostics)
