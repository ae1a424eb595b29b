"""Commit records: one JSON file makes an epoch real (design, section 5, Recovery)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import asdict, astuple, evolve

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.facts import Presence, StateFacts
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import Domain, Tree
from cedilla.grammar.diagnostics import Diagnostic, to_json
from cedilla.runtime.checkpoint.change import Changes
from cedilla.runtime.checkpoint.commits import KEPT_COMMITS, Commit, Progress
from cedilla.runtime.checkpoint.known_folders import KnownFolders
from cedilla.runtime.checkpoint.ownership import Ownership, lost
from cedilla.runtime.checkpoint.plan_changes import resume
from cedilla.runtime.checkpoint.read_files import input_file
from cedilla.runtime.checkpoint.stored_plan import StoredPlan, StoredPlans, check_version, reading
from cedilla.runtime.checkpoint.tree_files import (
    TreeFiles,
    Trees,
    dump_leaf,
    dump_tree,
    load_affine,
    load_function,
    load_history,
    load_tree,
)
from cedilla.runtime.control.accents.names import Names
from cedilla.runtime.control.accents.trees import Altered
from cedilla.runtime.control.domains.table_domains import is_longer
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.formats.source import InputFile
from cedilla.runtime.state.segments import Segment, paths
from cedilla.runtime.storage.files import Files
from cedilla.runtime.storage.written import missing

_VERSION = 1
_BASES = re.compile(r'"base": "([^"]+)"')


OnEdited = Callable[[str, StoredPlan, Commit, Plan], Changes]
"""What is done where a checkpoint is of another query: its path, its plan, its last commit, the edited plan."""


class Checkpoint:
    """The folder of a query's commits; `CHECKPOINT/state` belongs to the state, `CHECKPOINT/files` to `Arrivals`."""

    def __init__(self, files: Files, path: str, ownership: Ownership | None = None) -> None:
        self.files = files
        self._ownership = ownership
        self.path = path.rstrip("/")
        self.streams: tuple[str, ...] = ()
        """The streams in the order in which Spark's own record has them."""
        self.folders = KnownFolders(self.path)
        self._trees = TreeFiles(f"{self.path}/trees", files)

    def open(self, plan: Plan, on_edited: OnEdited = resume) -> Commit:
        """The last commit, an empty one in a new checkpoint.

        Where the query was edited, or a table that gives a domain has more values, `on_edited` tells what it goes on
        from, and that is committed as an epoch of its own, without tuples. Raises `DiagnosticError` RQ402 where it
        cannot go on, or has to be confirmed, RQ411 where the checkpoint cannot be read, RQ452 as `KnownFolders.of`.
        """
        self.folders = KnownFolders.of(self.files, self.path, plan)
        commit = self._opened(plan, on_edited)
        self.folders.write(self.files)
        return commit

    def _opened(self, plan: Plan, on_edited: OnEdited) -> Commit:
        place = f"{self.path}/plan.json"
        if not self.files.exists(place):
            self.files.make(f"{self.path}/commits")
            self._write(StoredPlans.start(plan))
            return Commit()
        listed = self.files.list(f"{self.path}/commits")
        # A killed run of an earlier version may have left a record beside them that is not whole.
        records = [self.files.read(r.path) for r in listed if r.path.endswith(".json")]
        for number, text in enumerate(records):
            self._trees.used[number - len(records)] = frozenset(_BASES.findall(text))
        described = self.files.read(place)
        with reading(self.path):
            last = load_commit(json.loads(records[-1]), self._trees, self.path) if records else Commit()
            plans = StoredPlans.load(json.loads(described))
            stored = plans.in_force(last.epoch)
        self.streams = plans.streams
        is_same = stored.is_of(plan)
        if is_same and not is_longer(plan, last.sources):
            if not stored.complete:
                self._write(plans.edited(stored, plan, stored.since))
            return last
        changes = on_edited(self.path, stored, last, plan)
        if changes.commit == evolve(last, epoch=changes.commit.epoch):
            self._write(plans.edited(stored, plan, stored.since))
            return last
        if not is_same:
            # The plan counts once a record of its epoch is there: a crash in between changes nothing.
            self._write(plans.edited(stored, plan, changes.commit.epoch))
        self.commit(changes.commit)
        for path in sorted(paths(last.segments) - paths(changes.commit.segments)):
            self.files.delete(path)
        return changes.commit

    def _write(self, plans: StoredPlans) -> None:
        self.streams = plans.streams
        self.files.write(f"{self.path}/plan.json", json.dumps(plans.dump(), indent=1))

    def check_there(self, epoch: int) -> None:
        """Raise `DiagnosticError` RQ451 where the record of the last epoch is gone, or before the first the plan."""
        name = "plan.json" if epoch < 0 else f"commits/{epoch:012d}.json"
        if not self.files.exists(f"{self.path}/{name}"):
            raise missing(f"{self.path}/{name}")

    def order(self, batch: int, files: Mapping[str, Sequence[InputFile]]) -> dict[str, list[InputFile]]:
        """The files of a batch in the order in which they were first seen.

        A file that is mended after a bad marker keeps its place, whatever its modification time says then.
        """
        place = f"{self.path}/batch.json"
        ordered = {name: list(found) for name, found in files.items()}
        if self.files.exists(place):
            record = json.loads(self.files.read(place))
            if record["batch"] == batch:
                locate = self.folders.locate
                listed = {
                    n: [locate(n, input_file(f)) for f in found] for n, found in record["files"].items()
                }
                if ordered.keys() <= listed.keys():
                    return listed
                ordered = {**ordered, **listed}  # an edited query may have a table more
        self.keep_order(batch, ordered)
        return ordered

    def keep_order(self, batch: int, files: Mapping[str, Sequence[InputFile]]) -> None:
        """Keep the files of a batch, to which some may have been added behind those that it has."""
        record = self.folders.record
        places = {
            name: [
                astuple(evolve(file, path=record(name, file.path, is_markers=file.is_markers)))
                for file in found
            ]
            for name, found in files.items()
        }
        self.files.write(f"{self.path}/batch.json", json.dumps({"batch": batch, "files": places}))

    def commit(self, record: Commit) -> None:
        """Make an epoch real; older records are removed.

        Raises `DiagnosticError` RQ476 where the checkpoint belongs to another run by now: the record of an epoch is
        only ever created, so that of two runs one commits it.
        """
        text = json.dumps(
            dump_commit(evolve(record, time=moment()), self._trees.during(record.epoch), self.path)
        )
        if self._ownership is not None:
            self._ownership.check()
        place = f"{self.path}/commits/{record.epoch:012d}.json"
        if not self.files.create(place, text):
            raise lost(self.path)
        for old in self.files.list(f"{self.path}/commits")[:-KEPT_COMMITS]:
            self.files.delete(old.path)
        self._trees.keep_only_used(record.epoch, frozenset(_BASES.findall(text)))

    def note_failure(self, diagnostics: Sequence[Diagnostic], epoch: int) -> None:
        """Keep what ends a run after an epoch, for whoever asks for the status; not where the checkpoint is gone."""
        if not self.files.exists(f"{self.path}/plan.json"):
            return
        failure_record = {
            "time": moment(),
            "epoch": epoch,
            "diagnostics": [to_json(each) for each in diagnostics],
        }
        self.files.write(f"{self.path}/error.json", json.dumps(failure_record))


def moment(at: datetime | None = None) -> str:
    """A moment, by default now, for people: in UTC, to the second."""
    return f"{at or datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"


# --- to and from JSON ------------------------------------------------------------------------------------


def dump_commit(record: Commit, trees: Trees | None = None, home: str = "") -> dict[str, Any]:
    """A commit record as JSON values; `load_commit` reads it. Without `trees`, it has all trees in it. `home`: the
    folder of the checkpoint, of which segments are recorded by their places in it."""
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
        **({"suspects": dict(record.suspects)} if record.suspects else {}),
        **({"topics": dict(record.topics)} if record.topics else {}),
        **({"inferred": {n: dict(found) for n, found in record.inferred.items()}} if record.inferred else {}),
        "time": record.time,
        "engine": record.engine,
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
    if "place" in data:
        return Segment(f"{home}/state/{data['place']}", **{n: v for n, v in data.items() if n != "place"})
    # Earlier versions have the whole path, which the checkpoint may have left.
    place = data["path"].rpartition("/state/")[2]
    place = place if "/" in place else f"state/{place}"
    return Segment(**{**data, "path": f"{home}/state/{place}"} if home else data)


def load_commit(data: dict[str, Any], trees: Trees | None = None, home: str = "") -> Commit:
    """The commit record that a file of `CHECKPOINT/commits` holds; `trees` reads those that lie beside it."""
    check_version(data, _VERSION)
    trees = trees or Trees()
    return Commit(
        data["epoch"],
        data["batch"],
        {name: Progress(**p) for name, p in data["progress"].items()},
        {name: _load_source(state, trees, f"source {name}") for name, state in data["sources"].items()},
        {name: _load_sink(state, trees, f"sink {name}") for name, state in data["sinks"].items()},
        {n: _load_state_facts(n, held, data.get("closed", {}), trees) for n, held in data["held"].items()},
        {key: tuple(_load_segment(s, home) for s in segments) for key, segments in data["segments"].items()},
        data["counters"],
        data.get("read", {}),
        data.get("written", {}),
        data.get("suspects", {}),
        data.get("time"),
        data.get("engine"),
        data.get("topics", {}),
        data.get("inferred", {}),
    )


def _dump_source(state: SourceState, trees: Trees, slot: str) -> dict[str, Any]:
    return {
        "types": {name: str(t) for name, t in state.types.items()},
        "universe": {n: _dump_domain(d) for n, d in state.universe.items()},
        "present": _dump_trees(state.present, trees, f"{slot} present"),
        "units": _dump_trees(state.units, trees, f"{slot} units"),
        "original": _dump_trees(state.original, trees, f"{slot} original"),
        "closed": trees.dump(f"{slot} closed", state.closed),
        "alters": [_dump_altered(each) for each in state.alters],
        "doubled": sorted(state.doubled),
        "digits": dict(state.digits),
        "grown": {name: dump_tree(values) for name, values in state.grown.items()},
        "names": dict(state.names.of),
        "added_units": dict(state.added_units),
        "named_units": {name: list(units) for name, units in state.named_units.items()},
        "codes": _dump_trees(state.codes, trees, f"{slot} codes"),
        "undeclared": dict(state.undeclared),
        "named": _dump_trees(state.names.here, trees, f"{slot} named"),
    }


def _load_source(data: dict[str, Any], trees: Trees, slot: str) -> SourceState:
    return SourceState(
        {name: Type.parse(t) for name, t in data["types"].items()},
        {
            n: Domain(load_tree(members, bool), integral, *listed)
            for n, (members, integral, *listed) in data["universe"].items()
        },
        _load_trees(data["present"], Presence, trees, f"{slot} present"),
        _load_trees(data["units"], load_history, trees, f"{slot} units"),
        _load_trees(data["original"], load_function, trees, f"{slot} original"),
        trees.load(f"{slot} closed", data["closed"], bool),
        tuple(_load_altered(each) for each in data.get("alters", ())),
        doubled=frozenset(data.get("doubled", ())),
        digits=data.get("digits", {}),
        grown={name: load_tree(values, bool) for name, values in data.get("grown", {}).items()},
        added_units=data.get("added_units", {}),
        named_units={name: tuple(units) for name, units in data.get("named_units", {}).items()},
        undeclared=data.get("undeclared", {}),
        codes=_load_trees(data.get("codes", {}), load_function, trees, f"{slot} codes"),
        names=Names(data.get("names", {}), _load_trees(data.get("named", {}), str, trees, f"{slot} named")),
    ).next_epoch()


def _load_state_facts(
    name: str, data: Mapping[str, Any], closed: Mapping[str, Any], trees: Trees
) -> StateFacts:
    held = _load_trees(data, bool, trees, f"held {name}")
    if name in closed:
        return StateFacts(held, trees.load(f"closed {name}", closed[name], bool))
    # Earlier versions wrote what is closed among the held Drops: of a limit the opposite, of a sort, of a session.
    before = {
        attribute: held.pop(attribute) for attribute in ("$open", "$clear", "$done") if attribute in held
    }
    return StateFacts(
        held, regions.union(*(regions.complement(t) if n == "$open" else t for n, t in before.items()))
    )


def _dump_domain(domain: Domain) -> list[Any]:
    return [dump_tree(domain.members), domain.integral, *([domain.listed] if domain.listed else [])]


def _dump_altered(altered: Altered) -> list[Any]:
    where = dump_tree(altered.where)
    return [altered.attribute, dump_leaf(altered.function), where, altered.place, altered.text]


def _load_altered(data: list[Any]) -> Altered:
    attribute, function, where, place, text = data
    return Altered(attribute, load_affine(function), load_tree(where, bool), place, text)


def _dump_sink(state: SinkState, trees: Trees, slot: str) -> dict[str, Any]:
    return {
        "present": _dump_trees(state.present, trees, f"{slot} present"),
        "scale": _dump_trees(state.scale, trees, f"{slot} scale"),
        "closed": trees.dump(f"{slot} closed", state.closed),
        "types": {name: str(type_) for name, type_ in state.types.items()},
        "domains": {name: dump_tree(members) for name, members in state.domains.items()},
        "units": dict(state.units),
    }


def _load_sink(data: dict[str, Any], trees: Trees, slot: str) -> SinkState:
    return SinkState(
        _load_trees(data["present"], Presence, trees, f"{slot} present"),
        _load_trees(data["scale"], load_affine, trees, f"{slot} scale"),
        trees.load(f"{slot} closed", data["closed"], bool),
        {name: Type.parse(text) for name, text in data.get("types", {}).items()},
        {name: load_tree(members, bool) for name, members in data.get("domains", {}).items()},
        data.get("units", {}),
    )


def _dump_trees(trees_by_name: Mapping[str, Tree], trees: Trees, slot: str) -> dict[str, Any]:
    return {name: trees.dump(f"{slot} {name}", tree) for name, tree in trees_by_name.items()}


def _load_trees(
    data: Mapping[str, Any], leaf: Callable[[Any], Any], trees: Trees, slot: str
) -> dict[str, Tree]:
    return {name: trees.load(f"{slot} {name}", tree, leaf) for name, tree in data.items()}
