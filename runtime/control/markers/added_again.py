"""Checks an Add of an attribute that was altered or recoded before it was dropped (theory 2.5, G32).

The attribute starts again, in the units and codes of the Add. Other attributes keep their presence and history for the
same canonical values (theory 2.5). If accents described these by values of the attribute, a reader has two readings
with different results: the old way of writing the values, or the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cedilla.compiler import regions
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.regions import Tree, Universe
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.control.descriptions.translation import translate
from cedilla.runtime.control.sources.dependents import by_canonical, by_written
from cedilla.runtime.control.sources.source_state import SourceState


def check_added_again(state: SourceState, accent: Accent, live: Tree) -> None:
    """Raises `DiagnosticError` RQ467 if an Add redefines values on which the units, codes or presence of other
    attributes depend. `live`: the canonical tuples described that may still come."""
    name = accent.primitive.attribute
    otherwise = state.written_otherwise(name, live)
    if otherwise is False:
        return
    anew = regions.intersection(regions.exists(otherwise, {name}, state.universe), regions.defined(name))
    anew = regions.difference(anew, state.closed)
    raw = {other: state.written(other) for other in {*state.units, *state.codes, *state.bent} - {name}}
    dependent = {
        *_dependent_on(name, anew, by_canonical(state, name), state.universe),
        # A text may have named values that were not codes then and are codes now.
        *_dependent_on(name, translate(anew, raw), by_written(state, name), {name: state.universe[name]}),
    }
    if dependent:
        others = ", ".join(f"`{other}`" for other in sorted(dependent))
        raise failure(
            "RQ467",
            f"the accent adds `{name}` again, but accents on {others} were about its old values",
            accent.span,
            hint=f"before `{name}` is dropped, undo the accents on it, or those on "
            f"{others}; or give the new attribute another name",
        )


def _dependent_on(
    name: str, region: Tree, trees: Iterable[tuple[str, Tree]], universe: Universe
) -> Iterator[str]:
    """Yields the other attributes whose trees, inside a region, depend on the value of an attribute."""

    def is_split(cell: Tree) -> bool:
        inside, outside = regions.intersection(cell, region), regions.difference(region, cell)
        both = (regions.exists(part, {name}, universe) for part in (inside, outside))
        return not regions.is_empty(regions.intersection(*both), universe)

    for other, tree in trees:
        if any(map(is_split, regions.cells(tree).values())):
            yield other
