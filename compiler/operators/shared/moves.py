"""Regions over the input of a projection as regions over its output, by the axes that carry them (D1, G25)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.step_functions import Filled, ManyToOne, many_to_one
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.regions import ANYTHING, UNION, Box, Domain, Operation, Tree, Universe
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.syntax import Attribute, Expression

Axes = dict[str, tuple[str, Affine | ManyToOne]]
"""Input attribute -> the output attribute that regions over it can speak of, and how."""


class Move:
    """The image of a tree in the names and scales of the output; the outer one, where a step function has many
    values in one cell (D1, G25)."""

    def __init__(self, axes: Axes, universe: Universe) -> None:
        self.axes = axes
        self.universe = universe
        self.changed = {
            name: (target, function)
            for name, (target, function) in axes.items()
            if target != name or function != IDENTITY
        }
        self.has_steps = any(isinstance(function, ManyToOne) for _, function in axes.values())

    def __call__(self, tree: Tree, operation: Operation, start: Tree) -> Tree:
        if not self.changed.keys() & regions.attributes(tree):
            return tree
        return self._image_of(tree, operation, start, self.universe)

    def domains(self) -> dict[str, Domain]:
        """Returns the domains of the attributes of the output, by those of the input."""
        return {
            target: self._domain(self.universe[name], target, function)
            for name, (target, function) in self.axes.items()
            if name in self.universe
        }

    def _domain(self, domain: Domain, target: str, function: Affine | ManyToOne) -> Domain:
        members = self(domain.members, UNION, False)
        if isinstance(function, Filled):
            members = regions.intersection(members, regions.defined(target))
        return Domain(members, domain.integral and function.is_whole, domain.listed)

    def closed(self, region: Tree) -> Tree:
        """Returns the cells that lie in a region with all their tuples: the inner image.

        For example, minute 130 is in hour 2, which is still open; hours before it are closed:

        >>> from cedilla.compiler.expressions.step_functions import Step
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
        if isinstance(function, ManyToOne):
            domain = universe.get(name, ANYTHING)
            members = domain.possible(members, name)  # other values are in no tuple
            if isinstance(function, Filled) and not self.universe.get(name, ANYTHING).may_be_missing:
                members = regions.intersection(members, regions.defined(name))
            return target, members and function.image(members, target, domain.integral)
        if function != IDENTITY:  # only numbers have another
            members = regions.transform(members, name, function)
        return target, regions.renamed(members, target)


def axes_of(items: Mapping[str, Expression], types: Mapping[str, Type]) -> Axes:
    """Returns the axes of the items of a projection: plain items come first, then increasing affine functions, then
    step functions."""
    axes: Axes = {}
    for name, expression in items.items():
        if isinstance(expression, Attribute) and (expression.name == name or expression.name not in axes):
            axes[expression.name] = name, IDENTITY
    for name, expression in items.items():
        form = expressions.affine(expression)
        if form is not None and form[1].slope > 0 and form[0] not in axes:
            axes[form[0]] = name, form[1]
    for name, expression in items.items():
        step = _step(expression, types)
        if step is not None and step[0] not in axes:
            axes[step[0]] = name, step[1]
    return axes


def views_of(axes: Axes, items: Mapping[str, Expression], types: Mapping[str, Type]) -> list[Axes]:
    """Returns the axes with one of them exchanged for a step function of the same attribute: patterns on the attribute
    itself stay, and those on its steps come on top."""
    steps = [(name, step) for name, expression in items.items() if (step := _step(expression, types))]
    return [{**axes, of: (name, step)} for name, (of, step) in steps if axes[of][0] != name]


def _step(expression: Expression, types: Mapping[str, Type]) -> tuple[str, ManyToOne] | None:
    return None if expressions.affine(expression) else many_to_one(expression, types)
