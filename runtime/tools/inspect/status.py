"""`cedilla status`: shows the state of a query from its last commit, without Spark (design, section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import filterfalse
from types import MappingProxyType
from typing import Any

from attrs import asdict, evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Alter
from cedilla.compiler.explain.analysis.releases import releases
from cedilla.compiler.explain.analysis.waiting import Waiting
from cedilla.compiler.explain.impact import has_readers
from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.facts.facts import NO_FEEDER, Facts, History
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.shared.reactions import reaction
from cedilla.compiler.plan import Emit, Plan, Source, derive
from cedilla.compiler.regions import Level, Tree
from cedilla.grammar.diagnostics import render
from cedilla.grammar.diagnostics.printable import counted
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.control.change_detection.monitor_record import reported_changes
from cedilla.runtime.control.descriptions.boxes import simple_boxes
from cedilla.runtime.control.markers.repeated import converted_twice
from cedilla.runtime.control.sinks.held_back import held_back
from cedilla.runtime.control.sources.active_accents import Described, active_accents, of_source
from cedilla.runtime.control.sources.latest_time import with_latest
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.unit_names import UnitNames, relation_units, source_names
from cedilla.runtime.epochs.checkpoint.checkpoint_folder import CheckpointFolder, read_checkpoint
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.inventory import Failure, Stored, backlog, failure, quarantined, stored
from cedilla.runtime.epochs.checkpoint.journal import Undeclared
from cedilla.runtime.epochs.checkpoint.ownership import read_owner, run_state
from cedilla.runtime.epochs.state.waiting import rows_that_wait
from cedilla.runtime.tools.inspect.stream_status import Stream, source_lines, undeclared_fields
from cedilla.runtime.tools.stream_tools.canonical import possible

_SHOWN = 8
"""The number of parts of a region that are shown; the others are counted."""


@frozen
class Status:
    """A checkpoint. `epoch` is `None` before the first commit; `run`: as `run_state`."""

    path: str
    query: str
    run: str = "stopped"
    epoch: int | None = None
    batch: int | None = None
    files: Mapping[str, int] = {}
    sources: tuple[Stream, ...] = ()
    outputs: tuple[Stream, ...] = ()
    waiting: tuple[str, ...] = ()
    rows_waiting: tuple[Waiting, ...] = ()
    doubtful: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    state: tuple[Stored, ...] = ()
    counters: Mapping[str, int] = {}
    quarantine: Mapping[str, Mapping[str, int]] = {}
    committed: str | None = None
    engine: str | None = None
    read: Mapping[str, int] = {}
    written: Mapping[str, int] = {}
    backlog: Mapping[str, int] = {}
    error: Failure | None = None


def read_status(path: str) -> Status:
    """Reads the status of a checkpoint. Raises `DiagnosticError` as `read_checkpoint` does."""
    folder, files = read_checkpoint(path), Files()
    aside, left = quarantined(folder.root), backlog(folder.root, folder.commit)
    status = status_of(path, folder, aside, left, undeclared=undeclared_fields(path))
    return evolve(status, run=run_state(files, path, read_owner(files, path)))


def status_of(
    path: str,
    folder: CheckpointFolder,
    quarantine: Mapping[str, Mapping[str, int]],
    left: Mapping[str, int],
    facts: Mapping[str, Facts] | None = None,
    undeclared: Undeclared = MappingProxyType({}),
) -> Status:
    """Returns the status of a checkpoint that has been read. `quarantine`, `left`: the lines in quarantine by source
    and code, and the files to be read; `facts`: those of `facts_of`; `undeclared`: that of the journal."""
    plan, commit = folder.stored.plan, folder.commit
    status = Status(path, plan.text, quarantine=quarantine, backlog=left, error=failure(folder.root))
    if commit is None:
        return status
    facts = facts_of(plan, commit) if facts is None else facts
    return evolve(
        status,
        epoch=commit.epoch,
        batch=commit.batch,
        files={name: progress.files for name, progress in commit.progress.items()},
        sources=tuple(_source(source, plan, commit, undeclared) for source in plan.sources),
        outputs=tuple(_output(emit, plan, commit, facts) for emit in plan.emits),
        waiting=(
            *_held_drops(commit, facts),
            *_waiting(plan, facts, commit),
            *_held_back(plan, facts, commit),
        ),
        state=tuple(stored(commit)),
        rows_waiting=rows_that_wait(releases(plan), commit.segments, facts, commit.epoch),
        doubtful=tuple(
            f"source {name}: {text}"
            for name, state in commit.sources.items()
            for text in converted_twice(state.facts())
        ),
        suspects=tuple(
            f"source {name}: {change.text()}"
            for name, kept in commit.suspects.items()
            for change in reported_changes(kept)
        ),
        counters=dict(commit.counters),
        committed=commit.time or "",
        engine=commit.engine,
        read=dict(commit.read),
        written=dict(commit.written),
    )


def facts_of(plan: Plan, commit: Commit) -> dict[str, Facts]:
    """Returns the facts of all relations after a commit."""
    return derive(plan, {name: state.facts() for name, state in commit.sources.items()}, commit.state_facts)


def status_json(status: Status) -> dict[str, Any]:
    """Returns the status as plain JSON values."""
    return {"version": 1, **asdict(status)}


def status_text(status: Status) -> str:
    """Writes the status for people."""
    if status.epoch is None:
        head = [f"{status.path}: nothing is committed yet; {_run(status)}"]
        return "\n".join([*head, *_block("to be read", _left(status)), *_error(status)])
    made = f"committed at {status.committed}{f' by {status.engine}' if status.engine else ''}"
    lines = [f"{status.path}: epoch {status.epoch}, batch {status.batch}, {made}; {_run(status)}"]
    lines += _error(status)
    lines += _block("to be read", _left(status))
    for stream in status.sources:
        lines += _block(
            f"source {stream.name}", [*_counted(status.read, stream, "read"), *source_lines(stream)]
        )
    for stream in status.outputs:
        lines += _block(
            f"output {stream.name}", [*_counted(status.written, stream, "written"), *source_lines(stream)]
        )
    waiting = (*(rows.text() for rows in status.rows_waiting), *status.waiting)
    lines += _block("waiting", waiting or ("nothing",))
    lines += _block("converted more than once", status.doubtful)
    lines += _block("jumps that no accent announces", status.suspects)
    lines += _block("state", list(map(_size, status.state)) or ("empty",))
    codes = [
        f"{source}: " + ", ".join(f"{code} {count:,}" for code, count in sorted(counts.items()))
        for source, counts in status.quarantine.items()
    ]
    lines += _block("rejected", [f"{code}: {count:,}" for code, count in sorted(status.counters.items())])
    lines += _block("in quarantine", codes)
    return "\n".join(lines)


def _run(status: Status) -> str:
    match status.run:
        case "died":
            return "the run has died without an end: the next one continues after the last commit"
        case "running" | "on another host":
            return f"a run is {status.run}"
        case _:
            return "no run"


def _left(status: Status) -> list[str]:
    return [f"{name}: {counted(files, 'file')}" for name, files in status.backlog.items()]


def _error(status: Status) -> list[str]:
    """Returns the error of the last run that failed, and whether the query continued since."""
    if status.error is None:
        return []
    since = "" if status.epoch is None or status.epoch <= status.error.epoch else ", and continued since"
    return _block(f"stopped at {status.error.time}{since}", render(status.error.diagnostics, {}).splitlines())


def _counted(counts: Mapping[str, int], stream: Stream, verb: str) -> list[str]:
    return [f"{counted(counts[stream.name], 'tuple')} {verb}"] if stream.name in counts else []


def _size(state: Stored) -> str:
    rows = "" if state.rows is None else f"{counted(state.rows, 'row')}, "
    return f"{state.name}: {rows}{state.bytes:,} bytes in {counted(state.segments, 'segment')}"


def _block(title: str, lines: Any) -> list[str]:
    return [title, *(f"  {line}" for line in lines)] if lines else []


# --- streams ---------------------------------------------------------------------------------------------


def _source(source: Source, plan: Plan, commit: Commit, undeclared: Undeclared) -> Stream:
    state = commit.sources[source.name]
    names = source_names(plan, source, commit.sources)
    facts, accents = of_source(source, state, names)
    lines = tuple(_accents(accents, facts)), with_latest(_closed(state.closed, facts), source, state)
    offsets = commit.topics.get(source.name, {}).get("offsets", {})
    declared = {attribute.name for attribute in source.attributes}
    inferred = {
        n: e for n, e in commit.inferred.get(source.name, {}).items() if n in state.types.keys() - declared
    }
    domains, fields = tuple(_domains(source, state)), undeclared.get(source.name, {})
    return Stream(source.name, *lines, domains, names.units, offsets, inferred, fields)


def _domains(source: Source, state: SourceState) -> Iterator[str]:
    for attribute in source.attributes:
        values = state.grown.get(attribute.name, False)
        if attribute.column is not None and isinstance(values, Level):
            yield f"{attribute.name} in {attribute.domain}: {counted(len(values.points), 'value')}"


def _output(emit: Emit, plan: Plan, commit: Commit, facts: Mapping[str, Facts]) -> Stream:
    sink = commit.sinks[emit.name]
    now = evolve(facts[emit.relation], closed=sink.closed)
    units = {**relation_units(plan, commit.sources)[emit.relation], **emit.units}
    names = UnitNames(units, emit.relation, plan, commit.sources)
    accents = active_accents(now, plan.start[emit.relation].present, sink.present, sink.scale, names)
    return Stream(emit.name, tuple(_accents(accents, now)), _closed(sink.closed, now), units=names.units)


def _accents(changes: Iterable[Described], facts: Facts) -> Iterator[str]:
    """Yields the active accents on tuples that may still come."""
    for change, region in changes:
        if (where := _where(region, facts)) is not None:
            yield f"{change} {where}"


def _where(region: Tree, facts: Facts) -> str | None:
    """Describes a region without its closed part; `None` if that is empty."""
    live = regions.difference(region, facts.closed)
    if regions.is_empty(live, facts.universe):
        return None
    # Closed tuples may be included or not: the shorter text is that of the accents.
    text = _text(region, facts, facts.closed)
    return "everywhere" if text == "everything" else f"where {text}"


def _closed(closed: Tree, facts: Facts) -> str | None:
    return None if regions.is_empty(closed, facts.universe) else _text(closed, facts, False)


def _text(region: Tree, facts: Facts, free: Tree) -> str:
    parts: list[str] = []
    for box in simple_boxes(possible(region, facts.universe), facts.universe, free):
        conditions = [
            _values_text(name, members, facts.types) for name, members in box.items() if members is not True
        ]
        parts.append(" and ".join(conditions) or "everything")
    shown = parts if len(parts) <= _SHOWN else [*parts[:_SHOWN], f"... {len(parts) - _SHOWN:,} more"]
    return "; ".join(shown)


def _values_text(name: str, members: Any, types: Mapping[str, Type]) -> str:
    defined = regions.intersection(members, regions.defined(name))
    if defined is False:
        texts: list[str] = []
    elif isinstance(defined, Level) and defined.pieces == (True,) and len(defined.points) > 1:
        values = sorted(map(types[name].wire, defined.points))
        texts = [f"{name} not in {{{', '.join(values)}}}"]
    else:
        texts = [
            t[0] if t else f"{name} is there" for t in patterns.texts({name: defined}, types, outer=False)
        ]
    if members.undefined:
        texts.append(f"no {name}")
    return texts[0] if len(texts) == 1 else f"({' or '.join(texts)})"


# --- what waits ------------------------------------------------------------------------------------------


def _held_drops(commit: Commit, facts: Mapping[str, Facts]) -> Iterator[str]:
    """Yields Drops that wait for state (G13)."""
    for name, state in commit.state_facts.items():
        for attribute, region in state.retained.items():
            if where := _where(region, facts[name]):
                yield f"-({attribute}) at {name}, {where}: its state still has the attribute"


def _waiting(plan: Plan, facts: Mapping[str, Facts], commit: Commit) -> Iterator[str]:
    """Yields Alters and Drops that some feeders of an operator have, but not all (D1)."""
    units = relation_units(plan, commit.sources)
    for operator in plan.operators:
        inputs = tuple(facts[name] for name in operator.inputs)
        for side, name in enumerate(operator.inputs):
            names = UnitNames(units[name], name, plan, commit.sources)
            for attribute in facts[name].types:
                if attribute in facts[operator.name].types:
                    alters = list(_waiting_alters(operator, inputs, side, attribute, facts, names))
                    if alters and has_readers(plan, operator.name, attribute):
                        yield from alters
                    yield from _waiting_drops(plan, operator, inputs, side, attribute, facts)


def _held_back(plan: Plan, facts: Mapping[str, Facts], commit: Commit) -> Iterator[str]:
    """Yields the units of tuples that outputs do not announce, with the reason."""
    for emit in plan.emits:
        of, sink = facts[emit.relation], commit.sinks.get(emit.name)
        if sink is not None:
            for name in filterfalse(emit.keeps_units, of.units):
                for reason, region in held_back(sink, of, name):
                    yield f"{name} at output {emit.name}, {_where(region, of) or 'everywhere'}: {reason}"


def _waiting_alters(
    operator: Operator,
    inputs: tuple[Facts, ...],
    side: int,
    attribute: str,
    facts: Mapping[str, Facts],
    names: UnitNames,
) -> Iterator[str]:
    source, announced = inputs[side], regions.leaves(facts[operator.name].live_units(attribute))
    live = source.live_units(attribute)
    for history in regions.leaves(live):
        if len(history) < 2 or any(history[-1] in other for other in announced):
            continue
        function, where = history[-1], regions.map_leaves(live, lambda leaf, h=history: leaf == h)
        mentions = regions.attributes(where)
        kind = reaction(operator, "alter", attribute, mentions, inputs, side).kind
        if kind in _WAIT:
            near = where if kind == "coordinates" else True
            lagging = list(
                _feeders(operator, inputs, attribute, near, lambda leaf, f=function: leaf and f not in leaf)
            )
            if lagging:
                region_text = _where(where, source) or "everywhere"
                alter = Alter(attribute, function, names.of(attribute, function))
                yield f"{alter} at {operator.name}, {region_text}: waits for {' and '.join(lagging)}"


_WAIT = ("coordinates", "accumulates")
"""An operator that coordinates waits for the same tuples of its inputs; one that accumulates waits for all
cells.
"""


def _feeders(
    operator: Operator,
    inputs: tuple[Facts, ...],
    attribute: str,
    near: Tree,
    lags: Callable[[History], object],
) -> Iterator[str]:
    """Yields the regions of live feeders that an accent waits for."""
    for name, facts in zip(operator.inputs, inputs, strict=True):
        if attribute in facts.types:
            behind = regions.map_leaves(facts.live_units(attribute), lambda leaf: bool(lags(leaf)))
            if (where := _where(regions.intersection(behind, near), facts)) is not None:
                yield f"{name} {where}"


def _waiting_drops(
    plan: Plan,
    operator: Operator,
    inputs: tuple[Facts, ...],
    side: int,
    attribute: str,
    facts: Mapping[str, Facts],
) -> Iterator[str]:
    source, name = inputs[side], operator.inputs[side]
    started = plan.start[name].may_have(attribute)
    gone = regions.difference(regions.difference(started, source.may_have(attribute)), source.closed)
    if regions.is_empty(gone, source.universe):
        return
    kind = reaction(operator, "drop", attribute, regions.attributes(gone), inputs, side).kind
    if kind not in _WAIT:
        return
    left = regions.difference(facts[operator.name].may_have(attribute), facts[operator.name].closed)
    near = gone if kind == "coordinates" else True
    lagging = list(_feeders(operator, inputs, attribute, near, lambda history: history != NO_FEEDER))
    if lagging and not regions.is_empty(left, facts[operator.name].universe):
        region_text = _where(gone, source)
        yield f"-({attribute}) of {name} at {operator.name}, {region_text}: waits for {' and '.join(lagging)}"
