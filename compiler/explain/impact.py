"""Predicts the effect of each accent that a source may send: may I drop this column tomorrow? (design,
section 8)

The prediction is per source attribute, primitive and output. It uses what the operators' facts make of an accent
(`operators.shared.reactions`), so it matches a run. `*` represents an attribute that does not exist yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from attrs import evolve, frozen

from cedilla.compiler.explain.analysis.reactions import OTHER, reaction
from cedilla.compiler.explain.analysis.safety import Safety, safety
from cedilla.compiler.expressions.types import TIMESTAMP, patterns
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.schemes import is_finite
from cedilla.compiler.operators import Operator, Reaction
from cedilla.compiler.operators.shared.base import KINDS, Kind
from cedilla.compiler.operators.shared.reactions import SCALED, SHIFTED
from cedilla.compiler.plan import Emit, Plan, Source
from cedilla.compiler.regions.affine import Affine

Verdict = Literal[
    "propagates", "coordinates", "accumulates", "absorbed", "ignored", "aborts", "refused", "cannot come"
]
_CODES: dict[Kind, str] = {"add": "RQ210", "drop": "RQ209", "alter": "RQ211"}


@frozen
class Step:
    """An operator that an accent reaches, with the input that brings it, its attribute and the reaction.

    `waits`: the event on other inputs or in other cells that the accent waits for. `held`: how long state
    delays a Drop (G13).
    """

    operator: Operator
    input: str
    attribute: str
    mentions: frozenset[str]
    reaction: Reaction
    waits: str | None = None
    held: str | None = None

    @property
    def verdict(self) -> Verdict:
        """The effect here. An accent that coordinates or accumulates without waiting propagates."""
        kind = self.reaction.kind
        return "propagates" if kind in ("coordinates", "accumulates") and self.waits is None else kind

    @property
    def place(self) -> str:
        line = f" (line {self.operator.line})" if self.operator.line else ""
        return f"{self.operator.title} {self.operator.name}{line}, {self.reaction.rule}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Returns remarks on an accent that the operator passes on."""
        remarks = [f"waits {self.waits}"] if self.waits is not None else []
        remarks += [f"held {self.held}"] if self.held is not None else []
        if self.mentions != self.reaction.mentions and self.waits is None:
            names = listed(self.reaction.mentions)
            remarks.append(f"{f'described by {names}' if names else 'without description'} from here on")
        return tuple(remarks)


@frozen
class Note:
    """A remark on an accent at an operator, by a rule; without a remark, only the place."""

    remark: str
    operator: str
    rule: str


@frozen
class Outcome:
    """The effect of an accent at one output, its attributes there, and the steps that lead to it."""

    emit: str
    verdict: Verdict
    attributes: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def notes(self) -> tuple[Note, ...]:
        """The remarks of its steps; of an accent that ends here only where it does."""
        ends = [Note("", step.place, "") for step in self.steps if step.verdict in ("absorbed", "ignored")]
        if self.verdict in ("absorbed", "ignored"):
            return tuple(Note("", s.place, "") for s in self.steps if s.verdict == self.verdict)
        goes_on = (step for step in self.steps if step.verdict not in ("absorbed", "ignored"))
        remarks = (
            Note(remark, f"{step.operator.title} {step.operator.name}", step.reaction.rule)
            for step in goes_on
            for remark in step.remarks
        )
        return (*ends, *remarks)


@frozen
class AccentImpact:
    """An accent on an attribute of a source, described by others, and its outcome at every output.

    `code`: the error that ends the query. `why`: a remark on the accent as a whole.
    """

    source: str
    kind: Kind
    attribute: str
    mentions: tuple[str, ...]
    outcomes: tuple[Outcome, ...] = ()
    code: str | None = None
    why: str | None = None
    offset: bool = False
    """True for an Alter whose function has an offset."""

    @property
    def same(self) -> object:
        """A value that is equal for impacts which need no separate rows."""
        outcomes = [(o.emit, o.verdict, o.attributes, o.notes) for o in self.outcomes]
        return outcomes, self.code, self.why


@frozen
class Arrival:
    """An accent at a relation: the attribute that carries it, and the steps of all paths that led there."""

    attribute: str
    mentions: frozenset[str]
    function: Affine
    steps: tuple[Step, ...] = ()


def walk(
    plan: Plan,
    source: str,
    kind: Kind,
    attribute: str,
    mentions: frozenset[str] = frozenset(),
    state_safety: Safety | None = None,
    function: Affine = SCALED,
) -> tuple[list[Step], dict[str, list[Arrival]]]:
    """Returns the steps of an accent in topological order, and relation -> its arrivals.

    It is the first accent of the stream. `state_safety`: the plan's safety, if the caller has it; `function`: of an
    Alter.
    """
    state_safety = state_safety or safety(plan)
    arriving: dict[str, dict[tuple[str, frozenset[str], Affine], Arrival]] = {
        source: {(attribute, mentions, function): Arrival(attribute, mentions, function)}
    }
    steps: list[Step] = []
    for operator in plan.operators:
        for side, name in enumerate(operator.inputs):
            for arrival in arriving.get(name, {}).values():
                carried, described = arrival.attribute, arrival.mentions
                outcome = reaction(plan, operator, kind, carried, side, described, arrival.function)
                if outcome is None:
                    continue
                waits = (
                    None
                    if kind == "add"
                    else _waits(plan, operator, kind, carried, described, side, state_safety)
                )
                held = _delay(plan, operator, outcome, state_safety) if kind == "drop" else None
                step = Step(operator, name, carried, described, outcome, waits, held)
                steps.append(step)
                if outcome.kind != "aborts":
                    onward = arriving.setdefault(operator.name, {})
                    for out in outcome.passes:
                        # Paths that meet are one arrival, because there may be exponentially many.
                        key = out, outcome.mentions, outcome.functions.get(out, function)
                        before = onward.get(key, Arrival(*key))
                        ways = {id(passed): passed for passed in (*before.steps, *arrival.steps, step)}
                        onward[key] = evolve(before, steps=tuple(ways.values()))
    return steps, {name: list(arrivals.values()) for name, arrivals in arriving.items()}


def has_readers(plan: Plan, relation: str, attribute: str) -> bool:
    """Returns True if an Alter of a relation's attribute reaches an output that announces Alters."""
    arrivals = walk(plan, relation, "alter", attribute)[1]
    return any(
        not emit.keeps_units(arrival.attribute)
        for emit in plan.emits
        for arrival in arrivals.get(emit.relation, ())
    )


def _waits(
    plan: Plan,
    operator: Operator,
    kind: Kind,
    attribute: str,
    mentions: frozenset[str],
    side: int,
    state_safety: Safety,
) -> str | None:
    """Says what a Drop or an Alter waits for at an operator; an Add never waits (D1)."""

    def by(described: frozenset[str]) -> str:
        return plan.reaction(operator.name, kind, attribute, described, side).kind

    folded = [name for name in sorted(mentions) if by(frozenset({name})) == "accumulates"]
    waits = [_covered(plan, operator, name, side, state_safety) for name in folded]
    other = operator.inputs[1 - side] if len(operator.inputs) == 2 else None
    if by(mentions.difference(folded)) == "coordinates":
        if other is None:
            waits.append("until all that it can be computed from is gone")
        elif attribute in plan.start[other].types:
            waits.append(
                f"until `{other}` {'lacks' if kind == 'drop' else 'alters'} it alike, or is closed there"
            )
    return ", and ".join(waits) or None


def _delay(plan: Plan, operator: Operator, outcome: Reaction, state_safety: Safety) -> str | None:
    """Says how long state delays a Drop (G13). Operators that only count keep no values."""
    memories = (bound.memory for bound in state_safety.of(operator.name))
    keeps = any(not memory.accents and not memory.counts for memory in memories)
    if not keeps or not outcome.passes or outcome.kind == "aborts":
        return None
    if plan.settings["drop"] == "eager":
        return None
    for_ever = ", maybe for ever" if state_safety.verdict(operator.name) == "unbounded" else ""
    return f"until no state has it{for_ever}"


def _covered(plan: Plan, operator: Operator, name: str, side: int, state_safety: Safety) -> str:
    facts = plan.inputs_of(operator)[side]
    if is_finite(name, facts):
        return f"until accents or punctuation cover {domain_text(name, facts)}"
    if all(b.verdict == "bounded" for b in state_safety.of(operator.name) if b.memory.accents):
        return "until punctuation has closed all other values"
    return "for ever, without a domain and without promised punctuation"


def domain_text(name: str, facts: Facts) -> str:
    """Writes the finitely many values that an attribute may have: `s in {1, 2, 3}`."""
    if listed := facts.universe[name].listed:
        return f"{name} in {listed}"
    domain = patterns.texts({name: facts.universe[name].members}, facts.types, outer=False)
    return " or ".join(text for (text,) in domain)


# --- the impacts of a plan's accents -----------------------------------------------------------------------


def impacts(plan: Plan, only: str | None = None) -> Iterator[AccentImpact]:
    """Yields the impact of every accent, source by source: plain ones, then those whose description matters.

    `only`: the source whose accents are asked for.
    """
    state_safety = safety(plan)
    for source in plan.sources if only is None else (plan.source_of[only],):
        for attribute in _attributes(plan, source):
            for kind in KINDS:
                plain = _impact(plan, source, kind, attribute, (), state_safety)
                yield plain
                if kind == "alter" and plain.outcomes:
                    shifted = _impact(plan, source, kind, attribute, (), state_safety, SHIFTED)
                    if shifted.same != plain.same:
                        yield evolve(shifted, offset=True)
                if plain.outcomes:
                    yield from _described(plan, source, plain, state_safety)
        yield from _clashes(plan, source, state_safety)


def _attributes(plan: Plan, source: Source) -> list[str]:
    """Returns the declared attributes, those that a projection waits for (P4), and `OTHER`."""
    names = [attribute.name for attribute in source.attributes]
    for operator in plan.operators:
        if source in plan.ancestors(operator.name):
            for side, facts in enumerate(plan.inputs_of(operator)):
                names += [n for n in operator.reads(side) if n not in (*names, *facts.types)]
    return [*dict.fromkeys(names), OTHER]


def _described(
    plan: Plan, source: Source, plain: AccentImpact, state_safety: Safety
) -> Iterator[AccentImpact]:
    """Yields the accent described by one attribute, if its effect differs; equal ones together."""
    groups: dict[str, tuple[AccentImpact, list[str]]] = {}
    for mentioned in source.attributes:
        if mentioned.name == plain.attribute:
            continue
        impact = _impact(plan, source, plain.kind, plain.attribute, (mentioned.name,), state_safety)
        if impact.same != plain.same:
            groups.setdefault(repr(impact.same), (impact, []))[1].append(mentioned.name)
    for impact, mentions in groups.values():
        yield evolve(impact, mentions=tuple(mentions))


def _clashes(plan: Plan, source: Source, state_safety: Safety) -> Iterator[AccentImpact]:
    """Yields new attributes that abort because another relation has their name (J2)."""
    own = plan.start[source.name].types
    usual = _impact(plan, source, "add", OTHER, (), state_safety)
    for name in dict.fromkeys(n for facts in plan.start.values() for n in facts.types if n not in own):
        impact = _impact(plan, source, "add", name, (), state_safety)
        if impact.code is not None and usual.code is None:
            yield impact


def _impact(
    plan: Plan,
    source: Source,
    kind: Kind,
    attribute: str,
    mentions: tuple[str, ...],
    state_safety: Safety,
    function: Affine = SCALED,
) -> AccentImpact:
    impact = AccentImpact(source.name, kind, attribute, mentions)
    declared = {a.name: a for a in source.attributes}.get(attribute)
    if kind == "alter" and declared is not None and declared.type == TIMESTAMP:
        return evolve(impact, why="only a shift, `y -> y + 1 hour`, which the source undoes")
    if kind == "alter" and declared is not None and not declared.type.is_altered_at_sources:
        return evolve(impact, code="RQ208", why=f"refused: {declared.type} is not a number")
    if kind == "add" and declared is not None and attribute not in plan.droppable[source.name]:
        return evolve(impact, why="cannot come: it is always there")
    # Tuples with different units have different functions, so an Alter of them becomes one for each unit
    # (N5).
    named = {declared.unit_from[0]} if kind == "alter" and declared and declared.unit_from else set[str]()
    steps, arrived = walk(
        plan, source.name, kind, attribute, frozenset({*mentions, *named}), state_safety, function
    )
    ended = next((step for step in steps if step.reaction.kind == "aborts"), None)
    if ended is not None:
        side = ended.operator.inputs.index(ended.input)
        strict = plan.reaction(ended.operator.name, kind, ended.attribute, ended.mentions, side)
        code = "RQ211" if strict.kind == "accumulates" else _CODES[kind]
        return evolve(impact, code=code, why=f"aborts: {ended.place}")
    if kind == "drop" and declared is not None and declared.domain is not None and not declared.optional:
        why = f"aborts: its declared domain {declared.domain} says that it is always there"
        return evolve(impact, code="RQ209", why=why)
    if kind == "drop" and attribute in source.tied:
        return evolve(impact, code="RQ209", why="aborts: each tuple names a unit (N5)")
    if kind == "add" and declared is not None and declared.unit_from is not None:
        return evolve(impact, code="RQ365", why="aborts: each tuple names its unit (N5)")
    emits = [emit for emit in plan.emits if source in plan.ancestors(emit.relation)]
    outcomes = tuple(_outcome(plan, emit, kind, steps, arrived) for emit in emits)
    why = "after a drop" if kind == "add" and declared is not None and not declared.optional else None
    why = f"one for each unit that {', '.join(named)} names (N5)" if named else why
    return evolve(impact, outcomes=outcomes, why=why)


def _outcome(
    plan: Plan, emit: Emit, kind: Kind, steps: Iterable[Step], arrived: Mapping[str, list[Arrival]]
) -> Outcome:
    above = {node.name for node in plan.ancestors(emit.relation)}
    passed = tuple(step for step in steps if step.operator.name in above)
    arrivals = arrived.get(emit.relation, [])
    names = tuple(dict.fromkeys(arrival.attribute for arrival in arrivals))
    if arrivals:
        passed = tuple(step for step in passed if any(step in arrival.steps for arrival in arrivals))
    if names and kind == "alter" and all(map(emit.keeps_units, names)):
        return Outcome(emit.name, "absorbed", (), passed)
    kinds = {step.verdict for step in passed}
    if not names:
        return Outcome(emit.name, "absorbed" if "absorbed" in kinds else "ignored", (), passed)
    verdict: Verdict = "coordinates" if "coordinates" in kinds else "propagates"
    return Outcome(emit.name, "accumulates" if "accumulates" in kinds else verdict, names, passed)


def listed(names: Iterable[str]) -> str:
    """Joins sorted names with commas."""
    return ", ".join(sorted(names))
