"""Left outer join ⟕ with Spark: the join's pairs, and left tuples that cannot match any more (theory 1.3)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from cedilla.compiler.expressions.types import column
from cedilla.compiler.operators import LeftJoin
from cedilla.runtime.engines.spark.columns import conformed
from cedilla.runtime.engines.spark.frames import stacked, union_by_name
from cedilla.runtime.epochs.operators.base import AttributeState, Dataflow
from cedilla.runtime.epochs.operators.join import (
    Pairing,
    expired_left,
    kept_rows,
    keys_of,
    known_keys,
    newly_purged,
    pending_left,
    split_left,
    update_pending,
)
from cedilla.runtime.epochs.operators.vacancies import report_vacant

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch

LEFT, WAITING, RIGHT = "left", "waiting", "right"


class LeftJoinDataflow(Dataflow):
    """State: left tuples that have matched (`left`) and that have not (`waiting`), right tuples (`right`)."""

    def run(self, epoch: Epoch, operator: LeftJoin, left: DataFrame, right: DataFrame) -> DataFrame:  # type: ignore[override]
        key, right_key = f"{operator.name}.{WAITING}", f"{operator.name}.{RIGHT}"
        columns = [epoch.input_columns(operator, side) for side in (0, 1)]
        old_left = epoch.state.read(f"{operator.name}.{LEFT}", columns[0])
        old_right = epoch.state.read(right_key, columns[1])
        new_left, new_right = (
            epoch.cached_input(name, frame) if epoch.has_rows(name) else None
            for frame, name in zip((left, right), operator.inputs, strict=True)
        )
        waiting = pending_left(epoch, operator, key)
        pairing = Pairing.of(epoch, operator)
        new_lengths = [epoch.length_above(name) for name in operator.inputs]
        left_length = epoch.length_in_state(f"{operator.name}.{LEFT}", key)
        pairs = pairing.matched(
            stacked(columns[0], old_left, waiting),
            new_left,
            old_right,
            new_right,
            (left_length, new_lengths[0]),
            (epoch.length_in_state(right_key), new_lengths[1]),
        )
        fresh = None if new_right is None else keys_of(new_right, operator)
        right_keys = known_keys(epoch, operator, right_key, old_right, new_left)
        tuples = split_left(operator, waiting, new_left, right_keys, fresh)
        purged = operator.purge(epoch.inputs(operator.name))
        update_pending(epoch, operator, key, tuples, purged[0])
        matched = stacked(columns[0], tuples.matched, tuples.newly_matched)
        epoch.update_state(f"{operator.name}.{LEFT}", matched, purged[0], columns[0])
        released = operator.released(epoch.inputs(operator.name))[1]
        right_stays = epoch.may_enter_state(operator.inputs[1], released)
        epoch.update_state(right_key, new_right if right_stays else None, released, columns[1])
        report_vacant(epoch, operator, lambda _: kept_rows(epoch, operator, 0, old_left, waiting, new_left))
        alone = expired_left(epoch, operator, tuples)
        if pairs is None:
            pairs = pairing.none(left, right)
        if alone is None:
            return pairs
        return union_by_name(pairing.columns, pairs, conformed(alone, columns[0], pairing.columns))

    def has_output(self, epoch: Epoch, operator: LeftJoin) -> bool:
        return super().has_output(epoch, operator) or newly_purged(epoch, operator) is not False

    def attribute_states(self, epoch: Epoch, operator: LeftJoin, attribute: str) -> Iterable[AttributeState]:
        inputs = epoch.inputs(operator.name)
        purged = operator.purge(inputs)[0], operator.released(inputs)[1]
        for index, key in ((0, LEFT), (0, WAITING), (1, RIGHT)):
            if attribute in inputs[index].types:
                state = f"{operator.name}.{key}"
                rows = partial(pending_left, epoch, operator, state) if key == WAITING else None
                columns = epoch.input_columns(operator, index)
                yield AttributeState(state, column(attribute), [attribute], columns, purged[index], rows)
