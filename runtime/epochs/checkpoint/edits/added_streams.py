"""Streams that an edit unites with a relation, or takes from it, and defaults that it declares or takes away: all state
above continues, because it has every earlier tuple.

A region that the relation has closed stays closed, so a new stream begins with that region closed (theory N1). A
default counts as nothing only if its relation closes the same, and all earlier tuples had the attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import Facts, StateFacts
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import Tree
from cedilla.runtime.control.markers.stated_accents import States
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.edits.accent_changes import hold_drops
from cedilla.runtime.epochs.checkpoint.edits.plan_matching import Match, match


@frozen
class Joined:
    """A union of a `relation` with a `stream` that only one of two plans has, or the defaults of a stream."""

    relation: str
    stream: str | None = None


@frozen
class Continued:
    """An edited plan over the state of a checkpoint. `kept`: operator before -> operator now, for those whose state
    stays; `state_facts`: of their state; `states`: the sources; `after`: the facts of all relations; `late`: new stream
    -> its tuples that are late from the start."""

    matched: Match
    kept: dict[str, str]
    state_facts: Mapping[str, StateFacts]
    states: States
    after: Mapping[str, Facts]
    late: Mapping[str, Tree]


def continued(
    old: Plan,
    plan: Plan,
    commit: Commit,
    before: Mapping[str, Facts],
    intact: Set[str],
    states: States,
    unstated: States,
) -> Continued:
    """Matches the plans, and derives the facts of the edited one.

    `before`: the facts of the old plan's relations; `intact`: as for `match`; `states`, `unstated`: the sources with
    and without the accents that the edit states.
    """
    added = {s.name for s in plan.sources if not s.table and s.name not in old.source_of}
    joined = {**_unions_with(plan, added), **_filled(plan, old)}
    gone = {s.name for s in old.sources if s.name not in plan.source_of}
    left = _relations({**_unions_with(old, gone), **_filled(old, plan)})
    while True:
        matched = match(old, plan, intact, left, _relations(joined))
        kept = matched.kept_operators(old, plan)
        facts = {kept[name]: facts for name, facts in commit.state_facts.items() if name in kept}
        closed = {union: _closed_before(union, joined, matched, before) for union in joined}
        late = {
            stream: regions.union(*(r or False for u, r in closed.items() if joined[u].stream == stream))
            for stream in {of.stream for of in joined.values() if of.stream is not None}
        }
        closing = {**states, **{name: states[name].close(r).next_epoch() for name, r in late.items()}}
        facts, after = hold_drops(plan, unstated, closing, facts)
        joined = {union: of for union, of in joined.items() if _is_closed(after[union], closed[union])}
        if len(joined) == len(closed):
            return Continued(matched, kept, facts, closing, after, late)


def _relations(joined: Mapping[str, Joined]) -> dict[str, str]:
    return {union: of.relation for union, of in joined.items()}


def _unions_with(plan: Plan, streams: Set[str]) -> dict[str, Joined]:
    """Returns the unions with one of some streams that change no attribute of their other input."""
    joined: dict[str, Joined] = {}
    for operator in plan.operators:
        if not operator.unites:
            continue
        for relation, other in (operator.inputs, operator.inputs[::-1]):
            stream = _stream_under(plan, other)
            if (
                stream is not None
                and stream in streams
                and plan.start[relation].types == plan.start[operator.name].types
            ):
                joined[operator.name] = Joined(relation, stream)
    return joined


def _filled(plan: Plan, other: Plan) -> dict[str, Joined]:
    """Returns the projections that fill in defaults of attributes which each tuple has by the other plan."""
    filled: dict[str, Joined] = {}
    for operator in plan.operators:
        if operator.filled and (stream := operator.inputs[0]) in other.source_of:
            required = {a.name for a in other.source_of[stream].attributes if not a.optional}
            if operator.filled <= required:
                filled[operator.name] = Joined(stream)
    return filled


def _stream_under(plan: Plan, relation: str) -> str | None:
    """Returns the source whose tuples reach a relation through no state and with those of no other input."""
    while relation not in plan.source_of:
        operator = plan.operator_of[relation]
        if operator.stateful or len(operator.inputs) != 1:
            return None
        relation = operator.inputs[0]
    return relation


def _closed_before(
    union: str, joined: Mapping[str, Joined], matched: Match, before: Mapping[str, Facts]
) -> Tree | None:
    """Returns what was closed of the relation that a union has extended; `None` if the plan before did not have it."""
    relation = union
    while relation in joined:
        relation = joined[relation].relation
    same = matched.same.get(relation)
    return None if same is None else before[same].closed


def _is_closed(now: Facts, closed: Tree | None) -> bool:
    return closed is not None and regions.is_empty(regions.difference(closed, now.closed), now.universe)
