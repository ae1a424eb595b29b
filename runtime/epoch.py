"""What generated programs call: one epoch's canonical data flow (design, section 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, reduce

from attrs import define, field
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler import expressions, regions, sql
from cedilla.compiler.evolution import Facts
from cedilla.compiler.functions import FUNCTIONS
from cedilla.compiler.operators import Aggregate, Call, Join
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import Tree
from cedilla.compiler.types import Type, column
from cedilla.grammar.parser import parse_expression
from cedilla.runtime.state import StateStore

_TYPES = {
    "int": "int",
    "bigint": "long",
    "double": "double",
    "float": "double",
    "string": "string",
    "boolean": "boolean",
    "timestamp": "timestamp",
    "date": "date",
}


@define(eq=False, slots=False)
class Epoch:
    """One epoch. `before` and `after` are the facts of every relation when it begins and when it ends.

    Stateful operators write their new state while their output is being planned, once per epoch however many
    emits use them.
    """

    plan: Plan
    number: int
    frames: Mapping[str, DataFrame]
    active: frozenset[str]
    before: Mapping[str, Facts]
    after: Mapping[str, Facts]
    state: StateStore
    _done: dict[str, DataFrame] = field(factory=dict[str, DataFrame])

    # --- called by generated code ---

    def read(self, source: str) -> DataFrame:
        """This epoch's tuples of a source, canonical and valid."""
        return self.frames[source]

    def select(self, frame: DataFrame, predicate: str) -> DataFrame:
        """The rows for which a predicate, in the query's language, is true."""
        return frame.where(expressions.sql(parse_expression(predicate), types_of(frame)))

    def project(self, frame: DataFrame, items: Mapping[str, str]) -> DataFrame:
        """The named expressions, in the query's language; those over attributes that do not exist are left out."""
        types = types_of(frame)
        chosen = {name: parse_expression(text) for name, text in items.items()}
        return frame.select(
            *(
                F.expr(expressions.sql(expression, types)).alias(name)
                for name, expression in chosen.items()
                if expressions.attributes(expression) <= types.keys()
            )
        )

    def join(self, name: str, left: DataFrame, right: DataFrame, on: Sequence[tuple[str, str]]) -> DataFrame:
        """Every pair of which one tuple at least is new; then the new tuples that later ones may meet are kept."""
        if name not in self._done:
            self._done[name] = self._join(name, left, right, on)
        return self._done[name]

    def aggregate(
        self,
        name: str,
        frame: DataFrame,
        *,
        by: Sequence[str],
        function: str | None = None,
        all_but: Sequence[str] = (),
        calls: Mapping[str, str] | None = None,
    ) -> DataFrame:
        """The rows of the groups that closed in this epoch; partial results of the others are kept."""
        if name not in self._done:
            operator = Aggregate(
                name=name, inputs=(name,), by=by, function=function, excepts=all_but, calls=calls or {}
            )
            self._done[name] = self._aggregate(operator, frame)
        return self._done[name]

    # --- which relations have rows ---

    @cached_property
    def busy(self) -> frozenset[str]:
        """The relations that can have rows in this epoch."""
        busy = set(self.active)
        for operator in self.plan.operators:
            if isinstance(operator, Aggregate):
                hot = self.newly_closed(operator.name) is not False
            else:
                hot = not busy.isdisjoint(operator.inputs)
            if hot:
                busy.add(operator.name)
        return frozenset(busy)

    def newly_closed(self, name: str) -> Tree:
        """What this epoch closes of a relation."""
        region = regions.difference(self.after[name].closed, self.before[name].closed)
        return False if regions.is_empty(region, self.after[name].universe) else region

    def _inputs(self, name: str) -> tuple[Facts, ...]:
        return tuple(self.after[i] for i in self.plan.operator_of[name].inputs)

    # --- join ---

    def _join(self, name: str, left: DataFrame, right: DataFrame, on: Sequence[tuple[str, str]]) -> DataFrame:
        operator = self.plan.operator_of[name]
        assert isinstance(operator, Join)
        old = [self.state.read(f"{name}.{side}") for side in ("left", "right")]
        new = [left, right]
        busy = [i in self.busy for i in operator.inputs]
        parts: list[DataFrame] = []
        if busy[0]:
            met = [frame for frame in (old[1], right if busy[1] else None) if frame is not None]
            parts += [_joined(left, reduce(_stacked, met), on)] if met else []
        if busy[1] and old[0] is not None:
            parts.append(_joined(old[0], right, on))
        for index, purged in enumerate(operator.purge(self._inputs(name))):
            self._keep(f"{name}.{('left', 'right')[index]}", new[index] if busy[index] else None, purged)
        return reduce(_stacked, parts) if parts else _joined(left, right, on)

    def _keep(self, key: str, new: DataFrame | None, purged: Tree) -> None:
        """Purge of join state (theory 1.3), at insertion too (E7)."""
        if purged is True:
            self.state.clear(key)
            return

        def live(rows: DataFrame) -> DataFrame:
            return rows if purged is False else rows.where(f"NOT {sql.predicate(purged, types_of(rows))}")

        if new is not None:
            self.state.append(key, live(new), self.number)
        self.state.compact(key, self.number, live)

    # --- aggregate ---

    def _aggregate(self, operator: Aggregate, frame: DataFrame) -> DataFrame:
        name = operator.name
        (source,) = self._inputs(name)
        results = operator.results(source)
        busy = not self.busy.isdisjoint(self.plan.operator_of[name].inputs)
        if busy:
            self.state.append(name, self._partials(operator, results, frame), self.number)
        rows = self.state.read(name)
        if rows is None:
            rows = self._partials(operator, results, frame)
        passed = rows.where(sql.predicate(self.newly_closed(name), self.after[name].types))
        closed = self.after[name].closed
        if closed is True:
            self.state.clear(name)
        else:
            self.state.compact(name, self.number, lambda r: self._live(operator, r, closed))
        return self._finished(operator, results, _merged(passed, operator.by, results))

    def _live(self, operator: Aggregate, rows: DataFrame, closed: Tree) -> DataFrame:
        live = rows.where(f"NOT {sql.predicate(closed, self.after[operator.name].types)}")
        (source,) = self._inputs(operator.name)
        return _merged(live, operator.by, operator.results(source))

    def _partials(self, operator: Aggregate, results: Mapping[str, Call], frame: DataFrame) -> DataFrame:
        types = types_of(frame)
        columns = [
            F.expr(text.replace("{x}", _argument(call, types))).alias(f"{name}${part}")
            for name, call in results.items()
            if call.reads <= types.keys()
            for part, text in FUNCTIONS[call.function].partials.items()
        ]
        columns.append(F.count(F.lit(1)).alias("$tuples"))
        return frame.groupBy(*(column(b) for b in operator.by)).agg(*columns)

    def _finished(self, operator: Aggregate, results: Mapping[str, Call], merged: DataFrame) -> DataFrame:
        there = set(merged.columns)
        finished = [
            F.expr(FUNCTIONS[call.function].finish.replace("{p}", name)).alias(name)
            for name, call in results.items()
            if {f"{name}${part}" for part in FUNCTIONS[call.function].partials} <= there
        ]
        return merged.select(*(F.col(column(b)) for b in operator.by), *finished)

    # --- what state still holds (G13) ---

    def holds(self, name: str, attribute: str, region: Tree) -> bool:
        """Whether state has rows of a region that are defined on an attribute. One Spark job."""
        operator = self.plan.operator_of[name]
        if isinstance(operator, Aggregate):
            return self._some(
                name, self._partial_column(operator, attribute), region, self.after[name].closed
            )
        assert isinstance(operator, Join)
        purged = operator.purge(self._inputs(name))
        return any(
            self._some(f"{name}.{side}", column(attribute), region, purged[index])
            for index, side in enumerate(("left", "right"))
            if attribute in self._inputs(name)[index].types
        )

    def _partial_column(self, operator: Aggregate, attribute: str) -> str:
        (source,) = self._inputs(operator.name)
        partials = FUNCTIONS[operator.results(source)[attribute].function].partials
        return f"nullif(`{attribute}$n`, 0)" if "n" in partials else f"`{attribute}${next(iter(partials))}`"

    def _some(self, key: str, value: str, region: Tree, purged: Tree) -> bool:
        rows = self.state.read(key)
        if rows is None or (value.strip("`") not in rows.columns and "(" not in value):
            return False
        types = types_of(rows)
        known = regions.exists(region, regions.attributes(region) - types.keys(), {})
        test = f"{value} IS NOT NULL AND {sql.predicate(known, types)} AND NOT {sql.predicate(purged, types)}"
        return bool(rows.where(test).limit(1).count())


def types_of(frame: DataFrame) -> dict[str, Type]:
    """The language's types of a DataFrame's columns."""
    return {
        f.name: Type(_TYPES[name]) if (name := f.dataType.simpleString()) in _TYPES else Type.parse(name)
        for f in frame.schema.fields
        if "$" not in f.name
    }


def _argument(call: Call, types: Mapping[str, Type]) -> str:
    return "1" if call.argument is None else f"({expressions.sql(call.argument, types)})"


def _merged(rows: DataFrame, by: Sequence[str], results: Mapping[str, Call]) -> DataFrame:
    there = set(rows.columns)
    columns = [
        F.expr(text.replace("{p}", name)).alias(f"{name}${part}")
        for name, call in results.items()
        for part, text in FUNCTIONS[call.function].merge.items()
        if f"{name}${part}" in there
    ]
    columns.append(F.sum("`$tuples`").alias("$tuples"))
    return rows.groupBy(*(column(b) for b in by)).agg(*columns)


def _stacked(first: DataFrame, second: DataFrame) -> DataFrame:
    return first.unionByName(second, allowMissingColumns=True)


def _joined(left: DataFrame, right: DataFrame, on: Sequence[tuple[str, str]]) -> DataFrame:
    shared = {a for a, b in on if a == b}
    moved = [name for name in right.columns if name in left.columns and name not in shared]
    for name in (*shared, *moved):
        right = right.withColumnRenamed(name, f"${name}")
    # By name, not by DataFrame: both sides may come from one source.
    condition = " AND ".join(f"{column(a)} = {column(f'${b}' if a == b else b)}" for a, b in on)
    joined = left.join(right, F.expr(condition))
    for name in moved:  # an attribute that one input dropped before the other added it
        joined = joined.withColumn(name, F.coalesce(column(name), column(f"${name}")))
    return joined.drop(*(f"${name}" for name in (*shared, *moved)))
