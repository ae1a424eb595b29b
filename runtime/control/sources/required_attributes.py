"""Attributes that every tuple of a relation has; descriptions need no case for tuples without them."""

from __future__ import annotations

from collections.abc import Mapping

from cedilla.compiler.facts.facts import PRESENT
from cedilla.compiler.plan import Plan
from cedilla.runtime.control.sources.source_state import SourceState


def required_attributes(plan: Plan, relation: str, states: Mapping[str, SourceState]) -> frozenset[str]:
    """Returns the attributes that every tuple of a relation has; none after any required attribute has been dropped.

    A Drop may remove a required attribute (⊥ lemma, theory 3.1), and domains include ⊥ for that from the start.
    Presence is not enough: for an optional attribute it says where it may occur, for a union it says what one input
    has.
    """
    start = plan.start[relation]
    for source in plan.sources:
        present = states[source.name].present
        if any(present.get(a.name) is not PRESENT for a in source.attributes if not a.optional):
            return frozenset()
    return frozenset(name for name in start.types if not start.may_be_undefined(name))
