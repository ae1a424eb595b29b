"""Effects of markers on the trees of a source: presence, units, and the maps from raw to canonical values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import History
from cedilla.compiler.regions import POSITION, Operation, Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.composition import composed
from cedilla.compiler.regions.function import Function

CACHE_SIZE = 4096
"""Number of functions and histories that are cached as shared objects."""


@frozen
class Altered:
    """An Alter that has come: its canonical region, its position and its text."""

    attribute: str
    function: Affine
    where: Tree
    place: str
    text: str


@lru_cache(CACHE_SIZE)
def altered(history: History, function: Affine) -> History:
    """Returns a history after an Alter. Cells with the same history share one object, so that a result for one of them
    is cached for all, and equal subtrees are one object."""
    return (*history, function.after(history[-1]))


def positions_after(position: int) -> Tree:
    """Returns the positions after one."""
    return regions.interval(POSITION, (position, 1), None)


def restrict_to(region: Tree, function: Function) -> Tree:
    """Returns a function inside a region, `False` elsewhere."""
    return regions.map_leaves(region, lambda here: here and function)


def set_in(
    trees: Mapping[str, Tree], attribute: str, default: Any, where: Tree, value: Any
) -> dict[str, Tree]:
    """Returns the trees after setting the value of one attribute in a region."""
    return changed_by(trees, attribute, default, where, lambda *_: value)


def changed_by(
    trees: Mapping[str, Tree], attribute: str, default: Any, changes: Tree, change: Callable[[Any, Any], Any]
) -> dict[str, Tree]:
    """Returns the trees after changing the one of an attribute by `changes` (`regions.changed`)."""
    return {**trees, attribute: regions.changed(trees.get(attribute, default), changes, change)}


def reset(trees: Mapping[str, Tree], attribute: str, where: Tree, value: Any) -> Mapping[str, Tree]:
    """Returns the trees after resetting an attribute to its first value in a region, if it has a tree."""
    return set_in(trees, attribute, value, where, value) if attribute in trees else trees


def rename_raw_values(trees: Mapping[str, Tree], attribute: str, functions: Tree) -> dict[str, Tree]:
    """Returns raw-to-canonical maps after an Alter: each map first undoes it, and conditions on its raw values are
    rewritten. `functions`: tree over raw values, `False` for unchanged cells.

    The rewrite covers every map, including the attribute's own. `[[p > 1, ≀t]]` and then `[[t > 1, ≀p]]` leave a map of
    t whose cells depend on t.

    For example, `[[p > 1, alter(t, y -> y * 2)]]` and then `[[alter(p, y -> y * 10)]]`:

    >>> maps = rename_raw_values({}, "t", restrict_to(regions.interval("p", (1, 1), None), Affine(2, 0)))
    >>> maps = rename_raw_values(maps, "p", Affine(10, 0))
    >>> def canonical(raw: Mapping[str, int]) -> dict[str, Any]:
    ...     functions = {name: regions.contains(tree, raw) for name, tree in maps.items()}
    ...     return {name: function(raw[name]) for name, function in functions.items()}
    >>> canonical({"p": 20, "t": 8}), canonical({"p": 5, "t": 8})
    ({'t': 4, 'p': 2}, {'t': 8, 'p': Fraction(1, 2)})
    """
    changed = conditions_renamed(trees, attribute, functions)
    return changed_by(changed, attribute, IDENTITY, functions, _undone_first)


def conditions_renamed(trees: Mapping[str, Tree], attribute: str, functions: Tree) -> dict[str, Tree]:
    """Returns trees over raw values whose conditions on an attribute have its raw values after an Alter; `functions`
    as above."""
    changed = dict(trees)
    for other, tree in trees.items():
        if attribute in regions.attributes(tree):
            for function, where in regions.cells(functions).items():
                if function is not False:
                    renamed = regions.transform(tree, attribute, function)
                    changed[other] = regions.choose(where, renamed, changed[other])
    return changed


def unlike(functions: Tree, original: Tree, wanted: Affine) -> Tree:
    """Returns the cells where functions do not lead from canonical values to those of the wanted function. `functions`:
    tree over raw values, `False` outside the cells to check. `original`: the function from raw to canonical values."""

    def shortcut(function: Tree, _: Tree) -> Tree | None:
        return False if function is False else None

    def differs(function: Any, undone: Any) -> bool:
        return function is not False and function != composed(wanted, undone)

    return regions.combine(functions, original, Operation(shortcut, differs))


def _undone_first(function: Function, change: Function) -> Function:
    return composed(function, change.inverse())
