"""Applies the markers of an epoch in order, up to the first one that ends it (theory G32, G33)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Literal

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, Grow
from cedilla.compiler.facts.facts import StateFacts
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.grammar.parser import single_accents
from cedilla.runtime.connectors.records.csv_records import BAD_HEADER, unknown_columns
from cedilla.runtime.connectors.records.near_markers import problem
from cedilla.runtime.control.domains.growth import check_growth
from cedilla.runtime.control.markers.accent_in_plan import check_accent
from cedilla.runtime.control.markers.allowed import check_accent_allowed, check_allowed
from cedilla.runtime.control.markers.bad_markers import (
    SetAside,
    bad_marker,
    check_doubtful,
    foreign,
    is_set_aside,
)
from cedilla.runtime.control.markers.epoch_changes import begun, changes
from cedilla.runtime.control.markers.many_places import has_many_places
from cedilla.runtime.control.markers.marker_groups import (
    MIN_GROUP,
    GroupedMarker,
    MarkerGroup,
    apply_group,
    begins,
    group_at,
)
from cedilla.runtime.control.markers.one_accent import EpochMustEnd, expecting, with_accent
from cedilla.runtime.control.markers.partition_ownership import with_ownership
from cedilla.runtime.control.markers.source_marker_parser import (
    read_accent,
    read_epoch_change,
    read_punctuation,
)
from cedilla.runtime.control.markers.superseded import with_superseded
from cedilla.runtime.control.markers.undeclared import PassedOver, passed_over, with_passed_over
from cedilla.runtime.control.markers.warnings import warnings_about, with_statement
from cedilla.runtime.control.sources.partitions import within
from cedilla.runtime.control.sources.source_state import SourceState

if TYPE_CHECKING:
    from cedilla.runtime.connectors.records.marker import MarkerLine


@frozen
class Stop:
    """The marker at which a source's part of the epoch ends; `diagnostics` if it also ends the query."""

    source: str
    marker: MarkerLine
    diagnostics: tuple[Diagnostic, ...] = ()


@frozen
class MarkerWarning:
    """A warning about a marker that was applied."""

    source: str
    marker: MarkerLine
    diagnostic: Diagnostic


@frozen
class MarkerEffects:
    """Effects of the applied markers: the sources after them, the stop of each source, the number of markers by kind,
    and warnings. `begun`: the sources at the start of the epoch, after growths and other forms of texts that
    precede all of its tuples. `leading`: source -> the position up to which its epoch has nothing but accents; `None`:
    all markers lead.
    `set_aside`: markers that do not count."""

    states: Mapping[str, SourceState]
    begun: Mapping[str, SourceState]
    stops: Mapping[str, Stop] = field(factory=dict[str, Stop])
    accents: int = 0
    punctuations: int = 0
    warnings: tuple[MarkerWarning, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    leading: Mapping[str, int] | None = None

    def lines_of(self, source: str) -> frozenset[int]:
        """Returns the positions of quarantined lines of a source that look like markers but are not valid."""
        return frozenset(
            refused.marker.position
            for refused in self.set_aside
            if refused.source == source and refused.marker.kind in ("malformed", "suspicious_key")
        )

    @property
    def failures(self) -> list[Stop]:
        """Returns the stops that end the query."""
        return [stop for stop in self.stops.values() if stop.diagnostics]


def advance(
    plan: Plan,
    states: Mapping[str, SourceState],
    new_markers: Mapping[str, Sequence[MarkerLine]],
    location_of: Callable[[str, MarkerLine], str] = lambda source, marker: "",
    first: Set[str] = frozenset(),
    state_facts: Mapping[str, StateFacts] | None = None,
    leading: Mapping[str, int] | None = None,
) -> MarkerEffects:
    """Applies the markers of every source, in the order of the sources' declarations.

    A marker that aborts stops only its own source, so that everything before it is committed. `location_of`: returns
    the position of a marker of a source, for messages. `first`: the sources whose first marker precedes all tuples of
    the epoch; only there can a domain grow, or texts get another form (theory N1, N13). `state_facts`: of the
    operators' state. `leading`: those of the effects; the first marker of `first` leads by itself.
    """
    if leading is not None:
        ahead = {name: m.position + 1 for name in first for m in new_markers.get(name, ())[:1]}
        leading = {name: max(leading.get(name, 0), ahead.get(name, 0)) for name in new_markers}
    result = _begun(plan, MarkerEffects(states, states, leading=leading), new_markers, first, state_facts)
    for source in plan.sources:
        every = new_markers.get(source.name, ())
        markers, at = [m for m in every if not m.in_data] if source.markers_only else every, 0
        since = begins(markers)
        while at < len(markers) and source.name not in result.stops:
            group = group_at(source, result.states[source.name], markers, at, since)
            if group is None:
                marker = evolve(markers[at], begin=since[at])
                result, at = _with_next(plan, result, source.name, marker, location_of), at + 1
            else:
                result, at = (
                    _with_group(plan, result, source.name, group, group.members, location_of),
                    at + len(group.members),
                )
        if len(markers) < len(every):
            result = _without_foreign(result, source.name, every)
    return result


def _without_foreign(result: MarkerEffects, source: str, markers: Sequence[MarkerLine]) -> MarkerEffects:
    """Sets aside the markers among the tuples, up to the stop of the source."""
    stop = result.stops.get(source)
    aside = (
        foreign(source, m)
        for m in markers
        if m.in_data and (stop is None or m.position < stop.marker.position)
    )
    return evolve(result, set_aside=(*result.set_aside, *aside))


def _with_group(
    plan: Plan,
    result: MarkerEffects,
    source: str,
    group: MarkerGroup,
    members: Sequence[GroupedMarker],
    location_of: Callable[[str, MarkerLine], str],
) -> MarkerEffects:
    """Returns the effects after some markers of a group. Valid markers are applied together; otherwise the group is
    halved until the invalid marker is alone."""

    before = result.states[source]

    def check(state: SourceState, accent: Accent) -> None:
        check_accent_allowed(plan, before, accent)
        check_accent(plan, {**result.states, source: state}, source, accent)

    if len(members) < MIN_GROUP:
        for member in members:
            if source not in result.stops:
                marker = evolve(member.marker, begin=member.begin)
                result = _with_next(plan, result, source, marker, location_of)
        return result
    state = apply_group(before, group, members, partial(location_of, source), check)
    if state is not None:
        accents = result.accents + len(members) * (group.kind == "accent")
        punctuations = result.punctuations + len(members) * (group.kind == "punctuation")
        states = {**result.states, source: state}
        return evolve(result, states=states, accents=accents, punctuations=punctuations)
    middle = len(members) // 2
    result = _with_group(plan, result, source, group, members[:middle], location_of)
    if source in result.stops:
        return result
    return _with_group(plan, result, source, group, members[middle:], location_of)


def _with_next(
    plan: Plan,
    result: MarkerEffects,
    source: str,
    marker: MarkerLine,
    location_of: Callable[[str, MarkerLine], str],
) -> MarkerEffects:
    """Returns the effects after one more marker, which may be a stop."""
    if marker.kind == "columns":
        return _with_columns(plan, result, source, marker)
    is_leading = result.leading is None or marker.position < result.leading[source]
    if has_many_places(result.states[source]):
        return evolve(result, stops={**result.stops, source: Stop(source, marker)})
    try:
        at = location_of(source, marker) if marker.kind == "accent" else ""
        state, kind, warnings = _apply(plan, result.states, source, marker, at, is_leading=is_leading)
    except EpochMustEnd as cut:
        if cut.state is not None:
            result = evolve(result, states={**result.states, source: cut.state})
        return evolve(result, stops={**result.stops, source: Stop(source, marker)})
    except DiagnosticError as error:
        if not is_leading and plan.settings["drift"] == "infer":  # a tuple before it may bring what it names
            return evolve(result, stops={**result.stops, source: Stop(source, marker)})
        if is_set_aside(plan, error):
            aside = bad_marker(plan, result.states, source, marker, error, len(result.set_aside))
            return evolve(result, set_aside=(*result.set_aside, aside))
        return evolve(result, stops={**result.stops, source: Stop(source, marker, error.diagnostics)})
    if not is_leading and _brings_fields(result.states[source], state):
        return evolve(result, stops={**result.stops, source: Stop(source, marker)})
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


def _brings_fields(before: SourceState, after: SourceState) -> bool:
    """Returns True if an accent brings a field that earlier tuples may have had unannounced: the first Add of an
    attribute, or a rename to a new name. The epoch ends before it, so that it is read only from there on."""
    return len(after.types) > len(before.types) or len(after.names.of) > len(before.names.of)


def _with_columns(plan: Plan, result: MarkerEffects, source: str, marker: MarkerLine) -> MarkerEffects:
    """Returns the effects, with a stop if a CSV header contains no attribute that the source has at that position."""
    field_names = plan.source_of[source].columns(result.states[source].field_types)
    fault = None if plan.settings["drift"] == "infer" else unknown_columns(marker.text, field_names, source)
    if fault is None:
        return result
    message, hint = fault
    stop = Stop(source, marker, failure(BAD_HEADER, message, hint=hint).diagnostics)
    return evolve(result, stops={**result.stops, source: stop})


def _apply(
    plan: Plan,
    states: Mapping[str, SourceState],
    source: str,
    marker: MarkerLine,
    location: str,
    *,
    is_leading: bool,
) -> tuple[SourceState, Literal["accent", "punctuation"], tuple[Diagnostic, ...]]:
    if marker.kind in ("malformed", "suspicious_key"):
        message, hint = marker.problem or problem(marker.text)
        raise failure(marker.code, message, hint=hint)
    text = marker.wire(states[source].field_types)
    singles = single_accents(text) if marker.kind == "accent" else (text,)
    if len(singles) == 1:
        return _apply_single(plan, states, source, marker, location, is_leading=is_leading)
    return _apply_several(plan, states, source, marker, singles, location, is_leading=is_leading)


def _apply_several(
    plan: Plan,
    states: Mapping[str, SourceState],
    source: str,
    marker: MarkerLine,
    singles: Sequence[str],
    location: str,
    *,
    is_leading: bool,
) -> tuple[SourceState, Literal["accent", "punctuation"], tuple[Diagnostic, ...]]:
    """Applies an accent of several attributes, or nothing of it. `singles`: the same for each attribute."""
    begun, warnings = states[source], list[Diagnostic]()
    for text in singles:
        single = evolve(marker, text=text, translate=None)
        try:
            state, _, more = _apply_single(plan, states, source, single, location, is_leading=is_leading)
        except EpochMustEnd as cut:
            if cut.state is None:
                raise
            raise EpochMustEnd(evolve(begun, numbers=begun.numbers.as_expected(cut.state.numbers))) from None
        except DiagnosticError as error:  # columns of the single one are not those of the marker
            raise DiagnosticError(evolve(d, span=None) for d in error.diagnostics) from None
        warnings += more
        states = {**states, source: state}
    return states[source], "accent", tuple(warnings)


def _apply_single(
    plan: Plan,
    states: Mapping[str, SourceState],
    source: str,
    marker: MarkerLine,
    location: str,
    *,
    is_leading: bool,
) -> tuple[SourceState, Literal["accent", "punctuation"], tuple[Diagnostic, ...]]:
    try:
        return _applied(plan, states, source, marker, location)
    except DiagnosticError as error:
        about = _passed_over(plan, states[source], source, marker, error)
        if about is None or (plan.settings["drift"] == "infer" and not is_leading):
            raise
        state, notes = with_passed_over(states[source], about)
        return state, "accent" if marker.kind == "accent" else "punctuation", notes


def _passed_over(
    plan: Plan, state: SourceState, source: str, marker: MarkerLine, error: DiagnosticError
) -> PassedOver | None:
    """Returns a marker about attributes unknown to the query if the query skips it, else `None`."""
    infers = plan.settings["drift"] == "infer"
    text = marker.wire(state.field_types)
    return passed_over(plan.source_of[source], state, error, marker.kind, text, infers=infers)


def _applied(
    plan: Plan, states: Mapping[str, SourceState], source: str, marker: MarkerLine, location: str
) -> tuple[SourceState, Literal["accent", "punctuation"], tuple[Diagnostic, ...]]:
    state = states[source]
    begin = marker.position if marker.begin is None else marker.begin
    if marker.kind == "punctuation":
        declared = plan.source_of[source]
        punctuation = read_punctuation(declared, state, marker.wire(state.field_types))
        state = with_ownership(state, declared, punctuation.pattern, marker)
        punctuation = evolve(punctuation, pattern=within(punctuation.pattern, marker.partition))
        return state.punctuate(punctuation, begin), "punctuation", ()
    text = marker.wire(state.field_types)
    if (change := read_epoch_change(state, text)) is not None:
        if changes(state, plan.source_of[source], change):
            check_allowed(plan, change)
            raise EpochMustEnd
        return with_superseded(state, change), "accent", ()
    accent = read_accent(plan.source_of[source], state, text)
    state = with_ownership(state, plan.source_of[source], accent.description, marker)
    accent = evolve(accent, description=within(accent.description, marker.partition))
    state = with_superseded(state, accent)
    warnings = tuple(with_statement(source, warning) for warning in warnings_about(state, accent))
    check_doubtful(plan.settings, warnings)
    after = with_accent(state, accent, begin, location)
    if marker.position > 0 and (before := expecting(state, accent, after)) is not None:
        raise EpochMustEnd(before)
    live = regions.difference(state.canonical(accent.description), state.closed)
    if not regions.is_empty(live, state.universe):  # else all are closed: nothing aborts (P-dead)
        check_accent_allowed(plan, state, accent)
        check_accent(plan, {**states, source: after}, source, accent)
        change = accent.primitive
        if isinstance(change, Add) and change.converts:
            alter = Alter(change.attribute, change.function)
            check_accent(plan, {**states, source: after}, source, evolve(accent, primitive=alter))
    return after, "accent", warnings


def _begun(
    plan: Plan,
    result: MarkerEffects,
    new_markers: Mapping[str, Sequence[MarkerLine]],
    first: Set[str],
    state_facts: Mapping[str, StateFacts] | None,
) -> MarkerEffects:
    """Returns the sources after growths and other forms of texts at the epoch's beginning. The marker itself is counted
    later and then adds nothing."""
    for source in plan.sources:
        marker = next((m for m in new_markers.get(source.name, ()) if not m.in_data), None)
        if source.name not in first or marker is None or marker.kind != "accent":
            continue
        state = result.begun[source.name]
        try:
            change = read_epoch_change(state, marker.wire(state.field_types))
            if change is None or not changes(state, source, change):
                continue
            check_allowed(plan, change)
            states = {**result.begun, source.name: begun(state, change)}
            if isinstance(change, Grow):
                what = f"the domain of `{change.attribute}` cannot grow"
                check_growth(plan, result.begun, states, what, change.span, state_facts)
        except DiagnosticError as error:
            if is_set_aside(plan, error) or _passed_over(plan, state, source.name, marker, error) is not None:
                continue
            stop = Stop(source.name, marker, error.diagnostics)
            result = evolve(result, stops={**result.stops, source.name: stop})
            continue
        result = evolve(result, states=states, begun=states)
    return result
