"""Reports Adds that name a wider type than the query has for the attribute."""

from __future__ import annotations

from collections.abc import Iterator

from cedilla.compiler.changes import Add
from cedilla.compiler.expressions.types import DOUBLE, Type
from cedilla.compiler.expressions.types.decimals import digits_of_type
from cedilla.compiler.facts.markers import Accent
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.control.sources.source_state import SourceState


def narrower_types(state: SourceState, accent: Accent) -> Iterator[Diagnostic]:
    """Yields RQ366 for an Add of numbers: the query sets aside those that its own type does not hold."""
    added = accent.primitive
    if not isinstance(added, Add):
        return
    name, before = added.attribute, state.types.get(added.attribute)
    if before is None or not before.is_numeric or _holds(before, added.type):
        return
    yield Diagnostic(
        "RQ366",
        "warning",
        f"the accent adds `{name}` as {added.type}, and this query has it as {before}: other values are set aside",
        accent.span,
        (),
        f"declare `{name}` as {added.type}: the edited query continues",
    )


def _holds(type_: Type, other: Type) -> bool:
    if DOUBLE in (type_, other):
        return type_ == DOUBLE
    mine, theirs = digits_of_type(type_), digits_of_type(other)
    return mine.before >= theirs.before and mine.after >= theirs.after
