"""Commit records: one JSON file makes an epoch real (design, section 5, Recovery)."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from attrs import asdict, field, frozen
from immutables import Map

from cedilla.compiler.affine import Affine
from cedilla.compiler.evolution import Presence
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import Domain, Steps, Tree
from cedilla.compiler.types import Type
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.announce import SinkState
from cedilla.runtime.control import SourceState
from cedilla.runtime.files import Files
from cedilla.runtime.sources.base import InputFile
from cedilla.runtime.state import Segment

_VERSION = 1
_KEPT_COMMITS = 2


@frozen
class Progress:
    """How far a source has been read in the current batch: files done, and lines (blank ones not counted) of
    the file after those, where the last epoch ended inside it.
    """

    files: int = 0
    lines: int = 0


@frozen
class Commit:
    """All that the next epoch builds on."""

    epoch: int = -1
    batch: int = -1
    progress: Mapping[str, Progress] = field(factory=dict[str, Progress])
    sources: Mapping[str, SourceState] = field(factory=dict[str, SourceState])
    sinks: Mapping[str, SinkState] = field(factory=dict[str, SinkState])
    held: Mapping[str, Mapping[str, Tree]] = field(factory=dict[str, Mapping[str, Tree]])
    segments: Mapping[str, tuple[Segment, ...]] = field(factory=dict[str, tuple[Segment, ...]])
    counters: Mapping[str, int] = field(factory=dict[str, int])


class Checkpoint:
    """The folder of a query's commits; `CHECKPOINT/spark` belongs to Spark, `CHECKPOINT/state` to the state."""

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self.path = path.rstrip("/")

    def open(self, plan: Plan) -> Commit:
        """The last commit, an empty one in a new checkpoint.

        Raises `DiagnosticError` RQ402 where the checkpoint is of another plan.
        """
        place = f"{self.path}/plan.json"
        described = plan.describe()
        if not self._files.exists(place):
            self._files.make(f"{self.path}/commits")
            self._files.write(place, json.dumps({"version": _VERSION, "plan": described}, indent=1))
        elif (known := json.loads(self._files.read(place))["plan"]) != described:
            changes = difflib.unified_diff(known, described, "checkpoint", "query", lineterm="", n=0)
            raise DiagnosticError(
                [
                    Diagnostic(
                        "RQ402",
                        "error",
                        f"the checkpoint {self.path} is of another query",
                        notes=tuple(line for line in changes if not line.startswith("@@")),
                        help="a changed query requires a new checkpoint: --checkpoint DIR",
                    )
                ]
            )
        records = self._files.list(f"{self.path}/commits")
        return load_commit(json.loads(self._files.read(records[-1].path))) if records else Commit()

    def order(self, batch: int, files: Mapping[str, Sequence[InputFile]]) -> dict[str, list[InputFile]]:
        """The files of a batch in the order in which they were first seen.

        A file that is mended after a bad marker keeps its place, whatever its modification time says then.
        """
        place = f"{self.path}/batch.json"
        if self._files.exists(place):
            known = json.loads(self._files.read(place))
            if known["batch"] == batch:
                return {
                    name: [InputFile(*file) for file in listed] for name, listed in known["files"].items()
                }
        listed = {name: [(file.path, file.uri) for file in found] for name, found in files.items()}
        self._files.write(place, json.dumps({"batch": batch, "files": listed}))
        return {name: list(found) for name, found in files.items()}

    def commit(self, record: Commit) -> None:
        """Make an epoch real; older records are removed."""
        self._files.write(f"{self.path}/commits/{record.epoch:012d}.json", json.dumps(dump_commit(record)))
        for old in self._files.list(f"{self.path}/commits")[:-_KEPT_COMMITS]:
            self._files.delete(old.path)


# --- to and from JSON ------------------------------------------------------------------------------------


def dump_commit(record: Commit) -> dict[str, Any]:
    """A commit record as JSON values; `load_commit` reads it."""
    return {
        "version": _VERSION,
        "epoch": record.epoch,
        "batch": record.batch,
        "progress": {name: asdict(p) for name, p in record.progress.items()},
        "sources": {name: _dump_source(state) for name, state in record.sources.items()},
        "sinks": {name: _dump_sink(state) for name, state in record.sinks.items()},
        "held": {node: _dump_trees(trees) for node, trees in record.held.items()},
        "segments": {key: [asdict(s) for s in segments] for key, segments in record.segments.items()},
        "counters": dict(record.counters),
    }


def load_commit(data: dict[str, Any]) -> Commit:
    """The commit record that a file of `CHECKPOINT/commits` holds."""
    return Commit(
        data["epoch"],
        data["batch"],
        {name: Progress(**p) for name, p in data["progress"].items()},
        {name: _load_source(state) for name, state in data["sources"].items()},
        {name: _load_sink(state) for name, state in data["sinks"].items()},
        {node: _load_trees(trees, bool) for node, trees in data["held"].items()},
        {key: tuple(Segment(**s) for s in segments) for key, segments in data["segments"].items()},
        data["counters"],
    )


def _dump_source(state: SourceState) -> dict[str, Any]:
    return {
        "types": {name: str(t) for name, t in state.types.items()},
        "universe": {n: [dump_tree(d.members), d.integral] for n, d in state.universe.items()},
        "present": _dump_trees(state.present),
        "units": _dump_trees(state.units),
        "original": _dump_trees(state.original),
        "closed": dump_tree(state.closed),
    }


def _load_source(data: dict[str, Any]) -> SourceState:
    return SourceState(
        {name: Type.parse(t) for name, t in data["types"].items()},
        {
            n: Domain(load_tree(members, bool), integral)
            for n, (members, integral) in data["universe"].items()
        },
        _load_trees(data["present"], Presence),
        _load_trees(data["units"], _load_history),
        _load_trees(data["original"], _load_affine),
        load_tree(data["closed"], bool),
    ).next_epoch()


def _dump_sink(state: SinkState) -> dict[str, Any]:
    return {
        "present": _dump_trees(state.present),
        "scale": _dump_trees(state.scale),
        "closed": dump_tree(state.closed),
    }


def _load_sink(data: dict[str, Any]) -> SinkState:
    return SinkState(
        _load_trees(data["present"], Presence),
        _load_trees(data["scale"], _load_affine),
        load_tree(data["closed"], bool),
    )


def _dump_trees(trees: Mapping[str, Tree]) -> dict[str, Any]:
    return {name: dump_tree(tree) for name, tree in trees.items()}


def _load_trees(data: Mapping[str, Any], leaf: Callable[[Any], Any]) -> dict[str, Tree]:
    return {name: load_tree(tree, leaf) for name, tree in data.items()}


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


def load_tree(data: Any, leaf: Callable[[Any], Any]) -> Tree:
    """The tree that `dump_tree` wrote; `leaf` reads a leaf."""
    if not isinstance(data, dict):
        return leaf(data)
    return Steps(
        data["attribute"],
        load_tree(data["undefined"], leaf),
        tuple((_load_value(value), after) for value, after in data["cuts"]),
        tuple(load_tree(piece, leaf) for piece in data["pieces"]),
        Map({_load_value(value): load_tree(child, leaf) for value, child in data["points"]}),
    )


def _dump_leaf(leaf: Any) -> Any:
    if isinstance(leaf, Affine):
        return [str(leaf.slope), str(leaf.shift)]
    if isinstance(leaf, tuple):
        return [_dump_leaf(f) for f in leaf]
    return leaf


def _load_affine(data: list[str]) -> Affine:
    return Affine(Fraction(data[0]), Fraction(data[1]))


def _load_history(data: list[list[str]]) -> tuple[Affine, ...]:
    return tuple(_load_affine(f) for f in data)


def _dump_value(value: Any) -> Any:
    return [str(value)] if isinstance(value, Fraction) else value


def _load_value(value: Any) -> Any:
    return Fraction(value[0]) if isinstance(value, list) else value
