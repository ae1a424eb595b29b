"""`cedilla trace`: applies a marker to the control plane alone, without tuples, and shows its effects (design, 7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, AtSource, Drop, ToUnit
from cedilla.compiler.explain.analysis.safety import Safety, safety
from cedilla.compiler.explain.impact import Step, walk
from cedilla.compiler.facts.facts import ABSENT, NO_FEEDER, ORIGINAL, Facts, StateFacts
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.facts.schemes import Memory
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.shared.base import Kind
from cedilla.compiler.operators.shared.reactions import SCALED
from cedilla.compiler.plan import Plan, derive
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span
from cedilla.grammar.parser import single_accents
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.connectors.records.marker_files import Markers
from cedilla.runtime.control.descriptions.region_texts import joined_texts, region_texts
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.markers.bad_markers import SetAside
from cedilla.runtime.control.markers.source_marker_parser import read_accent, read_epoch_change
from cedilla.runtime.control.markers.stated_accents import starting_states
from cedilla.runtime.control.markers.undeclared import passed_over
from cedilla.runtime.control.sinks.announce import KeepsUnits, SinkState, announce
from cedilla.runtime.control.sinks.held_back import held_back
from cedilla.runtime.control.sources.required_attributes import required_attributes
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.unit_names import UnitNames, relation_units

if TYPE_CHECKING:
    from cedilla.runtime.epochs.checkpoint.commits import Commit


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
    numbered = [
        (number, source, single)
        for number, (source, text) in enumerate(all_markers, 1)
        for single in _singles(text, number)
    ]
    tracer = _Tracer.start(plan, {source for source, _ in all_markers}, commit)
    for number, source, text in numbered:
        yield tracer.traced(source, text, number)


@define
class _Tracer:
    """The control plane of a plan, without tuples. `kept`: the facts of stored tuples by operator. `facts`: those of
    each relation after the last marker. `announced`: what each relation, and each output, has announced so far."""

    plan: Plan
    safety: Safety
    kept: Mapping[str, StateFacts]
    states: dict[str, SourceState]
    facts: dict[str, Facts]
    announced: dict[str, SinkState]
    announced_by_output: dict[str, SinkState]

    @classmethod
    def start(cls, plan: Plan, marked: Set[str], commit: Commit | None) -> _Tracer:
        """Returns the control plane at the start of streams, or after a commit. `marked`: the sources with markers."""
        states = starting_states(plan) if commit is None else dict(commit.sources)
        kept = {} if commit is None else commit.state_facts
        for source in plan.sources if commit is None else ():
            if source.table and source.name not in marked:
                states[source.name] = states[source.name].close(True).next_epoch()
        facts = _derived(plan, states, kept)
        announced = {name: announce(SinkState.start(of), of, of)[0] for name, of in facts.items()}
        by_output = {emit.name: announced[emit.relation] for emit in plan.emits}
        if commit is not None:
            by_output |= commit.sinks
        return cls(plan, safety(plan), kept, states, facts, announced, by_output)

    def traced(self, source: str, text: str, number: int) -> MarkerTrace:
        """Applies a marker of one accent or punctuation, and returns its effects."""
        plan, before, begun = self.plan, self.facts, self.states[source]
        self.states, warnings, aside = _advanced(plan, self.states, self.kept, source, text, number)
        if aside is not None:
            none = (f"set aside ({aside.code}): it changes nothing",)
            effect = RelationEffect(source, "", plan.source_of[source].line, Markers(), none)
            return MarkerTrace(source, text, (effect,), (), warnings)
        during = {name: s.facts_during(before[name].closed) for name, s in self.states.items()}
        most = derive(plan, during, self.kept)
        self.facts = _derived(plan, self.states, self.kept)
        accent = _accent(plan, self.states[source], source, text)
        steps = {} if accent is None else _steps(plan, source, accent, self.safety)
        stream = plan.source_of[source]
        say = partial(self._say, most=most, units=relation_units(plan, self.states))
        does = _does_at_source(begun, self.states[source], accent)
        relations = [RelationEffect(source, "", stream.line, say(self.announced, source, source), does)]
        for operator in plan.operators:
            if stream in plan.ancestors(name := operator.name):
                says = say(self.announced, name, name)
                effect = RelationEffect(name, operator.title, operator.line, says)
                taken = steps.get(name, [])
                effect = _with_reaction(effect, operator, taken, self.safety, before, self.facts)
                relations.append(self._unsaid(effect, relations, taken))
        outputs: list[RelationEffect] = []
        for emit in plan.emits:
            if stream in plan.ancestors(emit.relation):
                to = self.announced_by_output
                says = say(to, emit.name, emit.relation, keeps_units=emit.keeps_units)
                outputs.append(RelationEffect(emit.name, "emit", emit.line, says))
        return MarkerTrace(source, text, tuple(relations), tuple(outputs), warnings)

    def _unsaid(
        self, effect: RelationEffect, earlier: list[RelationEffect], steps: list[tuple[Kind, Step]]
    ) -> RelationEffect:
        """Gives a relation that announces nothing the reason, in place of a reaction that is not about this marker.
        `earlier`: the effects at the relations before it."""
        steps = [(kind, step) for kind, step in steps if step.verdict in _PASSING]
        if effect.says != Markers() or effect.waits or not steps:
            return effect
        inputs = {step.input for _, step in steps}
        if all(at.says == Markers() for at in earlier if at.relation in inputs):
            return evolve(effect, does=("nothing comes to it",))
        facts, sink = self.facts[effect.relation], self.announced[effect.relation]
        names = {out for kind, step in steps if kind == "alter" for out in step.reaction.passes}
        why = [reason for n in sorted(names & facts.units.keys()) for reason, _ in held_back(sink, facts, n)]
        return evolve(effect, does=tuple(dict.fromkeys(why)) or effect.does)

    def _say(
        self,
        states: dict[str, SinkState],
        name: str,
        relation: str,
        *,
        most: Mapping[str, Facts],
        units: Mapping[str, Mapping[str, str]],
        keeps_units: KeepsUnits | None = None,
    ) -> Markers:
        """Returns the markers that a relation, or an output of it, announces after a marker, and records them."""
        states[name], announced = announce(
            states[name],
            most[relation],
            self.facts[relation],
            required_attributes(self.plan, relation, self.states),
            keeps_units=keeps_units,
            names=UnitNames(units[relation], relation, self.plan, self.states),
        )
        return announced


_PASSING = ("propagates", "coordinates", "accumulates")


def _does_at_source(begun: SourceState, now: SourceState, accent: Accent | None) -> tuple[str, ...]:
    """Returns what a source does with a marker besides announcing it. `begun`: its state before."""
    if _is_undone(begun, now):
        return ("undone at the source (N2, N3, N11)",)
    if begun.grown != now.grown:
        return ("its domain grows",)
    if begun.notes.undeclared != now.notes.undeclared:
        return ("passed over: it is about what the query does not declare",)
    if accent is not None and _is_dead(begun, accent):
        return ("concerns only tuples that are closed",)
    return ()


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
    plan: Plan,
    states: Mapping[str, SourceState],
    kept: Mapping[str, StateFacts],
    source: str,
    text: str,
    number: int,
) -> tuple[dict[str, SourceState], tuple[Diagnostic, ...], SetAside | None]:
    """Returns the states after a marker, its warnings, and the marker if it is set aside."""
    # A marker ends an epoch: earlier ones are announced before it.
    begun = {name: state.next_epoch() for name, state in states.items()}
    kind = "accent" if _is_accent(text) else "punctuation"
    marker = MarkerLine(kind, text, 0)
    effects = advance(plan, begun, {source: [marker]}, lambda *_: marker_name(number), {source}, kept)
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
    kind: Kind = "add" if isinstance(primitive, Add) else "drop" if isinstance(primitive, Drop) else "alter"
    by_operator: dict[str, list[tuple[Kind, Step]]] = {}
    function = primitive.function if isinstance(primitive, Alter | ToUnit) else SCALED
    for step in walk(plan, source, kind, primitive.attribute, accent.mentions, safety, function)[0]:
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
