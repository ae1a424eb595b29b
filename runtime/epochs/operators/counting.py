"""Counts for each tuple its arrivals on both sides and its outputs: the state of intersect and minus (theory 1.3).

A row of state is a change: a tuple over the attributes of both inputs, in canonical values, with its counts in one
epoch as `$left`, `$right` and `$passed`. Counts of equal tuples add up; ⊥ equals ⊥ (G36).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler import regions
from cedilla.compiler.codegen import sql
from cedilla.compiler.expressions.types import DOUBLE, LONG, Type, column, quote
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.shared.equality import common_types, largest_in_counts
from cedilla.compiler.operators.shared.vacancies import Vacancy
from cedilla.compiler.operators.union import merged
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.spark.columns import BEYOND, Columns, columns_of, conformed, data_type
from cedilla.runtime.engines.spark.frames import stacked, union_by_name, where_among
from cedilla.runtime.epochs.operators.base import Dataflow
from cedilla.runtime.epochs.operators.vacancies import report_vacant

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch

SIDES = ("$left", "$right")
COUNTS = (*SIDES, "$passed")

SURPLUS = "(`$left` > `$right` AND NOT {right}) OR (`$right` > `$left` AND NOT {left})"
"""Keep of bags: a surplus of one side matters while the other side is open; equal counts cancel."""


class CountingDataflow(Dataflow):
    """Passes tuples up to the number that the counts allow at the end of the epoch."""

    @abstractmethod
    def allowed(self, operator: Any) -> str:
        """Returns SQL for the number of copies of a tuple that may have passed. `{left}` and `{right}`: true if that
        side is closed."""

    @abstractmethod
    def needed(self, operator: Any) -> str:
        """Returns SQL that is true if counts can still change later output (Keep)."""

    @abstractmethod
    def releases(self, epoch: Epoch, operator: Operator) -> Tree:
        """Returns the region of tuples from earlier epochs that may pass in this epoch."""

    @abstractmethod
    def result(self, inputs: tuple[Facts, ...]) -> Mapping[str, Type]:
        """Returns the attributes of the output."""

    def run(self, epoch: Epoch, operator: Any, left: DataFrame, right: DataFrame) -> DataFrame:  # type: ignore[override]
        name = operator.name
        inputs = epoch.inputs(name)
        types = common_types(inputs)
        columns = state_columns(inputs)
        changes = (*columns, "$old")
        busy = [epoch.has_rows(input_name) for input_name in operator.inputs]
        released = self.releases(epoch, operator)
        touched = any(busy) or released is not False
        closed = _closed(inputs, types)
        rounded = {n for n, type_ in epoch.plan.start[name].types.items() if type_ == DOUBLE}
        mine, theirs = (
            _came(frame, facts.types, types, side, rounded)
            for side, (frame, facts) in enumerate(zip((left, right), inputs, strict=True))
        )
        came = union_by_name(changes, mine, theirs)
        new, stored = came.drop("$old"), partial(_live, epoch, operator, inputs, types)
        live = stored() if touched else None

        def undecided(vacancy: Vacancy) -> DataFrame | None:
            every = stacked(columns, live if touched else stored(), new if any(busy) else None)
            return _undecided(operator, vacancy.side, every, types, closed)

        report_vacant(epoch, operator, undecided)
        if live is not None:
            if epoch.is_small_input(name):
                came = epoch.cached(came)
                live = _concerned(live, came, released, types)
            came = union_by_name(changes, came, live.withColumn("$old", F.lit(True)))
        counted = _added(came, types, news=True)
        due = f"{self.allowed(operator).format(**closed)} - `$passed`"
        counted = counted.withColumn("$due", F.expr(due)).where("`$came` OR `$due` > 0")
        if touched:
            counted = epoch.cached(counted)
        self._keep(epoch, operator, counted if touched else None, inputs, types)
        return self._passing_tuples(operator, counted, inputs)

    def _keep(
        self,
        epoch: Epoch,
        operator: Any,
        counted: DataFrame | None,
        inputs: tuple[Facts, ...],
        types: Mapping[str, Type],
    ) -> None:
        name = operator.name
        decided = regions.intersection(*(f.closed for f in inputs))
        if regions.covers(decided, merged(inputs).universe):
            epoch.state.clear(name)
            return
        epoch.state.purge(name, decided)
        closed = _closed(inputs, types)
        needed = f"({self.needed(operator).format(**closed)})"
        if counted is not None:
            # The condition applies at insertion too (E7); but counts in state are only removed by adding their
            # opposite.
            both = f"{closed['left']} AND {closed['right']}"
            changed = counted.where(f"NOT ({both}) AND (`$old` OR {needed})")
            changes = changed.select(
                *(column(n) for n in types),
                *(F.col(f"$new{side}").alias(side) for side in SIDES),
                F.col("$due").alias("$passed"),
            )
            epoch.state.append(name, changes, state_columns(inputs), epoch.number)
        epoch.state.compact(
            name, state_columns(inputs), epoch.number, lambda rows: _added(rows, types).where(needed)
        )

    def _passing_tuples(self, operator: Any, counted: DataFrame, inputs: tuple[Facts, ...]) -> DataFrame:
        passed = counted.where("`$due` > 0")
        if operator.all:
            passed = passed.withColumn("$copy", F.expr("explode(sequence(1L, `$due`))"))
        types = common_types(inputs)
        attributes = (F.expr(_cast(n, type_, types[n])) for n, type_ in self.result(inputs).items())
        return passed.select(*attributes)


def _closed(inputs: Sequence[Facts], types: Mapping[str, Type]) -> dict[str, str]:
    left, right = (f"({sql.predicate(facts.closed, types)})" for facts in inputs)
    return {"left": left, "right": right}


def _live(
    epoch: Epoch, operator: Operator, inputs: Sequence[Facts], types: Mapping[str, Type]
) -> DataFrame | None:
    """Returns the changes in state, without those of tuples that both sides had closed before the epoch."""
    old = epoch.state.read(operator.name, state_columns(inputs))
    forgotten = _closed([epoch.before[input_name] for input_name in operator.inputs], types)
    return None if old is None else old.where(f"NOT ({forgotten['left']} AND {forgotten['right']})")


def _undecided(
    operator: Any, side: int, changes: DataFrame | None, types: Mapping[str, Type], closed: Mapping[str, str]
) -> DataFrame | None:
    """Returns the tuples of one side that the other may still decide: it has fewer of them, as sets none."""
    if changes is None:
        return None
    mine, theirs = SIDES[side], SIDES[1 - side]
    fewer = f"`{mine}` > `{theirs}`" if operator.all else f"`{mine}` > 0 AND `{theirs}` = 0"
    return _added(changes, types).where(f"{fewer} AND NOT {closed[('left', 'right')[1 - side]]}")


def _concerned(live: DataFrame, came: DataFrame, released: Tree, types: Mapping[str, Type]) -> DataFrame:
    """Returns the changes in state of tuples that came again or are released; only these can pass in this epoch."""
    if released is False:
        return where_among(live, "semi", came, types)
    inside = sql.predicate(released, types)
    others = where_among(live.where(f"NOT {inside}"), "semi", came, types)
    return union_by_name((*types, *COUNTS), live.where(inside), others)


def state_columns(inputs: Sequence[Facts]) -> Columns:
    """Returns the columns of the state."""
    return {**columns_of(common_types(inputs)), **dict.fromkeys(COUNTS, data_type(LONG))}


def _came(
    frame: DataFrame,
    present: Mapping[str, Type],
    types: Mapping[str, Type],
    side: int,
    rounded: Collection[str],
) -> DataFrame:
    """Returns the tuples of one side as changes. `present`: the attributes of this side; `types`: of both; `rounded`:
    those that may lose digits as doubles; others fail (RQ310)."""
    rows = conformed(
        frame.select(*(column(n) for n in types if n in present)),
        columns_of({n: type_ for n, type_ in present.items() if n in types}),
        columns_of(types),
        rounded,
    )
    counts = {name: F.lit(int(name == SIDES[side])).cast("long") for name in COUNTS}
    return rows.select("*", *(count.alias(n) for n, count in counts.items()), F.lit(False).alias("$old"))


def _cast(name: str, type_: Type, counted: Type) -> str:
    """Writes an attribute of the output. `counted`: its type in the counts. A decimal of a double with too many digits
    fails (RQ310): engines would give it those of the binary fraction."""
    value = column(name)
    cast = f"CAST({value} AS {type_.spark})"
    if counted == DOUBLE and type_.name == "decimal":
        kept = f"{value} IS NULL OR abs({value}) < {largest_in_counts(type_)}D"
        cast = f"CASE WHEN {kept} THEN {cast} ELSE raise_error({quote(BEYOND + name)}) END"
    return f"{cast} AS {column(name)}"


def _added(rows: DataFrame, types: Mapping[str, Type], *, news: bool = False) -> DataFrame:
    """Returns one row for equal tuples; with `news`, also the new counts, and whether state has the tuple."""
    sums = [F.sum(name).alias(name) for name in COUNTS]
    if news:
        sums += [F.sum(F.expr(f"IF(`$old`, 0L, `{side}`)")).alias(f"$new{side}") for side in SIDES]
        sums += [F.bool_or("$old").alias("$old"), F.bool_or(F.expr("NOT `$old`")).alias("$came")]
    return rows.groupBy(*(column(name) for name in types)).agg(*sums)
