"""`cedilla trace`: applies a marker to the control plane alone, without tuples, and shows its effects
(design, section 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import asdict, evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.analysis.safety import Safety, safety
from cedilla.compiler.explain.impact import Step, walk
from cedilla.compiler.explain.wrapping import columns
from cedilla.compiler.facts.facts import ABSENT, NO_FEEDER, ORIGINAL, Facts, StateFacts
from cedilla.compiler.facts.markers import Accent, Add, Alter, AtSource, Drop, ToUnit
from cedilla.compiler.facts.schemes import Memory
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.shared.base import Kind
from cedilla.compiler.operators.shared.reactions import SCALED
from cedilla.compiler.plan import Plan, derive
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span, render, to_json
from cedilla.grammar.parser import single_accents
from cedilla.runtime.control.descriptions.region_texts import MAX_SHOWN, joined_texts, region_texts
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.markers.bad_markers import SetAside
from cedilla.runtime.control.markers.source_marker_parser import read_accent, read_epoch_change
from cedilla.runtime.control.markers.stated_accents import starting_states
from cedilla.runtime.control.markers.undeclared import passed_over
from cedilla.runtime.control.sinks.announce import Markers, SinkState, announce
from cedilla.runtime.control.sources.required_attributes import required_attributes
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.unit_names import UnitNames, relation_units
from cedilla.runtime.records.marker import MarkerLine

if TYPE_CHECKING:
    from cedilla.runtime.checkpoint.commits import Commit


@frozen
class RelationEffect:
    """The effect of a marker at a relation: its accents and punctuations, and those that wait.

    `does`: the operator's reaction to an accent with its rule. `waits`: the reasons why an accent waits.
    `releases`: the state that a punctuation releases.
    """

    relation: str
    title: str
    line: int
    says: Markers
    does: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()


@frozen
class MarkerTrace:
    """A marker of a source, and every relation that it can reach, from the source to the outputs.

    `warnings`: the warnings about it.
    """

    source: str
    text: str
    relations: tuple[RelationEffect, ...]
    outputs: tuple[RelationEffect, ...]
    warnings: tuple[Diagnostic, ...] = ()


def trace(
    plan: Plan, markers: Iterable[tuple[str, str]], commit: Commit | None = None
) -> Iterator[MarkerTrace]:
    """Applies markers, each with its source, one after the other: to streams without accents so far, or from a
    commit on.

    Tables are closed from the start, unless they get a marker. Raises `DiagnosticError` (RQ0xx, RQ2xx) at an
    invalid marker, or one that ends the query. Its span is in a text named by `marker_name`.
    """
    all_markers = list(markers)
    named = {source for source, _ in all_markers}
    states = starting_states(plan) if commit is None else dict(commit.sources)
    kept = {} if commit is None else commit.state_facts
    for source in plan.sources if commit is None else ():
        if source.table and source.name not in named:
            states[source.name] = states[source.name].close(True).next_epoch()
    before = _derived(plan, states, kept)
    state_safety = safety(plan)
    sink_states = {name: announce(SinkState.start(facts), facts, facts)[0] for name, facts in before.items()}
    sinks = {emit.name: sink_states[emit.relation] for emit in plan.emits}
    sinks |= {} if commit is None else commit.sinks
    numbered = [
        (number, source, single)
        for number, (source, text) in enumerate(all_markers, 1)
        for single in _singles(text, number)
    ]
    for number, source, text in numbered:
        begun = states[source]
        states, warnings, aside = _advanced(plan, states, source, text, number)
        if aside is not None:
            does = f"set aside ({aside.code}): it changes nothing"
            effect = RelationEffect(source, "", plan.source_of[source].line, Markers(), (does,))
            yield MarkerTrace(source, text, (effect,), (), warnings)
            continue
        during = {name: s.facts_during(before[name].closed) for name, s in states.items()}
        most, after = derive(plan, during, kept), _derived(plan, states, kept)
        accent = _accent(plan, states[source], source, text)
        dead = accent is not None and _is_dead(begun, accent)
        steps = {} if accent is None else _steps(plan, source, accent, state_safety)
        units = relation_units(plan, states)
        relations: list[RelationEffect] = []
        for node in (plan.source_of[source], *plan.operators):
            name = node.name
            if plan.source_of[source] not in plan.ancestors(name):
                continue
            names = UnitNames(units[name], name, plan, states)
            sink_states[name], announced = announce(
                sink_states[name],
                most[name],
                after[name],
                required_attributes(plan, name, states),
                names=names,
            )
            effect = RelationEffect(
                name, node.title if isinstance(node, Operator) else "", node.line, announced
            )
            if dead and name == source:
                effect = evolve(effect, does=("concerns only tuples that are closed",))
            if begun.undeclared != states[source].undeclared and name == source:
                effect = evolve(effect, does=("passed over: it is about what the query does not declare",))
            if begun.grown != states[source].grown and name == source:
                effect = evolve(effect, does=("its domain grows",))
            if name == source and _is_undone(begun, states[source]):
                effect = evolve(effect, does=("undone at the source (N2, N3, N11)",))
            if isinstance(node, Operator):
                effect = _with_reaction(effect, node, steps.get(name, []), state_safety, before, after)
            relations.append(effect)
        outputs: list[RelationEffect] = []
        for emit in plan.emits:
            if plan.source_of[source] in plan.ancestors(emit.relation):
                sinks[emit.name], announced = announce(
                    sinks[emit.name],
                    most[emit.relation],
                    after[emit.relation],
                    required_attributes(plan, emit.relation, states),
                    original_units=emit.original_units,
                    names=UnitNames(units[emit.relation], emit.relation, plan, states),
                )
                outputs.append(RelationEffect(emit.name, "emit", emit.line, announced))
        yield MarkerTrace(source, text, tuple(relations), tuple(outputs), warnings)
        before = after


def _is_undone(before: SourceState, after: SourceState) -> bool:
    """Returns True if a marker changed what only the source uses: names, codes, bent functions, sentinels, swaps or
    forms of texts."""
    kinds = (
        (state.names.here, state.codes, state.bent, state.sentinels.here, state.swaps.here, state.forms)
        for state in (before, after)
    )
    return next(kinds) != next(kinds)


def marker_name(number: int) -> str:
    """Returns the name of a marker's text in diagnostics; numbers start at 1."""
    return f"<marker {number}>"


def _derived(
    plan: Plan, states: Mapping[str, SourceState], state_facts: Mapping[str, StateFacts]
) -> dict[str, Facts]:
    return derive(plan, {name: state.facts() for name, state in states.items()}, state_facts)


def _advanced(
    plan: Plan, states: Mapping[str, SourceState], source: str, text: str, number: int
) -> tuple[dict[str, SourceState], tuple[Diagnostic, ...], SetAside | None]:
    """Returns the states after a marker, its warnings, and the marker if it is set aside."""
    # A marker ends an epoch: earlier ones are announced before it.
    begun = {name: state.next_epoch() for name, state in states.items()}
    kind = "accent" if _is_accent(text) else "punctuation"
    marker = MarkerLine(kind, text, 0)
    effects = advance(plan, begun, {source: [marker]}, lambda *_: marker_name(number), {source})
    for stop in effects.failures:
        raise DiagnosticError([_placed(d, text, number) for d in stop.diagnostics])
    aside = next(iter(effects.set_aside), None)
    doubtful = [warning.diagnostic for warning in effects.warnings]
    doubtful += [aside.warning] if aside is not None and aside.warning is not None else []
    return dict(effects.states), tuple(_placed(warned, text, number) for warned in doubtful), aside


def _singles(text: str, number: int) -> tuple[str, ...]:
    """Returns the accents of one attribute each that a marker stands for."""
    return single_accents(text, marker_name(number)) if _is_accent(text) else (text,)


def _is_accent(text: str) -> bool:
    return text.lstrip().startswith("[[")


def _placed(diagnostic: Diagnostic, text: str, number: int) -> Diagnostic:
    """Gives a diagnostic its position in the marker, or the whole marker."""
    whole = Span(marker_name(number), 0, len(text), 1, 1, 1, len(text) + 1)
    span = whole if diagnostic.span is None else evolve(diagnostic.span, source=marker_name(number))
    return evolve(diagnostic, span=span)


# --- accents ---------------------------------------------------------------------------------------------


def _accent(plan: Plan, state: SourceState, source: str, text: str) -> Accent | None:
    """Parses an accent; `None` for a punctuation, a growth, another form, and a skipped accent."""
    if not _is_accent(text):
        return None
    try:
        is_of_epoch = read_epoch_change(state, text) is not None
        return None if is_of_epoch else read_accent(plan.source_of[source], state, text)
    except DiagnosticError as error:
        if passed_over(plan.source_of[source], state, error, "accent", text) is None:
            raise
        return None


def _is_dead(begun: SourceState, accent: Accent) -> bool:
    """Returns True if an accent describes only tuples that never come (P-dead)."""
    described = begun.canonical(accent.description)
    return regions.is_empty(regions.difference(described, begun.closed), begun.universe)


def _steps(plan: Plan, source: str, accent: Accent, safety: Safety) -> dict[str, list[tuple[Kind, Step]]]:
    """Returns the steps of an accent by operator."""
    primitive = accent.primitive
    if isinstance(primitive, AtSource):
        return {}
    match primitive:
        case Add(attribute):
            kind: Kind = "add"
        case Drop(attribute):
            kind = "drop"
        case Alter(attribute) | ToUnit(attribute):
            kind = "alter"
    by_operator: dict[str, list[tuple[Kind, Step]]] = {}
    function = primitive.function if isinstance(primitive, Alter | ToUnit) else SCALED
    for step in walk(plan, source, kind, attribute, accent.mentions, safety, function)[0]:
        by_operator.setdefault(step.operator.name, []).append((kind, step))
    return by_operator


def _with_reaction(
    effect: RelationEffect,
    operator: Operator,
    steps: list[tuple[Kind, Step]],
    state_safety: Safety,
    before: Mapping[str, Facts],
    after: Mapping[str, Facts],
) -> RelationEffect:
    """Adds an operator's reaction, waiting accents and released state to its effect."""
    steps = [(kind, step) for kind, step in steps if step.verdict != "aborts"]  # it did not: P-dead
    does = [f"{step.verdict} ({step.reaction.rule})" for _, step in steps]
    waits: list[str] = []
    for kind, step in steps:
        lagging = [] if step.waits is None else list(_lagging(kind, step, before, after))
        waits += lagging
        if step.held is not None:
            waits.append(f"held {step.held}")
    releases = [
        f"{bound.memory.what} in {text}"
        for bound in state_safety.of(operator.name)
        if not bound.memory.accents
        for text in joined_texts(_released(operator, bound.memory, before, after))
    ]
    return evolve(
        effect,
        does=tuple(dict.fromkeys(does)),
        waits=tuple(dict.fromkeys(waits)),
        releases=tuple(releases),
    )


def _lagging(
    kind: Kind, step: Step, before: Mapping[str, Facts], after: Mapping[str, Facts]
) -> Iterator[str]:
    """Yields the cells that the accent waits for: live, with the attribute, and not yet changed equally (D1)."""
    operator, name, source = step.operator, step.attribute, after[step.input]
    changed = _changed(kind, name, before[step.input], source)
    others = [i for i in operator.inputs if i != step.input] if step.reaction.kind == "coordinates" else []
    for feeder in others or [step.input]:
        facts = after[feeder]
        folded = (
            frozenset(source.types) - facts.types.keys() if others else step.mentions - step.reaction.mentions
        )
        for target, region in changed:
            near = regions.exists(region, folded, source.universe)
            lagging = regions.intersection(near, facts.may_have(name))
            lagging = regions.difference(
                lagging, regions.union(facts.closed, _done(kind, name, target, facts))
            )
            if not regions.is_empty(lagging, facts.universe):
                for text in joined_texts(region_texts(facts, lagging)):
                    yield f"waits for {feeder} in {text}"


def _changed(kind: Kind, name: str, before: Facts, after: Facts) -> list[tuple[Any, Tree]]:
    """Returns the new functions of an attribute, or its absence, each with its region."""
    if kind == "drop":
        gone = regions.difference(before.may_have(name), after.may_have(name))
        return [(ABSENT, regions.difference(gone, after.closed))]
    units = regions.update(after.units.get(name, ORIGINAL), after.closed, lambda _: NO_FEEDER)
    old = before.units.get(name, ORIGINAL)
    same = regions.combine(units, old, regions.Operation(lambda a, b: None, lambda a, b: a == b))
    new = regions.map_leaves(same, lambda leaf: not leaf)
    return [
        (history[-1], regions.intersection(new, regions.map_leaves(units, lambda leaf, h=history: leaf == h)))
        for history in regions.leaves(units)
        if history
    ]


def _done(kind: Kind, name: str, target: Any, facts: Facts) -> Tree:
    """Returns the region where a feeder has the same change."""
    if kind == "drop":
        return regions.complement(facts.may_have(name))
    return regions.map_leaves(facts.units.get(name, ORIGINAL), lambda history: target in history)


# --- punctuations ----------------------------------------------------------------------------------------


def _released(
    operator: Operator, memory: Memory, before: Mapping[str, Facts], after: Mapping[str, Facts]
) -> list[str]:
    """Returns the newly closed region that releases an operator's state."""
    waits_for_output = memory.output and len(operator.inputs) == 1
    closer = operator.name if waits_for_output else operator.inputs[memory.side]
    facts = after[closer]
    over = frozenset[str]() if waits_for_output else frozenset(facts.types) - memory.within
    now, then = (regions.forall(f.closed, over, f.universe) for f in (facts, before[closer]))
    new = regions.difference(now, then)
    return [] if regions.is_empty(new, facts.universe) else region_texts(facts, new)


# --- texts -----------------------------------------------------------------------------------------------


def trace_text(traced: MarkerTrace) -> str:
    """Writes a marker with a line per relation (its output, reaction and waiting accents), then warnings."""
    texts = {warning.span.source: traced.text for warning in traced.warnings if warning.span is not None}
    warnings = ["", render(traced.warnings, texts)] if traced.warnings else []
    rows = [
        [f"{at.title} {at.relation}".strip(), _announced_text(at), _why(at)]
        for at in (*traced.relations, *traced.outputs)
    ]
    return "\n".join([f"{traced.text} on {traced.source}", *columns(rows), *warnings])


def _announced_text(at: RelationEffect) -> str:
    texts = [*at.says.adds, *at.says.punctuations, *at.says.alters, *at.says.drops]
    return "   ".join(_first(texts)) or "nothing"


def _first(texts: list[str]) -> list[str]:
    more = len(texts) - MAX_SHOWN
    return [*texts[:MAX_SHOWN], *([f"and {more} more"] if more > 0 else [])]


def _why(at: RelationEffect) -> str:
    line = [f"line {at.line}"] if at.title not in ("", "emit") and at.line else []
    return "; ".join([*at.does, *at.waits, *(f"releases {text}" for text in at.releases), *line])


def trace_json(traced: Iterable[MarkerTrace]) -> dict[str, Any]:
    """Returns the traces as plain JSON values."""
    markers = [
        {**asdict(effect), "warnings": [to_json(warning) for warning in effect.warnings]} for effect in traced
    ]
    return {"version": 1, "markers": markers}
