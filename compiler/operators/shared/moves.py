"""Regions over the input of a projection as regions over its output, by the axes that carry them (D1, G25)."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.expressions.step_functions import Step
from cedilla.compiler.regions import ANYTHING, UNION, Box, Operation, Tree, Universe
from cedilla.compiler.regions.affine import IDENTITY, Affine

Axes = dict[str, tuple[str, Affine | Step]]
"""Input attribute -> the output attribute that regions over it can speak of, and how."""


class Move:
    """The image of a tree in the names and scales of the output; the outer one, where a step function has many
    values in one cell (D1, G25)."""

    def __init__(self, axes: Axes, universe: Universe) -> None:
        self.universe = universe
        self.changed = {
            name: (target, function)
            for name, (target, function) in axes.items()
            if target != name or function != IDENTITY
        }
        self.has_steps = any(isinstance(function, Step) for _, function in axes.values())

    def __call__(self, tree: Tree, operation: Operation, start: Tree) -> Tree:
        if not self.changed.keys() & regions.attributes(tree):
            return tree
        return self._image_of(tree, operation, start, self.universe)

    def closed(self, region: Tree) -> Tree:
        """Returns the cells that lie in a region with all their tuples: the inner image.

        For example, minute 130 is in hour 2, which is still open; hours before it are closed:

        >>> move = Move({"minute": ("hour", Step(Affine("1/60", 0)))}, {})
        >>> print(move.closed(regions.interval("minute", None, (130, 0))))
        hour < 2: True, else False
        >>> print(move(regions.interval("minute", None, (130, 0)), UNION, False))
        hour < 3: True, else False
        """
        if not self.changed.keys() & regions.attributes(region):
            return region
        # A list may grow by a value of a cell that has none so far (theory N1).
        fixed = {n: evolve(d, members=True) if d.is_list else d for n, d in self.universe.items()}
        return regions.complement(self._image_of(regions.complement(region), UNION, False, fixed))

    def _image_of(self, tree: Tree, operation: Operation, start: Tree, universe: Universe) -> Tree:
        def image(box: dict[str, Tree]) -> Iterable[Box]:
            moved = dict(self._member(name, members, universe) for name, members in box.items())
            return () if any(members is False for members in moved.values()) else (moved,)

        return regions.reshape(tree, image, operation, start)

    def _member(self, name: str, members: Tree, universe: Universe) -> tuple[str, Tree]:
        target, function = self.changed.get(name, (name, IDENTITY))
        if members is True or name not in self.changed:
            return target, members
        if isinstance(function, Step):
            domain = universe.get(name, ANYTHING)
            members = domain.possible(members, name)  # other values are in no tuple
            return target, members and function.image(members, target, domain.integral)
        if function != IDENTITY:  # only numbers have another
            members = regions.transform(members, name, function)
        return target, regions.renamed(members, target)
