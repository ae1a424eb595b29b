"""Accents that begin an epoch: a domain grows (theory N1), or texts have another form: a zone (theory N13), a sign."""

from __future__ import annotations

from cedilla.compiler.changes import EpochChange, Grow
from cedilla.compiler.plan import Source
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.control.accents.swaps import is_swapped
from cedilla.runtime.control.domains.growth import is_new
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.text_forms import form_of, with_form


def changes(state: SourceState, source: Source, change: EpochChange) -> bool:
    """Returns True if an accent changes anything. Raises `DiagnosticError`: as `is_new`, as `Source.check_form`, as
    `with_form`, and RQ241 for an attribute that is in the place of another one."""
    name = change.attribute
    if isinstance(change, Grow):
        if not is_new(state, source, change):
            return False
        _check_place(state, change)
        return True
    if form_of(state, name) == change.form:
        return False
    source.check_form(change)
    _check_place(state, change)
    _ = with_form(state, name, change.form, change.span)
    return True


def _check_place(state: SourceState, change: EpochChange) -> None:
    """Raises RQ241 if some tuples have another attribute in the place: their texts are of that one, and a growth would
    name a value of it."""
    name = change.attribute
    if is_swapped(state.swaps, name):
        message = f"`{name}` and `{state.swaps.partners[name]}` have changed places in some tuples"
        hint = "swap them back first, then send the accent and the swap again"
        raise failure("RQ241", message, change.span, hint=hint)


def begun(state: SourceState, change: EpochChange) -> SourceState:
    """Returns the state after a growth or another form, at the beginning of an epoch."""
    if isinstance(change, Grow):
        return state.with_values(change.attribute, change.members)
    return with_form(state, change.attribute, change.form)
