"""Markers of an epoch, one after the other, up to the first that ends it (theory G32, G33)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.markers import (
    Accent,
    Add,
    Alter,
    Drop,
    Recode,
    Rename,
    accent_text,
)
from cedilla.compiler.operators import Aggregate, Operator
from cedilla.compiler.operators.base import Kind
from cedilla.compiler.plan import Plan, derive, follow
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import AddAttribute
from cedilla.runtime.control.domains.growth import check_growth, is_new
from cedilla.runtime.control.markers.claims import claimed
from cedilla.runtime.control.markers.one_accent import CutBefore, expecting, with_accent
from cedilla.runtime.control.markers.reading import read_accent, read_growth, read_punctuation
from cedilla.runtime.control.markers.runs import LEAST, Member, Run, applied, run_at
from cedilla.runtime.control.markers.warnings import warnings_about
from cedilla.runtime.control.sources.measures import check_meetings
from cedilla.runtime.control.sources.partitions import accent_within, punctuation_within
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.items.near_markers import problem

if TYPE_CHECKING:
    from cedilla.runtime.items.marker import MarkerLine


@frozen
class Stop:
    """The marker at which a source's part of the epoch ends; `diagnostics` if the query ends there too."""

    source: str
    marker: MarkerLine
    diagnostics: tuple[Diagnostic, ...] = ()


@frozen
class MarkerWarning:
    """A warning about a marker that counts."""

    source: str
    marker: MarkerLine
    diagnostic: Diagnostic


@frozen
class MarkerEffects:
    """The sources after the markers that count, where each was stopped, how many of each kind counted, and what
    is doubtful about them. `begun`: the sources as the epoch begins, with what has grown before all of its tuples."""

    states: Mapping[str, SourceState]
    begun: Mapping[str, SourceState]
    stops: Mapping[str, Stop] = field(factory=dict[str, Stop])
    accents: int = 0
    punctuations: int = 0
    warnings: tuple[MarkerWarning, ...] = ()

    @property
    def failures(self) -> list[Stop]:
        """The stops that end the query."""
        return [stop for stop in self.stops.values() if stop.diagnostics]


def advance(
    plan: Plan,
    states: Mapping[str, SourceState],
    found: Mapping[str, Sequence[MarkerLine]],
    place: Callable[[str, MarkerLine], str] = lambda source, marker: "",
    first: Set[str] = frozenset(),
) -> MarkerEffects:
    """Apply the markers of every source, in the order of the sources' declarations.

    A marker that aborts stops its source there; the others are read on, so that all that came before it is
    committed. `place`: where the marker of a source stands, for messages. `first`: the sources whose first marker
    comes before all tuples of the epoch; there alone a domain grows (theory N1).
    """
    result = _grown(plan, MarkerEffects(states, states), found, first)
    for source in plan.sources:
        markers, at = found.get(source.name, ()), 0
        while at < len(markers) and source.name not in result.stops:
            run = run_at(source, result.states[source.name], markers, at)
            if run is None:
                result, at = _with_next(plan, result, source.name, markers[at], place), at + 1
            else:
                result, at = (
                    _with_run(plan, result, source.name, run, run.members, place),
                    at + len(run.members),
                )
    return result


def _with_run(
    plan: Plan,
    result: MarkerEffects,
    source: str,
    run: Run,
    members: Sequence[Member],
    place: Callable[[str, MarkerLine], str],
) -> MarkerEffects:
    """The effects with those of some markers of a run, all at once where they are right; else the run is halved, until
    the one that is wrong stands alone."""

    def check(state: SourceState, accent: Accent) -> None:
        _check(plan, {**result.states, source: state}, source, accent)

    if len(members) < LEAST:
        for member in members:
            if source not in result.stops:
                result = _with_next(plan, result, source, member.marker, place)
        return result
    state = applied(result.states[source], run, members, partial(place, source), check)
    if state is not None:
        accents = result.accents + len(members) * (run.kind == "accent")
        punctuations = result.punctuations + len(members) * (run.kind == "punctuation")
        states = {**result.states, source: state}
        return evolve(result, states=states, accents=accents, punctuations=punctuations)
    middle = len(members) // 2
    result = _with_run(plan, result, source, run, members[:middle], place)
    if source in result.stops:
        return result
    return _with_run(plan, result, source, run, members[middle:], place)


def _with_next(
    plan: Plan,
    result: MarkerEffects,
    source: str,
    marker: MarkerLine,
    place: Callable[[str, MarkerLine], str],
) -> MarkerEffects:
    """The effects with those of one more marker, or the stop that it is."""
    try:
        at = place(source, marker) if marker.kind == "accent" else ""
        state, kind, warnings = _apply(plan, result.states, source, marker, at)
    except CutBefore as cut:
        if cut.state is not None:
            result = evolve(result, states={**result.states, source: cut.state})
        return evolve(result, stops={**result.stops, source: Stop(source, marker)})
    except DiagnosticError as error:
        return evolve(result, stops={**result.stops, source: Stop(source, marker, error.diagnostics)})
    return evolve(
        result,
        states={**result.states, source: state},
        accents=result.accents + (kind == "accent"),
        punctuations=result.punctuations + (kind == "punctuation"),
        warnings=(
            *result.warnings,
            *(MarkerWarning(source, marker, warning) for warning in warnings),
        ),
    )


def _apply(
    plan: Plan, states: Mapping[str, SourceState], source: str, marker: MarkerLine, place: str
) -> tuple[SourceState, Literal["accent", "punctuation"], tuple[Diagnostic, ...]]:
    state = states[source]
    if marker.kind in ("spoilt", "near"):
        message, hint = marker.problem or problem(marker.text)
        raise failure(marker.code, message, hint=hint)
    if marker.kind == "punctuation":
        declared = plan.source_of[source]
        punctuation = read_punctuation(declared, state, marker.wire(state.field_types))
        state = claimed(state, declared, punctuation.pattern, marker)
        punctuation = punctuation_within(punctuation, marker.partition)
        return state.punctuate(punctuation, marker.position), "punctuation", ()
    text = marker.wire(state.field_types)
    if (growth := read_growth(state, text)) is not None:
        if is_new(state, plan.source_of[source], growth):
            raise CutBefore
        return state, "accent", ()
    accent = read_accent(plan.source_of[source], state, text)
    state = claimed(state, plan.source_of[source], accent.description, marker)
    accent = accent_within(accent, marker.partition)
    warnings = warnings_about(state, accent)
    after = with_accent(state, accent, marker.position, place)
    if marker.position > 0 and (before := expecting(state, accent)) is not None:
        raise CutBefore(before)
    live = regions.difference(state.canonical(accent.description), state.closed)
    if not regions.is_empty(live, state.universe):  # else no tuple is concerned, and none aborts (P-dead)
        _check(plan, {**states, source: after}, source, accent)
        change = accent.primitive
        if isinstance(change, Add) and change.converts:
            alter = Alter(change.attribute, change.function)
            _check(plan, {**states, source: after}, source, evolve(accent, primitive=alter))
    return after, "accent", warnings


def _grown(
    plan: Plan, result: MarkerEffects, found: Mapping[str, Sequence[MarkerLine]], first: Set[str]
) -> MarkerEffects:
    """The sources with what grows at the epoch's beginning. The marker itself adds nothing after that, and counts."""
    for source in plan.sources:
        marker = next(iter(found.get(source.name, ())), None)
        if source.name not in first or marker is None or marker.kind != "accent":
            continue
        state = result.begun[source.name]
        try:
            growth = read_growth(state, marker.wire(state.field_types))
            if growth is None or not is_new(state, source, growth):
                continue
            states = {**result.begun, source.name: state.grown_by(growth)}
            what = f"the domain of `{growth.attribute}` cannot grow"
            check_growth(plan, result.begun, states, what, growth.span)
        except DiagnosticError as error:
            stop = Stop(source.name, marker, error.diagnostics)
            result = evolve(result, stops={**result.stops, source.name: stop})
            continue
        result = evolve(result, states=states, begun=states)
    return result


INFERRED = {
    "bigint": Type("long"),
    "double": Type("double"),
    "string": Type("string"),
    "boolean": Type("boolean"),
    "timestamp": Type("timestamp"),
    "timestamp_ntz": Type("timestamp"),
    "date": Type("date"),
}
"""What Spark finds or infers of a field -> the attribute type that `set drift = infer` gives it."""


def is_name(name: str) -> bool:
    """Whether accents can write the name of an attribute: that which adds it, and descriptions of tuples by it.

    Words of the language are names wherever they have no meaning; `and` has one in descriptions.
    """
    try:
        accent = parse_accent(f"[[{name} = 0, +({name}: string)]]")
    except DiagnosticError:
        return False
    added = accent.primitive
    return isinstance(added, AddAttribute) and added.name == name


def inferred(values: Iterable[Any]) -> Type | None:
    """The type of JSON values as Spark infers it; `None` where no attribute has one like it."""
    kinds = {_kind(value) for value in values if value is not None} or {"string"}
    if kinds <= {"bigint", "decimal", "double"}:
        kinds = {max(kinds, key=("bigint", "decimal", "double").index)}
    return INFERRED.get(kinds.pop() if len(kinds) == 1 else "string")


def _kind(value: Any) -> str:
    if type(value) is int and not -(2**63) <= value < 2**63:
        return "decimal" if abs(value) < 10**38 else "double"
    return _KINDS[type(value)]


_KINDS = {
    bool: "boolean",
    int: "bigint",
    float: "double",
    Decimal: "double",
    str: "string",
    list: "array",
    dict: "struct",
}


def add_inferred(
    plan: Plan, states: dict[str, SourceState], source: str, attribute: str, type_: Type
) -> None:
    """Add an attribute that a source has begun to send unannounced, before all lines of its slice."""
    primitive = Add(attribute, type_)
    accent = Accent(True, frozenset(), primitive, accent_text((), primitive))
    states[source] = with_accent(states[source], accent, -1)
    _check(plan, states, source, accent)


def _check(plan: Plan, states: Mapping[str, SourceState], source: str, accent: Accent) -> None:
    """Raise where an operator cannot go on (Foundation, J2), or will not (`set accents = strict`)."""
    primitive = accent.primitive
    if isinstance(primitive, Rename | Recode):
        return  # undone at the source (N2, N3)
    kind: Kind = "add" if isinstance(primitive, Add) else "drop" if isinstance(primitive, Drop) else "alter"
    name = primitive.attribute
    declared = {a.name: a for a in plan.source_of[source].attributes}.get(name)
    mentions = accent.mentions
    if isinstance(primitive, Alter) and declared is not None and declared.unit_from is not None:
        # As long as tuples are in the units that they name, it is an Alter for each unit (N5).
        mentions |= {declared.unit_from[0]} & regions.attributes(states[source].units[name])
    for operator, reaction in follow(plan, source, kind, name, plan.start, mentions):
        if reaction.kind == "aborts" and kind == "drop":
            raise failure(
                "RQ209",
                f"`{name}` cannot be dropped: {operator.title} `{operator.name}` requires it ({reaction.rule})",
                hint=f"line {operator.line} of the query uses the attribute",
            )
        if reaction.kind == "accumulates" and plan.settings["accents"] == "strict":
            raise failure(
                "RQ211",
                f"{operator.title} `{operator.name}` would have to wait for other accents ({reaction.rule})",
                hint="`set accents = accumulate;` lets it wait (paper, section 6.2)",
            )
    if kind == "drop" and declared is not None and declared.domain is not None and not declared.optional:
        raise failure(
            "RQ209",
            f"`{name}` cannot be dropped: its declared domain says that it is always there",
            hint=f"`{name}?: {declared.type} in {declared.domain}` declares that it may be missing (⊥ lemma, G5)",
        )
    if kind == "drop" and name in plan.source_of[source].tied:
        raise failure(
            "RQ209",
            f"`{name}` cannot be dropped: each tuple names a unit (N5)",
            hint="a declaration with one `unit` lets accents tell which one is in force",
        )
    if isinstance(primitive, Add) and plan.settings["accents"] == "strict":
        _check_functions(plan, source, primitive)
    if kind == "add" and _may_meet(plan, states, source, name):
        _check_joins(plan, states, name)
        check_meetings(plan, states, accent)


def _check_functions(plan: Plan, source: str, added: Add) -> None:
    for operator, reaction in follow(plan, source, "add", added.attribute, plan.start):
        if isinstance(operator, Aggregate) and reaction.passes and not operator.takes(added.type):
            raise failure(
                "RQ211",
                f"{operator.function} of Aggregate `{operator.name}` cannot take `{added.attribute}`: "
                f"it is {added.type} (G37)",
                hint=f"`except {added.attribute}`, or `set accents = accumulate;` leaves it out",
            )


def _may_meet(plan: Plan, states: Mapping[str, SourceState], source: str, name: str) -> bool:
    """Whether an added attribute could meet one of its name in some operator of two inputs, or a computed one."""
    elsewhere = any(name in state.types for other, state in states.items() if other != source)
    computed = any(name in plan.start[operator.name].types for operator in plan.operators)
    twice = any(
        len(operator.inputs) == 2
        and all(source in {node.name for node in plan.ancestors(i)} for i in operator.inputs)
        for operator in plan.operators
    )
    return elsewhere or computed or twice


def _check_joins(plan: Plan, states: Mapping[str, SourceState], name: str) -> None:
    if (operator := _conflict(plan, {n: s.facts() for n, s in states.items()}, name)) is not None:
        raise failure(
            "RQ210",
            f"`{name}` would clash with another `{name}` in {operator.title} `{operator.name}` (J2)",
            hint=f"a projection of its input can rename or leave out `{name}`",
        )
    most = {n: s.facts_during(s.closed) for n, s in states.items()}
    if _conflict(plan, most, name) is not None:
        raise CutBefore  # the other input has dropped it in this very epoch


def _conflict(plan: Plan, sources: Mapping[str, Facts], name: str) -> Operator | None:
    facts = derive(plan, sources)
    for operator in plan.operators:
        if operator.conflict(tuple(facts[i] for i in operator.inputs)) == name:
            return operator
    return None
