"""Commit records as JSON values, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from attrs import asdict

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.facts import Presence, StateFacts
from cedilla.compiler.regions import Domain, Tree
from cedilla.compiler.regions.composition import load_function
from cedilla.runtime.control.accents.names import Names
from cedilla.runtime.control.accents.numbers import Numbers
from cedilla.runtime.control.accents.originals import Originals
from cedilla.runtime.control.accents.placed import Placed
from cedilla.runtime.control.accents.sentinels import Sentinels
from cedilla.runtime.control.accents.swaps import Swaps
from cedilla.runtime.control.accents.trees import CACHE_SIZE, Altered
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.control.sources.latest_time import LatestTime
from cedilla.runtime.control.sources.notes import Notes
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.commits import Commit, Progress
from cedilla.runtime.epochs.checkpoint.stored_plan import check_version
from cedilla.runtime.epochs.checkpoint.tree_files import (
    Trees,
    dump_leaf,
    dump_tree,
    load_affine,
    load_history,
    load_tree,
    load_values,
)
from cedilla.runtime.epochs.state.segments import Segment

_VERSION = 6


def dump_commit(record: Commit, trees: Trees | None = None, home: str = "") -> dict[str, Any]:
    """Returns a commit record as JSON values; `load_commit` reads it. Without `trees`, it has all trees in it. `home`:
    the folder of the checkpoint; segments inside it are recorded by their relative paths."""
    trees = trees or Trees()
    return {
        "version": _VERSION,
        "epoch": record.epoch,
        "batch": record.batch,
        "progress": {name: asdict(p) for name, p in record.progress.items()},
        "sources": {
            name: _dump_source(state, trees, f"source {name}") for name, state in record.sources.items()
        },
        "sinks": {name: _dump_sink(state, trees, f"sink {name}") for name, state in record.sinks.items()},
        "held": {n: _dump_trees(s.retained, trees, f"held {n}") for n, s in record.state_facts.items()},
        "closed": {n: trees.dump(f"closed {n}", s.closed) for n, s in record.state_facts.items()},
        "segments": {
            key: [_dump_segment(s, home) for s in segments] for key, segments in record.segments.items()
        },
        "counters": dict(record.counters),
        "read": dict(record.read),
        "written": dict(record.written),
        "suspects": dict(record.suspects),
        "topics": dict(record.topics),
        "inferred": {name: dict(attributes) for name, attributes in record.inferred.items()},
        "removed": list(record.removed),
        "time": record.time,
        "engine": record.engine,
        "run": record.run,
    }


def _dump_segment(segment: Segment, home: str) -> dict[str, Any]:
    state = f"{home}/state/"
    if not (home and segment.path.startswith(state)):
        return asdict(segment)
    return {
        "place": segment.path.removeprefix(state),
        **asdict(segment, filter=lambda a, _: a.name != "path"),
    }


def _load_segment(data: dict[str, Any], home: str) -> Segment:
    if "place" not in data:
        return Segment(**data)
    return Segment(f"{home}/state/{data['place']}", **{n: v for n, v in data.items() if n != "place"})


def load_commit(data: dict[str, Any], trees: Trees | None = None, home: str = "") -> Commit:
    """Loads the commit record of a file of `CHECKPOINT/commits`; `trees` reads the files of its trees."""
    check_version(data, _VERSION)
    trees = trees or Trees()
    return Commit(
        data["epoch"],
        data["batch"],
        {name: Progress(**p) for name, p in data["progress"].items()},
        {name: _load_source(state, trees, f"source {name}") for name, state in data["sources"].items()},
        {name: _load_sink(state, trees, f"sink {name}") for name, state in data["sinks"].items()},
        {
            n: StateFacts(
                _load_trees(held, bool, trees, f"held {n}"),
                trees.load(f"closed {n}", data["closed"][n], bool),
            )
            for n, held in data["held"].items()
        },
        {key: tuple(_load_segment(s, home) for s in segments) for key, segments in data["segments"].items()},
        data["counters"],
        data["read"],
        data["written"],
        data["suspects"],
        data["time"],
        data["engine"],
        data["topics"],
        data["inferred"],
        data["removed"],
        data["run"],
    )


def _dump_source(state: SourceState, trees: Trees, slot: str) -> dict[str, Any]:
    return {
        "types": {name: str(t) for name, t in state.types.items()},
        "universe": {n: _dump_domain(d) for n, d in state.universe.items()},
        "present": _dump_trees(state.present, trees, f"{slot} present"),
        "units": _dump_trees(state.units, trees, f"{slot} units"),
        "original": _dump_trees(state.original, trees, f"{slot} original"),
        "closed": trees.dump(f"{slot} closed", state.closed),
        "alters": [_dump_altered(alter) for alter in state.notes.alters],
        "doubled": sorted(state.numbers.doubled),
        "digits": dict(state.numbers.digits),
        "raw_types": {name: str(type_) for name, type_ in state.numbers.raw_types.items()},
        "expected": {name: str(type_) for name, type_ in state.numbers.expected.items()},
        "grown": {name: dump_tree(values) for name, values in state.grown.items()},
        "names": dict(state.names.of),
        "added_units": dict(state.notes.added_units),
        "named_units": {name: list(units) for name, units in state.notes.named_units.items()},
        "codes": _dump_trees(state.codes, trees, f"{slot} codes"),
        "bent": _dump_trees(state.bent, trees, f"{slot} bent"),
        "swaps": _dump_trees(state.swaps.here, trees, f"{slot} swaps"),
        "sentinels": _dump_trees(state.sentinels.here, trees, f"{slot} sentinels"),
        "listed": _dump_trees(state.sentinels.listed, trees, f"{slot} listed"),
        "undeclared": dict(state.notes.undeclared),
        "forms": dict(state.forms),
        "named": _dump_trees(state.names.here, trees, f"{slot} named"),
        "superseded": _dump_trees(state.notes.superseded, trees, f"{slot} superseded"),
        "reached": None if state.reached is None else str(state.reached),
        "latest": _dump_latest(state.latest),
    }


def _load_source(data: dict[str, Any], trees: Trees, slot: str) -> SourceState:
    return SourceState(
        {name: Type.parse(t) for name, t in data["types"].items()},
        {
            n: Domain(load_tree(members, bool), integral, *listed)
            for n, (members, integral, *listed) in data["universe"].items()
        },
        Placed(_load_trees(data["present"], Presence, trees, f"{slot} present")),
        _load_trees(data["units"], load_history, trees, f"{slot} units"),
        Originals(_load_trees(data["original"], load_function, trees, f"{slot} original")),
        trees.load(f"{slot} closed", data["closed"], bool),
        numbers=Numbers(
            frozenset(data["doubled"]),
            data["digits"],
            {name: Type.parse(text) for name, text in data["raw_types"].items()},
            {name: Type.parse(text) for name, text in data["expected"].items()},
        ),
        grown={name: load_tree(values, bool) for name, values in data["grown"].items()},
        notes=Notes(
            tuple(_load_altered(alter) for alter in data["alters"]),
            data["added_units"],
            {name: tuple(units) for name, units in data["named_units"].items()},
            data["undeclared"],
            _load_trees(data["superseded"], bool, trees, f"{slot} superseded"),
        ),
        forms=data["forms"],
        codes=_load_trees(data["codes"], load_function, trees, f"{slot} codes"),
        bent=_load_trees(data["bent"], load_function, trees, f"{slot} bent"),
        swaps=Swaps(_load_trees(data["swaps"], bool, trees, f"{slot} swaps")),
        sentinels=Sentinels(
            _load_trees(data["sentinels"], bool, trees, f"{slot} sentinels"),
            listed=_load_trees(data["listed"], load_values, trees, f"{slot} listed"),
        ),
        names=Names(_load_trees(data["named"], str, trees, f"{slot} named"), of=data["names"]),
        reached=None if data.get("reached") is None else Fraction(data["reached"]),
        latest=_load_latest(data.get("latest")),
    ).next_epoch()


def _dump_latest(latest: LatestTime | None) -> list[Any] | None:
    return None if latest is None else [str(latest.time), latest.file, latest.late]


def _load_latest(data: list[Any] | None) -> LatestTime | None:
    return None if data is None else LatestTime(Fraction(data[0]), *data[1:])


def _dump_domain(domain: Domain) -> list[Any]:
    return [dump_tree(domain.members), domain.integral, *([domain.listed] if domain.listed else [])]


@lru_cache(CACHE_SIZE)
def _dump_altered(altered: Altered) -> list[Any]:
    """Returns a remembered Alter as JSON values, the same ones for all the records that it is in."""
    where = dump_tree(altered.where)
    return [altered.attribute, dump_leaf(altered.function), where, altered.place, altered.text]


def _load_altered(data: list[Any]) -> Altered:
    attribute, function, where, position, text = data
    return Altered(attribute, load_affine(function), load_tree(where, bool), position, text)


def _dump_sink(state: SinkState, trees: Trees, slot: str) -> dict[str, Any]:
    return {
        "present": _dump_trees(state.present, trees, f"{slot} present"),
        "scale": _dump_trees(state.scale, trees, f"{slot} scale"),
        "closed": trees.dump(f"{slot} closed", state.closed),
        "types": {name: str(type_) for name, type_ in state.types.items()},
        "domains": {name: dump_tree(members) for name, members in state.domains.items()},
        "units": dict(state.units),
        "earlier": _dump_trees(state.earlier, trees, f"{slot} earlier"),
    }


def _load_sink(data: dict[str, Any], trees: Trees, slot: str) -> SinkState:
    return SinkState(
        _load_trees(data["present"], Presence, trees, f"{slot} present"),
        _load_trees(data["scale"], load_affine, trees, f"{slot} scale"),
        trees.load(f"{slot} closed", data["closed"], bool),
        {name: Type.parse(text) for name, text in data["types"].items()},
        {name: load_tree(members, bool) for name, members in data["domains"].items()},
        data["units"],
        _load_trees(data["earlier"], load_history, trees, f"{slot} earlier"),
    )


def _dump_trees(trees_by_name: Mapping[str, Tree], trees: Trees, slot: str) -> dict[str, Any]:
    return {name: trees.dump(f"{slot} {name}", tree) for name, tree in trees_by_name.items()}


def _load_trees(
    data: Mapping[str, Any], leaf: Callable[[Any], Any], trees: Trees, slot: str
) -> dict[str, Tree]:
    return {name: trees.load(f"{slot} {name}", tree, leaf) for name, tree in data.items()}
