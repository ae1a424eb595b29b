"""Tuples about which the stream itself has sent accents since the query states some (theory N10).

An edit that removes a statement undoes it by its inverse. The inverse leads back only where the statement was the last
accent. Whatever the stream has said there since must stay, even if it changed nothing: a producer that begins to send
the marker of a statement makes the statement needless, and its unit stays right.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.facts.markers import Accent, EpochChange, Swap
from cedilla.compiler.plan import StatedAccent
from cedilla.compiler.regions import Tree
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import SwapAttributes
from cedilla.runtime.control.sources.source_state import SourceState


def stated_attributes(accents: Iterable[StatedAccent]) -> frozenset[str]:
    """Returns the attributes that stated accents change."""
    primitives = [primitive for accent in accents for primitive in parse_accent(accent.text).primitives]
    others = (primitive.other for primitive in primitives if isinstance(primitive, SwapAttributes))
    return frozenset((*(primitive.name for primitive in primitives), *others))


def attributes_of(change: Accent | EpochChange) -> tuple[str, ...]:
    """Returns the attributes that an accent changes."""
    primitive = change.primitive if isinstance(change, Accent) else change
    return (primitive.attribute, primitive.other) if isinstance(primitive, Swap) else (primitive.attribute,)


def with_superseded(state: SourceState, change: Accent | EpochChange) -> SourceState:
    """Returns the state that records an accent of the stream. `state`: before the accent."""
    stated = [name for name in attributes_of(change) if name in state.superseded]
    if not stated:
        return state
    where: Tree = state.canonical(change.description) if isinstance(change, Accent) else True
    return evolve(state, superseded=with_region(state, stated, where))


def with_region(state: SourceState, names: Iterable[str], where: Tree) -> dict[str, Tree]:
    """Returns the superseded tuples of all attributes with further ones of some."""
    before = state.superseded
    return {**before, **{name: regions.union(before.get(name, False), where) for name in names}}
