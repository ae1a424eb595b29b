"""What an epoch must tell its user of evolution that could not go on: held Drops, attributes left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.operators import Aggregate
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import Tree


class EpochEnd(Protocol):
    """What is known at the end of an epoch: the relations' facts, and what state holds."""

    @property
    def plan(self) -> Plan: ...
    @property
    def after(self) -> Mapping[str, Facts]: ...
    @property
    def learnt(self) -> Mapping[str, StateFacts]:
        """What state says of tuples that may still come, by operator."""
        ...

    def state_has(self, name: str, attribute: str, region: Tree) -> bool:
        """Whether the state of an operator has rows of a region that are defined on an attribute."""
        ...


def held_drops(
    epoch: EpochEnd, during: Mapping[str, Facts]
) -> tuple[Mapping[str, StateFacts], Mapping[str, Facts]]:
    """Drops that wait until state has let go of the attribute (G13, `set drop = exact`).

    What state adds by operator, now with its held Drops; and the facts of all relations with that. `during`: the
    facts with all that tuples of the epoch may have. One Spark job for each Drop that could be held, else none.
    """
    if epoch.plan.settings["drop"] == "eager":
        return epoch.learnt, epoch.after
    state = dict(epoch.learnt)
    facts = {name: epoch.after[name] for name in epoch.plan.source_of}
    for operator in epoch.plan.operators:
        inputs = tuple(facts[name] for name in operator.inputs)
        learnt = state.get(operator.name, NO_STATE)
        now = operator.facts(inputs, learnt)
        if operator.stateful and (waiting := _waiting(epoch, operator.name, during[operator.name], now)):
            state[operator.name] = evolve(learnt, held=waiting)
            now = operator.facts(inputs, state[operator.name])
        facts[operator.name] = now
    return state, facts


def _waiting(epoch: EpochEnd, name: str, during: Facts, now: Facts) -> dict[str, Tree]:
    waiting: dict[str, Tree] = {}
    for attribute in during.present:
        gone = regions.difference(during.may_have(attribute), now.may_have(attribute))
        gone = regions.difference(gone, now.closed)
        if regions.is_empty(gone, now.universe):
            continue
        for box, inside in regions.boxes(gone):
            if inside and epoch.state_has(name, attribute, regions.box(box)):
                waiting[attribute] = regions.union(waiting.get(attribute, False), regions.box(box))
    return waiting


def left_out(plan: Plan, before: Mapping[str, Facts], after: Mapping[str, Facts]) -> tuple[str, ...]:
    """What was added since and an aggregate cannot take (G37), as sentences."""
    return tuple(
        f"{operator.name} leaves out {name}: {operator.function} requires numbers"
        for operator in plan.operators
        if isinstance(operator, Aggregate)
        for name in operator.left_out(after[operator.inputs[0]])
        if name not in before[operator.inputs[0]].types
    )
