"""Suggests a clause of a source that bounds an operator's state, by trying candidates (theory 3.4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

from attrs import evolve, frozen

from cedilla.compiler.explain.analysis.growths import sample
from cedilla.compiler.explain.analysis.safety import StateBound, analysed, promised
from cedilla.compiler.facts.schemes import is_finite, without_finite
from cedilla.compiler.plan import Attribute, Plan, Source

_MAX_TRIED = 500


@frozen
class _Change:
    """A clause that a source could have, the source with it, and the text of the suggestion."""

    source: Source
    changed: Source
    advice: str


def suggestion(plan: Plan, bound: StateBound) -> str | None:
    """Returns a change to the sources that removes the finding; the change is tested."""
    for changes in islice(_changes(plan, bound), _MAX_TRIED):
        changed = {change.source.name: change.changed for change in changes}
        if _is_mended(plan, [changed.get(source.name, source) for source in plan.sources], bound):
            effect = "that lets rows pass" if bound.waits else "that bounds the state"
            advice = f"declare {' and '.join(change.advice for change in changes)}: {effect}"
            return "".join([advice, *_of_promises(plan, changes), *_beside(plan, bound, changes)])
    return bound.operator.remedy


def _beside(plan: Plan, bound: StateBound, changes: Sequence[_Change]) -> Iterator[str]:
    """Yields the operator's own remedy where only a promise helps that does not follow time: devices rarely end."""
    promised_names = {n for change in changes for scheme in change.changed.punctuated for n in scheme}
    follows_time = any(_is_time(plan, change.source, n) for change in changes for n in promised_names)
    if bound.operator.remedy is not None and not follows_time:
        yield f"; or {bound.operator.remedy}"


def _of_promises(plan: Plan, changes: Sequence[_Change]) -> Iterator[str]:
    """Yields a reminder that a promise sends no punctuation, and that a heartbeat does."""
    promising = [change for change in changes if change.changed.punctuated != change.source.punctuated]
    if promising:
        names = " and ".join(f"`{change.source.name}`" for change in promising)
        yield f", if {names} sends such punctuations, which the clause only promises"
    for change in promising:
        scheme = change.changed.punctuated[-1]
        if len(scheme) == 1 and (advice := heartbeat_advice(plan, change.source, scheme[0])):
            yield f"; {advice}"


def heartbeat_advice(plan: Plan, source: Source, name: str) -> str | None:
    """Suggests a heartbeat on an attribute of a source; `None` if it has one, or the attribute is not a time."""
    if source.heartbeat is not None or not _is_time(plan, source, name):
        return None
    delay = "10 seconds" if plan.start[source.name].types[name].name == "timestamp" else "10"
    heartbeat = f"`heartbeat {name} delay {delay}` of `{source.name}`"
    return f"{heartbeat} makes Cedilla punctuate by itself, that far below the greatest {name}"


def _is_time(plan: Plan, source: Source, name: str) -> bool:
    """Returns True if the query uses an attribute as a time that grows."""
    if plan.start[source.name].types[name].name == "timestamp":
        return True
    return name in {o.axis for o in plan.operators} and plan.start[source.name].types[name].is_numeric


def _is_mended(plan: Plan, sources: list[Source], bound: StateBound) -> bool:
    alike = all(a.attributes == b.attributes for a, b in zip(plan.sources, sources, strict=True))
    facts = plan.start if alike else evolve(plan, sources=sources).start
    state_safety = analysed(plan, {source.name: promised(source) for source in sources}, facts)
    now = next(b for b in state_safety.of(bound.operator.name) if _same_state(b, bound))
    return now.verdict == "bounded" and not now.waits


def _same_state(a: StateBound, b: StateBound) -> bool:
    return (a.memory.what, a.memory.side) == (b.memory.what, b.memory.side)


def _changes(plan: Plan, bound: StateBound) -> Iterator[Sequence[_Change]]:
    """Yields possible changes, the more natural first; each is a list of changes to different sources."""
    needed, sides = bound.memory.within, (bound.memory.side, bound.memory.ends)
    above = [plan.ancestors(bound.operator.inputs[side]) for side in sides if side is not None]
    nodes = {node.name: node for nodes in above for node in nodes}.values()
    streams = [node for node in nodes if isinstance(node, Source) and not node.table]
    open_ended = [
        (source, attribute)
        for source in streams
        for attribute in source.attributes
        if attribute.type.element is None
        and (attribute.optional or not is_finite(attribute.name, plan.start[source.name]))
    ]
    for source in streams:
        required = {a.name for s, a in open_ended if s is source and not a.optional}
        if len(needed) > 1 and needed <= required and len(needed) < len(source.attributes):
            yield (_punctuated(source, sorted(needed)),)
    single = [_punctuated(source, [a.name]) for source, a in open_ended if not a.optional]
    yield from ((change,) for change in single)
    yield from ((_required(source, a),) for source, a in open_ended if a.optional)
    for source, attribute in open_ended:
        if frozenset({attribute.name}) not in without_finite(promised(source), plan.start[source.name]):
            yield (_with_domain(source, attribute),)
    yield from (pair for pair in combinations(single, 2) if pair[0].source is not pair[1].source)
    for source in streams:
        yield from ((_punctuated(source, [a.name]),) for a in source.attributes if a.name in needed)
    if bound.operator.remedy is None:  # for an aggregate, other groups are the better advice
        ended = [_ended(source) for source in streams]
        yield from ((change,) for change in ended)
        yield ended


def _punctuated(source: Source, scheme: list[str]) -> _Change:
    changed = evolve(source, punctuated=(*source.punctuated, tuple(scheme)))
    return _Change(source, changed, f"`punctuated on {', '.join(scheme)}` of `{source.name}`")


def _required(source: Source, attribute: Attribute) -> _Change:
    changed = evolve(attribute, optional=False, default=None)
    mark = "?" if attribute.default is None else "default"
    advice = f"`{changed}` without `{mark}`, and `punctuated on {attribute.name}`, of `{source.name}`"
    return _Change(source, _with(_punctuated(source, [attribute.name]).changed, changed), advice)


def _with_domain(source: Source, attribute: Attribute) -> _Change:
    changed = evolve(attribute, optional=False, default=None, domain=sample(attribute.type))
    advice = f"a domain `{attribute.name}: {attribute.type} in {{...}}` of `{source.name}`"
    return _Change(source, _with(source, changed), advice)


def _ended(source: Source) -> _Change:
    advice = f"`table {source.name}`, if the relation does not grow"
    return _Change(source, evolve(source, table=True), advice)


def _with(source: Source, attribute: Attribute) -> Source:
    attributes = (attribute if a.name == attribute.name else a for a in source.attributes)
    return evolve(source, attributes=tuple(attributes))
