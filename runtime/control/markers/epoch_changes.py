"""Accents that begin an epoch: a domain grows (theory N1), or local times are of another zone (theory N13)."""

from __future__ import annotations

from attrs import evolve

from cedilla.compiler.facts.markers import EpochChange, Grow, ToZone
from cedilla.compiler.plan import Source
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.control.domains.growth import is_new
from cedilla.runtime.control.sources.source_state import SourceState

_ONE_ORDER = ("csv", "json", "xml")
"""The formats whose tuples have one order and texts of times."""


def changes(state: SourceState, source: Source, change: EpochChange) -> bool:
    """Returns True if an accent changes anything. Raises `DiagnosticError`: as `is_new`, and RQ339 for another zone of
    a table, a topic, or a source without texts of times."""
    if isinstance(change, Grow):
        return is_new(state, source, change)
    if state.zones.get(change.attribute, "UTC") == change.zone:
        return False
    if source.table or source.format not in _ONE_ORDER:
        raise _impossible(source, change)
    return True


def begun(state: SourceState, change: EpochChange) -> SourceState:
    """Returns the state after a growth or another zone, at the beginning of an epoch."""
    if isinstance(change, Grow):
        return state.with_values(change.attribute, change.members)
    return with_zone(state, change.attribute, change.zone)


def with_zone(state: SourceState, name: str, zone: str | None) -> SourceState:
    """Returns the state with another zone of an attribute. Missing values that are local times stay as texts."""
    zones = {of: kept for of, kept in state.zones.items() if of != name}
    sentinels = state.sentinels.with_zone(name, state.zones.get(name, "UTC"), zone or "UTC")
    return evolve(state, zones=zones if zone is None else {**zones, name: zone}, sentinels=sentinels)


def _impossible(source: Source, change: ToZone) -> DiagnosticError:
    what = "a table" if source.table else f"from `{source.format}`"
    message = f"the zone of `{change.attribute}` cannot change by a line: `{source.name}` is {what}"
    hint = "an edit of its declaration, or times with an offset"
    return failure("RQ339", message, change.span, hint=hint)
