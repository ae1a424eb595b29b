"""Does state stay bounded, by the punctuation that the sources promise? (theory 3.4)

Promised schemes go through the plan from the sources to the outputs; every operator says what it keeps and
which scheme of which input releases it. A promise that is not kept is not found here: it shows in the
state's size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any, Literal

from attrs import evolve, frozen

from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.schemes import (
    ENDS,
    Memory,
    Schemes,
    both,
    folded,
    is_finite,
    known,
    names,
    renamed,
    within,
)
from cedilla.compiler.operators import (
    Aggregate,
    AntiJoin,
    CountWindow,
    Distinct,
    Intersect,
    Join,
    LeftJoin,
    Limit,
    Minus,
    Operator,
    Rename,
    SemiJoin,
    Session,
    Sort,
    Top,
    User,
    Window,
)
from cedilla.compiler.plan import Attribute, Plan, Source
from cedilla.grammar.diagnostics import Diagnostic

Verdict = Literal["bounded", "bounded if accents stop", "unbounded"]
VERDICTS: tuple[Verdict, ...] = ("bounded", "bounded if accents stop", "unbounded")
"""The better before the worse."""


@frozen
class Bound:
    """One thing that an operator keeps, and whether it stays bounded.

    `because` says why, as a sentence without its subject. `waits`: rows of the operator may wait for ever.
    """

    operator: Operator
    memory: Memory
    verdict: Verdict
    because: str
    waits: bool = False


@frozen
class Safety:
    """The schemes of every relation, and the bound of everything that is kept, in topological order."""

    schemes: Mapping[str, Schemes]
    bounds: tuple[Bound, ...]

    def of(self, operator: str) -> tuple[Bound, ...]:
        return tuple(bound for bound in self.bounds if bound.operator.name == operator)

    def verdict(self, operator: str) -> Verdict:
        """The worst of an operator's bounds."""
        worst: Verdict = "bounded"
        for bound in self.of(operator):
            if VERDICTS.index(bound.verdict) > VERDICTS.index(worst):
                worst = bound.verdict
        return worst


def promised(source: Source) -> Schemes:
    """What a source promises to close: each `punctuated on`, the heartbeat, for a table the end."""
    if source.table:
        return ENDS
    heartbeat = [] if source.heartbeat is None else [frozenset({source.heartbeat.attribute})]
    return frozenset(frozenset(scheme) for scheme in source.punctuated).union(heartbeat)


def safety(plan: Plan) -> Safety:
    """What each operator keeps and whether it stays bounded, if the sources keep their promises."""
    return analysed(plan, {source.name: promised(source) for source in plan.sources}, plan.start)


def analysed(plan: Plan, sources: Mapping[str, Schemes], facts: Mapping[str, Facts]) -> Safety:
    """What each operator keeps and whether it stays bounded, if each source promises some schemes; `facts`: those
    of the streams' start."""
    schemes = dict(sources)
    bounds: list[Bound] = []
    for operator in plan.operators:
        inputs = tuple(facts[name] for name in operator.inputs)
        given = tuple(schemes[name] for name in operator.inputs)
        schemes[operator.name] = _schemes(operator, inputs, given)
        given = tuple(known(each, its) for each, its in zip(given, inputs, strict=True))
        bounds += [_bound(operator, each, inputs, given) for each in _memory(plan, operator, inputs)]
    return Safety({name: known(each, facts[name]) for name, each in schemes.items()}, tuple(bounds))


def _bound(
    operator: Operator, memory: Memory, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]
) -> Bound:
    closer, facts = operator.inputs[memory.side], inputs[memory.side]
    closing = [
        scheme
        for scheme in within(given[memory.side], memory.within)
        if not (memory.undefined and any(facts.may_be_undefined(name) for name in scheme))
    ]
    if closing:
        scheme = min(closing, key=lambda s: (len(s), sorted(s)))
        until = f"`{closer}` closes {names(scheme)}" if scheme else f"`{closer}` ends"
        return Bound(operator, memory, "bounded", f"until {until}")
    if memory.ends is not None and (ending := within(given[memory.ends], memory.finite)):
        until = "it ends" if frozenset() in ending else f"it closes every {names(min(ending, key=sorted))}"
        because = f"no more than `{operator.inputs[memory.ends]}` has until {until}"
        return Bound(operator, memory, "bounded", because, memory.output)
    if memory.one_per is not None and all(is_finite(name, inputs[0]) for name in memory.one_per):
        because = f"one for each {names(memory.one_per)}" if memory.one_per else "only one"
        return Bound(operator, memory, "bounded", because, memory.output)
    verdict = "bounded if accents stop" if memory.accents else "unbounded"
    return Bound(operator, memory, verdict, _missing(operator, memory, inputs))


def _missing(operator: Operator, memory: Memory, inputs: tuple[Facts, ...]) -> str:
    closer = operator.inputs[memory.side]
    if not memory.within:
        return f"`{closer}` does not promise to end"
    if memory.within >= inputs[memory.side].types.keys():
        return f"`{closer}` promises no punctuation"
    some = ", or some of them" if len(memory.within) > 1 else ""
    return f"`{closer}` does not promise to close {names(memory.within)}{some}"


# --- diagnostics -----------------------------------------------------------------------------------------


def warnings(plan: Plan) -> tuple[Diagnostic, ...]:
    """Of the findings those that a run is told: RQ130 and RQ131."""
    return tuple(each for each in findings(plan) if each.severity == "warning")


def findings(plan: Plan) -> tuple[Diagnostic, ...]:
    """What is not bounded, or never written, with the clause that would change it (design, section 8).

    Waiting accents are spoken of only where there is nothing worse.
    """
    found = safety(plan)
    worse = [_unbounded(plan, found, b) for b in found.bounds if b.verdict == "unbounded"]
    worse += [_unwritten(plan, found, b) for b in found.bounds if b.waits]
    return tuple(
        worse or [_waiting(plan, found, b) for b in found.bounds if b.verdict == "bounded if accents stop"]
    )


def _unbounded(plan: Plan, found: Safety, bound: Bound) -> Diagnostic:
    operator, memory = bound.operator, bound.memory
    return Diagnostic(
        "RQ130",
        "warning",
        f"{operator.title} `{operator.name}` keeps {memory.what} without bound: {bound.because}",
        operator.span,
        _notes(plan, found, bound),
        _help(plan, bound),
    )


def _waiting(plan: Plan, found: Safety, bound: Bound) -> Diagnostic:
    operator, memory = bound.operator, bound.memory
    return Diagnostic(
        "RQ132",
        "note",
        f"{operator.title} `{operator.name}` keeps {memory.what}, bounded only if accents stop: {bound.because}",
        operator.span,
        _notes(plan, found, bound),
        _help(plan, bound),
    )


def _unwritten(plan: Plan, found: Safety, bound: Bound) -> Diagnostic:
    operator = bound.operator
    missing = _missing(operator, bound.memory, tuple(plan.start[name] for name in operator.inputs))
    return Diagnostic(
        "RQ131",
        "warning",
        f"rows of {operator.title} `{operator.name}` may wait for ever: {missing}",
        operator.span,
        _notes(plan, found, bound),
        _help(plan, bound),
    )


def _notes(plan: Plan, found: Safety, bound: Bound) -> tuple[str, ...]:
    """What is promised instead, by the input and by the sources that it is computed from."""
    closer = bound.operator.inputs[bound.memory.side]
    sources = [node for node in plan.ancestors(closer) if isinstance(node, Source)]
    said = [f"`{source.name}` promises {schemes_text(promised(source))}" for source in sources]
    derived = (
        [] if closer in plan.source_of else [f"`{closer}` promises {schemes_text(found.schemes[closer])}"]
    )
    optional = sorted(
        name
        for scheme in within(found.schemes[closer], bound.memory.within)
        for name in scheme
        if bound.memory.undefined and plan.start[closer].may_be_undefined(name)
    )
    lacking = [f"`{name}` is optional: nothing closes the tuples that lack it" for name in optional]
    return (*said, *derived, *lacking)


def schemes_text(schemes: Schemes) -> str:
    """`ts; k, s`: schemes for people."""
    written = sorted((names(scheme) or "its end") for scheme in schemes)
    return "; ".join(written) or "no punctuation"


# --- the clause that would help --------------------------------------------------------------------------

_SAMPLES = {"string": '""', "timestamp": '"2000-01-01"', "date": '"2000-01-01"'}
_TRIED = 500


@frozen
class _Change:
    """A clause that a source could have, the source with it, and the clause as it is advised."""

    source: Source
    changed: Source
    advice: str


def _help(plan: Plan, bound: Bound) -> str | None:
    """A change to the sources after which the finding is gone: it is tried out."""
    for changes in islice(_changes(plan, bound), _TRIED):
        changed = {each.source.name: each.changed for each in changes}
        if _is_mended(plan, [changed.get(source.name, source) for source in plan.sources], bound):
            effect = "let them pass" if bound.waits else "bound it"
            advice = f"{' and '.join(each.advice for each in changes)} would {effect}"
            return "".join([advice, *_of_promises(plan, changes)])
    return "a group by a window of a punctuated attribute" if isinstance(bound.operator, Aggregate) else None


def _of_promises(plan: Plan, changes: Sequence[_Change]) -> Iterator[str]:
    """What has to be known of promised punctuation: the clause sends none, a heartbeat does."""
    promising = [each for each in changes if each.changed.punctuated != each.source.punctuated]
    if promising:
        names = " and ".join(f"`{each.source.name}`" for each in promising)
        yield f" if {names} sends such punctuations: the clause only promises them"
    for each in promising:
        scheme = each.changed.punctuated[-1]
        if len(scheme) == 1 and each.source.heartbeat is None and _is_time(plan, each.source, scheme[0]):
            type_ = plan.start[each.source.name].types[scheme[0]]
            delay = "10 seconds" if type_.name == "timestamp" else "10"
            heartbeat = f"`heartbeat {scheme[0]} delay {delay}` of `{each.source.name}`"
            yield f"; {heartbeat} has Cedilla punctuate by itself, that long behind the greatest {scheme[0]}"


def _is_time(plan: Plan, source: Source, name: str) -> bool:
    """Whether an attribute grows as time does, as far as the query tells."""
    if plan.start[source.name].types[name].name == "timestamp":
        return True
    axes = [o.on for o in plan.operators if isinstance(o, Window | Session)]
    axes += [o.keys[0][0] for o in plan.operators if isinstance(o, Sort)]
    return name in axes and plan.start[source.name].types[name].is_numeric


def _is_mended(plan: Plan, sources: list[Source], bound: Bound) -> bool:
    alike = all(a.attributes == b.attributes for a, b in zip(plan.sources, sources, strict=True))
    facts = plan.start if alike else evolve(plan, sources=sources).start
    found = analysed(plan, {source.name: promised(source) for source in sources}, facts)
    now = next(b for b in found.of(bound.operator.name) if b.memory.what == bound.memory.what)
    return now.verdict == "bounded" and not now.waits


def _changes(plan: Plan, bound: Bound) -> Iterator[Sequence[_Change]]:
    """What may help, the more natural first: each is a list of changes to different sources."""
    needed, sides = bound.memory.within, (bound.memory.side, bound.memory.ends)
    above = [plan.ancestors(bound.operator.inputs[side]) for side in sides if side is not None]
    nodes = {node.name: node for nodes in above for node in nodes}.values()
    streams = [node for node in nodes if isinstance(node, Source) and not node.table]
    open_ended = [
        (source, attribute)
        for source in streams
        for attribute in source.attributes
        if attribute.optional or not is_finite(attribute.name, plan.start[source.name])
    ]
    for source in streams:
        there = {a.name for s, a in open_ended if s is source and not a.optional}
        if len(needed) > 1 and needed <= there and len(needed) < len(source.attributes):
            yield (_punctuated(source, sorted(needed)),)
    single = [_punctuated(source, [a.name]) for source, a in open_ended if not a.optional]
    yield from ((change,) for change in single)
    yield from ((_required(source, a),) for source, a in open_ended if a.optional)
    for source, attribute in open_ended:
        if frozenset({attribute.name}) not in known(promised(source), plan.start[source.name]):
            yield (_with_domain(source, attribute),)
    yield from (two for two in combinations(single, 2) if two[0].source is not two[1].source)
    for source in streams:
        yield from ((_punctuated(source, [a.name]),) for a in source.attributes if a.name in needed)
    if not isinstance(bound.operator, Aggregate):  # there, other groups are the better advice
        ended = [_ended(source) for source in streams]
        yield from ((change,) for change in ended)
        yield ended


def _punctuated(source: Source, scheme: list[str]) -> _Change:
    changed = evolve(source, punctuated=(*source.punctuated, tuple(scheme)))
    return _Change(source, changed, f"`punctuated on {', '.join(scheme)}` of `{source.name}`")


def _required(source: Source, attribute: Attribute) -> _Change:
    changed = evolve(attribute, optional=False)
    advice = f"`{changed}` without `?`, and `punctuated on {attribute.name}`, of `{source.name}`"
    return _Change(source, _with(_punctuated(source, [attribute.name]).changed, changed), advice)


def _with_domain(source: Source, attribute: Attribute) -> _Change:
    changed = evolve(attribute, optional=False, domain="{" + _SAMPLES.get(attribute.type.name, "0") + "}")
    advice = f"a domain `{attribute.name}: {attribute.type} in {{...}}` of `{source.name}`"
    return _Change(source, _with(source, changed), advice)


def _ended(source: Source) -> _Change:
    advice = f"`table {source.name}`, if the relation does not grow,"
    return _Change(source, evolve(source, table=True), advice)


def _with(source: Source, attribute: Attribute) -> Source:
    attributes = (attribute if a.name == attribute.name else a for a in source.attributes)
    return evolve(source, attributes=tuple(attributes))


# --- the rules of operators whose files do not hold them -------------------------------------------------


@frozen
class _Rule:
    """`Operator.memory` and `Operator.schemes` of a class."""

    memory: Callable[[Any, tuple[Facts, ...]], tuple[Memory, ...]]
    schemes: Callable[[Any, tuple[Facts, ...], tuple[Schemes, ...]], Schemes]


def _memory(plan: Plan, operator: Operator, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    rule = _RULES.get(type(operator))
    kept = operator.memory(inputs) if rule is None else rule.memory(operator, inputs)
    windows = plan.operator_of.get(operator.inputs[0])
    if not isinstance(operator, Aggregate) or not isinstance(windows, CountWindow):
        return kept
    if {*windows.per, windows.alias} <= set(operator.by):  # a group is full sooner or later
        return tuple(evolve(each, one_per=frozenset(windows.per), output=False) for each in kept)
    return kept


def _schemes(operator: Operator, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    rule = _RULES.get(type(operator))
    return operator.schemes(inputs, given) if rule is None else rule.schemes(operator, inputs, given)


_COLLECTING = {"median", "quantile", "collect"}
"""Functions that keep the values of a group until it is closed, and not a summary of them."""

_DISTINCT = {"min", "max"}
"""Functions for which `distinct` changes nothing."""


def _nothing(o: Any, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    return ()


def _folded(kept: frozenset[str], facts: Facts, schemes: Schemes) -> Schemes:
    return folded(schemes, facts, frozenset(facts.types) - kept)


def _same(o: Any, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    return given[0]


def _aggregate(o: Aggregate, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    by = frozenset(o.by)
    calls = o.results(inputs[0]).values()
    grows = any(c.function in _COLLECTING or (c.distinct and c.function not in _DISTINCT) for c in calls)
    groups = Memory(what="open groups", within=by, one_per=None if grows else by, output=True)
    return groups, Memory(what="accents that cover a group in part", within=by, accents=True)


def _distinct(o: Distinct, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    key = frozenset(o.on or inputs[0].types)
    return (Memory(what="tuples that passed", within=key, one_per=key),)


def _sort(o: Sort, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    # Punctuation is taken to close an attribute from below upwards (`ts < c`).
    name, descending = o.keys[0]
    before = frozenset[str]() if descending else frozenset({name})
    return (Memory(what="tuples that may follow others", within=before, output=True),)


def _sorted(o: Sort, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    """What the input closes, up to where all that comes before has passed."""
    name, descending = o.keys[0]
    return both(given[0], _folded(frozenset[str]() if descending else frozenset({name}), inputs[0], given[0]))


def _top(o: Top, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    per = frozenset(o.per)
    return (Memory(what="the best of open groups", within=per, one_per=per, output=True),)


def _session(o: Session, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    return (Memory(what="tuples of open sessions", within=frozenset({o.on, *o.per}), output=True),)


def _by_session(o: Session, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    return given[0] | {scheme - {o.on} | {o.alias} for scheme in given[0] if o.on in scheme}


def _count_window(o: CountWindow, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    per = frozenset(o.per)
    return (Memory(what="counters", within=per, one_per=per),)


def _renamed(o: Rename, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    return renamed(given[0], {name: o.names.get(name, name) for name in inputs[0].types})


def _user(o: User, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    group = frozenset(o.foundation)
    return tuple(
        Memory(what=f"tuples of open groups from `{name}`", side=side, within=group, output=True)
        for side, name in enumerate(o.inputs)
        if o.waits
    )


def _of_user(o: User, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    """A function may put anything into the attributes that are not of the group, or that it computes."""
    kept = frozenset[str].intersection(*(frozenset(facts.types) for facts in inputs))
    kept = kept & frozenset(o.foundation) if o.waits else kept
    kept = kept if o.returns is None else kept & frozenset(o.returns) - frozenset(o.computed)
    first, *others = (_folded(kept, f, schemes) for f, schemes in zip(inputs, given, strict=True))
    return both(first, others[0]) if others else first


# Two inputs: what one keeps, the other has to close.


def _met(side: int, o: Join | LeftJoin | SemiJoin | AntiJoin, inputs: tuple[Facts, ...]) -> Memory:
    """Tuples of one input, until the other has closed their keys.

    Those with a key that no tuple of the other can have are not kept, so a finite domain there holds here too.
    """
    other = inputs[1 - side]
    return Memory(
        what=f"{('left', 'right')[side]} tuples",
        side=1 - side,
        within=frozenset(pair[1 - side] for pair in o.on),
        ends=side,
        finite=frozenset(pair[side] for pair in o.on if is_finite(pair[1 - side], other)),
        undefined=False,
    )


def _join(o: Join | SemiJoin, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    return _met(0, o, inputs), _met(1, o, inputs)


def _outer(o: LeftJoin | AntiJoin, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    return evolve(_met(0, o, inputs), output=True), _met(1, o, inputs)


def _by_either_name(o: Join, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    met = both(*given)
    every = {name: name for facts in inputs for name in facts.types}
    turned = [{**every, **dict(o.on)}, {**every, **{b: a for a, b in o.on}}]
    return met.union(*(renamed(met, other) for other in turned))


def _of_the_left(o: Any, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    """A left tuple has passed once the left has closed it, and the right its key."""
    right = _folded(frozenset(b for _, b in o.on), inputs[1], given[1])
    return both(given[0], renamed(known(right, inputs[1]), {b: a for a, b in o.on}))


def _counted(side: int, inputs: tuple[Facts, ...]) -> Memory:
    """Tuples of one input, until the other has closed them."""
    common = inputs[0].types.keys() & inputs[1].types.keys()
    return Memory(
        what=f"{('left', 'right')[side]} tuples", side=1 - side, within=frozenset(common), ends=side
    )


def _intersect(o: Intersect, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    return _counted(0, inputs), _counted(1, inputs)


def _minus(o: Minus, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    passed = Memory(what="tuples that passed", within=frozenset(inputs[0].types), ends=0)
    return evolve(_counted(0, inputs), output=True), _counted(1, inputs), passed


def _in_both(o: Any, inputs: tuple[Facts, ...], given: tuple[Schemes, ...]) -> Schemes:
    common = inputs[0].types.keys() & inputs[1].types.keys()
    return both(*(within(schemes, common) for schemes in given))


_RULES: dict[type[Operator], _Rule] = {
    Aggregate: _Rule(_aggregate, lambda o, inputs, given: _folded(frozenset(o.by), inputs[0], given[0])),
    AntiJoin: _Rule(_outer, _of_the_left),
    CountWindow: _Rule(_count_window, _same),
    Distinct: _Rule(_distinct, _same),
    Intersect: _Rule(_intersect, _in_both),
    Join: _Rule(_join, _by_either_name),
    LeftJoin: _Rule(_outer, _of_the_left),
    Limit: _Rule(_nothing, lambda o, inputs, given: ENDS),
    Minus: _Rule(_minus, lambda o, inputs, given: both(given[0], within(given[1], inputs[0].types.keys()))),
    Rename: _Rule(_nothing, _renamed),
    SemiJoin: _Rule(_join, _of_the_left),
    Session: _Rule(_session, _by_session),
    Sort: _Rule(_sort, _sorted),
    Top: _Rule(_top, lambda o, inputs, given: _folded(frozenset(o.per), inputs[0], given[0])),
    User: _Rule(_user, _of_user),
}
