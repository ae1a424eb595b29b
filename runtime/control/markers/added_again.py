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
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.control.sources.source_state import SourceState


def check_added_again(state: SourceState, accent: Accent, live: Tree) -> None:
    """Raises `DiagnosticError` RQ467 where an Add would make values anew by which other attributes are told apart.
    `live`: the canonical tuples described that may still come."""
    name = accent.primitive.attribute
    otherwise = regions.within(live, state.written(name), lambda function: not function.is_identity)
    if otherwise is False:
        return
    over, universe = {name}, state.universe
    anew = regions.intersection(regions.exists(otherwise, over, universe), regions.defined(name))
    anew = regions.difference(anew, state.closed)

    def is_told_apart(cell: Tree) -> bool:
        inside, outside = regions.intersection(cell, anew), regions.difference(anew, cell)
        both = regions.intersection(*(regions.exists(each, over, universe) for each in (inside, outside)))
        return not regions.is_empty(both, universe)

    told = sorted({other for other, cell in _cells_of_others(state, name) if is_told_apart(cell)})
    if told:
        others = ", ".join(f"`{other}`" for other in told)
        raise failure(
            "RQ467",
            f"the accent adds `{name}` again, and what accents have said of {others} was about its old values",
            accent.span,
            hint=f"before `{name}` is dropped, its values come back to what they were at first, or what was said of "
            f"{others} is taken back; or the new attribute has another name",
        )


def _cells_of_others(state: SourceState, name: str) -> Iterator[tuple[str, Tree]]:
    """The cells of what is in force of other attributes: functions, codes, names, and whether they are there."""
    written = {other: state.written(other) for other in (*state.units, *state.codes)}
    for trees in (written, state.names.here, state.present):
        for other, tree in trees.items():
            if other != name and name in regions.attributes(tree):
                yield from ((other, cell) for cell in regions.cells(tree).values())
