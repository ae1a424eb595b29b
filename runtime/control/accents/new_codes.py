"""Codes of values that a domain gains while a recode is in force (theory N1, N3).

No earlier recode lists a new value, so tuples write it unchanged: it has the original function. This mapping is one to
one unless another value has the new value as its code. In that case the raw value would be ambiguous. The domain cannot
grow until a recode gives the other value another code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cedilla.compiler import regions
from cedilla.compiler.regions import Tree, Value
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.runtime.control.accents.codes import Codes, listed, writable
from cedilla.runtime.control.descriptions.translation import translate


def with_values(codes: Codes, name: str, members: Tree) -> Codes:
    """Returns the codes with new values of an attribute, each written unchanged unless it is a code of another one."""
    return {**codes, name: _with_own(codes[name], members)} if name in codes else codes


def maps_with_values(
    original: Mapping[str, Tree],
    forward: Mapping[str, Tree],
    codes: Codes,
    name: str,
    members: Tree,
    closed: Tree,
) -> Mapping[str, Tree]:
    """Returns the maps from raw to canonical values when an attribute gains values. `forward`: those from
    canonical to raw values, without codes. `codes`: codes including these values.

    Maps of other attributes are arbitrary for raw values that no tuple can have. The decoding of tuples with the new
    values follows from the descriptions that match them, and so from the trees over canonical values.
    """
    if name not in codes:
        return original
    maps = {**original, name: _with_own(original[name], members)}
    live = regions.difference(regions.values(name, listed(members)), closed)
    forth = {**forward, **codes}
    for other, tree in original.items():
        if other != name and name in regions.attributes(tree):
            for function, cell in regions.cells(forth[other]).items():
                here = translate(regions.intersection(cell, live), forth)
                maps[other] = regions.choose(here, function.inverse(), maps[other])
    return maps


def owners(
    original: Mapping[str, Tree],
    forward: Mapping[str, Tree],
    codes: Codes,
    name: str,
    value: Value,
    live: Tree,
) -> Iterator[tuple[Value, Tree]]:
    """Yields the values whose code equals a new value, each with the canonical tuples affected: those of the new value,
    or those of the other. `codes`: codes including the new value. `live`: the canonical tuples of the new value that
    may come.
    """
    live = regions.intersection(live, writable(codes, name))
    for code, cell in regions.cells(codes[name]).items():
        if (
            isinstance(code, ValueMapping)
            and code.of(value) is None
            and value in (back := code.inverse().map)
        ):
            yield back[value], regions.intersection(live, cell)
    # An attribute's code may depend on the attribute itself, through another one that is recoded by it.
    raw = translate(live, {**forward, **codes})
    for code, cell in regions.cells(original[name]).items():
        if isinstance(code, ValueMapping) and (other := code.of(value)) not in (None, value):
            yield other, translate(regions.intersection(raw, cell), original)


def _with_own(tree: Tree, members: Tree) -> Tree:
    values = listed(members)
    return regions.map_leaves(
        tree, lambda leaf: leaf.with_own(values) if isinstance(leaf, ValueMapping) else leaf
    )
