"""Translates regions over raw values to canonical values, and back: the function of its cell converts each attribute
(G22)."""

from __future__ import annotations

from collections.abc import Mapping, Set

from cedilla.compiler import regions
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.function import Function

_MANY_FUNCTIONS, _MAX_PARTS = 4, 256
"""If many attributes decide each other's units, there is a part for each combination of their functions."""


def translate(region: Tree, maps: Mapping[str, Tree]) -> Tree:
    """Returns the image of a region under the function that each attribute has in its cell.

    `maps`: attribute -> tree of functions over the same values as the region.

    For example, sensor 2 sends °F, and the others °C:

    >>> from cedilla.compiler.regions.affine import IDENTITY, Affine
    >>> celsius = {"t": regions.choose(regions.values("s", [2]), Affine("5/9", "-160/9"), IDENTITY)}
    >>> print(translate(regions.interval("t", (86, 1), None), celsius))
    s = 2: (t > 30: True, else False), else (t > 86: True, else False)
    """
    return regions.union(*(_image(part, functions) for part, functions in _parts(region, maps)))


def mapped_into(region: Tree, image: Tree, maps: Mapping[str, Tree]) -> Tree:
    """Returns the part of a region that `translate` maps into another region.

    >>> from cedilla.compiler.regions.affine import IDENTITY, Affine
    >>> celsius = {"t": regions.choose(regions.values("s", [2]), Affine("5/9", "-160/9"), IDENTITY)}
    >>> print(mapped_into(True, regions.interval("t", (30, 1), None), celsius))
    s = 2: (t > 86: True, else False), else (t > 30: True, else False)
    """
    matching: list[Tree] = []
    for part, functions in _parts(region, maps, regions.attributes(image)):
        back = {name: function.inverse() for name, function in functions.items()}
        matching.append(regions.intersection(part, _image(image, back)))
    return regions.union(*matching)


def _parts(
    region: Tree, maps: Mapping[str, Tree], others: Set[str] = frozenset()
) -> list[tuple[Tree, dict[str, Function]]]:
    """Splits a region into parts with one function for each attribute. `others`: attributes besides the region's."""
    mentioned = {*regions.attributes(region), *others}
    needed: dict[str, Tree] = {}
    while more := [n for n in maps if n in mentioned and n not in needed]:
        for name in more:
            needed[name] = maps[name]
            mentioned |= regions.attributes(maps[name])
    parts: list[tuple[Tree, dict[str, Function]]] = [(region, {})]
    for name, tree in needed.items():
        parts = [
            (cell, {**functions, name: function})
            for part, functions in parts
            for function, cell in _cells(part, tree)
        ]
        if len(needed) > _MANY_FUNCTIONS and len(parts) > _MAX_PARTS:
            raise regions.too_many_cases()
    return parts


def _image(region: Tree, functions: Mapping[str, Function]) -> Tree:
    for name, function in functions.items():
        region = region if function.is_identity else regions.transform(region, name, function, False)
    return region


def _cells(region: Tree, tree: Tree) -> list[tuple[Function, Tree]]:
    """Returns the functions of a tree, each with its part of a region."""

    def shortcut(inside: Tree, functions: Tree) -> Tree | None:
        if inside is False:
            return False
        return functions if inside is True else None

    inside = regions.combine(region, tree, regions.Operation(shortcut, lambda _, function: function))
    return [(function, cell) for function, cell in regions.cells(inside).items() if function is not False]
