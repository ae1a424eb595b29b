"""Trees to Spark SQL: one flat, never-null expression (design, sections 3 and 9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cedilla.compiler.regions import Cut, Steps, Tree, Value
from cedilla.compiler.types import LONG, Type, column


def expression(
    tree: Tree,
    types: Mapping[str, Type],
    leaf: Callable[[Any], str],
    columns: Mapping[str, str] | None = None,
) -> str:
    """The leaf for each row, as SQL. Pieces are searched in a balanced way, points by hashing.

    `types`: attribute -> type of its constants; `leaf`: leaf -> SQL; `columns`: attribute -> SQL where it is
    not the column of that name.
    """
    if not isinstance(tree, Steps):
        return leaf(tree)
    name = tree.attribute
    value = (columns or {}).get(name, column(name))
    type_ = types.get(name, LONG)
    written = {id(c): expression(c, types, leaf, columns) for c in _children(tree)}
    pieces = [written[id(piece)] for piece in tree.pieces]
    ordinary = _search(value, type_, tree.cuts, pieces)
    at_points: dict[str, list[Value]] = {}
    for point, child in tree.points.items():
        at_points.setdefault(written[id(child)], []).append(point)
    cases = [f"WHEN {value} IS NULL THEN {written[id(tree.undefined)]}"]
    cases += [f"WHEN {_member(value, type_, points)} THEN {child}" for child, points in at_points.items()]
    return f"CASE {' '.join(cases)} ELSE {ordinary} END"


def predicate(region: Tree, types: Mapping[str, Type], columns: Mapping[str, str] | None = None) -> str:
    """Whether a row lies in a region; never null."""
    return expression(region, types, lambda inside: "true" if inside else "false", columns)


def _children(node: Steps) -> list[Tree]:
    return list({id(c): c for c in (node.undefined, *node.pieces, *node.points.values())}.values())


def _search(value: str, type_: Type, cuts: tuple[Cut, ...], pieces: list[str]) -> str:
    if not cuts:
        return pieces[0]
    middle = len(cuts) // 2
    at, after = cuts[middle]
    test = f"{value} {'<=' if after else '<'} {type_.sql(at)}"
    left = _search(value, type_, cuts[:middle], pieces[: middle + 1])
    right = _search(value, type_, cuts[middle + 1 :], pieces[middle + 1 :])
    return f"IF({test}, {left}, {right})"


def _member(value: str, type_: Type, points: list[Value]) -> str:
    if len(points) == 1:
        return f"{value} = {type_.sql(points[0])}"
    return f"{value} IN ({', '.join(type_.sql(p) for p in sorted(points))})"
