"""Forms of texts: zones of times without an offset (theory N13), and decimal signs of numbers."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan import Source
from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.compiler.regions import POSITION
from cedilla.grammar.diagnostics import Span
from cedilla.runtime.control.sources.source_state import SourceState


def paths_of(source: Source, state: SourceState) -> dict[str, FieldPath]:
    """Returns the paths of the fields of raw tuples, with the decimal signs of their texts; `source.paths` itself where
    no accent has changed them."""
    if not state.names.of and state.forms == source.forms:
        return source.paths
    types = state.types
    signs = {n: form for n, form in state.forms.items() if n in types and types[n].is_numeric}
    paths = source.paths_after(state.names.of, signs)
    return {**_instead_of_outer_keys(source, state, paths), **paths} if source.is_envelope else paths


def _instead_of_outer_keys(
    source: Source, state: SourceState, paths: Mapping[str, FieldPath]
) -> dict[str, FieldPath]:
    """Returns the paths of attributes that all tuples have inside of objects: a key of the envelope of that name is
    another one."""
    here, placed = state.names.here, state.names.placed
    return {
        attribute: paths[name]
        for name, attribute in state.names.of.items()
        if attribute not in source.paths
        and len(paths.get(name, ())) > 1
        and here[attribute] == name == regions.contains(placed[attribute], {POSITION: 0})
    }


def usual_form(type_: Type) -> str:
    """Returns the form of texts, unless an accent or a declaration gives another."""
    return "UTC" if type_.name == "timestamp" else "."


def form_of(state: SourceState, name: str) -> str | None:
    """Returns the zone of times of an attribute, or the decimal signs that an accent or its declaration names."""
    type_ = state.types[name]
    return state.forms.get(name, usual_form(type_) if type_.name == "timestamp" else None)


def with_form(state: SourceState, name: str, form: str | None, span: Span | None = None) -> SourceState:
    """Returns the state with another form of the texts of an attribute. Missing values that are local times stay as
    texts; those that are numbers stay as numbers. Raises `DiagnosticError` RQ175 for a missing local time that has no
    one moment in a zone. `span`: of the accent."""
    forms = {of: kept for of, kept in state.forms.items() if of != name}
    after = evolve(state, forms=forms if form is None else {**forms, name: form})
    if name not in state.types or state.types[name].name != "timestamp":
        return after
    zones = form_of(state, name) or "", form_of(after, name) or ""
    return evolve(after, sentinels=state.sentinels.with_zone(name, *zones, span))
