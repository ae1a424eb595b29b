"""Reports schema changes that an epoch could not complete: held Drops, and attributes that aggregates leave out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import Tree


class EpochEnd(Protocol):
    """The state at the end of an epoch: the relations' facts and the contents of operator state."""

    @property
    def plan(self) -> Plan: ...
    @property
    def after(self) -> Mapping[str, Facts]: ...
    @property
    def closed_by_state(self) -> Mapping[str, StateFacts]:
        """Returns the facts that operator state adds about tuples that may still come, by operator."""
        ...

    def state_has(self, name: str, attribute: str, region: Tree) -> bool:
        """Returns True if the state of an operator has rows of a region that are defined on an attribute."""
        ...


def held_drops(
    epoch: EpochEnd, during: Mapping[str, Facts]
) -> tuple[Mapping[str, StateFacts], Mapping[str, Facts]]:
    """Returns the state facts with Drops that wait until state releases the attribute (G13, `set drop = exact`), and
    the facts of all relations with these.

    `during`: the facts with all attributes that tuples of the epoch may have. Runs one Spark job for each Drop that may
    have to wait, else none.

    For example, a join keeps a reading with h until its sensor is closed on the other input:

    >>> from cedilla.compiler.compile import compile_query
    >>> from cedilla.runtime.engines.plain.reference import Reference
    >>> reference = Reference(compile_query('''
    ...   stream r(s: int, h?: double) from json "r" punctuated on s;
    ...   stream placement(s: int, l: string) from json "placement" punctuated on s;
    ...   out := r join placement on s;
    ...   emit out to json "out";
    ... ''').plan)
    >>> for source, item in (
    ...     ("r", {"s": 1, "h": 0.5}),
    ...     ("r", {"$accent": "[[-(h)]]"}),
    ...     ("placement", {"s": 1, "l": "roof"}),
    ...     ("placement", {"$punctuation": "[s = 1]"}),
    ... ):
    ...     for output in reference.step([(source, item)]):
    ...         print(item, "->", *output["out"].items())
    {'s': 1, 'h': 0.5} ->
    {'$accent': '[[-(h)]]'} ->
    {'s': 1, 'l': 'roof'} -> {'s': 1, 'h': 0.5, 'l': 'roof'}
    {'$punctuation': '[s = 1]'} -> {'$accent': '[[-(h)]]'}
    """
    if epoch.plan.settings["drop"] == "eager":
        return epoch.closed_by_state, epoch.after
    state = dict(epoch.closed_by_state)
    facts = {name: epoch.after[name] for name in epoch.plan.source_of}
    for operator in epoch.plan.operators:
        inputs = tuple(facts[name] for name in operator.inputs)
        closed_by_state = state.get(operator.name, NO_STATE)
        now = epoch.plan.derived.of(operator, inputs, closed_by_state)
        if operator.stateful and (waiting := _waiting(epoch, operator.name, during[operator.name], now)):
            state[operator.name] = evolve(closed_by_state, retained=waiting)
            now = epoch.plan.derived.of(operator, inputs, state[operator.name])
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
    """Returns sentences about added attributes that an aggregate cannot take (G37)."""
    return tuple(
        f"{operator.name} leaves out {name}: {function} requires numbers"
        for operator in plan.operators
        for name, function in operator.left_out(after[operator.inputs[0]]).items()
        if name not in before[operator.inputs[0]].types
    )
