"""Commit records: one JSON file makes an epoch real (design, section 5, Recovery)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from attrs import asdict, astuple, evolve
from immutables import Map

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.facts import History, Presence
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import Domain, Steps, Tree, Value
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import Diagnostic, to_json
from cedilla.runtime.checkpoint.change import Changes
from cedilla.runtime.checkpoint.commits import Commit, Progress
from cedilla.runtime.checkpoint.plan_changes import resume
from cedilla.runtime.checkpoint.stored_plan import StoredPlan, StoredPlans
from cedilla.runtime.control.announce import SinkState
from cedilla.runtime.control.source_state import MANY, Altered, SourceState
from cedilla.runtime.engines.files import Files
from cedilla.runtime.formats.source import InputFile
from cedilla.runtime.state.segments import Segment, paths

_VERSION = 1
_KEPT_COMMITS = 2
_BASES = re.compile(r'"base": "([^"]+)"')


OnEdited = Callable[[str, StoredPlan, Commit, Plan], Changes]
"""What is done where a checkpoint is of another query: its path, its plan, its last commit, the edited plan."""


class Checkpoint:
    """The folder of a query's commits; `CHECKPOINT/spark` belongs to Spark, `CHECKPOINT/state` to the state."""

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self.path = path.rstrip("/")
        self.streams: tuple[str, ...] = ()
        """The streams in the order in which Spark's own record has them."""
        self._trees = _TreeFiles(f"{self.path}/trees", files)

    def open(self, plan: Plan, on_edited: OnEdited = resume) -> Commit:
        """The last commit, an empty one in a new checkpoint.

        Where the query was edited, `on_edited` tells what it goes on from, and that is committed as an epoch of its
        own, without tuples. Raises `DiagnosticError` RQ402 where it cannot go on, or has to be confirmed.
        """
        commit = self._opened(plan, on_edited)
        streams = {s.name: self._files.absolute(s.path) for s in plan.sources if not s.table}
        markers = {s.name: self._files.absolute(s.markers) for s in plan.sources if s.markers is not None}
        self._files.write(f"{self.path}/paths.json", json.dumps({"streams": streams, "markers": markers}))
        return commit

    def _opened(self, plan: Plan, on_edited: OnEdited) -> Commit:
        place = f"{self.path}/plan.json"
        if not self._files.exists(place):
            self._files.make(f"{self.path}/commits")
            self._write(StoredPlans.start(plan))
            return Commit()
        records = [self._files.read(r.path) for r in self._files.list(f"{self.path}/commits")]
        for number, text in enumerate(records):
            self._trees.used[number - len(records)] = frozenset(_BASES.findall(text))
        last = load_commit(json.loads(records[-1]), self._trees) if records else Commit()
        plans = StoredPlans.load(json.loads(self._files.read(place)))
        stored = plans.in_force(last.epoch)
        self.streams = plans.streams
        if stored.is_of(plan):
            if not stored.complete:
                self._write(plans.edited(stored, plan, stored.since))
            return last
        changes = on_edited(self.path, stored, last, plan)
        if changes.commit == evolve(last, epoch=changes.commit.epoch):
            self._write(plans.edited(stored, plan, stored.since))
            return last
        # The plan counts once a record of its epoch is there: a crash in between changes nothing.
        self._write(plans.edited(stored, plan, changes.commit.epoch))
        self.commit(changes.commit)
        for path in sorted(paths(last.segments) - paths(changes.commit.segments)):
            self._files.delete(path)
        return changes.commit

    def _write(self, plans: StoredPlans) -> None:
        self.streams = plans.streams
        self._files.write(f"{self.path}/plan.json", json.dumps(plans.dump(), indent=1))

    def order(self, batch: int, files: Mapping[str, Sequence[InputFile]]) -> dict[str, list[InputFile]]:
        """The files of a batch in the order in which they were first seen.

        A file that is mended after a bad marker keeps its place, whatever its modification time says then.
        """
        place = f"{self.path}/batch.json"
        ordered = {name: list(found) for name, found in files.items()}
        if self._files.exists(place):
            known = json.loads(self._files.read(place))
            if known["batch"] == batch:
                listed = {n: [InputFile(*file) for file in found] for n, found in known["files"].items()}
                if ordered.keys() <= listed.keys():
                    return listed
                ordered = {**ordered, **listed}  # an edited query may have a table more
        told = {name: [astuple(f) for f in found] for name, found in ordered.items()}
        self._files.write(place, json.dumps({"batch": batch, "files": told}))
        return ordered

    def commit(self, record: Commit) -> None:
        """Make an epoch real; older records are removed."""
        text = json.dumps(dump_commit(evolve(record, time=moment()), self._trees.during(record.epoch)))
        self._files.write(f"{self.path}/commits/{record.epoch:012d}.json", text)
        for old in self._files.list(f"{self.path}/commits")[:-_KEPT_COMMITS]:
            self._files.delete(old.path)
        self._trees.keep_only_used(record.epoch, frozenset(_BASES.findall(text)))

    def note_failure(self, diagnostics: Sequence[Diagnostic], epoch: int) -> None:
        """Keep what ends a run after an epoch, for whoever asks for the status."""
        told = {"time": moment(), "epoch": epoch, "diagnostics": [to_json(each) for each in diagnostics]}
        self._files.write(f"{self.path}/error.json", json.dumps(told))


def moment(at: datetime | None = None) -> str:
    """A moment, by default now, for people: in UTC, to the second."""
    return f"{at or datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"


# --- to and from JSON ------------------------------------------------------------------------------------


def dump_commit(record: Commit, trees: Trees | None = None) -> dict[str, Any]:
    """A commit record as JSON values; `load_commit` reads it. Without `trees`, it has all trees in it."""
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
        "held": {n: _dump_trees(held, trees, f"held {n}") for n, held in record.held.items()},
        "segments": {key: [asdict(s) for s in segments] for key, segments in record.segments.items()},
        "counters": dict(record.counters),
        "read": dict(record.read),
        "written": dict(record.written),
        "time": record.time,
    }


def load_commit(data: dict[str, Any], trees: Trees | None = None) -> Commit:
    """The commit record that a file of `CHECKPOINT/commits` holds; `trees` reads those that lie beside it."""
    trees = trees or Trees()
    return Commit(
        data["epoch"],
        data["batch"],
        {name: Progress(**p) for name, p in data["progress"].items()},
        {name: _load_source(state, trees, f"source {name}") for name, state in data["sources"].items()},
        {name: _load_sink(state, trees, f"sink {name}") for name, state in data["sinks"].items()},
        {n: _load_trees(held, bool, trees, f"held {n}") for n, held in data["held"].items()},
        {key: tuple(Segment(**s) for s in segments) for key, segments in data["segments"].items()},
        data["counters"],
        data.get("read", {}),
        data.get("written", {}),
        data.get("time"),
    )


def _dump_source(state: SourceState, trees: Trees, slot: str) -> dict[str, Any]:
    return {
        "types": {name: str(t) for name, t in state.types.items()},
        "universe": {n: [dump_tree(d.members), d.integral] for n, d in state.universe.items()},
        "present": _dump_trees(state.present, trees, f"{slot} present"),
        "units": _dump_trees(state.units, trees, f"{slot} units"),
        "original": _dump_trees(state.original, trees, f"{slot} original"),
        "closed": trees.dump(f"{slot} closed", state.closed),
        "alters": [_dump_altered(each) for each in state.alters],
        "doubled": sorted(state.doubled),
        "grown": {name: dump_tree(values) for name, values in state.grown.items()},
    }


def _load_source(data: dict[str, Any], trees: Trees, slot: str) -> SourceState:
    return SourceState(
        {name: Type.parse(t) for name, t in data["types"].items()},
        {
            n: Domain(load_tree(members, bool), integral)
            for n, (members, integral) in data["universe"].items()
        },
        _load_trees(data["present"], Presence, trees, f"{slot} present"),
        _load_trees(data["units"], _load_history, trees, f"{slot} units"),
        _load_trees(data["original"], _load_affine, trees, f"{slot} original"),
        trees.load(f"{slot} closed", data["closed"], bool),
        tuple(_load_altered(each) for each in data.get("alters", ())),
        doubled=frozenset(data.get("doubled", ())),
        grown={name: load_tree(values, bool) for name, values in data.get("grown", {}).items()},
    ).next_epoch()


def _dump_altered(altered: Altered) -> list[Any]:
    where = dump_tree(altered.where)
    return [altered.attribute, _dump_leaf(altered.function), where, altered.place, altered.text]


def _load_altered(data: list[Any]) -> Altered:
    attribute, function, where, place, text = data
    return Altered(attribute, _load_affine(function), load_tree(where, bool), place, text)


def _dump_sink(state: SinkState, trees: Trees, slot: str) -> dict[str, Any]:
    return {
        "present": _dump_trees(state.present, trees, f"{slot} present"),
        "scale": _dump_trees(state.scale, trees, f"{slot} scale"),
        "closed": trees.dump(f"{slot} closed", state.closed),
        "types": {name: str(type_) for name, type_ in state.types.items()},
    }


def _load_sink(data: dict[str, Any], trees: Trees, slot: str) -> SinkState:
    return SinkState(
        _load_trees(data["present"], Presence, trees, f"{slot} present"),
        _load_trees(data["scale"], _load_affine, trees, f"{slot} scale"),
        trees.load(f"{slot} closed", data["closed"], bool),
        {name: Type.parse(text) for name, text in data.get("types", {}).items()},
    )


def _dump_trees(given: Mapping[str, Tree], trees: Trees, slot: str) -> dict[str, Any]:
    return {name: trees.dump(f"{slot} {name}", tree) for name, tree in given.items()}


def _load_trees(
    data: Mapping[str, Any], leaf: Callable[[Any], Any], trees: Trees, slot: str
) -> dict[str, Tree]:
    return {name: trees.load(f"{slot} {name}", tree, leaf) for name, tree in data.items()}


class Trees:
    """How a commit record holds its trees: all in it. `slot` names what a tree is for."""

    def dump(self, slot: str, tree: Tree) -> Any:
        return dump_tree(tree)

    def load(self, slot: str, data: Any, leaf: Callable[[Any], Any]) -> Tree:
        if isinstance(data, dict) and "base" in data:
            base = self.base(slot, data["base"], leaf)
            points = base.points.update([(_load_value(v), load_tree(c, leaf)) for v, c in data["points"]])
            mutation = points.mutate()
            for value in data["without"]:
                del mutation[_load_value(value)]
            return load_tree(data, leaf, mutation.finish())
        return load_tree(data, leaf)

    def base(self, slot: str, name: str, leaf: Callable[[Any], Any]) -> Steps:
        """The tree in a file of `CHECKPOINT/trees`."""
        raise AssertionError(f"{name} lies beside the record")


_LARGE = 500  # points from which on a tree has a file of its own
_CHANGED = 50  # a change at more than one in so many points is worth a new file


class StoredTrees(Trees):
    """Reads trees that lie beside the commit record; `read`: file name -> its text."""

    def __init__(self, read: Callable[[str], str]) -> None:
        self._read = read

    def base(self, slot: str, name: str, leaf: Callable[[Any], Any]) -> Steps:
        return load_tree(json.loads(self._read(name)), leaf)


class _TreeFiles(StoredTrees):
    """Large trees in files of their own. A record says which, and what has changed since at a few points, so an
    epoch costs no more for the accents that came long ago."""

    def __init__(self, folder: str, files: Files) -> None:
        super().__init__(lambda name: files.read(f"{folder}/{name}"))
        self._folder = folder
        self._files = files
        self._bases: dict[str, tuple[str, Steps]] = {}
        self._epoch = 0
        self._count = 0
        self.used: dict[int, frozenset[str]] = {}

    def during(self, epoch: int) -> Trees:
        """To dump the record of an epoch."""
        self._epoch, self._count = epoch, 0
        return self

    def dump(self, slot: str, tree: Tree) -> Any:
        if not isinstance(tree, Steps) or len(tree.points) < _LARGE:
            return dump_tree(tree)
        name, base = self._bases.get(slot, ("", None))
        limit = len(tree.points) // _CHANGED
        if base is None or (changes := _changes(base, tree, limit)) is None:
            name, changes = f"{self._epoch:012d}-{self._count}.json", ({}, [])
            self._count += 1
            self._files.make(self._folder)
            self._files.write(f"{self._folder}/{name}", json.dumps(dump_tree(tree)))
            self._bases[slot] = name, tree
        changed, gone = changes
        return {
            "base": name,
            **dump_tree(evolve(tree, points=Map(changed))),
            "without": [_dump_value(value) for value in gone],
        }

    def base(self, slot: str, name: str, leaf: Callable[[Any], Any]) -> Steps:
        self._bases[slot] = name, super().base(slot, name, leaf)
        return self._bases[slot][1]

    def keep_only_used(self, epoch: int, names: frozenset[str]) -> None:
        """Remove the files that no kept record names."""
        before = frozenset[str]().union(*self.used.values())
        self.used[epoch] = names
        for old in sorted(self.used)[:-_KEPT_COMMITS]:
            del self.used[old]
        for name in before.difference(*self.used.values()):
            self._files.delete(f"{self._folder}/{name}")


def _changes(base: Steps, tree: Steps, limit: int) -> tuple[dict[Any, Tree], list[Any]] | None:
    """The points that are other than in an older tree, and those that are no more; `None` where they are many."""
    if base.attribute != tree.attribute:
        return None
    if base.points is tree.points:
        return {}, []
    was = base.points
    changed = {
        value: child
        for value, child in tree.points.items()
        if (old := was.get(value, was)) is not child and old != child
    }
    same = len(tree.points) - len(changed)
    gone = [v for v in was if v not in tree.points] if same < len(was) and len(changed) <= limit else []
    return (changed, gone) if len(changed) + len(gone) <= limit else None


def dump_tree(tree: Tree) -> Any:
    """A tree as JSON: a level is an object, a leaf anything else."""
    if not isinstance(tree, Steps):
        return _dump_leaf(tree)
    return {
        "attribute": tree.attribute,
        "undefined": dump_tree(tree.undefined),
        "cuts": [[_dump_value(value), after] for value, after in tree.cuts],
        "pieces": [dump_tree(piece) for piece in tree.pieces],
        "points": [[_dump_value(value), dump_tree(child)] for value, child in tree.points.items()],
    }


def load_tree(data: Any, leaf: Callable[[Any], Any], points: Map[Value, Tree] | None = None) -> Tree:
    """The tree that `dump_tree` wrote; `leaf` reads a leaf. `points`: those of the level, where they are known."""
    if not isinstance(data, dict):
        return leaf(data)
    return Steps(
        data["attribute"],
        load_tree(data["undefined"], leaf),
        tuple((_load_value(value), after) for value, after in data["cuts"]),
        tuple(load_tree(piece, leaf) for piece in data["pieces"]),
        Map({_load_value(value): load_tree(child, leaf) for value, child in data["points"]})
        if points is None
        else points,
    )


def _dump_leaf(leaf: Any) -> Any:
    if isinstance(leaf, Affine):
        return [str(leaf.slope), str(leaf.shift)]
    if isinstance(leaf, tuple):
        return [_dump_leaf(f) for f in leaf]
    return leaf


def _load_affine(data: list[str]) -> Affine:
    return _affine(*data)


def _load_history(data: list[list[str]]) -> History:
    return _history(*map(tuple, data))


@lru_cache(MANY)
def _affine(slope: str, shift: str) -> Affine:
    return Affine(Fraction(slope), Fraction(shift))


@lru_cache(MANY)
def _history(*functions: tuple[str, str]) -> History:
    """One object for equal histories, as the markers had made them (`control`)."""
    return tuple(_affine(*f) for f in functions)


def _dump_value(value: Any) -> Any:
    return [str(value)] if isinstance(value, Fraction) else value


def _load_value(value: Any) -> Any:
    return Fraction(value[0]) if isinstance(value, list) else value
