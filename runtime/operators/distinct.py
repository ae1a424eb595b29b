"""Distinct δ with Spark: what is new of this epoch's tuples, or keys, passes and is remembered (theory 1.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import column
from cedilla.compiler.operators import Distinct, Operator
from cedilla.runtime.engines.frames import ORDER, stacked, types_of, where_among
from cedilla.runtime.operators.base import AttributeState, Dataflow

if TYPE_CHECKING:
    from cedilla.runtime.operators.epoch import Epoch


class DistinctDataflow(Dataflow):
    """The first tuple of each key that state does not have; ⊥ is a key like any other (G36)."""

    def run(self, epoch: Epoch, operator: Distinct, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        name = operator.name
        inputs = epoch.inputs(name)
        busy = epoch.is_busy(operator.inputs[0])
        old = epoch.state.read(name) if busy else None
        if old is not None and epoch.is_small_input(name):
            first = _looked_up(epoch, operator, frame, old)
        else:
            first = _first(epoch, operator, frame, old)
        (source,) = inputs
        purged = operator.purge(inputs)
        everything = regions.covers(purged, source.universe)
        stays = epoch.may_enter_state(operator.inputs[0], purged)
        if stays:
            first = epoch.reused(first)
        keys = first.select(*(column(n) for n in operator.on or types_of(first)))
        epoch.update_state(name, keys if stays else None, True if everything else purged)
        return first

    def busy(self, epoch: Epoch, operator: Operator) -> bool:
        return epoch.is_busy(operator.inputs[0])

    def attribute_states(self, epoch: Epoch, operator: Distinct, attribute: str) -> Iterable[AttributeState]:
        return ()  # what is remembered never comes out again


def _looked_up(epoch: Epoch, operator: Distinct, frame: DataFrame, old: DataFrame) -> DataFrame:
    """The same as `_first` of few tuples, without moving what is old.

    Of 10,000 tuples and 1,000,000 rows of state: 1.1 s an epoch, by grouping both 2.9 (docs/tuning-notes.md).
    """
    new = epoch.reused(_first(epoch, operator, frame, None))
    keys = operator.on or list(types_of(stacked(new, old)))
    met = where_among(old, "semi", new, keys)
    return where_among(new, "anti", met, keys)


def _first(epoch: Epoch, operator: Distinct, frame: DataFrame, old: DataFrame | None) -> DataFrame:
    """The first tuple of each key, without those whose key is old."""
    attributes = list(types_of(frame))
    rows = frame.withColumn("$old", F.lit(False))
    if old is not None:
        rows = stacked(rows, old.withColumn("$old", F.lit(True)))
        attributes = list(types_of(rows))
    keys = operator.on or attributes
    chosen = [F.bool_or("$old").alias("$old")]
    if operator.on:
        others = sorted(set(attributes).difference(keys))
        chosen.append(F.min(F.struct(*(column(n) for n in (ORDER, *others)))).alias("$first"))
    elif ORDER in frame.columns:
        chosen.append(F.min(ORDER).alias(ORDER))
    new = rows.groupBy(*(column(n) for n in keys)).agg(*chosen).where("NOT `$old`")
    if not operator.on:
        return new.drop("$old")
    return new.select("*", "`$first`.*").select(*map(column, attributes), *_places(epoch, operator))


def _places(epoch: Epoch, operator: Distinct) -> list[str]:
    return [column(ORDER)] if operator.name in epoch.plan.placed else []
