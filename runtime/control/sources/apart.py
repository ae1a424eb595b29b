"""Keeps tuples apart: none may be written as another one that lacks an attribute (theory N11).

A reader takes a sentinel for an undefined value. A tuple whose own value is written so, where no accent has listed it,
would be read as one without the attribute. Its sender follows its canonical values, and the reader follows raw ones, so
both are compared: the raw tuples with a sentinel, and the canonical tuples for which an accent lists it.
"""

from __future__ import annotations

from collections.abc import Iterator

from cedilla.compiler import regions
from cedilla.compiler.changes import Drop, Layer
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.regions import Tree, Value
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.control.accents.codes import listed
from cedilla.runtime.control.descriptions.region_texts import region_texts
from cedilla.runtime.control.sources.partitions import anywhere
from cedilla.runtime.control.sources.source_state import SourceState


def check_apart(state: SourceState, accent: Accent) -> None:
    """Raises `DiagnosticError` RQ239 if an accent has made tuples alike. `state`: after it."""
    if isinstance(accent.primitive, Drop) or accent.primitive.layer in (Layer.NAME, Layer.PLACE):
        return  # values and sentinels keep their written form
    changed = accent.primitive.attribute
    for name, tree in state.sentinels.here.items():
        if changed != name and changed not in regions.attributes(tree):
            continue
        for value, tuples in alike(state, name, accent.description):
            shown = f"`{name} = {state.types[name].wire(value)}`"
            (text, *_) = region_texts(state.facts(), anywhere(tuples, state.universe)) or ("another tuple",)
            raise failure(
                "RQ239",
                f"a tuple with {shown} would have two meanings: {text}, and one without `{name}`",
                accent.span,
                hint=f"an accent that does not name `{name}`, or first a list of missing values without it",
            )


def alike(state: SourceState, name: str, described: Tree) -> Iterator[tuple[Value, Tree]]:
    """Yields the sentinels of an attribute in a raw region, each with canonical tuples that may come and write a value
    like it. Tuples for which an accent lists the sentinel are left out."""
    sentinels = state.sentinels.here
    here = regions.intersection(sentinels[name], described)
    others = (sentinels[other] for other in regions.attributes(here) & sentinels.keys() - {name})
    here = regions.difference(here, regions.union(*others))
    for value in listed(regions.exists(here, regions.attributes(here) - {name}, {})):
        came = state.canonical(regions.intersection(here, regions.values(name, [value])))
        meant = state.sentinels.listed.get(name, frozenset())
        read_wrong = regions.within(came, meant, lambda values, value=value: value not in values)
        may_come = regions.difference(state.there(name, read_wrong), state.closed)
        if not regions.is_empty(may_come, state.universe):
            yield value, may_come
