"""The functions that the values of an output are written with next, and those that it has left (theory D1, D2)."""

from __future__ import annotations

from attrs import evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import NO_FEEDER, Facts, History, fold_units
from cedilla.compiler.regions import Operation, Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine

NONE: History = ()


def with_left(earlier: Tree, was: Tree, announced: Tree, after: Facts) -> Tree:
    """Returns the earlier functions of cells, after an Alter of a region whose functions were `was`. Closed cells need
    none."""
    left = regions.combine(was, announced, _LEFT)
    if left is False:
        return earlier
    tree = regions.changed(
        earlier, left, lambda functions, f: functions if f in functions else (*functions, f)
    )
    # A list may grow by a value of a cell whose others are all closed.
    fixed = {name: domain for name, domain in after.universe.items() if not domain.is_list}
    others = regions.attributes(after.closed) - regions.attributes(tree)
    return regions.update(tree, regions.forall(after.closed, others, fixed), lambda _: NONE)


@frozen
class _Apart:
    """A cell's function that its feeders do not have in common, because the one that had it has gone; and the latest
    that they have."""

    scale: Affine
    latest: Affine


def _next(history: History, scale: Affine) -> Affine | _Apart:
    """Returns the latest common function, if the cell's own one is common, too (D1); a cell without feeders is
    unchanged."""
    if not history or scale == history[-1]:
        return scale  # the same object: nothing changes
    if scale in history[::-1]:  # most often it is one of the last
        return history[-1]
    return _Apart(scale, history[-1])


def _never_back(next_: Affine | _Apart, earlier: History) -> Affine:
    """Returns a cell's next function: one that its own does not lead to must be new to it (D2)."""
    if isinstance(next_, Affine):
        return next_
    return next_.scale if next_.latest.is_identity or next_.latest in earlier else next_.latest


def _left(scale: Affine, announced: bool) -> Affine | bool:
    """Returns the function that an Alter makes an earlier one, or `False`."""
    return announced and not scale.is_identity and scale


_NEXT = Operation(lambda a, b: None, _next)
_NEVER_BACK = Operation(lambda a, b: a if isinstance(a, Affine) else None, _never_back)
_LEFT = Operation(lambda a, b: False if b is False or a == IDENTITY else None, _left)


@regions.pointwise
def next_functions(units: Tree, scale: Tree, earlier: Tree) -> Tree:
    """Returns the functions that the output's values are encoded with next.

    For example, sensor 1 and sensor 2 feed one cell. Both have been altered to °F, then sensor 1 to K:

    >>> from fractions import Fraction
    >>> fahrenheit, kelvin = Affine(Fraction(9, 5), 32), Affine(1, Fraction("273.15"))
    >>> common = (IDENTITY, fahrenheit)
    >>> next_functions(common, IDENTITY, NONE) == fahrenheit
    True
    >>> next_functions(common, kelvin, NONE) == fahrenheit  # what had K is closed, and °F is new to the output
    True
    >>> next_functions(common, kelvin, (fahrenheit,)) == kelvin  # never back
    True
    """
    target = regions.combine(units, scale, _NEXT)
    if any(isinstance(leaf, _Apart) for leaf in regions.leaves(target)):
        target = regions.combine(target, earlier, _NEVER_BACK)
    return target


_CHANGE = Operation(lambda a, b: IDENTITY if a is b else None, lambda new, old: new.after(old.inverse()))


def changes(target: Tree, old: Tree) -> dict[Affine, Tree]:
    """Returns the functions from values in the old units to those in the new ones, each with its cells."""
    cells = regions.cells(_change(target, old))
    return {function: cell for function, cell in cells.items() if not function.is_identity}


@regions.pointwise
def _change(target: Tree, old: Tree) -> Tree:
    """Returns the functions from values in the old units to those in the new ones."""
    return regions.combine(target, old, _CHANGE)


def told_apart(name: str, after: Facts) -> Tree:
    """Returns the histories of the cells that descriptions of an attribute's own Alter can distinguish (G23).

    Tuples with every value of the attribute feed such a cell. If those with `x > 5` have a function and the others have
    gone further, the cell has what both have; it stays only where they share nothing new (D2).
    """
    units = after.units[name]
    if name not in regions.attributes(units):
        return units
    units = regions.update(units, regions.complement(regions.defined(name)), lambda _: NO_FEEDER)
    return fold_units(evolve(after, units={name: units}), name, {name})
