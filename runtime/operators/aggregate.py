"""Aggregate γ with Spark: partial results per group and epoch, merged when the group passes (theory 1.3, 2.8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from attrs import frozen
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler.codegen import sql
from cedilla.compiler.expressions import expression_sql, expressions
from cedilla.compiler.expressions.aggregate_function import Function
from cedilla.compiler.expressions.aggregate_functions import with_infinities
from cedilla.compiler.expressions.types import DOUBLE, Type, column, quote
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Aggregate, Call, Operator
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.frames import ORDER, is_connect, stacked, types_of, without_rows
from cedilla.runtime.operators.base import AttributeState, Dataflow
from cedilla.runtime.operators.panes import NUMBER, panes_of

if TYPE_CHECKING:
    from cedilla.runtime.operators.epoch import Epoch

_TUPLES = "$tuples"


class AggregateDataflow(Dataflow):
    """Returns the rows of the groups that passed in this epoch; stores partial results of the others."""

    def run(self, epoch: Epoch, operator: Aggregate, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        if operator.complete is not None:
            return _run_counted(epoch, operator, operator.complete, frame)
        name = operator.name
        (source,) = epoch.inputs(name)
        results = _computed(operator, source, frame)
        old, new = epoch.state.read(name), _new_partials(epoch, operator, source, results, frame)
        closed = epoch.after[name].closed
        stays = epoch.may_enter_state(operator.inputs[0], closed)
        if stays:
            new = epoch.cached(new)
        merge = partial(_merged, by=operator.by, results=results)
        near = new if epoch.is_read_from_memory(name) else None
        epoch.update_state(name, new if stays else None, closed, merge, in_memory=near)
        rows = new if old is None else stacked(old, new)
        passing = _passing(epoch, operator)
        passed = rows.where(sql.predicate(passing, epoch.after[name].types))
        finished = _finished(operator, results, _merged(passed, operator.by, results))
        # Without `by`, engines return a row even for no tuples: the row of the single group, once it is closed.
        return finished if operator.by or passing is not False else without_rows(finished)

    def has_output(self, epoch: Epoch, operator: Operator) -> bool:
        assert isinstance(operator, Aggregate)
        early = operator.complete is not None and epoch.has_rows(operator.inputs[0])
        return early or _passing(epoch, operator) is not False

    def output_region(self, epoch: Epoch, operator: Aggregate) -> Tree:
        return True if operator.complete is not None else _passing(epoch, operator)

    def attribute_states(self, epoch: Epoch, operator: Aggregate, attribute: str) -> Iterable[AttributeState]:
        if attribute in operator.by:
            yield AttributeState(operator.name, column(attribute), epoch.after[operator.name].closed)
            return
        (source,) = epoch.inputs(operator.name)
        function = _computed(operator, source)[attribute].how
        rows = epoch.state.read(operator.name)
        if rows is not None and {f"{attribute}${part}" for part in function.partials} <= set(rows.columns):
            yield AttributeState(
                operator.name, function.has_value.format(p=attribute), epoch.after[operator.name].closed
            )


def _passing(epoch: Epoch, operator: Aggregate) -> Tree:
    """Returns the groups that this epoch closes. If no tuple can come, the first epoch closes the group of all
    tuples."""
    if not operator.by and epoch.is_first:
        return epoch.after[operator.name].closed
    return epoch.newly_closed(operator.name)


@frozen
class _Computed:
    """A call, and its function over arguments of the types that they have in this epoch."""

    call: Call
    how: Function


def _computed(operator: Aggregate, source: Facts, frame: DataFrame | None = None) -> dict[str, _Computed]:
    """Returns the results over the attributes of the input. `frame`: its rows; their engine computes the results."""

    def over(call: Call) -> Function:
        how = call.over(source.types)
        if frame is None or not is_connect(frame) or not call.columns:
            return how
        return with_infinities(call.function, how, expressions.type_of(call.columns[0], source.types))

    return {name: _Computed(call, over(call)) for name, call in operator.results(source).items()}


def _run_counted(epoch: Epoch, operator: Aggregate, complete: int, frame: DataFrame) -> DataFrame:
    """Returns the rows of an aggregate over count windows. A group passes as soon as it has all its tuples. State has
    one open group for each key, and is rewritten at every change."""
    name = operator.name
    (source,) = epoch.inputs(name)
    results = _computed(operator, source, frame)
    old, rows = epoch.state.read(name), _partials(operator.by, results, frame)
    if old is not None:
        rows = stacked(old, rows)
    if not epoch.has_rows(operator.inputs[0]) and epoch.newly_closed(name) is False:
        return _finished(operator, results, without_rows(rows))
    merged = epoch.cached(_merged(rows, operator.by, results))
    closed = epoch.after[name].closed
    passes = f"`{_TUPLES}` >= {complete} OR {sql.predicate(closed, epoch.after[name].types)}"
    if closed is True:
        epoch.state.clear(name)
    else:
        epoch.state.replace(name, merged.where(f"NOT ({passes})"), epoch.number)
    return _finished(operator, results, merged.where(passes))


def _new_partials(
    epoch: Epoch, operator: Aggregate, source: Facts, results: Mapping[str, _Computed], frame: DataFrame
) -> DataFrame:
    """Returns partial results over this epoch's tuples, of overlapping windows by way of panes."""
    reads = frozenset[str]().union(*(result.call.reads for result in results.values()))
    panes = panes_of(epoch.plan, operator, reads, source.types)
    if panes is None:
        return _partials(operator.by, results, frame)
    rows = panes.numbered(epoch.before_windows(panes.window))
    names = panes.window.names
    by_pane = _partials([NUMBER, *(name for name in operator.by if name not in names)], results, rows)
    return _merged(panes.in_windows(by_pane), operator.by, results)


def _partials(by: Sequence[str], results: Mapping[str, _Computed], frame: DataFrame) -> DataFrame:
    types = types_of(frame)
    columns = [
        F.expr(text.format(**_arguments(result.call, types))).alias(f"{name}${part}")
        for name, result in results.items()
        if result.call.reads <= types.keys()
        for part, text in result.how.partials.items()
    ]
    columns.append(F.count(F.lit(1)).alias(_TUPLES))
    return frame.groupBy(*(column(b) for b in by)).agg(*columns)


def _arguments(call: Call, types: Mapping[str, Type]) -> dict[str, str]:
    """Returns the arguments for the templates of a call's function; they are null for tuples that do not count."""
    texts = [f"({expression_sql.sql(argument, types)})" for argument in call.columns] or ["1"]
    conditions = [] if call.where is None else [f"({expression_sql.sql(call.where, types)})"]
    if len(texts) > 1:  # of two arguments, both have to be defined
        conditions += [f"{text} IS NOT NULL" for text in texts]
    if conditions:
        texts = [f"IF({' AND '.join(conditions)}, {text}, NULL)" for text in texts]
    real = texts[0]
    if call.columns and expressions.type_of(call.columns[0], types) != DOUBLE:
        # Sail names an aggregate without casts: `sum(CAST(n AS DOUBLE))` alone would be `sum(n)` once more.
        real = f"CAST({real} AS DOUBLE) + 0D"
    of_doubles = bool(call.columns) and expressions.type_of(call.columns[-1], types) == DOUBLE
    return {
        **dict(zip("xy", texts, strict=False)),
        "real": real,
        "key": f"{texts[-1]} + 0D" if of_doubles else texts[-1],
        "k": _constant(call),
        "order": column(ORDER),
    }


def _constant(call: Call) -> str:
    if call.constant is None:
        return ""
    value = call.constant.value
    if isinstance(value, str):
        return quote(value)
    return str(value) if isinstance(value, int) else f"{float(value)!r}D"


def _merged(rows: DataFrame, by: Sequence[str], results: Mapping[str, _Computed]) -> DataFrame:
    present = set(rows.columns)
    columns = [
        F.expr(text.format(p=name, k=_constant(result.call))).alias(f"{name}${part}")
        for name, result in results.items()
        for part, text in result.how.merge.items()
        if f"{name}${part}" in present
    ]
    columns.append(F.sum(column(_TUPLES)).alias(_TUPLES))
    return rows.groupBy(*(column(b) for b in by)).agg(*columns)


def _finished(operator: Aggregate, results: Mapping[str, _Computed], merged: DataFrame) -> DataFrame:
    columns = set(merged.columns)
    finished = [
        F.expr(result.how.finish.format(p=name, k=_constant(result.call))).alias(name)
        for name, result in results.items()
        if {f"{name}${part}" for part in result.how.partials} <= columns
    ]
    return merged.select(*(F.col(column(b)) for b in operator.by), *finished)
