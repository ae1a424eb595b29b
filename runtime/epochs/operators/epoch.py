"""The canonical data flow of one epoch, called by generated programs (design, section 5).

Over 400 lines, as programs call methods of one object, and operators ask it for the epoch's facts, sizes and rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import reduce
from typing import Any

from attrs import Factory, define, evolve, field
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cedilla.compiler import regions
from cedilla.compiler.codegen.program import calls_of_epoch
from cedilla.compiler.codegen.statements import alias_sql, condition_sql, items_sql, window_sql
from cedilla.compiler.expressions.types import DOUBLE, Type, column
from cedilla.compiler.facts.facts import Facts, StateFacts
from cedilla.compiler.operators import Operator, Project, Rename, Sample, Select, Window
from cedilla.compiler.plan import Plan, Source, changed_by_state
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.columns import ORDER, Columns, columns_of, conformed, with_doubles
from cedilla.runtime.engines.spark.connect import engine_in
from cedilla.runtime.engines.spark.frames import predicate, sortable, union_by_name
from cedilla.runtime.epochs.operators import DATAFLOWS, AttributeState
from cedilla.runtime.epochs.operators.panes import with_windows
from cedilla.runtime.epochs.state.scratch import materialized
from cedilla.runtime.epochs.state.state_store import StateStore


def all_but(*names: str) -> tuple[str, ...]:
    """States which attributes a function over all attributes leaves out, in addition to those of the group."""
    return names


@define(eq=False, slots=False)
class Epoch:
    """One epoch. `before` and `after` are the facts of every relation when it begins and when it ends.

    Stateful operators write their new state while their output is being planned, once in each epoch. `lengths`: bytes
    of each source's input, converted to the size of JSON. `regions_read`: for each source, returns a region around its
    tuples. `scratch`: a folder for rows that are needed until the epoch is committed. `state_facts`: of the operators'
    state when the epoch begins. `closed_by_state`: what state has closed, which `after` contains. `as_read`: sources
    whose tuples are read from files as they are.
    """

    plan: Plan
    number: int
    frames: Mapping[str, DataFrame]
    active: frozenset[str]
    before: Mapping[str, Facts]
    after: Mapping[str, Facts]
    state: StateStore
    exit_stack: ExitStack
    lengths: Mapping[str, int] = field(factory=dict[str, int])
    regions_read: Mapping[str, Callable[[], Tree]] = field(factory=dict[str, Callable[[], Tree]])
    scratch: str = ""
    state_facts: Mapping[str, StateFacts] = field(factory=dict[str, StateFacts])
    closed_by_state: dict[str, StateFacts] = field(factory=dict[str, StateFacts])
    as_read: frozenset[str] = frozenset()
    _has_rows: dict[str, bool] = field(factory=dict[str, bool])
    _output_regions: dict[str, Tree] = field(factory=dict[str, Tree])
    _before_windows: dict[str, DataFrame] = field(factory=dict[str, DataFrame])
    _depths: dict[str, int] = field(factory=dict[str, int])
    provisional: dict[str, DataFrame] = field(factory=dict[str, DataFrame], init=False)
    """The rows of open groups that this epoch has changed, by their aggregate, for outputs that are updated."""
    has_scratch: bool = field(default=False, init=False)
    """True if it has written rows for its jobs."""
    _calls: Iterator[str] = field(
        default=Factory(lambda epoch: iter(calls_of_epoch(epoch.plan)), takes_self=True), init=False
    )

    # --- called by generated code ---

    # The plan has the parameters: what a program states after the inputs is checked when it starts.

    def read(self, name: str) -> DataFrame:
        """Returns this epoch's tuples of a source, canonical and valid."""
        return self.frames[name]

    def where(self, frame: DataFrame, *stated: object, **parameters: object) -> DataFrame:
        """Returns the rows that satisfy the predicate. Its SQL depends on the types that accents have widened."""
        return self._made(frame)

    def select(self, frame: DataFrame, *stated: object) -> DataFrame:
        """Returns the named expressions, without those over missing attributes. Attributes with their own unit become
        doubles, or fail if a double cannot keep them (RQ310)."""
        return self._made(frame)

    def window(self, frame: DataFrame, **parameters: object) -> DataFrame:
        """Returns a copy of the rows for each window that contains them, with the window's number (null without a
        window), or with its bounds if they have names."""
        operator: Any = self._next()
        self._before_windows[operator.name] = frame
        numbers = window_sql(operator, self.types(operator.inputs[0]))
        return self._result(operator, with_windows(operator, numbers, frame))

    def before_windows(self, operator: Window) -> DataFrame:
        """Returns the input of a window: the rows without copies."""
        return self._before_windows[operator.name]

    def unnest(self, frame: DataFrame, **parameters: object) -> DataFrame:
        """Returns a copy of the rows for each element of a list."""
        operator: Any = self._next()
        return self._result(operator, frame.withColumn(operator.alias, F.explode(F.col(column(operator.on)))))

    def rename(self, frame: DataFrame, *stated: object) -> DataFrame:
        """Returns the same rows with other names for some attributes."""
        return self._made(frame)

    def _made(self, frame: DataFrame) -> DataFrame:
        """Returns the rows that the operator of this call makes of its input, one of each at most."""
        return self._result(operator := self._next(), self._row_by_row(operator, frame))

    def _row_by_row(self, operator: Any, frame: DataFrame) -> DataFrame:
        match operator:
            case Select() | Sample():
                return frame.where(condition_sql(operator, self.types(operator.inputs[0])))
            case Project():
                return self._projected(operator, frame)
            case Rename(names=names):
                columns = self.columns(operator.inputs[0])
                names_out = [n for n in columns if n in names or n not in names.values()]
                return frame.selectExpr(*(alias_sql(column(n), names.get(n, n)) for n in names_out))
            case _:
                raise AssertionError(f"{operator.title} is not computed row by row")

    def _projected(self, operator: Project, frame: DataFrame) -> DataFrame:
        types = self.types(operator.inputs[0])
        if operator.absorb:
            frame, types = with_doubles(frame, types, operator.conversions)
        items = items_sql(operator, types)
        if operator.excepts:
            names = self.columns(operator.name)  # `drop` of Sail 0.7 ignores the case of names
            return frame.selectExpr(*(alias_sql(items.get(name, column(name)), name) for name in names))
        if operator.rest:
            return frame.withColumns({name: F.expr(text) for name, text in items.items()})
        places = [column(ORDER)] if operator.name in self.plan.with_places else []
        return frame.selectExpr(*(alias_sql(text, n) for n, text in items.items()), *places)

    def provisional_rows(self, emit: str) -> DataFrame | None:
        """Returns the rows of open groups that this epoch has changed, as an output shows them."""
        groups, *after = self.plan.updated[emit]
        rows = self.provisional.get(groups.name)
        return None if rows is None else reduce(lambda frame, o: self._row_by_row(o, frame), after, rows)

    def union(self, left: DataFrame, right: DataFrame) -> DataFrame:
        """Stacks the rows of both inputs; a column that one input lacks is null there. Attributes that the query
        declares with mixed types become doubles with rounding. If an Alter has turned only one side into doubles,
        values that a double cannot keep fail (RQ310).
        """
        operator: Any = self._next()
        if (rows := self._of_one_side(operator, left, right)) is not None:
            return self._result(operator, rows)
        declared = {name for name, type_ in self.plan.start[operator.name].types.items() if type_ == DOUBLE}
        left, right = (
            conformed(frame, self.columns(source), self.columns(operator.name), declared)
            for frame, source in zip((left, right), operator.inputs, strict=True)
        )
        return self._result(operator, union_by_name(self.columns(operator.name), left, right))

    def _of_one_side(self, operator: Operator, left: DataFrame, right: DataFrame) -> DataFrame | None:
        """Returns the rows of one input if the other has none in this epoch, and both have the same columns."""
        quiet = [not self.has_rows(name) for name in operator.inputs]
        if not any(quiet):
            return None
        if len({tuple(self.columns(source).items()) for source in operator.inputs}) > 1:
            return None
        return left if quiet[1] else right

    def stateful(self, /, *stated: Any, **parameters: object) -> DataFrame:
        """Returns the output of a stateful operator over its inputs' tuples of this epoch, which are stated first."""
        operator, frames = self._next(), stated
        name = operator.name
        needed = (
            frame.drop(ORDER)
            if input_name in self.plan.with_places and not self.plan.takes_places(operator, side)
            else frame
            for side, (input_name, frame) in enumerate(zip(operator.inputs, frames, strict=False))
        )
        result = DATAFLOWS[type(operator)].run(self, operator, *needed)  # type: ignore[arg-type]
        is_placed = any(self.plan.takes_places(operator, side) for side in range(len(operator.inputs)))
        rows = result.drop(ORDER) if is_placed and name not in self.plan.placed else result
        self._depths[name] = 1 + max(map(self._depth, operator.inputs))
        is_deep = name in self.plan.stored and self._depths[name] >= costs.DEEP and not _keeps_rows(rows)
        if (name in self.plan.shared or is_deep) and self.has_rows(name):
            return self.materialized(f"{name}.passed", rows, self.columns(name), is_dear=is_deep)
        return self._result(operator, rows)

    def _depth(self, name: str) -> int:
        """Returns how many operators with state a job computes, one above the other, that reads a relation."""
        if name not in self._depths:
            operator = self.plan.operator_of.get(name)
            self._depths[name] = 0 if operator is None else max(map(self._depth, operator.inputs))
        return self._depths[name]

    sample = where

    def _next(self) -> Operator:
        """Returns the operator of the next call: a flow is that of its query, so it calls in the plan's order."""
        return self.plan.operator_of[next(self._calls)]

    def _result(self, operator: Operator, frame: DataFrame) -> DataFrame:
        """Returns an operator's rows; rows with several uses are computed once in each epoch."""
        return self.cached(frame) if operator.name in self.plan.shared else frame

    def cached(self, frame: DataFrame, times: int = 2) -> DataFrame:
        """Caches rows that are read `times` times, until the next epoch is committed. Sail keeps no rows, and each
        request to forget them would wait for its busy threads (tests/benchmarks/tuning-notes.md)."""
        if times < 2 or not _keeps_rows(frame):
            return frame
        self.exit_stack.callback(frame.unpersist)
        return frame.persist()

    def cached_input(self, name: str, frame: DataFrame, times: int = 2) -> DataFrame:
        """Caches the rows of an operator's input that are read `times` times, if reading them again costs more.

        To keep 100,000 rows that the epoch after reads, too, costs more than to scan the files of parsed tuples twice
        (tests/benchmarks/tuning-notes.md).
        """
        above = self.plan.ancestors(name)
        are_as_read = all(node.name in self.as_read for node in above if isinstance(node, Source))
        is_scan = are_as_read and not any(isinstance(node, Operator) and node.stateful for node in above)
        return frame if is_scan else self.cached(frame, times)

    def gathered(self, rows: DataFrame) -> DataFrame:
        """Returns stacked rows in one part, if all frames have one. A union of joined rows would have more."""
        return rows.coalesce(1) if self.state.is_in_one_part else rows

    def materialized(
        self, name: str, frame: DataFrame, columns: Columns, *, is_dear: bool = False
    ) -> DataFrame:
        """Caches rows that cost more to compute than to write. If the engine keeps no rows, those of a large epoch, and
        those that are dear by the plan or the state, are computed now, and become Parquet. `name`: of the operator;
        `columns`: of the rows."""
        if _keeps_rows(frame) or (self._length <= costs.MATERIALIZED and not is_dear):
            return self.cached(frame)
        self._depths[name.removesuffix(".passed")] = 0
        self.has_scratch = True
        return materialized(frame, columns, f"{self.scratch}/{name}", self.exit_stack)

    # --- the columns of relations ---

    def types(self, name: str) -> Mapping[str, Type]:
        """Returns the types that the attributes of a relation have in this epoch: accents may have widened some."""
        return self.after[name].types

    def columns(self, name: str) -> Columns:
        """Returns the columns of a relation's frame."""
        return columns_of(self.types(name), is_placed=name in self.plan.with_places)

    def input_columns(self, operator: Operator, side: int = 0) -> Columns:
        """Returns the columns of the frame that a stateful operator is given of an input."""
        return columns_of(self.types(operator.inputs[side]), is_placed=self.plan.takes_places(operator, side))

    def arrived(self, operator: Operator) -> list[Column]:
        """Returns the order of an operator's input as columns to sort by: the position, if tuples have one, then the
        values."""
        types = self.types(operator.inputs[0])
        places = [F.col(column(ORDER))] if self.plan.takes_places(operator, 0) else []
        return [*places, *(sortable(name, types) for name in sorted(types))]

    # --- which relations have rows ---

    @property
    def is_first(self) -> bool:
        return self.number == 0

    def has_rows(self, name: str) -> bool:
        """Returns True if a relation can have rows in this epoch."""
        if name not in self._has_rows:
            operator = self.plan.operator_of.get(name)
            if operator is None:
                self._has_rows[name] = name in self.active
            elif type(operator) in DATAFLOWS:
                self._has_rows[name] = DATAFLOWS[type(operator)].has_output(self, operator)  # type: ignore[arg-type]
            else:
                self._has_rows[name] = any(self.has_rows(input_name) for input_name in operator.inputs)
        return self._has_rows[name]

    def output_region(self, name: str) -> Tree:
        """Returns a region around all rows of a relation in this epoch."""
        if name not in self._output_regions:
            operator = self.plan.operator_of.get(name)
            if operator is None:
                region = self.input_region(name)
            elif type(operator) in DATAFLOWS:
                region = DATAFLOWS[type(operator)].output_region(self, operator)  # type: ignore[arg-type]
            else:
                region = self._carried(operator, self.output_region)
            self._output_regions[name] = region
        return self._output_regions[name]

    def input_region(self, name: str) -> Tree:
        """Returns a region around all rows of a relation in this epoch, from file statistics."""
        operator = self.plan.operator_of.get(name)
        if operator is None:
            return self.regions_read[name]() if name in self.regions_read else True
        return True if type(operator) in DATAFLOWS else self._carried(operator, self.input_region)

    def _carried(self, operator: Operator, region_of: Callable[[str], Tree]) -> Tree:
        """Returns the output region of an operator without state, from those of its inputs. The parts outside are
        treated as closed (theory 1.2)."""
        outside = [regions.complement(region_of(input_name)) for input_name in operator.inputs]
        if not any(outside):
            return True
        inputs = (self.after[input_name] for input_name in operator.inputs)
        narrow = tuple(evolve(facts, closed=o, units={}) for facts, o in zip(inputs, outside, strict=True))
        return regions.complement(operator.facts(narrow).closed)

    def may_enter_state(self, name: str, purged: Tree) -> bool:
        """Returns True if rows of a relation in this epoch may be outside `purged`, so that state stores them (E7)."""
        if not self.has_rows(name) or purged is True:
            return False
        left = regions.difference(self.output_region(name), purged)
        return not regions.is_empty(left, self.after[name].universe)

    def newly_closed(self, name: str) -> Tree:
        """Returns the region of a relation that this epoch closes."""
        after = self.after[name]
        return regions.possible_difference(after.closed, self.before[name].closed, after.universe)

    def inputs(self, name: str) -> tuple[Facts, ...]:
        """Returns the facts of an operator's inputs at the end of the epoch."""
        return tuple(self.after[i] for i in self.plan.operator_of[name].inputs)

    def inputs_before(self, name: str) -> tuple[Facts, ...]:
        """Returns the facts of an operator's inputs at the beginning of the epoch."""
        return tuple(self.before[i] for i in self.plan.operator_of[name].inputs)

    def newly(self, name: str, region: Callable[[tuple[Facts, ...]], Tree]) -> Tree:
        """Returns the part of a region that this epoch adds. `region`: computes the region of tuples of an operator's
        first input, from the facts of its inputs."""
        inputs = self.inputs(name)
        return regions.possible_difference(
            region(inputs), region(self.inputs_before(name)), inputs[0].universe
        )

    def report_closed(self, name: str, closed: Tree) -> None:
        """Records that an operator's state closes a region, and derives the facts of this operator and its consumers
        again."""
        self.closed_by_state[name] = StateFacts(closed=closed)
        self.after = {**self.after, **changed_by_state(self.plan, self.after, name, self.closed_by_state)}

    # --- state ---

    def update_state(
        self,
        key: str,
        new: DataFrame | None,
        purged: Tree,
        columns: Columns,
        merge: Callable[[DataFrame], DataFrame] | None = None,
        *,
        in_memory: DataFrame | None = None,
        in_parts: bool = False,
    ) -> None:
        """Adds new rows to a state with some columns. Purges (theory 1.3) at insertion (E7) and at compaction.
        `merge`: makes one row of those that belong together.

        `in_memory`: as for `StateStore.append`; `in_parts`: as for `StateStore.compact`.
        """
        if purged is True:
            self.state.clear(key)
            return
        unpurged = self.unpurged(purged, columns)
        self.state.purge(key, purged)
        if new is not None:
            rows = unpurged(new)
            near = rows if in_memory is new else None if in_memory is None else unpurged(in_memory)
            self.state.append(key, rows, columns, self.number, in_memory=near)

        def live(rows: DataFrame) -> DataFrame:
            return unpurged(rows) if merge is None else merge(unpurged(rows))

        merges = merge is not None
        self.state.compact(key, columns, self.number, live, merges=merges, in_parts=in_parts)

    def is_small_input(self, key: str, region: Tree = True) -> bool:
        """Returns True if this epoch has few tuples and the rows to read from a state are many. Then the tuples are
        broadcast to the state, because grouping both would move all of it."""
        return self._length <= costs.SENT_INPUT and self.state.length_of(key, region) >= costs.LARGE_STATE

    @property
    def _length(self) -> int:
        return sum(self.lengths.values())

    def length_above(self, name: str) -> int:
        """Returns the bytes of the sources of a relation."""
        return sum(self.lengths.get(node.name, 0) for node in self.plan.ancestors(name))

    def length_in_state(self, *keys: str) -> int:
        """Returns the bytes of states, converted to the size of JSON."""
        return costs.PACKED * sum(map(self.state.length_of, keys))

    def is_read_from_memory(self, name: str) -> bool:
        """Returns True if the next epoch may read the input of an operator's state from memory: the input depends on no
        other state, and the engine can cache."""
        above = self.plan.ancestors(name)[:-1]
        is_first = not any(isinstance(node, Operator) and node.stateful for node in above)
        return is_first and self.state.keeps_in_memory

    def unpurged(self, purged: Tree, columns: Columns) -> Callable[[DataFrame], DataFrame]:
        """Returns a function that removes the rows in a region."""

        def outside(rows: DataFrame) -> DataFrame:
            return rows if purged is False else rows.where(f"NOT {predicate(purged, columns)}")

        return outside

    def state_has(self, name: str, attribute: str, region: Tree) -> bool:
        """Returns True if state has rows of a region that are defined on an attribute (G13). Runs at most one Spark job
        for each state."""
        operator: Operator = self.plan.operator_of[name]
        states = DATAFLOWS[type(operator)].attribute_states(self, operator, attribute)  # type: ignore[arg-type]
        return any(self._some(frame, region) for frame in states)

    def _some(self, kept: AttributeState, region: Tree) -> bool:
        if not self.state.names(kept.key).issuperset(kept.reads):
            return False
        rows = self.state.read(kept.key, kept.columns) if kept.rows is None else kept.rows()
        if rows is None:
            return False
        within = regions.exists(region, regions.attributes(region) - kept.columns.keys(), {})
        inside, purged = predicate(within, kept.columns), predicate(kept.purged, kept.columns)
        # A filter would be moved to the files of state, where Sail loses arrays that older segments lack.
        test = F.expr(f"bool_or({kept.value} IS NOT NULL AND {inside} AND NOT {purged})")
        return bool(rows.agg(test.alias("some")).toArrow()["some"][0].as_py())


def _keeps_rows(frame: DataFrame) -> bool:
    """Returns True if the engine keeps persisted rows."""
    return engine_in(frame.sparkSession) != "sail"


for _operator in DATAFLOWS:
    setattr(Epoch, _operator.call, Epoch.stateful)
