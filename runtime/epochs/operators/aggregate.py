"""Aggregate γ with Spark: partial results per group and epoch, merged when the group passes (theory 1.3, 2.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from attrs import frozen
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DecimalType

from cedilla.compiler.codegen import sql
from cedilla.compiler.expressions import expression_sql, expressions
from cedilla.compiler.expressions.aggregates.aggregate_function import Function
from cedilla.compiler.expressions.aggregates.aggregate_functions import with_infinities
from cedilla.compiler.expressions.aggregates.aggregate_kinds import Kind, kind_of
from cedilla.compiler.expressions.types import DOUBLE, LONG, Type, column, quote
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Aggregate, Call, Operator
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.spark.columns import (
    ORDER,
    ORDER_TYPE,
    Columns,
    columns_of,
    data_type,
    struct_of,
)
from cedilla.runtime.engines.spark.frames import is_connect, union_by_name, where_among, without_rows
from cedilla.runtime.epochs.operators import entries
from cedilla.runtime.epochs.operators.base import AttributeState, Dataflow
from cedilla.runtime.epochs.operators.completed import empty_groups
from cedilla.runtime.epochs.operators.panes import NUMBER, panes_of

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch

_TUPLES = "$tuples"
_NEW = "$new"
"""The number of tuples of this epoch in a group."""


class AggregateDataflow(Dataflow):
    """Returns the rows of the groups that passed in this epoch; stores partial results of the others."""

    def run(self, epoch: Epoch, operator: Aggregate, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        if operator.complete is not None:
            return _run_counted(epoch, operator, operator.complete, frame)
        name = operator.name
        (source,) = epoch.inputs(name)
        results = _computed(operator, source, frame)
        columns = _columns(operator, source, results)
        new = _new_partials(epoch, operator, source, results, frame)
        closed, passing = epoch.after[name].closed, _passing(epoch, operator)
        stays = epoch.may_enter_state(operator.inputs[0], closed)
        shows = stays and name in epoch.plan.updated_groups
        if stays:
            is_read_once = passing is False and not shows
            new = epoch.cached(new) if is_read_once else epoch.materialized(name, new, columns)
        old = epoch.state.read(name, columns)  # it waits for the epoch before
        merge = partial(_merged, by=operator.by, results=results)
        near = new if epoch.is_read_from_memory(name) else None
        epoch.update_state(name, new if stays else None, closed, columns, merge, in_memory=near)
        rows = new if old is None else epoch.gathered(union_by_name(columns, old, new))
        if shows:
            changed = _changed(epoch, operator, old, new, columns, results)
            is_open = f"NOT {sql.predicate(closed, epoch.types(name))}"
            epoch.provisional[name] = _finished(epoch, operator, results, changed.where(is_open))
        passed = rows.where(sql.predicate(passing, epoch.types(name)))
        empty = empty_groups(epoch, operator, frame.sparkSession, columns, (_TUPLES,))
        if empty is not None:
            passed = union_by_name(columns, passed, empty)
        finished = _finished(epoch, operator, results, _merged(passed, operator.by, results))
        # Without `by`, engines return a row even for no tuples: the row of the single group, once it is closed.
        return finished if operator.by or passing is not False else without_rows(finished)

    def has_output(self, epoch: Epoch, operator: Operator) -> bool:
        assert isinstance(operator, Aggregate)
        early = operator.complete is not None and epoch.has_rows(operator.inputs[0])
        return early or _passing(epoch, operator) is not False

    def output_region(self, epoch: Epoch, operator: Aggregate) -> Tree:
        return True if operator.complete is not None else _passing(epoch, operator)

    def attribute_states(self, epoch: Epoch, operator: Aggregate, attribute: str) -> Iterable[AttributeState]:
        name, (source,) = operator.name, epoch.inputs(operator.name)
        results, closed = _computed(operator, source), epoch.after[name].closed
        columns = _columns(operator, source, results)
        value, reads = column(attribute), [attribute]
        if attribute in results:
            value, reads = results[attribute].how.has_value.format(p=attribute), results[attribute].names
        yield AttributeState(name, value, reads, columns, closed)


def _passing(epoch: Epoch, operator: Aggregate) -> Tree:
    """Returns the groups that this epoch closes. If no tuple can come, the first epoch closes the group of all
    tuples."""
    if not operator.by and epoch.is_first:
        return epoch.after[operator.name].closed
    return epoch.newly_closed(operator.name)


@frozen
class _Computed:
    """The call of a result, its function over arguments of the types that they have in this epoch, and these types."""

    name: str
    call: Call
    how: Function
    types: Sequence[Type]

    @property
    def names(self) -> list[str]:
        """The names of the columns of its partial results."""
        return [f"{self.name}${part}" for part in self.how.partials]

    def columns(self) -> Columns:
        """Returns the columns of its partial results."""
        arguments = dict(zip("xy", self.types, strict=False))
        return {
            f"{self.name}${part}": _kind(kind_of(part, arguments), arguments) for part in self.how.partials
        }


def _kind(kind: Kind, arguments: Mapping[str, Type]) -> DataType:
    """Returns the type of a partial result."""
    match kind:
        case "order":
            return ORDER_TYPE
        case str():
            return data_type(arguments[kind])
        case list():
            return ArrayType(_kind(kind[0], arguments))
        case dict():
            return struct_of({name: _kind(field, arguments) for name, field in kind.items()})
        case _:
            return data_type(kind)


def _columns(operator: Aggregate, source: Facts, results: Mapping[str, _Computed]) -> Columns:
    """Returns the columns of the state: groups and partial results."""
    by = columns_of({name: source.types[name] for name in operator.by})
    partials = {name: kind for result in results.values() for name, kind in result.columns().items()}
    return {**by, **partials, _TUPLES: data_type(LONG)}


def _computed(operator: Aggregate, source: Facts, frame: DataFrame | None = None) -> dict[str, _Computed]:
    """Returns the results over the attributes of the input. `frame`: its rows; their engine computes the results."""

    def over(name: str, call: Call) -> _Computed:
        how = call.over(source.types)
        types = [expressions.type_of(argument, source.types) for argument in call.columns]
        if frame is not None and is_connect(frame) and types:
            how = with_infinities(how, dict(zip("xy", types, strict=False)))
        return _Computed(name, call, how, types)

    return {name: over(name, call) for name, call in operator.results(source).items()}


def _changed(
    epoch: Epoch,
    operator: Aggregate,
    old: DataFrame | None,
    new: DataFrame,
    columns: Columns,
    results: Mapping[str, _Computed],
) -> DataFrame:
    """Returns the groups with tuples in this epoch, each with all its tuples so far."""
    came = new.withColumn(_NEW, F.col(column(_TUPLES)))
    if old is None:
        return came
    if epoch.is_small_input(operator.name):
        old = where_among(old, "semi", new, operator.by)
    before = old.withColumn(_NEW, F.lit(0).cast(data_type(LONG)))
    rows = union_by_name((*columns, _NEW), before, came)
    return _merged(rows, operator.by, results, (_TUPLES, _NEW)).where(f"{column(_NEW)} > 0")


def _run_counted(epoch: Epoch, operator: Aggregate, complete: int, frame: DataFrame) -> DataFrame:
    """Returns the rows of an aggregate over count windows. A group passes at its last tuple. State has
    one open group for each key, and is rewritten at every change."""
    name = operator.name
    (source,) = epoch.inputs(name)
    results = _computed(operator, source, frame)
    columns = _columns(operator, source, results)
    old, new = epoch.state.read(name, columns), _partials(operator.by, results, frame, source.types)
    rows = new if old is None else union_by_name(columns, old, new)
    if not epoch.has_rows(operator.inputs[0]) and epoch.newly_closed(name) is False:
        return _finished(epoch, operator, results, without_rows(rows))
    merged = epoch.cached(_merged(rows, operator.by, results))
    closed = epoch.after[name].closed
    passes = f"`{_TUPLES}` >= {complete} OR {sql.predicate(closed, epoch.types(name))}"
    if name in epoch.plan.updated_groups:
        changed = _changed(epoch, operator, old, new, columns, results)
        epoch.provisional[name] = _finished(epoch, operator, results, changed.where(f"NOT ({passes})"))
    if closed is True:
        epoch.state.clear(name)
    else:
        epoch.state.replace(name, merged.where(f"NOT ({passes})"), columns, epoch.number)
    return _finished(epoch, operator, results, merged.where(passes))


def _new_partials(
    epoch: Epoch, operator: Aggregate, source: Facts, results: Mapping[str, _Computed], frame: DataFrame
) -> DataFrame:
    """Returns partial results over this epoch's tuples, of overlapping windows by way of panes."""
    reads = frozenset[str]().union(*(result.call.reads for result in results.values()))
    panes = panes_of(epoch.plan, operator, reads, source.types)
    if panes is None:
        return _partials(operator.by, results, frame, source.types)
    rows = panes.numbered(epoch.before_windows(panes.window), source.types)
    by = [NUMBER, *(name for name in operator.by if name not in panes.window.names)]
    by_pane = _partials(by, results, rows, source.types)
    return _merged(panes.in_windows(by_pane), operator.by, results)


def _partials(
    by: Sequence[str], results: Mapping[str, _Computed], frame: DataFrame, types: Mapping[str, Type]
) -> DataFrame:
    others, histograms = _divided(results, lambda result: _arguments(result.call, types))
    only = entries.OWN if histograms else None
    columns = [
        part
        for result in others.values()
        for part in _parts(result, result.how.partials, _arguments(result.call, types, only))
    ]
    columns.append(F.count(F.lit(1) if only is None else F.expr(f"IF({only}, 1, NULL)")).alias(_TUPLES))
    if histograms:
        keep = sorted(frozenset[str]().union(*(result.call.reads for result in others.values())))
        keep += [ORDER] if any(result.how.ordered for result in others.values()) else []
        return entries.added(frame, by, histograms, keep, columns, _merges(others))
    return frame.groupBy(*(column(b) for b in by)).agg(*columns)


def _divided(
    results: Mapping[str, _Computed], values: Callable[[_Computed], Mapping[str, str]], is_merge: bool = False
) -> tuple[dict[str, _Computed], dict[str, str]]:
    """Returns the results that are sums of some kind, and the columns of histograms with their SQL over a row."""
    of_entries = {name: result for name, result in results.items() if result.how.has_entries}
    histograms = {
        f"{name}${part}": text.format(**values(result))
        for name, result in of_entries.items()
        for part, text in (result.how.merge if is_merge else result.how.partials).items()
    }
    return {name: result for name, result in results.items() if name not in of_entries}, histograms


def _parts(result: _Computed, templates: Mapping[str, str], values: Mapping[str, str]) -> Iterator[Column]:
    """Yields the partial results of a call as columns. Sums of decimals have all digits: each sum would add ten."""
    kinds = result.columns()
    for part, text in templates.items():
        name = f"{result.name}${part}"
        made, kind = F.expr(text.format(**values)), kinds[name]
        yield (made.cast(kind) if isinstance(kind, DecimalType) else made).alias(name)


def _arguments(call: Call, types: Mapping[str, Type], only: str | None = None) -> dict[str, str]:
    """Returns the arguments for the templates of a call's function; they are null for tuples that do not count.

    `only`: the condition of all tuples that count.
    """
    texts = [f"({expression_sql.sql(argument, types)})" for argument in call.columns] or ["1"]
    conditions = [] if only is None else [only]
    conditions += [] if call.where is None else [f"({expression_sql.sql(call.where, types)})"]
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


def _merged(
    rows: DataFrame, by: Sequence[str], results: Mapping[str, _Computed], counts: Sequence[str] = (_TUPLES,)
) -> DataFrame:
    """Adds partial results by group. `counts`: the columns of numbers of tuples."""
    others, histograms = _divided(results, _values_of_merge, is_merge=True)
    if histograms:
        keep = [name for result in others.values() for name in result.names]
        merges = _merges(others, counts)
        return entries.added(rows, by, histograms, [*keep, *counts], merges, merges)
    return rows.groupBy(*(column(b) for b in by)).agg(*_merges(results, counts))


def _merges(results: Mapping[str, _Computed], counts: Sequence[str] = (_TUPLES,)) -> list[Column]:
    columns = [
        part
        for result in results.values()
        for part in _parts(result, result.how.merge, _values_of_merge(result))
    ]
    return [*columns, *(F.sum(column(name)).alias(name) for name in counts)]


def _values_of_merge(result: _Computed) -> dict[str, str]:
    return {"p": result.name, "k": _constant(result.call)}


def _finished(
    epoch: Epoch, operator: Aggregate, results: Mapping[str, _Computed], merged: DataFrame
) -> DataFrame:
    types, finished = epoch.types(operator.name), list[Column]()
    for name, result in results.items():
        made = F.expr(result.how.finish.format(p=name, k=_constant(result.call)))
        wanted = types[name]
        finished.append((made.cast(wanted.spark) if wanted.name == "decimal" else made).alias(name))
    return merged.select(*(F.col(column(b)) for b in operator.by), *finished)
