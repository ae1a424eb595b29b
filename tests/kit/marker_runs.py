"""Runs of markers as one step, compared with the same markers one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cedilla.compiler import regions
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import POSITION, Level, Tree
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers import advance as advancing
from cedilla.runtime.control.markers.advance import MarkerEffects, advance
from cedilla.runtime.control.sinks.announce import SinkState, announce
from cedilla.runtime.control.sources.source_state import SourceState


def started(plan: Plan, *before: str) -> dict[str, SourceState]:
    """The sources after some accents of `r`, each in an epoch of its own."""
    states = {s.name: SourceState.start(s, plan.droppable[s.name]) for s in plan.sources}
    for text in before:
        effects = advance(plan, states, {"r": [MarkerLine("accent", text, 0)]})
        assert not effects.stops
        states = {name: state.next_epoch() for name, state in effects.states.items()}
    return states


def one_by_one(plan: Plan, states: Mapping[str, SourceState], lines: list[MarkerLine]) -> MarkerEffects:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(advancing, "group_at", lambda *_: None)
        return advance(plan, states, {"r": lines}, place)


def place(source: str, marker: MarkerLine) -> str:
    return f"{source}:{marker.position}"


def at_places(state: SourceState, places: list[int]) -> list[Any]:
    """Returns the facts about tuples at some places."""
    trees: list[Mapping[str, Tree]] = [state.presence.placed, state.originals.placed, state.names.placed]
    placed = {
        "closed": state.placed_closed,
        **{f"{i}{name}": t for i, of in enumerate(trees) for name, t in of.items()},
    }
    return [{name: _at(tree, position) for name, tree in placed.items()} for position in places]


def _at(tree: Tree, position: int) -> Tree:
    if isinstance(tree, Level) and tree.attribute == POSITION:
        return tree.at(position)
    return regions.map_children(tree, lambda child: _at(child, position)) if isinstance(tree, Level) else tree


def compare(plan: Plan, items: list[MarkerLine | None], *before: str) -> MarkerEffects:
    """The effects of markers; fails where they are not those that they have one by one. `before`: earlier accents."""
    lines = [item for item in items if item is not None]
    positions = [line.position for line in lines]
    free = sorted({*range(max(positions) + 3)} - {*positions})
    states = started(plan, *before)
    together, apart = advance(plan, states, {"r": lines}, place), one_by_one(plan, states, lines)
    assert together.stops == apart.stops
    assert (together.accents, together.punctuations) == (apart.accents, apart.punctuations)
    assert together.warnings == apart.warnings
    here, expected = together.states["r"], apart.states["r"]
    assert at_places(here, free) == at_places(expected, free)
    assert here.most_present == expected.most_present
    assert here.dropped == expected.dropped
    assert here.next_epoch() == expected.next_epoch()
    start = SinkState.start(here.facts())
    assert announce(start, here.facts(), here.facts()) == announce(start, expected.facts(), expected.facts())
    return together
