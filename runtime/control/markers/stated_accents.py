"""Accents that a query states: at the start of a run, and when an edit adds or removes them (theory N10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import dropwhile

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.facts.markers import (
    Accent,
    Add,
    Alter,
    Drop,
    Primitive,
    Recode,
    Rename,
    SourceAlter,
    ToUnit,
    accent_text,
)
from cedilla.compiler.plan import Plan, Source, StatedAccent
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.grammar.expression_formatter import format_accent
from cedilla.grammar.parser import parse_accent, single_accents
from cedilla.runtime.control.markers.advance import MarkerWarning, advance
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.markers.source_marker_parser import read_accent
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.unit_names import source_units
from cedilla.runtime.records.marker import MarkerLine

States = Mapping[str, SourceState]


def starting_state(source: Source, droppable: frozenset[str]) -> SourceState:
    """Returns one source before its first tuple, without asking what a query makes of the accents that it states.

    Raises `DiagnosticError` for an accent that does not fit the source, with its position.
    """
    state = SourceState.start(source, droppable)
    for accent in source.accents:
        try:
            for single in single_accents(accent.text):
                state = with_accent(state, read_accent(source, state, single), 0)
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
    return with_accents(plan, states, {s.name: s.accents for s in plan.sources})


def with_accents(
    plan: Plan, states: States, accents: Mapping[str, Sequence[StatedAccent]]
) -> tuple[dict[str, SourceState], tuple[Diagnostic, ...]]:
    """Returns the sources after accents of the query, with warnings.

    Raises `DiagnosticError` with the position of an accent that ends the query, even under `set bad_markers =
    quarantine`: a stated accent is part of the query and not of its data.
    """
    states, warnings = dict(states), list[Diagnostic]()
    if plan.settings["bad_markers"] != "abort":
        plan = evolve(plan, settings={**plan.settings, "bad_markers": "abort"})
    for name, stated in accents.items():
        left = [MarkerLine("accent", accent.text, number) for number, accent in enumerate(stated)]
        while left:
            first = left[0].position
            markers = [evolve(marker, position=marker.position - first) for marker in left]

            def place(
                _: str, marker: MarkerLine, first: int = first, of: Sequence[StatedAccent] = stated
            ) -> str:
                return f"line {of[first + marker.position].line}"

            effects = advance(plan, states, {name: markers}, place, {name})
            states = {n: state.next_epoch() for n, state in effects.states.items()}
            warnings += (_located(w, stated[first + w.marker.position]) for w in effects.warnings)
            stop = effects.stops.get(name)
            if stop is None:
                break
            at = first + stop.marker.position
            if stop.diagnostics:
                raise DiagnosticError(evolve(d, span=stated[at].span) for d in stop.diagnostics)
            left = list(dropwhile(lambda marker, at=at: marker.position < at, left))
    return states, tuple(warnings)


def _located(warning: MarkerWarning, accent: StatedAccent) -> Diagnostic:
    return evolve(warning.diagnostic, span=accent.span)


def inverse(source: Source, state: SourceState, accent: StatedAccent) -> tuple[str, ...] | None:
    """Returns the accents that undo a stated one for the tuples from here on; `None` if nothing does (theory N10).

    A Drop has no inverse, because nothing says in which unit its values come back. A unit has none where tuples have
    another one by now.
    """
    undoing: list[str] = []
    for single in single_accents(accent.text):
        try:
            back = _inverse(source, state, read_accent(source, state, single))
        except DiagnosticError:  # what it names is gone
            return None
        if back is None:
            return None
        primitives = parse_accent(accent_text((), back)).primitives
        undoing.append(format_accent(evolve(parse_accent(single), primitives=primitives)))
    return tuple(undoing)


def _inverse(source: Source, state: SourceState, accent: Accent) -> Primitive | None:
    match accent.primitive:
        case Add(attribute):
            return Drop(attribute)
        case Alter(attribute, function):
            return Alter(attribute, function.inverse())
        case ToUnit(attribute, _, function):
            described = state.canonical(accent.description)
            other = regions.within(described, state.written(attribute), lambda leaf: leaf != function)
            if not regions.is_empty(regions.difference(other, state.closed), state.universe):
                return None
            return ToUnit(attribute, source_units(source, state)[attribute], IDENTITY)
        case SourceAlter(attribute, function):
            return SourceAlter(attribute, function.inverse())
        case Rename(attribute):
            return Rename(attribute, attribute)
        case Recode(attribute, code, type_):
            return Recode(attribute, code.inverse(), type_)
        case Drop():
            return None
