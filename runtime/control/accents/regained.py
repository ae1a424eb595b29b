"""Tuples that a function did not take, and that come again once it is undone (theory N11).

Trees over raw values have no place for values that a function does not take: conditions on them are lost. Trees over
canonical values keep them, so the lost part is made from those.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.regions import Level, Tree
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.compiler.regions.composition import composed
from cedilla.compiler.regions.function import Function
from cedilla.runtime.control.accents.originals import Originals
from cedilla.runtime.control.accents.sentinels import Sentinels
from cedilla.runtime.control.accents.trees import changed_by
from cedilla.runtime.control.descriptions.translation import translate


def followed(trees: Mapping[str, Tree], attribute: str, functions: Tree) -> tuple[dict[str, Tree], bool]:
    """Returns the functions to raw values after further ones of an attribute, and True if some take values again.

    `functions`: over canonical values, `False` for unchanged cells. Only the cells that change are looked at: a fleet
    sends an accent for each of its devices.
    """
    pairs = set[tuple[Function, Function]]()

    def after(first: Function, last: Function) -> Function:
        both = composed(last, first)
        pairs.add((first, both))
        return both

    trees = changed_by(trees, attribute, IDENTITY, functions, after)
    return trees, any(_gained(attribute, *pair) is not False for pair in pairs)


def regained(attribute: str, before: Tree, after: Tree) -> Tree:
    """Returns the canonical tuples that only the later functions take. `before`, `after`: from canonical values of the
    attribute to raw ones.

    >>> from cedilla.compiler.regions.wrapped import Wrapped
    >>> print(regained("d", Wrapped(20, 0, -10), IDENTITY))
    d < 0: True, d >= 20: True, else False
    """

    def pair(first: Any, last: Any) -> tuple[Function, Function]:
        return first, last

    functions = regions.combine(before, after, regions.Operation(lambda *_: None, pair))
    return regions.union(
        *(
            regions.intersection(cell, _gained(attribute, first, last))
            for (first, last), cell in regions.cells(functions).items()
            if first != last
        )
    )


def _gained(attribute: str, first: Function, last: Function) -> Tree:
    """Returns the tuples whose value only the last of two functions takes."""
    return regions.difference(_taken(attribute, last), _taken(attribute, first))


def _taken(attribute: str, function: Function) -> Tree:
    """Returns the tuples whose value of an attribute a function takes."""
    return function.inverse().image(Level(attribute, False, (), (True,)), False)


def originals_after(
    originals: Originals, attribute: str, region: Tree, forward: Mapping[str, Tree], places: Tree
) -> Originals:
    """Returns the functions from raw to canonical values that undo what accents have described by values of an
    attribute in a canonical region. `forward`: from canonical to raw values of all attributes."""
    for other, tree in forward.items():
        if other != attribute and attribute in regions.attributes(tree):
            for function, cell in regions.cells(tree).items():
                raw, undone = translate(regions.intersection(cell, region), forward), function.inverse()
                originals = originals.with_value(other, IDENTITY, raw, places, undone)
    return originals


def sentinels_after(
    sentinels: Sentinels, attribute: str, region: Tree, forward: Mapping[str, Tree], places: Tree
) -> Sentinels:
    """Returns the missing values that accents have described by values of an attribute in a canonical region."""
    for other, tree in sentinels.listed.items():
        if other != attribute and attribute in regions.attributes(tree):
            for values, cell in regions.cells(tree).items():
                raw = translate(regions.intersection(cell, region), forward)
                sentinels = sentinels.with_listed(other, values, raw, places)
    return sentinels
