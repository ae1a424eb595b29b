"""`cedilla status`: where a query stands, from its last commit record, without Spark (design, section 7)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, frozen

from cedilla.compiler import patterns, regions
from cedilla.compiler.evolution import ABSENT, NO_FEEDER, PRESENT, Facts, History
from cedilla.compiler.markers import Alter
from cedilla.compiler.operators import Operator
from cedilla.compiler.plan import Emit, Plan, Source, derive
from cedilla.compiler.regions import Tree
from cedilla.compiler.types import Type
from cedilla.runtime.announce import simple_boxes
from cedilla.runtime.canonical import possible
from cedilla.runtime.checkpoint import Commit
from cedilla.runtime.checkpoint_folder import local_path, read_checkpoint
from cedilla.runtime.control import leaves

_SHOWN = 8
"""So many parts of a region are shown; of the rest, their number."""


@frozen
class Stream:
    """A source or an output: what its accents and punctuations have said so far, as texts.

    Descriptions are in canonical values: the units of the query's start.
    """

    name: str
    accents: tuple[str, ...]
    closed: str | None


@frozen
class Stored:
    """A state of an operator."""

    name: str
    segments: int
    bytes: int


@frozen
class Status:
    """A checkpoint. `epoch` is `None` before the first commit."""

    path: str
    query: tuple[str, ...]
    epoch: int | None = None
    batch: int | None = None
    files: Mapping[str, int] = {}
    sources: tuple[Stream, ...] = ()
    outputs: tuple[Stream, ...] = ()
    waiting: tuple[str, ...] = ()
    state: tuple[Stored, ...] = ()
    counters: Mapping[str, int] = {}
    quarantine: Mapping[str, Mapping[str, int]] = {}


def read_status(path: str) -> Status:
    """The status of a checkpoint in a local folder.

    Raises `DiagnosticError`: RQ411 where there is no checkpoint or it cannot be read, RQ412 where the path is
    not local.
    """
    folder = read_checkpoint(path, "status")
    plan, commit = folder.stored.plan, folder.commit
    described = tuple(plan.describe())
    if commit is None:
        return Status(path, described, quarantine=_quarantined(folder.root))
    facts = derive(plan, {name: state.facts() for name, state in commit.sources.items()}, commit.held)
    return Status(
        path=path,
        query=described,
        epoch=commit.epoch,
        batch=commit.batch,
        files={name: progress.files for name, progress in commit.progress.items()},
        sources=tuple(_source(source, commit) for source in plan.sources),
        outputs=tuple(_output(emit, plan, commit, facts) for emit in plan.emits),
        waiting=(*_held(commit, facts), *_waiting(plan, facts)),
        state=tuple(_stored(commit)),
        counters=dict(commit.counters),
        quarantine=_quarantined(folder.root),
    )


def status_json(status: Status) -> dict[str, Any]:
    """The status as plain JSON values."""
    return {"version": 1, **asdict(status)}


def status_text(status: Status) -> str:
    """The status for people."""
    if status.epoch is None:
        return f"{status.path}: nothing is committed yet"
    head = f"{status.path}: epoch {status.epoch}, batch {status.batch}"
    read = ", ".join(f"{count} of {name}" for name, count in status.files.items())
    lines = [head + (f" (files read of the batch: {read})" if read else "")]
    for stream in status.sources:
        lines += _block(f"source {stream.name}", _told(stream))
    for stream in status.outputs:
        lines += _block(f"output {stream.name}", _told(stream))
    lines += _block("waiting", status.waiting or ("nothing",))
    sizes = [
        f"{s.name}: {s.bytes:,} bytes in {s.segments} segment{'s' * (s.segments != 1)}" for s in status.state
    ]
    lines += _block("state", sizes or ("empty",))
    codes = [
        f"{source}: " + ", ".join(f"{code} {count:,}" for code, count in sorted(counts.items()))
        for source, counts in status.quarantine.items()
    ]
    lines += _block("rejected", [f"{code}: {count:,}" for code, count in sorted(status.counters.items())])
    lines += _block("in quarantine", codes)
    return "\n".join(lines)


def _told(stream: Stream) -> list[str]:
    closed = [] if stream.closed is None else [f"closed: {stream.closed}"]
    return [*(stream.accents or ("as at its start",)), *closed]


def _block(title: str, lines: Any) -> list[str]:
    return [title, *(f"  {line}" for line in lines)] if lines else []


# --- streams ---------------------------------------------------------------------------------------------


def _source(source: Source, commit: Commit) -> Stream:
    state = commit.sources[source.name]
    facts = state.facts()
    scale = {n: regions.map_leaves(tree, lambda history: history[-1]) for n, tree in state.units.items()}
    start = source.facts(frozenset()).present
    return Stream(
        source.name, tuple(_accents(facts, start, facts.present, scale)), _closed(state.closed, facts)
    )


def _output(emit: Emit, plan: Plan, commit: Commit, facts: Mapping[str, Facts]) -> Stream:
    sink = commit.sinks[emit.name]
    now = evolve(facts[emit.relation], closed=sink.closed)
    start = plan.start[emit.relation].present
    return Stream(emit.name, tuple(_accents(now, start, sink.present, sink.scale)), _closed(sink.closed, now))


def _accents(
    facts: Facts, start: Mapping[str, Tree], present: Mapping[str, Tree], scale: Mapping[str, Tree]
) -> Iterator[str]:
    """What is in force, where tuples may still come: attributes that came and went, and units."""
    for name, tree in present.items():
        before = start.get(name, ABSENT)
        came = regions.difference(_there(tree, PRESENT), regions.map_leaves(before, _may_have))
        if (where := _where(came, facts)) is not None:
            yield f"+({name}: {facts.types[name]}) {where}"
        gone = regions.difference(regions.map_leaves(before, _may_have), regions.map_leaves(tree, _may_have))
        if (where := _where(gone, facts)) is not None:
            yield f"-({name}) {where}"
    for name, tree in scale.items():
        for function in leaves(tree):
            cell = regions.map_leaves(tree, lambda leaf, f=function: leaf == f)
            if not function.is_identity and (where := _where(cell, facts)) is not None:
                yield f"{Alter(name, function)} {where}"


def _there(tree: Tree, wanted: object) -> Tree:
    return regions.map_leaves(tree, lambda leaf: leaf is wanted)


def _may_have(leaf: object) -> bool:
    return leaf is not ABSENT


def _where(region: Tree, facts: Facts) -> str | None:
    """A region without what is closed, in words; `None` if that is nothing."""
    live = regions.difference(region, facts.closed)
    if regions.is_empty(live, facts.universe):
        return None
    # What is closed may be said either way: the shorter text is the one that the accents had.
    text = _text(region, facts, facts.closed)
    return "everywhere" if text == "everything" else f"where {text}"


def _closed(closed: Tree, facts: Facts) -> str | None:
    return None if regions.is_empty(closed, facts.universe) else _text(closed, facts, False)


def _text(region: Tree, facts: Facts, free: Tree) -> str:
    parts: list[str] = []
    for box in simple_boxes(possible(region, facts.universe), facts.universe, free):
        conditions = [
            _written(name, members, facts.types) for name, members in box.items() if members is not True
        ]
        parts.append(" and ".join(conditions) or "everything")
    shown = parts if len(parts) <= _SHOWN else [*parts[:_SHOWN], f"... {len(parts) - _SHOWN:,} more"]
    return "; ".join(shown)


def _written(name: str, members: Any, types: Mapping[str, Type]) -> str:
    defined = regions.intersection(members, regions.defined(name))
    said = (
        []
        if defined is False
        else [t[0] if t else f"{name} is there" for t in patterns.texts({name: defined}, types, outer=False)]
    )
    if members.undefined:
        said.append(f"no {name}")
    return said[0] if len(said) == 1 else f"({' or '.join(said)})"


# --- what waits ------------------------------------------------------------------------------------------


def _held(commit: Commit, facts: Mapping[str, Facts]) -> Iterator[str]:
    """Drops that wait for state (G13)."""
    for name, held in commit.held.items():
        for attribute, region in held.items():
            if not attribute.startswith("$") and (where := _where(region, facts[name])):
                yield f"-({attribute}) at {name}, {where}: its state still has the attribute"


def _waiting(plan: Plan, facts: Mapping[str, Facts]) -> Iterator[str]:
    """Alters and Drops that an operator has from some feeders and not from all (D1)."""
    for operator in plan.operators:
        inputs = tuple(facts[name] for name in operator.inputs)
        for side, name in enumerate(operator.inputs):
            for attribute in facts[name].types:
                if attribute in facts[operator.name].types:
                    yield from _waiting_alters(operator, inputs, side, attribute, facts)
                    yield from _waiting_drops(plan, operator, inputs, side, attribute, facts)


def _waiting_alters(
    operator: Operator, inputs: tuple[Facts, ...], side: int, attribute: str, facts: Mapping[str, Facts]
) -> Iterator[str]:
    mine, said = inputs[side], leaves(facts[operator.name].live_units(attribute))
    live = mine.live_units(attribute)
    for history in leaves(live):
        if len(history) < 2 or any(history[-1] in other for other in said):
            continue
        function, where = history[-1], regions.map_leaves(live, lambda leaf, h=history: leaf == h)
        mentions = regions.attributes(where)
        kind = operator.reaction("alter", attribute, mentions, inputs, side).kind
        if kind in _WAIT:
            near = where if kind == "coordinates" else True
            lagging = list(
                _feeders(operator, inputs, attribute, near, lambda leaf, f=function: leaf and f not in leaf)
            )
            if lagging:
                told = _where(where, mine) or "everywhere"
                yield f"{Alter(attribute, function)} at {operator.name}, {told}: waits for {' and '.join(lagging)}"


_WAIT = ("coordinates", "accumulates")
"""The inputs of one that coordinates wait for the same tuples, the cells of one that accumulates for all."""


def _feeders(
    operator: Operator,
    inputs: tuple[Facts, ...],
    attribute: str,
    near: Tree,
    lags: Callable[[History], object],
) -> Iterator[str]:
    """Where the live feeders are that an accent waits for."""
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
    mine, name = inputs[side], operator.inputs[side]
    started = plan.start[name].may_have(attribute)
    gone = regions.difference(regions.difference(started, mine.may_have(attribute)), mine.closed)
    if regions.is_empty(gone, mine.universe):
        return
    kind = operator.reaction("drop", attribute, regions.attributes(gone), inputs, side).kind
    if kind not in _WAIT:
        return
    left = regions.difference(facts[operator.name].may_have(attribute), facts[operator.name].closed)
    near = gone if kind == "coordinates" else True
    lagging = list(_feeders(operator, inputs, attribute, near, lambda history: history != NO_FEEDER))
    if lagging and not regions.is_empty(left, facts[operator.name].universe):
        told = _where(gone, mine)
        yield f"-({attribute}) of {name} at {operator.name}, {told}: waits for {' and '.join(lagging)}"


# --- files -----------------------------------------------------------------------------------------------


def _stored(commit: Commit) -> Iterator[Stored]:
    for name, segments in commit.segments.items():
        folders = [local_path(segment.path) for segment in segments]
        size = sum(
            file.stat().st_size for f in folders if f is not None for file in f.rglob("*") if file.is_file()
        )
        yield Stored(name, len(segments), size)


def _quarantined(root: Path) -> dict[str, dict[str, int]]:
    """Source -> code -> lines set aside."""
    found: dict[str, dict[str, int]] = {}
    for folder in sorted((root / "quarantine").glob("*")):
        counts: Counter[str] = Counter()
        for file in folder.glob("*.jsonl"):
            with file.open(encoding="utf-8") as lines:
                counts.update(json.loads(line)["code"] for line in lines)
        if counts:
            found[folder.name] = dict(counts)
    return found
