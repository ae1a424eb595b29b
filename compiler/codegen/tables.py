"""Writes levels with many points as tables: a join replaces a long `CASE` (design, sections 5 and 9).

The points of a level are the keys of a table. Points whose subtrees differ only in their constants share one
expression, their *shape*, over columns with the constants. Any number of functions, active from any number of
positions, is therefore a few expressions and one row for each point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from attrs import frozen

from cedilla.compiler.expressions.types import LONG, Type
from cedilla.compiler.regions import POSITION, Level, Tree, Value
from cedilla.compiler.regions.affine import Affine

MAX_CASES = 16
"""A level with at most this number of different subtrees, or `MAX_MEMBERS` points in all, is searched by a
`CASE`.
"""
MAX_MEMBERS = 256
_MAX_NESTED = 8  # points of a nested level that still become constants of a shape
PREFIX = "\0"
_SQL = {"l": "BIGINT", "d": "DOUBLE", "s": "STRING"}

Coefficients = Callable[[Sequence[str]], str]
"""SQL of an affine function of a double, from the SQL of its numbers (`double_arithmetic.sql_over`)."""


@frozen
class Table:
    """Rows for a join: the key, the number of the shape, the constants.

    `columns`: name without prefix -> Spark type, in the order of the rows' values. `shapes`: by number, SQL
    over those columns with `PREFIX` in place of theirs. `key`: SQL type of the key.
    """

    key: str
    columns: Mapping[str, str]
    shapes: Sequence[str]
    rows: Sequence[tuple[Any, ...]]


def is_large(node: Level) -> bool:
    """Returns True if a level has more points than a `CASE` should search."""
    points = node.points
    if len(points) <= MAX_CASES:
        return False
    return len(points) > MAX_MEMBERS or len({id(child) for child in points.values()}) > MAX_CASES


def table(
    attribute: str,
    points: Mapping[Value, Tree],
    types: Mapping[str, Type],
    columns: Mapping[str, str],
    leaf: Callable[[Any], str],
    coefficients: Coefficients | None,
    write: Callable[[Tree], str],
) -> Table | None:
    """Returns the table of a level's points; `None` if the attribute's type has no keys.

    `columns`: attribute -> SQL of its value; `leaf`: leaf -> SQL; `write`: subtree -> SQL, for those that
    are too large for a shape. The table may be used in later epochs, so the SQL must not depend on this one.
    """
    kind = kind_of(types.get(attribute, LONG))
    if kind is None:
        return None
    shapes: dict[str, int] = {}
    entries: dict[Any, tuple[int, dict[str, list[Any]]]] = {}
    width = {"l": 0, "d": 0, "s": 0}
    memo: dict[int, tuple[int, dict[str, list[Any]]]] = {}
    for value, child in points.items():
        key = constant(kind, value)
        if key is None or key in entries:
            continue
        if id(child) not in memo:
            writer = _Writer(types, columns, leaf, coefficients)
            try:
                text = writer.shape(child)
            except _TooLarge:
                text, writer.constants = write(child), {}
            for name, constants in writer.constants.items():
                width[name] = max(width[name], len(constants))
            memo[id(child)] = shapes.setdefault(text, len(shapes)), writer.constants
        entries[key] = memo[id(child)]
    names = {f"{k}{i}": _SQL[k] for k, count in width.items() for i in range(count)}
    rows = [(key, shape, *_filled(constants, width)) for key, (shape, constants) in entries.items()]
    return _without_constant_columns(Table(_SQL[kind], names, list(shapes), rows))


def _without_constant_columns(table: Table) -> Table:
    """Moves numbers that all rows share into the shapes, so that a join need not copy them."""
    columns = list(zip(*table.rows, strict=True))
    varying = dict(table.columns)
    shapes = list(table.shapes)
    for name, values in zip(table.columns, columns[2:], strict=True):
        distinct = {repr(value) for value in values if value is not None}
        if table.columns[name] == "DOUBLE" and len(distinct) == 1 and isfinite(float(min(distinct))):
            shapes = [shape.replace(f"`{PREFIX}{name}`", f"{min(distinct)}D") for shape in shapes]
            del varying[name]
    kept = [0, 1, *(2 + n for n, name in enumerate(table.columns) if name in varying)]
    return Table(table.key, varying, shapes, [tuple(row[n] for n in kept) for row in table.rows])


def kind_of(type_: Type) -> str | None:
    """Returns the kind of column that holds values of a type: `l`, `d` or `s`; `None` for other types."""
    if type_.is_integral:
        return "l"
    return {"double": "d", "string": "s", "version": "s"}.get(type_.name)


def key_sql(type_: Type, value: str) -> str:
    """Returns SQL that gives a value in the form of `constant`."""
    match type_.name:
        case "timestamp":
            return f"unix_micros({value})"
        case "date":
            return f"CAST(unix_date({value}) AS BIGINT)"
        case "string" | "version":
            return value
        case "double":
            return f"CAST({value} AS DOUBLE)"
        case _:
            return f"CAST({value} AS BIGINT)"


def constant(kind: str, value: Any) -> Any:
    """Converts a control-plane value for a column of a kind; `None` if no value of the column equals it."""
    match kind:
        case "l":
            return int(value) if value == int(value) and -(2**63) <= value < 2**63 else None
        case "d":
            try:
                return float(value) + 0.0  # -0.0 becomes 0.0
            except OverflowError:
                return None
        case _:
            return value


def _filled(constants: Mapping[str, list[Any]], width: Mapping[str, int]) -> list[Any]:
    row: list[Any] = []
    for kind, count in width.items():
        values = constants.get(kind, [])
        row += values
        row += [None] * (count - len(values))
    return row


class _TooLarge(Exception):
    """A subtree cannot be a shape: it has too many points, or constants that fit no column."""


class _Writer:
    """Writes one subtree as a shape and collects its constants."""

    def __init__(
        self,
        types: Mapping[str, Type],
        columns: Mapping[str, str],
        leaf: Callable[[Any], str],
        coefficients: Coefficients | None,
    ) -> None:
        self.types = types
        self.columns = columns
        self.leaf = leaf
        self.coefficients = coefficients
        self.constants: dict[str, list[Any]] = {}

    def shape(self, tree: Tree) -> str:
        if not isinstance(tree, Level):
            return self._leaf(tree)
        if len(tree.points) > _MAX_NESTED:
            raise _TooLarge
        type_ = LONG if tree.attribute == POSITION else self.types.get(tree.attribute, LONG)
        kind = kind_of(type_)
        if kind is None:
            raise _TooLarge
        column = self.columns[tree.attribute]
        value = key_sql(type_, column)
        cases = [f"WHEN {column} IS NULL THEN {self.shape(tree.undefined)}"]
        points = list(tree.points.items())
        for point, child in points + points[-1:] * (_rounded(len(points)) - len(points)):
            cases.append(f"WHEN {value} = {self._constant(kind, point)} THEN {self.shape(child)}")
        cuts, pieces = list(tree.cuts), list(tree.pieces)
        missing = _rounded(len(cuts)) - len(cuts)
        ordinary = self._search(kind, value, cuts + cuts[-1:] * missing, pieces + pieces[-1:] * missing)
        return f"CASE {' '.join(cases)} ELSE {ordinary} END"

    def _search(self, kind: str, value: str, cuts: list[Any], pieces: list[Tree]) -> str:
        if not cuts:
            return self.shape(pieces[0])
        middle = len(cuts) // 2
        at, after = cuts[middle]
        test = f"{value} {'<=' if after else '<'} {self._constant(kind, at)}"
        left = self._search(kind, value, cuts[:middle], pieces[: middle + 1])
        right = self._search(kind, value, cuts[middle + 1 :], pieces[middle + 1 :])
        return f"IF({test}, {left}, {right})"

    def _leaf(self, leaf: Any) -> str:
        if self.coefficients is None or not isinstance(leaf, Affine):
            return self.leaf(leaf)
        numbers = leaf.coefficients
        if numbers is None:
            return self.leaf(leaf)
        return self.coefficients([self._column("d", number) for number in numbers])

    def _constant(self, kind: str, value: Value) -> str:
        held = constant(kind, value)
        if held is None:
            raise _TooLarge
        return self._column(kind, held)

    def _column(self, kind: str, value: Any) -> str:
        column = self.constants.setdefault(kind, [])
        column.append(value)
        return f"`{PREFIX}{kind}{len(column) - 1}`"


def _rounded(count: int) -> int:
    """Returns the next power of two, so that levels of many sizes share few shapes."""
    return 1 << (count - 1).bit_length() if count else 0
