"""Distinct δ with Spark: what is new of this epoch's tuples, or keys, passes and is remembered (theory 1.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cedilla.compiler import regions
from cedilla.compiler.operators import Distinct, Operator
from cedilla.compiler.types import column
from cedilla.runtime.frames import ORDER, types_of
from cedilla.runtime.operators.base import Dataflow, Kept

if TYPE_CHECKING:
    from cedilla.runtime.epoch import Epoch


class DistinctDataflow(Dataflow):
    """The first tuple of each key that state does not have; ⊥ is a key like any other (G36)."""

    def run(self, e: Epoch, operator: Distinct, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        name = operator.name
        inputs = e.inputs(name)
        busy = e.is_busy(operator.inputs[0])
        old = e.state.read(name) if busy else None
        first = _first(operator, frame)
        if old is not None:
            first = _unseen(e, operator, e.reused(first, 2), old)
        if busy:
            first = e.reused(first, 2)
        (source,) = inputs
        purged = operator.purge(inputs)
        everything = regions.covers(purged, source.universe)
        keys = first.select(*(column(n) for n in operator.on or types_of(first)))
        e.keep(name, keys if busy else None, True if everything else purged)
        return first

    def busy(self, e: Epoch, operator: Operator) -> bool:
        return e.is_busy(operator.inputs[0])

    def keeps(self, e: Epoch, operator: Distinct, attribute: str) -> Iterable[Kept]:
        return ()  # what is remembered never comes out again


def _first(operator: Distinct, frame: DataFrame) -> DataFrame:
    """The first tuple of each key."""
    attributes = list(types_of(frame))
    keys = operator.on or attributes
    chosen: list[Column] = []
    if operator.on:
        whole = F.struct(*(column(n) for n in (*attributes, ORDER)))
        chosen.append(F.min_by(whole, F.col(ORDER)).alias("$first"))
    elif ORDER in frame.columns:
        chosen.append(F.min(ORDER).alias(ORDER))
    if not chosen:
        return frame.distinct()
    new = frame.groupBy(*(column(n) for n in keys)).agg(*chosen)
    return new.select("`$first`.*") if operator.on else new


def _unseen(e: Epoch, operator: Distinct, first: DataFrame, old: DataFrame) -> DataFrame:
    """The tuples whose key is not old: the new keys come to the state, which is not shuffled, and those that it has
    are left out."""
    attributes = operator.on or list(types_of(first))
    if not operator.on:  # a tuple of the state that has another attribute still is another tuple
        for name in types_of(old).keys() - set(attributes):
            old = old.where(f"{column(name)} IS NULL")
    shared = [name for name in attributes if name in old.columns]
    bare = [f"{column(name)} IS NULL" for name in attributes if name not in shared]
    asked = first.where(" AND ".join(bare) or "true").select(*(_renamed(n, "$asked_") for n in shared))
    same = " AND ".join(f"{column(n)} <=> {column(f'$asked_{n}')}" for n in shared) or "true"
    seen = old.join(e.few(asked), F.expr(same), "left_semi").select(*(_renamed(n, "$seen_") for n in shared))
    equal = [*bare, *(f"{column(n)} <=> {column(f'$seen_{n}')}" for n in shared)]
    return first.join(e.few(seen), F.expr(" AND ".join(equal) or "true"), "left_anti")


def _renamed(name: str, prefix: str) -> Column:
    return F.col(column(name)).alias(prefix + name)
