"""The positions of an epoch's markers: where they cut tuples into many cells, another epoch is cheaper."""

from __future__ import annotations

from cedilla.compiler import regions
from cedilla.compiler.regions import Level, Tree
from cedilla.runtime.control.sources.source_state import SourceState

_MOST = 64 * regions.CELL
"""The most weight that positions add to a tree. An engine needs some milliseconds for each cell of its expression."""


def has_many_places(state: SourceState) -> bool:
    """Returns True if positions make a tree of a source's accents much heavier. Each of n ranges with tuples in between
    has a position of its own, so that all of them have n squared cells; n punctuations have n cells."""
    return any(
        placed[name] is not tree and _weight(placed[name]) > 2 * _weight(tree) + _MOST
        for placed, here in (
            (state.originals.placed, state.original),
            (state.presence.placed, state.present),
        )
        if placed is not here
        for name, tree in here.items()
    )


def _weight(tree: Tree) -> int:
    return tree.weight if isinstance(tree, Level) else 0
