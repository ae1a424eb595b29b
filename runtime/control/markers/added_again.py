"""An attribute that is added again where it was altered or recoded before it was dropped (theory 2.5, G32).

Its values begin anew, in the units and codes of the Add. What others have gone through, and that they are there, stays
as it was for the same canonical values (theory 2.5). So where accents about others named values of the attribute, a
reader could take these as they were written then, or as they are written now: two readings with different results.
"""

from __future__ import annotations

from collections.abc import Iterator

from cedilla.compiler import regions
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.code import Code
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.control.accents.codes import listed
from cedilla.runtime.control.sources.source_state import SourceState


def check_added_again(state: SourceState, accent: Accent, live: Tree) -> None:
    """Raises `DiagnosticError` RQ467 where an Add would make values anew by which other attributes are told apart.
    `live`: the canonical tuples described that may still come."""
    name = accent.primitive.attribute
    written_otherwise = regions.exists(_written_otherwise(state, name, live), {name}, state.universe)
    told = sorted(
        {
            other
            for other, cell in _cells_of_others(state, name)
            if name in regions.attributes(regions.intersection(cell, written_otherwise))
        }
    )
    if told:
        others = ", ".join(f"`{other}`" for other in told)
        raise failure(
            "RQ467",
            f"the accent adds `{name}` again, and what accents have said of {others} was about its old values",
            accent.span,
            hint=f"before `{name}` is dropped, its values come back to what they were at first, or what was said of "
            f"{others} is taken back; or the new attribute has another name",
        )


def _written_otherwise(state: SourceState, name: str, where: Tree) -> Tree:
    """The canonical tuples, of a region, whose values of an attribute were written in other units or codes."""
    units, codes = state.units.get(name, False), state.codes.get(name, False)
    return regions.union(
        regions.within(where, units, lambda history: history and not history[-1].is_identity),
        regions.within(where, codes, lambda leaf: isinstance(leaf, Code) and not _is_own(state, name, leaf)),
    )


def _is_own(state: SourceState, name: str, code: Code) -> bool:
    """Whether a code takes every value to itself."""
    domain = state.universe[name]
    return domain.is_list and all(code.map.get(value) == value for value in listed(domain.members))


def _cells_of_others(state: SourceState, name: str) -> Iterator[tuple[str, Tree]]:
    """The cells of what is in force of other attributes: functions, codes, names, and whether they are there."""
    latest = {
        other: regions.map_leaves(tree, lambda history: history[-1]) for other, tree in state.units.items()
    }
    for trees in (latest, state.codes, state.names.here, state.present):
        for other, tree in trees.items():
            if other != name and name in regions.attributes(tree):
                yield from ((other, cell) for cell in regions.cells(tree).values())
