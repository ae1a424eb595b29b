"""Reports accents that describe tuples without their attribute, which the papers call invalid."""

from __future__ import annotations

from collections.abc import Iterator

from cedilla.compiler import regions
from cedilla.compiler.changes import Alter, ToLevel, ToUnit
from cedilla.compiler.facts.markers import Accent
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.control.descriptions.region_texts import joined_texts, region_texts
from cedilla.runtime.control.sources.partitions import anywhere
from cedilla.runtime.control.sources.source_state import SourceState


def about_absent(state: SourceState, accent: Accent) -> Iterator[Diagnostic]:
    """Yields RQ341 for an Alter that also describes tuples without its attribute.

    The papers call such a stream invalid; here it is a habit of sources that means nothing for these tuples.
    """
    if not isinstance(accent.primitive, Alter | ToUnit | ToLevel):
        return
    name, facts = accent.primitive.attribute, state.facts()
    where = state.canonical(state.sentinels.removed(accent.description))
    absent = regions.difference(regions.difference(where, facts.may_have(name)), state.closed)
    if regions.is_empty(absent, state.universe):
        return
    # No text describes what no list of values can: undefined ones, for example.
    if texts := joined_texts(region_texts(facts, anywhere(absent, state.universe))):
        yield Diagnostic(
            "RQ341",
            "warning",
            f"the accent also describes tuples without `{name}`: {texts[0]}",
            accent.span,
            ("it means nothing for them, and outputs announce it only for tuples that have the attribute",),
            f"describe only those that have `{name}`; or its add is missing",
        )
