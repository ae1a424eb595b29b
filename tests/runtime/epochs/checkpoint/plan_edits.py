"""A checkpoint as the reference would have left it, and edits of its query. No Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cedilla.compiler import Plan, compile_query
from cedilla.compiler.operators import Operator
from cedilla.compiler.plan import derive
from cedilla.runtime.engines.plain.grouping import Aggregate
from cedilla.runtime.engines.plain.node import Node
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.edits.change import Changes
from cedilla.runtime.epochs.checkpoint.edits.plan_comparison import compare
from cedilla.runtime.epochs.checkpoint.edits.plan_matching import SIDES
from cedilla.runtime.epochs.checkpoint.stored_plan import StoredPlan
from cedilla.runtime.epochs.state.segments import Segment
from tests.kit.checkpoints import write_checkpoint

Items = Sequence[tuple[str, dict[str, Any]]]


def commit_of(reference: Reference, epoch: int) -> Commit:
    """Returns the commit of a run, with a segment for each state that is not empty."""
    return Commit(
        epoch=epoch,
        sources={name: state.next_epoch() for name, state in reference.states.items()},
        sinks=dict(reference.sinks),
        state_facts=reference.state_facts,
        segments={
            key: (Segment(f"state/{key}/epoch=0", {}),)
            for o in reference.plan.operators
            for key in state_keys(o)
        },
    )


def state_keys(operator: Operator) -> set[str]:
    """The names of an operator's state: one for each input, if it has several."""
    if not operator.stateful:
        return set()
    return {operator.name} if len(operator.inputs) == 1 else {f"{operator.name}.{side}" for side in SIDES}


def ran(plan: Plan, items: Items) -> Reference:
    """A reference after some items, each an epoch of its own."""
    reference = Reference(plan)
    for item in items:
        reference.step([item])
    return reference


def checkpoint_of(folder: Path, reference: Reference, epoch: int = 7) -> Path:
    """Writes the checkpoint of a reference after an epoch."""
    (folder / "commits").mkdir(parents=True)
    return write_checkpoint(folder, reference.plan, commit_of(reference, epoch))


def edited(reference: Reference, text: str, epoch: int = 7) -> tuple[Changes, Reference]:
    """Returns the changes of an edited query, and a reference of it that continues if it can."""
    plan = compile_query(text).plan
    stored = StoredPlan(0, reference.plan)
    changes = compare(stored, commit_of(reference, epoch), plan)
    assert not changes.items or not stored.is_of(plan)  # else `run` would not look at what `plan` shows
    goes_on = Reference(plan)
    if changes.effect != "new checkpoint":
        goes_on.states = dict(changes.commit.sources)
        goes_on.sinks = dict(changes.commit.sinks)
        goes_on.state_facts = goes_on.closed_by_state = changes.commit.state_facts
        for operator in plan.operators:
            keys = state_keys(operator)
            if keys and keys <= changes.commit.segments.keys():
                (before,) = {
                    changes.commit.segments[key][0].path.split("/")[1].partition(".")[0] for key in keys
                }
                node: Node = reference.nodes[before]
                node.operator = operator
                goes_on.nodes[operator.name] = node
        goes_on.after = {}
        facts = derive(plan, {n: s.facts() for n, s in goes_on.states.items()}, goes_on.state_facts)
        for operator in plan.operators:  # the group of all tuples, which has passed before the edit
            node = goes_on.nodes[operator.name]
            if isinstance(node, Aggregate) and not operator.groups and facts[operator.name].closed is True:
                node.groups.clear()
        goes_on.arrived = reference.arrived
    return changes, goes_on
