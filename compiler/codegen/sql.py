"""Writes trees as Spark SQL: one flat expression that is never null (design, sections 3 and 9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cedilla.compiler.codegen.tables import is_large
from cedilla.compiler.expressions.types import LONG, Type, column
from cedilla.compiler.regions import Bound, Level, Tree, Value
from cedilla.compiler.regions.alternatives import alternatives

Large = Callable[[Level, Callable[[Tree], str], str], "str | None"]
"""Level with many points, subtree -> SQL, SQL for the values between the points -> SQL, or `None` to decline."""


def expression(
    tree: Tree,
    types: Mapping[str, Type],
    leaf: Callable[[Any], str],
    columns: Mapping[str, str] | None = None,
    large: Large | None = None,
    *,
    hides: bool = True,
) -> str:
    """Returns SQL for the leaf of each row. Pieces are searched in a balanced way, points by hashing.

    `types`: attribute -> type of its constants. `leaf`: leaf -> SQL. `columns`: attribute -> SQL, if it is
    not the column of that name. `large` writes levels with many points as tables. `hides`: constants are hidden from
    the engine, if it compiles code.
    """
    memo: dict[int, str] = {}

    def written(node: Tree) -> str:
        if not isinstance(node, Level):
            return leaf(node)
        if id(node) not in memo:
            memo[id(node)] = level(node)
        return memo[id(node)]

    def level(node: Level) -> str:
        name = node.attribute
        value = (columns or {}).get(name, column(name))
        type_ = types.get(name, LONG)
        zero = _zero(value, type_)
        cuts = tuple(map(type_.within, node.cuts))
        texts = [_hidden_constant(type_, bound, zero) if hides else type_.sql(bound) for bound, _ in cuts]
        # A comparison with ⊥ is not true, so ⊥ falls into the first piece, or the last.
        up = node.undefined == node.pieces[0]
        ordinary = _search(value, cuts, texts, [written(piece) for piece in node.pieces], up=up)
        if large is not None and is_large(node) and (text := large(node, written, ordinary)) is not None:
            return text
        # A position is a number in every row, never ⊥.
        is_covered = up or node.undefined == node.pieces[-1] or name not in types
        cases = [] if is_covered else [f"WHEN {value} IS NULL THEN {written(node.undefined)}"]
        cases += point_cases(node, types, value, written)
        return f"CASE {' '.join(cases)} ELSE {ordinary} END" if cases else ordinary

    return written(tree)


def point_cases(
    node: Level, types: Mapping[str, Type], value: str, write: Callable[[Tree], str]
) -> list[str]:
    """Returns the cases of a level's points; points with one subtree share a case."""
    at_points: dict[str, list[Value]] = {}
    texts: dict[int, str] = {}
    type_ = types.get(node.attribute, LONG)
    for point, child in node.points.items():
        if not type_.has(point):
            continue
        if id(child) not in texts:
            texts[id(child)] = write(child)
        at_points.setdefault(texts[id(child)], []).append(point)
    return [f"WHEN {_member(value, type_, points)} THEN {text}" for text, points in at_points.items()]


def predicate(
    region: Tree,
    types: Mapping[str, Type],
    columns: Mapping[str, str] | None = None,
    large: Large | None = None,
    *,
    hides: bool = True,
) -> str:
    """Returns SQL that is true if a row lies in a region; never null. Other parameters: as for `expression`."""
    tests = [expression(part, types, truth, columns, large, hides=hides) for part in alternatives(region)]
    return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"


def truth(inside: bool) -> str:
    """Returns the leaf of a region."""
    return "true" if inside else "false"


def _hidden_constant(type_: Type, constant: Value, zero: str) -> str:
    """Hides a constant from Spark's generated code, so that an epoch with other constants reuses compiled
    code.

    Only an index that depends on the row prevents constant folding.
    """
    text = type_.sql(constant)
    return text if type_.name in _BY_REFERENCE else f"get(array({text}, {text}), {zero})"


def _zero(value: str, type_: Type) -> str:
    """Returns an index, 0, that depends on the row.

    Spark folds `IS NULL` of a column that is never null, but not this arithmetic. If the index is null, so is
    a comparison with ⊥ anyway.
    """
    return f"CAST({type_.axis(value)} & 0 AS INT)" if type_.is_integral else f"CAST({value} IS NULL AS INT)"


_BY_REFERENCE = ("string", "version", "boolean")


_TESTS = {(0, False): "<", (1, False): "<=", (0, True): ">=", (1, True): ">"}


def _search(value: str, cuts: tuple[Bound, ...], texts: list[str], pieces: list[str], *, up: bool) -> str:
    """Writes a balanced search for the piece of a value.

    `up`: the tests ask for values above a cut, not below it.
    """
    if not cuts:
        return pieces[0]
    middle = len(cuts) // 2
    test = f"{value} {_TESTS[cuts[middle][1], up]} {texts[middle]}"
    below = _search(value, cuts[:middle], texts[:middle], pieces[: middle + 1], up=up)
    above = _search(value, cuts[middle + 1 :], texts[middle + 1 :], pieces[middle + 1 :], up=up)
    first, second = (above, below) if up else (below, above)
    return f"IF({test}, {first}, {second})"


def _member(value: str, type_: Type, points: list[Value]) -> str:
    if len(points) == 1:
        return f"{value} = {type_.sql(points[0])}"
    return type_.member(value, sorted(points))
