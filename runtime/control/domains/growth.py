"""Checks if a domain grows, and if a query can continue with the wider domain (theory N1)."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Grow
from cedilla.compiler.facts.facts import StateFacts, closed_for_readers
from cedilla.compiler.operators.join import released_too_much
from cedilla.compiler.plan import Attribute, Plan, Source, derive
from cedilla.compiler.regions import PARTITION, Tree
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.runtime.control.accents.codes import listed
from cedilla.runtime.control.accents.new_codes import owners
from cedilla.runtime.control.descriptions.region_texts import region_texts
from cedilla.runtime.control.sources.apart import alike
from cedilla.runtime.control.sources.partitions import anywhere
from cedilla.runtime.control.sources.source_state import SourceState


@frozen
class Clash:
    """Why tuples cannot have a new value, and what comes before it."""

    what: str
    advice: str


def is_new(state: SourceState, source: Source, growth: Grow) -> bool:
    """Returns True if a growth adds a value to the domain; an unrestricted attribute gains none. Raises
    `DiagnosticError`: RQ220 if the query does not declare the domain as a list, RQ221 if the attribute has been
    altered, RQ466 if another value is written as the new one, or the new one means undefined.
    """
    name = growth.attribute
    declared = next((a for a in source.attributes if a.name == name), None)
    if declared is None or not _is_beyond(state, declared, growth.members):
        return False
    if declared.column is not None:
        raise failure(
            "RQ220",
            f"the domain of `{name}` cannot grow by a line of the stream: it comes from `{declared.domain}`",
            growth.span,
            hint=f"a new file of the table `{declared.column.table}` brings the value",
        )
    if not declared.has_list:
        raise failure(
            "RQ220",
            f"the domain of `{name}` cannot grow: it is not declared as a list",
            growth.span,
            hint=f"`{name}: {state.types[name]} in {{...}}` declares a list; "
            "any other is widened in the query's text",
        )
    if name in state.units or name in state.bent:
        raise failure(
            "RQ221",
            f"the domain of `{name}` cannot grow: an accent has altered `{name}`",
            growth.span,
            hint="the domain is in canonical units; it can be widened in the query's text (`cedilla plan`)",
        )
    check_codes(state, declared, growth.members, f"the domain of `{name}` cannot grow", growth.span)
    return True


def taken(state: SourceState, attribute: Attribute, members: Tree) -> Clash | None:
    """Returns the clash of a new value with the code of another value, or with a missing one (theory N1, N3, N11);
    `None` if each new value can be written unchanged."""
    name, wire = attribute.name, attribute.type.wire
    conditions = (regions.attributes(tree) for tree in state.sentinels.here.values())
    if name not in state.codes and name not in frozenset[str]().union(*conditions):
        return None
    grown, declared = state.grow(name, members), state.universe[name].members
    open_tuples = regions.difference(grown.there(name, True), grown.closed)
    for value in listed(regions.difference(members, declared)):
        here = regions.values(name, [value])
        live = regions.intersection(open_tuples, here)
        if name in grown.codes:
            for other, where in owners(grown.original, grown.forward_maps, grown.codes, name, value, live):
                if not regions.is_empty(where, grown.universe):
                    what = f"{wire(other)} is written as {wire(value)}{_where(grown, name, where)}, too"
                    return Clash(what, f"first recode {wire(other)} to another code, then add the new value")
        undefined = regions.intersection(grown.sentinels.here.get(name, False), here)
        where = regions.intersection(live, grown.canonical(undefined))
        if not regions.is_empty(where, grown.universe):
            what = f"{wire(value)} means undefined{_where(grown, name, where)}"
            return Clash(what, "first send a list of missing values without it, then add the new value")
    for other in state.sentinels.here:
        for undefined, _ in alike(grown, other, True):
            what = f"tuples with `{other} = {state.types[other].wire(undefined)}` would have two meanings"
            return Clash(what, f"first list missing values of `{other}` by another attribute")
    return None


def _where(state: SourceState, name: str, where: Tree) -> str:
    """Returns the tuples of a region whatever value they have, as text; none for all tuples."""
    here = anywhere(regions.exists(where, {name}, state.universe), state.universe)
    texts = () if regions.covers(here, state.universe) else region_texts(state.facts(), here)[:1]
    return "".join(f" for {text}" for text in texts)


def check_codes(
    state: SourceState, attribute: Attribute, members: Tree, what: str, span: Span | None
) -> None:
    """Raises `DiagnosticError` RQ466 if a new value of a domain is the code of another value, or means undefined: it
    would be ambiguous (theory N1, N3, N11). `what`: the refused change, for the message. `span`: its position."""
    if (clash := taken(state, attribute, members)) is not None:
        raise failure("RQ466", f"{what}: {clash.what}", span, hint=clash.advice)


def _is_beyond(state: SourceState, attribute: Attribute, members: Tree) -> bool:
    return not regions.is_empty(regions.difference(members, state.domain(attribute)), {})


def check_growth(
    plan: Plan,
    before: Mapping[str, SourceState],
    after: Mapping[str, SourceState],
    what: str,
    span: Span | None,
    state_facts: Mapping[str, StateFacts] | None,
) -> None:
    """Raises `DiagnosticError` RQ222 if a growth opens a closed region of an operator or of an output, or needs tuples
    that a join has released (theory N1, G8).

    `what`: the refused change, for the message. `span`: its position. `state_facts`: of the operators' state.

    For example, a join has kept no place of pump 3, because no pump was known by that number:

    >>> from cedilla.compiler.compile import compile_query
    >>> plan = compile_query('''
    ...   stream pumps(pump: int in {1, 2}, litres: double) from json "pumps" punctuated on pump;
    ...   stream places(pump: int in {1, 2, 3}, place: string) from json "places" punctuated on pump;
    ...   emit pumps join places on pump to json "out";
    ... ''').plan
    >>> before = {s.name: SourceState.start(s, plan.droppable[s.name]) for s in plan.sources}
    >>> after = {**before, "pumps": before["pumps"].with_values("pump", regions.values("pump", [3]))}
    >>> try:
    ...     check_growth(plan, before, after, "the domain of `pump` cannot grow", None, None)
    ... except DiagnosticError as error:
    ...     print(error.diagnostics[0].message)
    the domain of `pump` cannot grow: Join `join` cannot continue: it has kept nothing of `places` for the new values
    """
    was = derive(plan, {name: state.facts() for name, state in before.items()}, state_facts)
    now = derive(plan, {name: state.facts() for name, state in after.items()}, state_facts)
    for operator in plan.operators:
        name, title = operator.name, f"{operator.title} `{operator.name}`"
        opened = regions.difference(was[name].closed, now[name].closed)
        if not regions.is_empty(opened, now[name].universe):
            why = "its inputs have closed something together, for the old values only"
            raise _stuck(what, title, why, span)
        for side, relation in enumerate(operator.inputs):
            if released_too_much(operator, operator, side, was, now) is not False:
                why = f"it has kept nothing of `{relation}` for the new values"
                raise _stuck(what, title, why, span)
    for emit in plan.emits:
        old, new = was[emit.relation], now[emit.relation]
        opened = regions.difference(closed_for_readers(old.closed, old.universe), new.closed)
        if not regions.is_empty(opened, new.universe):
            text = region_texts(new, opened)[0]
            why = (
                f"readers would take tuples of {text} for late, because it has closed this for all old values"
            )
            raise _stuck(what, f"output `{emit.name}`", why, span)


def _stuck(what: str, who: str, why: str, span: Span | None) -> DiagnosticError:
    message = f"{what}: {who} cannot continue: {why}"
    hint = "`cedilla plan` tells what a wider domain in the query's text would do"
    return failure("RQ222", message, span, hint=hint)


def with_new_partitions(
    states: Mapping[str, SourceState], numbers: Mapping[str, int]
) -> Mapping[str, SourceState]:
    """Returns the states of the sources with the partitions that topics have now (theory N1, N9). `numbers`: of
    partitions, by source."""
    after = dict(states)
    for name, number in numbers.items():
        domain = after[name].universe[PARTITION]
        new = regions.difference(regions.values(PARTITION, range(number)), domain.members)
        if not regions.is_empty(new, {}):
            after[name] = after[name].grow(PARTITION, new)
    return after
