"""Codes of values that come later: where a domain grows while a recode is in force (theory N1, N3).

No recode that came before speaks of a value that is new, so it is written as it is: it has the original function. That
is one to one wherever no other value is written so; where one is, whoever writes the value could mean either, and the
domain cannot grow until a recode has given the other one another code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cedilla.compiler import regions
from cedilla.compiler.regions import Tree, Value
from cedilla.compiler.regions.code import Code
from cedilla.runtime.control.accents.codes import Codes, listed, writable
from cedilla.runtime.control.descriptions.translation import translate


def with_values(codes: Codes, name: str, members: Tree) -> Codes:
    """The codes where values of an attribute are new: each is written as it is, where no other is."""
    return {**codes, name: _with_own(codes[name], members)} if name in codes else codes


def maps_with_values(
    original: Mapping[str, Tree],
    units: Mapping[str, Tree],
    codes: Codes,
    name: str,
    members: Tree,
    closed: Tree,
) -> Mapping[str, Tree]:
    """The maps from raw to canonical values where values of an attribute are new. `codes`: with them.

    What maps of other attributes say of raw values that no tuple could have is anything. What tuples with the new
    values are decoded by follows from the descriptions that match them, so from the trees over canonical values.
    """
    if name not in codes:
        return original
    maps = {**original, name: _with_own(original[name], members)}
    live = regions.difference(regions.values(name, listed(members)), closed)
    forth = _forth(units, codes)
    for other, tree in original.items():
        if other != name and name in regions.attributes(tree):
            for function, cell in regions.cells(forth[other]).items():
                here = translate(regions.intersection(cell, live), forth)
                maps[other] = regions.choose(here, function.inverse(), maps[other])
    return maps


def owners(
    original: Mapping[str, Tree], units: Mapping[str, Tree], codes: Codes, name: str, value: Value, live: Tree
) -> Iterator[tuple[Value, Tree]]:
    """The values that are written as a new one is, each with the canonical tuples for which that is so: of the new
    value, or of the other. `codes`: with the new one; `live`: the canonical tuples of the new one that may come."""
    live = regions.intersection(live, writable(codes, name))
    for code, cell in regions.cells(codes[name]).items():
        if isinstance(code, Code) and value not in code.map and value in (back := code.inverse().map):
            yield back[value], regions.intersection(live, cell)
    # The codes of an attribute may be told apart by itself, by way of another one that is recoded by it.
    raw = translate(live, _forth(units, codes))
    for code, cell in regions.cells(original[name]).items():
        if isinstance(code, Code) and code.map.get(value, value) != value:
            yield code.map[value], translate(regions.intersection(raw, cell), original)


def _with_own(tree: Tree, members: Tree) -> Tree:
    values = listed(members)
    return regions.map_leaves(tree, lambda leaf: leaf.with_own(values) if isinstance(leaf, Code) else leaf)


def _forth(units: Mapping[str, Tree], codes: Codes) -> Mapping[str, Tree]:
    """The functions that lead from canonical to raw values, over canonical values."""
    latest = {name: regions.map_leaves(tree, lambda history: history[-1]) for name, tree in units.items()}
    return {**latest, **codes}
