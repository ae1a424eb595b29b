"""Accents that a query states: at the start of a run, and when an edit adds or removes them (theory N10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.changes import Before, Change, EpochChange
from cedilla.compiler.facts.markers import Accent, accent_text
from cedilla.compiler.plan import DEFAULTS, Plan, Source, StatedAccent
from cedilla.compiler.regions.function import Function
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.grammar.formatting.expression_formatter import format_accent
from cedilla.grammar.parser import parse_accent, single_accents
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.markers.epoch_changes import begun, changes
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.markers.source_marker_parser import read_accent, read_epoch_change
from cedilla.runtime.control.markers.superseded import stated_attributes
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.text_forms import form_of, usual_form
from cedilla.runtime.control.sources.unit_names import source_units

States = Mapping[str, SourceState]
_OF_THE_QUERY = {name: DEFAULTS[name] for name in ("bad_markers", "changes")}
"""Settings for accents that the query states: a bad one ends it, and each is allowed."""


def starting_state(source: Source, droppable: frozenset[str]) -> SourceState:
    """Returns one source before its first tuple, without asking what a query makes of the accents that it states.

    Raises `DiagnosticError` for an accent that does not fit the source, with its position.
    """
    state = SourceState.start(source, droppable)
    for accent in source.accents:
        try:
            for single in single_accents(accent.text):
                change = read_epoch_change(state, single)
                if change is None:
                    state = with_accent(state, read_accent(source, state, single), 0)
                elif changes(state, source, change):
                    state = begun(state, change)
        except DiagnosticError as error:
            raise DiagnosticError(evolve(d, span=accent.span) for d in error.diagnostics) from None
        state = state.next_epoch()
    return state


def starting_states(plan: Plan) -> dict[str, SourceState]:
    """Returns the sources before their first tuple. Raises as `with_accents` does."""
    return start_with_warnings(plan)[0]


def start_with_warnings(plan: Plan) -> tuple[dict[str, SourceState], tuple[Diagnostic, ...]]:
    """Returns the sources before their first tuple, and warnings about the accents that the query states."""
    states = {s.name: SourceState.start(s, plan.droppable[s.name]) for s in plan.sources}
    states, warnings = with_accents(plan, states, {s.name: s.accents for s in plan.sources})
    for source in plan.sources:
        stated = dict.fromkeys(stated_attributes(source.accents), False)
        state = states[source.name]
        states[source.name] = evolve(state, notes=evolve(state.notes, superseded=stated))
    return states, warnings


def with_accents(
    plan: Plan, states: States, accents: Mapping[str, Sequence[StatedAccent]]
) -> tuple[dict[str, SourceState], tuple[Diagnostic, ...]]:
    """Returns the sources after accents of the query, with warnings.

    Raises `DiagnosticError` with the position of an accent that ends the query, even under `set bad_markers =
    quarantine`: a stated accent is part of the query and not of its data. For the same reason no policy refuses it.
    """
    states, warnings = dict(states), list[Diagnostic]()
    settings = {**plan.settings, **_OF_THE_QUERY}
    if settings != plan.settings:
        plan = evolve(plan, settings=settings)
    for name, stated in accents.items():
        while stated:
            states, more, done = _with_first(plan, states, name, stated)
            warnings += more
            stated = stated[done:]  # noqa: PLW2901
    return states, tuple(warnings)


def _with_first(
    plan: Plan, states: dict[str, SourceState], source: str, stated: Sequence[StatedAccent]
) -> tuple[dict[str, SourceState], list[Diagnostic], int]:
    """Returns the sources after the first of some accents, up to one that needs an epoch of its own, with warnings and
    the number of these accents."""
    markers = [MarkerLine("accent", accent.text, number) for number, accent in enumerate(stated)]

    def location(_: str, marker: MarkerLine) -> str:
        return f"line {stated[marker.position].line}"

    effects = advance(plan, states, {source: markers}, location, {source})
    stop = effects.stops.get(source)
    if stop is not None and stop.diagnostics:
        span = stated[stop.marker.position].span
        raise DiagnosticError(evolve(d, span=span) for d in stop.diagnostics)
    warnings = [evolve(w.diagnostic, span=stated[w.marker.position].span) for w in effects.warnings]
    # The query says this, and not the stream.
    after = effects.states[source]
    after = evolve(after, notes=evolve(after.notes, superseded=states[source].notes.superseded))
    states = {name: state.next_epoch() for name, state in {**effects.states, source: after}.items()}
    return states, warnings, len(stated) if stop is None else stop.marker.position


def inverse(source: Source, state: SourceState, accent: StatedAccent) -> tuple[str, ...] | None:
    """Returns the accents that undo a stated one for the tuples from here on; `None` if nothing does (theory N10)."""
    undoing: list[str] = []
    for single in single_accents(accent.text):
        try:
            change = read_epoch_change(state, single) or read_accent(source, state, single)
            back = _inverse(source, state, change)
        except DiagnosticError:  # an attribute that it names is gone
            return None
        if back is None:
            return None
        primitives = parse_accent(accent_text((), back)).primitives
        undoing.append(format_accent(evolve(parse_accent(single), primitives=primitives)))
    return tuple(undoing)


def _inverse(source: Source, state: SourceState, accent: Accent | EpochChange) -> Change | None:
    change = accent.primitive if isinstance(accent, Accent) else accent
    name = change.attribute

    def is_in_force(function: Function) -> bool:
        """Returns True if all described tuples that may come have a function."""
        described = state.canonical(accent.description) if isinstance(accent, Accent) else True
        other = regions.within(described, state.written(name), lambda leaf: leaf != function)
        return regions.is_empty(regions.difference(other, state.closed), state.universe)

    type_ = state.types[name]
    unit = source_units(source, state).get(name, "")
    form = starting_state(source, frozenset()).forms.get(name, usual_form(type_))
    return change.inverse(Before(type_, unit, is_in_force, form, form_of(state, name)))
