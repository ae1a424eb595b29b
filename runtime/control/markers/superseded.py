"""Tuples about which the stream itself has sent accents since the query states some (theory N10).

An edit that removes a statement undoes it by its inverse. The inverse leads back only where the statement was the last
accent. Later accents of the stream must stay in force, even those that change nothing: a producer that begins to send
the marker of a statement makes the statement needless, and its unit stays right.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.changes import EpochChange
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.plan import StatedAccent
from cedilla.compiler.regions import Tree
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import changed_names
from cedilla.runtime.control.sources.source_state import SourceState


def stated_attributes(accents: Iterable[StatedAccent]) -> frozenset[str]:
    """Returns the attributes that stated accents change."""
    primitives = (primitive for accent in accents for primitive in parse_accent(accent.text).primitives)
    return frozenset(name for primitive in primitives for name in changed_names(primitive))


def attributes_of(change: Accent | EpochChange) -> tuple[str, ...]:
    """Returns the attributes that an accent changes."""
    return (change.primitive if isinstance(change, Accent) else change).attributes


def with_superseded(state: SourceState, change: Accent | EpochChange) -> SourceState:
    """Returns the state that records an accent of the stream. `state`: before the accent."""
    stated = [name for name in attributes_of(change) if name in state.notes.superseded]
    if not stated:
        return state
    where: Tree = state.canonical(change.description) if isinstance(change, Accent) else True
    return superseding(state, stated, where)


def superseding(state: SourceState, names: Iterable[str], where: Tree) -> SourceState:
    """Returns the state after the stream has superseded the statements of some attributes in further tuples."""
    more = {name: regions.union(state.notes.superseded.get(name, False), where) for name in names}
    return evolve(state, notes=evolve(state.notes, superseded={**state.notes.superseded, **more}))
