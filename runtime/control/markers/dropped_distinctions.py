"""Reports Drops of attributes that accents use to describe tuples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from cedilla.compiler import regions
from cedilla.compiler.changes import Drop
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.control.sources.dependents import by_canonical
from cedilla.runtime.control.sources.source_state import SourceState


def dropped_distinctions(state: SourceState, accent: Accent, where: Tree) -> Iterator[Diagnostic]:
    """Yields RQ229 for a Drop of an attribute on which it depends how others are read. Tuples without it match no
    description by it (theory 1.1), so the accents that described them by it end."""
    if not isinstance(accent.primitive, Drop):
        return
    name = accent.primitive.attribute
    live = regions.intersection(regions.difference(where, state.closed), regions.defined(name))
    swapped = ((other, state.canonical(state.swaps.of(other))) for other in state.swaps.partners)
    trees = chain(by_canonical(state, name), swapped)
    dependent = {other for other, tree in trees if _depends_on(state, other, tree, name, live)}
    if dependent:
        others = " and ".join(f"`{other}`" for other in sorted(dependent))
        yield Diagnostic(
            "RQ229",
            "warning",
            f"the accent drops `{name}`, and accents on {others} were about its values",
            accent.span,
            (f"no description by `{name}` matches tuples without it: accents on {others} by it end here",),
            f"before the drop, bring {others} of all these tuples to one form; that accent must not name `{name}`",
        )


def _depends_on(state: SourceState, other: str, tree: Tree, name: str, live: Tree) -> bool:
    """Returns True if the leaves of a tree in a region differ from those for tuples without `name`."""
    if other == name or name not in regions.attributes(tree):
        return False
    alive = regions.difference(live, state.facts().dead(other))
    return any(
        not regions.is_empty(
            regions.difference(regions.intersection(cell, alive), _of_all(cell, name, state)), state.universe
        )
        for cell in regions.cells(tree).values()
    )


def _of_all(cell: Tree, name: str, state: SourceState) -> Tree:
    """Returns the tuples of a cell that lack an attribute, with any value of it."""
    return regions.exists(regions.difference(cell, regions.defined(name)), {name}, state.universe)
