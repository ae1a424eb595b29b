"""Trees that markers change from their positions on: names, swaps and missing values share what this says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.regions import Tree
from cedilla.runtime.control.accents.trees import conditions_renamed


@frozen
class Placed:
    """Trees of a source by attribute. `here`: after all markers so far. `placed`: with the positions of markers, for
    tuples of the current epoch."""

    here: Mapping[str, Tree] = field(factory=dict[str, Tree])
    placed: Mapping[str, Tree] = field(factory=dict[str, Tree])

    def next_epoch(self) -> Self:
        """Returns the trees for an epoch without markers yet; the same object if no marker has come."""
        return self if self.placed is self.here else evolve(self, placed=self.here)

    def with_trees(self, more: Mapping[str, Tree]) -> Self:
        """Returns the trees with these in place of their own, before an epoch."""
        trees = {**self.here, **more}
        return evolve(self, here=trees, placed=trees)

    def without(self, attribute: str) -> Self:
        """Returns the trees of all attributes except one."""
        here = {name: tree for name, tree in self.here.items() if name != attribute}
        return evolve(self, here=here, placed=here)

    def changed(
        self, name: str, default: Tree, where: Tree, places: Tree, change: Callable[[Tree, Tree], Tree]
    ) -> Self:
        """Returns the trees after a change of one of them in a region, at some positions. `default`: the tree of an
        attribute without one. `change`: of a tree in a region."""

        def after(trees: Mapping[str, Tree], region: Tree) -> dict[str, Tree]:
            return {**trees, name: change(trees.get(name, default), region)}

        placed = after(self.placed, regions.intersection(where, places))
        return evolve(self, here=after(self.here, where), placed=placed)

    def with_value(self, name: str, default: object, where: Tree, places: Tree, value: object) -> Self:
        """Returns the trees after one of them has a value in a region, at some positions."""
        return self.changed(
            name,
            default,
            where,
            places,
            lambda tree, region: regions.changed(tree, region, lambda *_: value),
        )

    def carried(self, attribute: str, functions: Tree, places: Tree) -> Self:
        """Returns trees over raw values after functions of an attribute: conditions of others by it change with them.
        `functions`: over raw values, `False` for unchanged cells."""

        def after(trees: Mapping[str, Tree], functions: Tree) -> dict[str, Tree]:
            others = {name: tree for name, tree in trees.items() if name != attribute}
            return {**trees, **conditions_renamed(others, attribute, functions)}

        placed = after(self.placed, regions.restricted(functions, places))
        return evolve(self, here=after(self.here, functions), placed=placed)
