"""What markers do to the trees of a source: presence, units, and the maps from raw to canonical values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import History
from cedilla.compiler.regions import POSITION, Operation, Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.code import Code

Function = Affine | Code
"""What leads from one value of an attribute to another."""
MANY = 4096
"""Functions and histories of which one object each is kept."""


@frozen
class Altered:
    """An Alter that has come: its canonical region, and where and how it was written."""

    attribute: str
    function: Affine
    where: Tree
    place: str
    text: str


def altered(history: History, function: Affine) -> History:
    """A history after an Alter. The cells of a fleet that went through the same share one object, so that what is
    worked out for one of them is worked out for all."""
    return (*history, function.after(history[-1]))


@lru_cache(MANY)
def composed(last: Function, first: Function) -> Function:
    """A function behind another one of the attribute; all of one attribute are of one kind."""
    return last if first.is_identity else first if last.is_identity else last.after(first)  # type: ignore[arg-type]


def after(position: int) -> Tree:
    """The places behind one."""
    return regions.interval(POSITION, (position, 1), None)


def inside(region: Tree, function: Function) -> Tree:
    """A function wherever a region is, `False` elsewhere."""
    return regions.map_leaves(region, lambda here: here and function)


def changed(
    trees: Mapping[str, Tree], attribute: str, default: Any, where: Tree, value: Any
) -> dict[str, Tree]:
    """The trees, of which that of an attribute has a value in a region."""
    return changed_by(trees, attribute, default, where, lambda *_: value)


def changed_by(
    trees: Mapping[str, Tree], attribute: str, default: Any, changes: Tree, change: Callable[[Any, Any], Any]
) -> dict[str, Tree]:
    """The trees, of which that of an attribute is changed where `changes` says by what (`regions.changed`)."""
    return {**trees, attribute: regions.changed(trees.get(attribute, default), changes, change)}


def begun(trees: Mapping[str, Tree], attribute: str, where: Tree, value: Any) -> Mapping[str, Tree]:
    """The trees, of which that of an attribute, if it has one, has its first value in a region again."""
    return changed(trees, attribute, value, where, value) if attribute in trees else trees


def shifted(trees: Mapping[str, Tree], attribute: str, functions: Tree) -> dict[str, Tree]:
    """Raw-to-canonical maps after an Alter: undo it first; and its raw values have new names everywhere. `functions`:
    tree over raw values, `False` where nothing changes.

    Everywhere, in the attribute's own map too: `[[p > 1, ≀t]]` and then `[[t > 1, ≀p]]` leave a map of t whose
    cells are told apart by t.
    """
    changed = dict(trees)
    for other, tree in trees.items():
        if attribute in regions.attributes(tree):
            for function, where in regions.cells(functions).items():
                if function is not False:
                    there = regions.transform(tree, attribute, function)
                    changed[other] = regions.choose(where, there, changed[other])
    return changed_by(changed, attribute, IDENTITY, functions, _undone_first)


def unlike(functions: Tree, original: Tree, wanted: Affine) -> Tree:
    """Where functions do not lead from canonical values to those of one that is wanted. `functions`: tree over raw
    values, `False` where nothing is asked; `original`: the function that leads from them to canonical ones."""

    def settle(function: Tree, _: Tree) -> Tree | None:
        return False if function is False else None

    def differs(function: Any, undone: Any) -> bool:
        return function is not False and function != composed(wanted, undone)

    return regions.combine(functions, original, Operation(settle, differs))


def _undone_first(function: Function, change: Function) -> Function:
    return composed(function, change.inverse())
