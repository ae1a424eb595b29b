"""The trees of a source that describe tuples by an attribute: what an Add, a Drop or an edit must ask for (theory 2.5).

They are of two families: over canonical values, and over values in their written form.
"""

from __future__ import annotations

from collections.abc import Iterator

from cedilla.compiler import regions
from cedilla.compiler.regions import Tree
from cedilla.runtime.control.sources.source_state import SourceState


def by_canonical(state: SourceState, name: str) -> Iterator[tuple[str, Tree]]:
    """Yields the other attributes whose tuples an attribute distinguishes, each with a tree over canonical values: its
    leaves say how tuples are read."""
    for other in {*state.units, *state.codes, *state.bent}:
        # Conditions of codes and functions are those of histories, which are at hand.
        kinds = (kind.get(other, False) for kind in (state.units, state.codes, state.bent))
        if any(name in regions.attributes(tree) for tree in kinds):
            yield from _others(name, other, state.written(other))
    for trees in (state.names.here, state.sentinels.listed, state.present):
        for other, tree in trees.items():
            yield from _others(name, other, tree)


def by_written(state: SourceState, name: str) -> Iterator[tuple[str, Tree]]:
    """Yields the same with trees over values in their written form."""
    for trees in (state.original, state.sentinels.here):
        for other, tree in trees.items():
            yield from _others(name, other, tree)
    for other in state.swaps.partners:
        yield from _others(name, other, state.swaps.of(other))


def _others(name: str, other: str, tree: Tree) -> Iterator[tuple[str, Tree]]:
    if other != name and name in regions.attributes(tree):
        yield other, tree


def is_mentioned(state: SourceState, name: str) -> bool:
    """Returns True if accents or punctuations so far describe tuples by an attribute, or it has another's place."""
    dependents = (*by_canonical(state, name), *by_written(state, name))
    return bool(dependents) or name in state.swaps.partners or name in regions.attributes(state.closed)
