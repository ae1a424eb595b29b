"""Why an output does not announce the units that its tuples are in (theory D2)."""

from __future__ import annotations

from collections.abc import Iterator

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import Facts, History
from cedilla.compiler.regions import Operation, Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.control.sinks.functions import NONE, next_functions, told_apart


def held_back(sink: SinkState, after: Facts, name: str) -> Iterator[tuple[str, Tree]]:
    """Yields the reasons why an output does not announce the units that its tuples are in, each with its region."""
    units = told_apart(name, after)
    target = next_functions(units, sink.scale.get(name, IDENTITY), sink.earlier.get(name, NONE))
    dead = after.dead(name)
    for reason, latest, other in (
        ("absorbed here, because its own values would describe it (G23)", after.units[name], units),
        ("stays in an older unit, because the output has left that of its tuples (D2)", units, target),
    ):
        behind = regions.difference(regions.combine(latest, other, _BEHIND), dead)
        if not regions.is_empty(behind, after.universe):
            yield reason, behind


def _is_behind(history: History, other: History | Affine) -> bool:
    """Returns True if a cell has gone further than another history or function."""
    latest = other if isinstance(other, Affine) else other[-1] if other else None
    return bool(history) and latest is not None and history[-1] != latest


_BEHIND = Operation(lambda a, b: False if a is b else None, _is_behind)
