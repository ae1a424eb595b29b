"""Attributes that every tuple of a relation has: no description has to reckon with tuples that lack them."""

from __future__ import annotations

from collections.abc import Mapping

from cedilla.compiler.facts.facts import PRESENT
from cedilla.compiler.plan import Plan
from cedilla.runtime.control.sources.source_state import SourceState


def always_there(plan: Plan, relation: str, states: Mapping[str, SourceState]) -> frozenset[str]:
    """The attributes that every tuple of a relation has; none once something required has been dropped anywhere.

    A Drop may take away what is required (⊥ lemma, theory 3.1), so domains reckon with that from the start. Presence
    does not tell: of an optional attribute it says where it may be, of a union what one input has.
    """
    start = plan.start[relation]
    for source in plan.sources:
        present = states[source.name].present
        if any(present.get(a.name) is not PRESENT for a in source.attributes if not a.optional):
            return frozenset()
    return frozenset(name for name in start.types if not start.may_be_undefined(name))
