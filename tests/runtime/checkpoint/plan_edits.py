"""A checkpoint as the reference would have left it, and edits of its query. No Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cedilla.compiler import Plan, compile_query
from cedilla.runtime.checkpoint.change import Changes
from cedilla.runtime.checkpoint.commits import Commit
from cedilla.runtime.checkpoint.plan_comparison import compare
from cedilla.runtime.checkpoint.plan_matching import match
from cedilla.runtime.checkpoint.stored_plan import StoredPlan
from cedilla.runtime.reference.node import Node
from cedilla.runtime.reference.reference import Reference
from cedilla.runtime.state.segments import Segment
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
            if o.stateful
            for key in ([o.name] if len(o.inputs) == 1 else [f"{o.name}.left", f"{o.name}.right"])
        },
    )


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
    changes = compare(StoredPlan(0, reference.plan), commit_of(reference, epoch), plan)
    goes_on = Reference(plan)
    if changes.effect != "new checkpoint":
        goes_on.states = dict(changes.commit.sources)
        goes_on.sinks = dict(changes.commit.sinks)
        goes_on.state_facts = goes_on.closed_by_state = changes.commit.state_facts
        intact = {s.name for s in plan.sources if s.name in reference.plan.source_of}
        kept = match(reference.plan, plan, intact).kept_operators(reference.plan, plan)
        for before, name in kept.items():
            node: Node = reference.nodes[before]
            node.operator = plan.operator_of[name]
            goes_on.nodes[name] = node
        goes_on.after = {}
        goes_on.arrived = reference.arrived
    return changes, goes_on
