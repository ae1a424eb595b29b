"""Large trees lie beside the commit records: written once, then only what changed, whatever is in force."""

import json
from typing import Any

import pytest
from attrs import evolve

from cedilla.compiler import compile_query, regions
from cedilla.compiler.facts.facts import StateFacts
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.storage.files import FoundFile
from cedilla.runtime.connectors.storage.sealed import seal
from cedilla.runtime.control.accents.originals import Originals
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.commit_json import dump_commit
from cedilla.runtime.epochs.checkpoint.commits import Commit
from tests.kit.checkpoints import unsealed

PLAN = compile_query('stream r(s: int, t: double) from json "in";\nemit r to json "out";').plan
START = SourceState.start(PLAN.sources[0], frozenset())


class Memory:
    """Files in memory."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.written: list[str] = []

    def make(self, path: str) -> None:
        pass

    def absolute(self, path: str) -> str:
        return path

    def exists(self, path: str) -> bool:
        return path in self.texts

    def read(self, path: str) -> str:
        return self.texts[path]

    def write(self, path: str, text: str) -> None:
        self.texts[path] = text
        self.written.append(path)

    def create(self, path: str, text: str) -> bool:
        if path in self.texts:
            return False
        self.write(path, text)
        return True

    def delete_file(self, path: str) -> None:
        del self.texts[path]

    def list(self, path: str) -> list[FoundFile]:
        return [FoundFile(p, 0, len(t)) for p, t in sorted(self.texts.items()) if p.startswith(f"{path}/")]


def checkpoint(memory: Memory) -> Checkpoint:
    return Checkpoint(memory, "c")  # type: ignore[arg-type]


def reopened(memory: Memory) -> Commit:
    """The last commit, but for when it was."""
    return evolve(checkpoint(memory).open(PLAN), time=None, run=0)


def record(epoch: int, tree: Any) -> Commit:
    sink = SinkState({}, {"t": regions.map_leaves(tree, lambda f: f.inverse())})
    return Commit(
        epoch, sources={"r": evolve(START, originals=Originals({"t": tree})).next_epoch()}, sinks={"r": sink}
    )


def altered(tree: Any, points: Any) -> Any:
    return regions.update(tree, regions.values("s", points), lambda f: f.after(Affine(3, 1)))


def test_a_large_tree_is_written_once() -> None:
    memory = Memory()
    checkpoint_ = checkpoint(memory)
    checkpoint_.open(PLAN)
    tree = altered(IDENTITY, range(2000))
    checkpoint_.commit(record(0, tree))
    trees = [path for path in memory.written if "/trees/" in path]
    assert len(trees) == 2
    for epoch in range(1, 4):
        memory.written.clear()
        tree = altered(tree, [epoch, 5000 + epoch])
        checkpoint_.commit(record(epoch, tree))
        assert [path for path in memory.written if "/trees/" in path] == []
        assert len(memory.texts[f"c/commits/{epoch:012d}.json"]) < 4000
        assert reopened(memory) == record(epoch, tree)


def test_it_is_written_anew_after_many_changes_and_the_old_one_is_removed() -> None:
    memory = Memory()
    checkpoint_ = checkpoint(memory)
    checkpoint_.open(PLAN)
    tree = altered(IDENTITY, range(2000))
    checkpoint_.commit(record(0, tree))
    first = {path for path in memory.texts if "/trees/" in path}
    checkpoint_ = checkpoint(memory)  # a restart
    assert evolve(checkpoint_.open(PLAN), time=None, run=0) == record(0, tree)
    tree = altered(tree, range(1000, 3000))
    checkpoint_.commit(record(1, tree))
    assert first < memory.texts.keys()  # the record before is kept, too
    tree = regions.update(tree, regions.values("s", [1999, 2000]), lambda _: IDENTITY)  # points no more
    for epoch in (2, 3):
        checkpoint_.commit(record(epoch, tree))
    assert not first & memory.texts.keys()
    assert reopened(memory) == record(3, tree)


def test_records_that_hold_everything_are_read() -> None:
    memory = Memory()
    checkpoint(memory).open(PLAN)
    tree = altered(IDENTITY, range(2000))
    name = "commits/000000000000.json"
    memory.write(f"c/{name}", seal(name, json.dumps(dump_commit(record(0, tree)))))
    checkpoint_ = checkpoint(memory)
    assert evolve(checkpoint_.open(PLAN), time=None, run=0) == record(0, tree)
    checkpoint_.commit(record(1, tree))
    assert reopened(memory) == record(1, tree)


def test_what_state_adds_is_kept() -> None:
    memory = Memory()
    checkpoint_ = checkpoint(memory)
    checkpoint_.open(PLAN)
    behind, held = (regions.interval("t", None, (bound, 0)) for bound in (5, 3))
    state = {
        "sorted": StateFacts(closed=behind),
        "limited": StateFacts(closed=True),
        "joined": StateFacts({"t": held}),
    }
    checkpoint_.commit(Commit(0, state_facts=state))
    assert reopened(memory) == Commit(0, state_facts=state)


@pytest.mark.parametrize(
    ("path", "change", "message"),
    [
        ("c/plan.json", {"version": 3}, "its form is number 3, and this version of Cedilla reads 5"),
        ("c/plan.json", {"version": 6}, "its form is number 6, and this version of Cedilla reads 5"),
        (
            "c/commits/000000000000.json",
            {"version": 2},
            "its form is number 2, and this version of Cedilla reads 6",
        ),
        ("c/commits/000000000000.json", {"sinks": {"r": {}}}, "`present` is missing"),
        ("c/plan.json", {"plans": [{"since": 0, "name": "q"}]}, "`query` is missing"),
        (
            "c/plan.json",
            {"plans": [{"since": 0, "name": "q", "query": "fold", "params": {}}]},
            "this version of Cedilla does not compile its query",
        ),
    ],
)
def test_a_checkpoint_of_another_version_is_refused(path: str, change: dict[str, Any], message: str) -> None:
    memory = Memory()
    checkpoint_ = checkpoint(memory)
    checkpoint_.open(PLAN)
    checkpoint_.commit(Commit(0))
    changed = json.dumps({**unsealed(memory.texts[path]), **change})
    memory.write(path, seal(path.removeprefix("c/"), changed))
    before = dict(memory.texts)
    with pytest.raises(DiagnosticError) as caught:
        checkpoint(memory).open(PLAN)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, message in diagnostic.message) == ("RQ411", True), diagnostic
    assert memory.texts == before


def test_a_checkpoint_without_seals_is_of_another_version() -> None:
    memory = Memory()
    checkpoint(memory).open(PLAN)
    memory.write("c/plan.json", json.dumps(unsealed(memory.texts["c/plan.json"]), indent=1))
    with pytest.raises(DiagnosticError, match=r"RQ411.*plan\.json is of another version of Cedilla"):
        checkpoint(memory).open(PLAN)


def test_a_table_more_comes_to_the_batch_that_is_under_way() -> None:
    memory = Memory()
    first, later, new = (InputFile(name, 1) for name in ("a", "b", "c"))
    checkpoint(memory).order(3, {"r": [first]})
    assert checkpoint(memory).order(3, {"r": [later, first], "t": [new]}) == {"r": [first], "t": [new]}
    assert checkpoint(memory).order(3, {"r": [later]}) == {"r": [first], "t": [new]}
    assert checkpoint(memory).order(4, {"r": [later]}) == {"r": [later]}
