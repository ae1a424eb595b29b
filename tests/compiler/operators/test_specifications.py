"""An operator is one specification: no other code knows its class, and a new one is known everywhere."""

from __future__ import annotations

import ast
from typing import ClassVar

import pytest
from attrs import evolve, frozen

from cedilla.compiler import compile_query
from cedilla.compiler.explain.analysis.findings import all_findings
from cedilla.compiler.explain.explanation import explain_json, explain_text
from cedilla.compiler.explain.impact_text import evolution_text
from cedilla.compiler.explain.summary import summary_text
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.facts.schemes import Memory
from cedilla.compiler.operators import OPERATORS, Operator
from cedilla.compiler.operators.shared.base import Invariants, Kept, Rules
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.edits.plan_comparison import compare
from cedilla.runtime.epochs.checkpoint.stored_plan import StoredPlan
from cedilla.runtime.tools.inspect.trace import trace
from cedilla.runtime.tools.inspect.trace_texts import trace_text
from tests.kit import ROOT

CLASSES = {operator.__name__ for operator in OPERATORS} | {"Matching", "Filtering", "Coordinated"}
OWN = ("compiler/operators", "runtime/epochs/operators")
"""The folders of operators: their specifications, and how they run."""


def classes_tested(tree: ast.Module) -> list[str]:
    """The classes of operators that a module imports and tests a value for."""
    imported = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cedilla.compiler.operators")
        for name in node.names
    }
    tested = [
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        for name in ast.walk(node.args[1])
        if isinstance(name, ast.Name)
    ]
    tested += [
        node.cls.id
        for node in ast.walk(tree)
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name)
    ]
    return [name for name in tested if name in CLASSES & imported]


@pytest.mark.long
def test_only_operators_know_their_classes() -> None:
    files = [file for folder in ("compiler", "runtime") for file in (ROOT / folder).rglob("*.py")]
    others = [file for file in files if not str(file.relative_to(ROOT)).startswith(OWN)]
    tested = {str(f.relative_to(ROOT)): classes_tested(ast.parse(f.read_text("utf-8"))) for f in others}
    assert {file: names for file, names in tested.items() if names} == {}
    assert len(others) > 200


def test_a_test_of_a_class_is_found() -> None:
    text = "from cedilla.compiler.operators import Sort\nmatch x:\n    case Sort():\n        isinstance(x, A | Sort)"
    assert classes_tested(ast.parse(text)) == ["Sort", "Sort"]


@frozen(kw_only=True)
class Delay(Operator):
    """An unknown operator: it keeps the tuples of each `key` until they are closed."""

    key: str
    title: ClassVar[str] = "Delay"
    method: ClassVar[str] = "delay"
    rules: ClassVar[Rules] = Rules("G42", "G13", "G12", needed="G42")
    state: ClassVar[Kept] = Kept("tuples that it keeps are forgotten", wrong="tuples would pass once more")

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        return []

    def named(self, side: int) -> tuple[str, ...]:
        return (self.key,)

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        return evolve(source, present=state.with_retained(source.present))

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        return (Memory(what="delayed tuples", within=frozenset({self.key}), output=True),)

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        return Invariants("closed tuples", "every punctuation", "closed tuples")

    def parameters(self) -> dict[str, object]:
        return {"key": self.key}


SOURCE = 'stream r(k: int, s: int, t: double) from json "r" punctuated on k;\n'


def delayed(key: str) -> Plan:
    plan = compile_query(f'{SOURCE}emit r to json "out";').plan
    (emit,) = plan.emits
    delay = Delay(name="delay", inputs=("r",), key=key, line=2)
    return Plan(name="q", sources=plan.sources, operators=(delay,), emits=(evolve(emit, relation="delay"),))


def test_a_new_operator_is_explained() -> None:
    plan = delayed("k")
    assert "F={k} M=∅ A=∅" in explain_text(plan)
    assert "a Drop of `k` ends the query (RQ209, G42)" in explain_text(plan)
    assert "held until no state has it" in " ".join(evolution_text(plan).split())
    assert "keeps delayed tuples until `r` closes k" in summary_text(plan)
    assert explain_json(plan)["operators"][0]["state"]["bound"] == "bounded"
    assert [finding.code for finding in all_findings(delayed("s"))] == ["RQ130"]
    (traced,) = trace(plan, [("r", "[[s = 1, alter(t, y -> y + 1)]]")])
    assert "propagates (G12)" in trace_text(traced)


@pytest.mark.parametrize(("key", "effect"), [("k", "at once"), ("s", "new checkpoint")])
def test_an_edit_of_a_new_operator_is_compared(key: str, effect: str) -> None:
    before, after = delayed("k"), delayed(key)
    commit = Commit(
        epoch=3,
        sources={s.name: SourceState.start(s, before.droppable[s.name]) for s in before.sources},
        sinks={e.name: SinkState.start(before.start[e.relation]) for e in before.emits},
        state_facts={},
        segments={},
    )
    changes = compare(StoredPlan(0, before), commit, after)
    assert changes.effect == effect
    assert ("tuples would pass once more" in str(changes.items)) == (key == "s")
