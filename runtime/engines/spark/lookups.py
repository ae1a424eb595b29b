"""Trees with many points as broadcast tables. They are built once and kept until the tree changes, in Spark's memory,
or as a temporary view on a server.

One hash join for each level finds the leaf of a row, independent of the number of accents in force. A tree that changed
at a few points keeps its table; the changed points come before it, as a `CASE` or a small table. Neighbouring whole
numbers with one leaf are a range, and need no table.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import pyarrow as pa
from attrs import define, field
from immutables import Map
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler import regions
from cedilla.compiler.codegen import sql, tables
from cedilla.compiler.codegen.tables import Coefficients, Table
from cedilla.compiler.expressions.types import LONG, Type, column
from cedilla.compiler.regions import Domain, Level, PointChanges, Tree, Value
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.connect import engine_in
from cedilla.runtime.engines.spark.frames import is_connect, of_table

Slot = tuple[object, ...]

_ARROW = {"BIGINT": pa.int64(), "INT": pa.int32(), "DOUBLE": pa.float64(), "STRING": pa.string()}
_TABLES = "_cedilla_tables"
"""The attribute of a session that contains its tables."""
_VIEWS = 4
"""Number of views of a rebuilt table that a server keeps. At most two epochs are in flight, and each is planned at most
twice. An epoch planned with a dropped view is therefore finished."""


@define(eq=False)
class _Built:
    """A table in Spark, or few ranges that need none. `changes`: of the level since then; `spelling`: the inputs of its
    expressions apart from the points."""

    node: Level
    changes: PointChanges
    spelling: object
    table: Table | Level
    frame: DataFrame | None


@define(eq=False)
class Tables:
    """The tables of a session by purpose: the last complete one, and one of later changes."""

    spark: SparkSession
    whole: dict[Slot, _Built] = field(factory=dict[Slot, _Built])
    changed: dict[Slot, _Built] = field(factory=dict[Slot, _Built])
    _views: dict[tuple[bool, Slot], deque[str]] = field(factory=dict[tuple[bool, Slot], deque[str]])
    _numbers: Iterator[int] = field(factory=count)

    @classmethod
    def of(cls, spark: SparkSession) -> Tables:
        """Returns the tables of a session, stored as an attribute of the session. Their frames refer to the session, so
        even a dictionary with weak keys would keep both forever."""
        kept = vars(spark)
        if _TABLES not in kept:
            kept[_TABLES] = cls(spark)
        return kept[_TABLES]

    def keep(
        self, cache: dict[Slot, _Built], slot: Slot, node: Level, spelling: object, table: Table | Level
    ) -> _Built:
        if (old := cache.get(slot)) is not None and old.frame is not None and not is_connect(self.spark):
            old.frame.unpersist()
        frame = None if isinstance(table, Level) else self._frame(table, (cache is self.whole, slot))
        cache[slot] = _Built(node, PointChanges(node), spelling, table, frame)
        return cache[slot]

    def _frame(self, table: Table, purpose: tuple[bool, Slot]) -> DataFrame:
        fields = {"key": table.key, "shape": "INT", **table.columns}
        columns = [
            pa.array(values, _ARROW[kind])
            for values, kind in zip(zip(*table.rows, strict=True), fields.values(), strict=True)
        ]
        rows = of_table(self.spark, pa.table(columns, list(fields)))
        return self._view(rows, purpose) if is_connect(self.spark) else rows.persist()

    def _view(self, rows: DataFrame, purpose: tuple[bool, Slot]) -> DataFrame:
        """Returns the same rows as a named view in a server's memory. Otherwise each request for columns, and each job,
        would send them again.

        100,000 points are 4 MB (tests/benchmarks/tuning-notes.md).
        """
        name = f"cedilla_points_{next(self._numbers)}"
        rows.createOrReplaceTempView(name)
        names = self._views.setdefault(purpose, deque())
        names.append(name)
        if len(names) > _VIEWS:
            self.spark.catalog.dropTempView(names.popleft())
        return self.spark.table(name)


class Lookups:
    """The tables for the expressions over one DataFrame: `expression` registers one, `joined` adds its columns."""

    def __init__(self, tables: Tables, types: Mapping[str, Type], columns: Mapping[str, str]) -> None:
        self._tables = tables
        self._types = types
        self._columns = columns
        self._hides = engine_in(tables.spark) != "sail"  # which compiles no code
        self._joins: list[tuple[str, str, DataFrame]] = []

    def expression(
        self,
        purpose: Slot,
        tree: Tree,
        leaf: Callable[[Any], str],
        coefficients: Coefficients | None = None,
    ) -> str:
        """Returns `sql.expression` with a table for large trees. `purpose`: a name for the tree that is the same in
        every epoch.

        `coefficients` writes a function whose numbers are columns; without it, each function is an expression.
        """
        large = self._large(purpose, leaf, coefficients)
        return sql.expression(tree, self._types, leaf, self._columns, large, hides=self._hides)

    def predicate(self, purpose: Slot, region: Tree) -> str:
        """Returns `sql.predicate` with a table for large regions."""
        large = self._large(purpose, sql.truth, None)
        return sql.predicate(region, self._types, self._columns, large, hides=self._hides)

    def _large(
        self, purpose: Slot, leaf: Callable[[Any], str], coefficients: Coefficients | None
    ) -> sql.Large:
        numbers = count()

        def large(node: Level, write: Callable[[Tree], str], ordinary: str) -> str | None:
            return self._level((*purpose, next(numbers)), node, leaf, coefficients, write, ordinary)

        return large

    def joined(self, frame: DataFrame) -> DataFrame:
        """Joins the columns that the expressions read to a DataFrame; their names begin with `$`."""
        for prefix, key, table in self._joins:
            named = table.select(*(F.col(c).alias(prefix + c) for c in table.columns))
            frame = frame.join(F.broadcast(named), F.expr(f"{key} = `{prefix}key`"), "left")
        return frame

    def _level(
        self,
        slot: Slot,
        node: Level,
        leaf: Callable[[Any], str],
        coefficients: Coefficients | None,
        write: Callable[[Tree], str],
        ordinary: str,
    ) -> str | None:
        type_ = self._types.get(node.attribute, LONG)
        spelling = (node.attribute, dict(self._types), dict(self._columns))

        def alone(subtree: Tree) -> str:
            return sql.expression(subtree, self._types, leaf, self._columns)

        def table(points: Mapping[Value, Tree]) -> Table | None:
            return tables.table(
                node.attribute, points, self._types, _Columns(self._columns), leaf, coefficients, alone
            )

        tables_ = self._tables
        whole = tables_.whole.get(slot)
        since: Map[Value, Tree] = Map()
        if whole is not None and whole.spelling == spelling:
            since = Map({v: node.at(v) for v in whole.changes.until(node)})
        if (
            whole is None
            or whole.spelling != spelling
            or len(since) > max(costs.TABLE_CHANGES, len(node.points) // costs.TABLE_SHARE)
        ):
            made = _few_ranges(node, type_) or table(node.points)
            if made is None:
                return None
            whole, since = tables_.keep(tables_.whole, slot, node, spelling, made), Map()
        cases: list[str] = []
        if len(since) > costs.TABLE_CHANGES:
            changed = tables_.changed.get(slot)
            if changed is None or changed.node is not node or changed.spelling != spelling:
                made = table(since)
                assert made is not None
                changed = tables_.keep(tables_.changed, slot, node, spelling, made)
            cases += self._table_cases(changed, type_)
        elif since:
            here = Level(node.attribute, None, (), (None,), since)
            cases += sql.point_cases(here, self._types, self._value(node.attribute), write)
        cases += self._table_cases(whole, type_)
        value = self._value(node.attribute)
        if isinstance(whole.table, Level):
            ordinary = sql.expression(
                whole.table,
                self._types,
                lambda child: ordinary if child is _OUTSIDE else leaf(child),
                self._columns,
                hides=self._hides,
            )
        return f"CASE WHEN {value} IS NULL THEN {write(node.undefined)} {' '.join(cases)} ELSE {ordinary} END"

    def _value(self, attribute: str) -> str:
        return self._columns.get(attribute, column(attribute))

    def _table_cases(self, built: _Built, type_: Type) -> list[str]:
        """Returns the cases for the points in a table, and registers the table for the join."""
        if built.frame is None or isinstance(built.table, Level):
            return []
        prefix = f"${len(self._joins)}_"
        self._joins.append((prefix, tables.key_sql(type_, self._value(built.node.attribute)), built.frame))
        return [
            f"WHEN `{prefix}shape` = {number} THEN {shape.replace(tables.PREFIX, prefix)}"
            for number, shape in enumerate(built.table.shapes)
        ]


class _Columns(dict[str, str]):
    """Maps each attribute to SQL for its value: its name if no other SQL is given."""

    def __missing__(self, attribute: str) -> str:
        return column(attribute)


_OUTSIDE = object()
"""The leaf of values between the points of a level."""


def _few_ranges(node: Level, type_: Type) -> Level | None:
    """Returns the points of a level as ranges of neighbours with equal children, and few others; `None` if these are
    many, or the values are no whole numbers. Such ranges need no join."""
    if not type_.is_integral:
        return None
    points = Level(node.attribute, _OUTSIDE, (), (_OUTSIDE,), node.points)
    ranges = regions.coalesced(points, {node.attribute: Domain(integral=True)})
    return ranges if regions.is_small(ranges, tables.MAX_CASES) else None
