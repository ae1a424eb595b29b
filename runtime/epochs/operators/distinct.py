"""Distinct δ with Spark: new tuples, or tuples with new keys, pass and are stored (theory 1.3)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import column
from cedilla.compiler.operators import Distinct
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.spark.columns import ORDER, Columns, conformed
from cedilla.runtime.engines.spark.frames import union_by_name, where_among
from cedilla.runtime.epochs.operators.base import AttributeState, Dataflow

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch


class DistinctDataflow(Dataflow):
    """Returns the first tuple of each key that state does not have; ⊥ is a key like any other (G36)."""

    def run(self, epoch: Epoch, operator: Distinct, frame: DataFrame) -> DataFrame:  # type: ignore[override]
        name = operator.name
        (source,) = epoch.inputs(name)
        arriving = epoch.input_region(operator.inputs[0])
        old = _old(epoch, operator, arriving) if epoch.has_rows(operator.inputs[0]) else None
        purged = operator.purge((source,))
        everything = regions.covers(purged, source.universe)
        stays = epoch.may_enter_state(operator.inputs[0], purged)
        # The next epoch may read all tuples that came, which include all new keys. The new keys themselves are computed
        # from state, and written.
        is_read_again = stays and epoch.is_read_from_memory(name)
        is_large = old is not None and epoch.is_small_input(name, arriving)
        if old is not None and is_large:
            came = epoch.cached(_first(epoch, operator, frame, None))
            first = _looked_up(came, old, _state_columns(epoch, operator))
        else:
            came = epoch.cached_input(operator.inputs[0], frame) if is_read_again else frame
            first = _first(epoch, operator, came, old)
        if stays:
            # Two jobs need them, and each would read the state.
            first = epoch.materialized(name, first, epoch.input_columns(operator), is_dear=is_large)
        epoch.update_state(
            name,
            _keys(epoch, operator, first) if stays else None,
            True if everything else purged,
            _state_columns(epoch, operator),
            in_memory=_keys(epoch, operator, came) if is_read_again else None,
            in_parts=True,
        )
        return first

    def output_region(self, epoch: Epoch, operator: Distinct) -> Tree:
        return epoch.output_region(operator.inputs[0])

    def attribute_states(self, epoch: Epoch, operator: Distinct, attribute: str) -> Iterable[AttributeState]:
        return ()  # stored tuples never pass again


def _old(epoch: Epoch, operator: Distinct, arriving: Tree) -> DataFrame | None:
    """Returns the keys in state that may come in this epoch, and perhaps others. `arriving`: the region of its
    tuples."""
    columns = _state_columns(epoch, operator)
    old = epoch.state.read(operator.name, columns, arriving)
    if old is None:
        return None
    return epoch.unpurged(operator.purge(epoch.inputs_before(operator.name)), columns)(old)


def _state_columns(epoch: Epoch, operator: Distinct) -> Columns:
    columns = epoch.input_columns(operator)
    return {name: columns[name] for name in operator.on or epoch.types(operator.inputs[0])}


def _keys(epoch: Epoch, operator: Distinct, rows: DataFrame) -> DataFrame:
    return rows.select(*map(column, _state_columns(epoch, operator)))


def _looked_up(new: DataFrame, old: DataFrame, keys: Collection[str]) -> DataFrame:
    """Returns the first tuples of new keys; the rows of state are not shuffled.

    With 10,000 tuples and 1,000,000 rows of state: 1.1 s an epoch; by grouping both 2.9 s
    (tests/benchmarks/tuning-notes.md).
    """
    matched = where_among(old, "semi", new, keys)
    return where_among(new, "anti", matched, keys)


def _first(epoch: Epoch, operator: Distinct, frame: DataFrame, old: DataFrame | None) -> DataFrame:
    """Returns the first tuple of each new key."""
    columns, attributes = epoch.input_columns(operator), [*epoch.types(operator.inputs[0])]
    rows = frame.withColumn("$old", F.lit(False))
    if old is not None:
        old = conformed(old, _state_columns(epoch, operator), columns)
        rows = union_by_name((*columns, "$old"), rows, old.withColumn("$old", F.lit(True)))
    keys = operator.on or attributes
    chosen = [F.bool_or("$old").alias("$old")]
    if operator.on:
        others = sorted(set(attributes).difference(keys))
        chosen.append(F.min(F.struct(*(column(n) for n in (ORDER, *others)))).alias("$first"))
    elif ORDER in columns:
        chosen.append(F.min(ORDER).alias(ORDER))
    new = rows.groupBy(*(column(n) for n in keys)).agg(*chosen).where("NOT `$old`")
    if not operator.on:
        return new.drop("$old")
    return new.select("*", "`$first`.*").select(*map(column, columns))
