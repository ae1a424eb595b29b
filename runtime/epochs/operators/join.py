"""Join ⋈ with Spark: symmetric, each side's new tuples meet the other's old and new ones (theory 1.3). Also contains
functions that the other joins share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from attrs import frozen
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import column
from cedilla.compiler.operators import Join
from cedilla.compiler.operators.join import Matching
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.columns import Columns, columns_of
from cedilla.runtime.engines.spark.connect import engine_in
from cedilla.runtime.engines.spark.frames import stacked, where_among, where_inside, without_rows
from cedilla.runtime.epochs.operators.base import AttributeState, Dataflow
from cedilla.runtime.epochs.operators.vacancies import report_vacant

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch

SIDES = ("left", "right")
Lengths = tuple[int, int]
"""The bytes of the old and of the new rows of a side of a join, as far as known."""


class JoinDataflow(Dataflow):
    """Returns every pair with at least one new tuple, then stores the new tuples that later ones may meet."""

    def run(self, epoch: Epoch, operator: Join, left: DataFrame, right: DataFrame) -> DataFrame:  # type: ignore[override]
        keys = [f"{operator.name}.{side}" for side in SIDES]
        columns = [epoch.input_columns(operator, side) for side in (0, 1)]
        old = [epoch.state.read(*state) for state in zip(keys, columns, strict=True)]
        new = [
            frame if epoch.has_rows(i) else None
            for frame, i in zip((left, right), operator.inputs, strict=True)
        ]
        purges = operator.released(epoch.inputs(operator.name))
        # New tuples of one side meet the other side's tuples, twice if there are old and new ones, and are stored.
        has_rows = [[rows is not None for rows in side] for side in zip(old, new, strict=True)]
        stays = [
            epoch.may_enter_state(name, purged) for name, purged in zip(operator.inputs, purges, strict=True)
        ]
        uses = (any(has_rows[1]) + stays[0], sum(has_rows[0]) + stays[1])
        new = [
            None if rows is None else epoch.cached_input(input_name, rows, times)
            for input_name, rows, times in zip(operator.inputs, new, uses, strict=True)
        ]
        is_near = epoch.is_read_from_memory(operator.name)
        for key, rows, purged, kept, stay, times in zip(keys, new, purges, columns, stays, uses, strict=True):
            near = rows if is_near and times > 1 else None
            epoch.update_state(key, rows if stay else None, purged, kept, in_memory=near)
        report_vacant(epoch, operator, lambda v: kept_rows(epoch, operator, v.side, old[v.side], new[v.side]))
        pairing = Pairing.of(epoch, operator)
        lengths = [
            (epoch.length_in_state(key), epoch.length_above(name))
            for key, name in zip(keys, operator.inputs, strict=True)
        ]
        pairs = pairing.matched(old[0], new[0], old[1], new[1], *lengths)
        return pairing.none(left, right) if pairs is None else pairs

    def attribute_states(self, epoch: Epoch, operator: Join, attribute: str) -> Iterable[AttributeState]:
        inputs = epoch.inputs(operator.name)
        for side, purged in enumerate(operator.released(inputs)):
            if attribute in inputs[side].types:
                columns, key = epoch.input_columns(operator, side), f"{operator.name}.{SIDES[side]}"
                yield AttributeState(key, column(attribute), [attribute], columns, purged)


def kept_rows(epoch: Epoch, operator: Matching, side: int, *rows: DataFrame | None) -> DataFrame | None:
    """Returns the rows of one input that may still come out."""
    every, gone = (
        stacked(epoch.input_columns(operator, side), *rows),
        operator.gone(epoch.inputs(operator.name), side),
    )
    return None if every is None else epoch.unpurged(gone, epoch.input_columns(operator, side))(every)


# --- pairs -----------------------------------------------------------------------------------------------


@frozen
class Pairing:
    """The form of a pair of tuples. `on`: the pairs of join attributes; `moved`: attributes of both sides that are not
    compared; `right`: the columns of a right tuple; `columns`: of a pair; `is_in_one_part`: as for
    `StateStore`."""

    on: Sequence[tuple[str, str]]
    moved: Sequence[str]
    right: Columns
    columns: Columns
    is_in_one_part: bool

    @classmethod
    def of(cls, epoch: Epoch, operator: Matching) -> Pairing:
        left, right = (epoch.types(name) for name in operator.inputs)
        shared = {a for a, b in operator.on if a == b}
        moved = [name for name in right if name in left and name not in shared]
        is_placed = any(epoch.plan.takes_places(operator, side) for side in (0, 1))
        columns = columns_of(epoch.types(operator.name), is_placed=is_placed)
        return cls(operator.on, moved, epoch.input_columns(operator, 1), columns, epoch.state.is_in_one_part)

    def matched(
        self,
        old_left: DataFrame | None,
        new_left: DataFrame | None,
        old_right: DataFrame | None,
        new_right: DataFrame | None,
        left_lengths: Lengths,
        right_lengths: Lengths,
    ) -> DataFrame | None:
        """Returns the pairs with at least one new tuple; `None` if there can be no pair."""
        right, first, second = stacked(self.right, old_right, new_right), None, None
        if new_left is not None and right is not None:
            first = self._joined(new_left, right, left_is_longer=left_lengths[1] > sum(right_lengths))
        if old_left is not None and new_right is not None:
            second = self._joined(old_left, new_right, left_is_longer=left_lengths[0] > right_lengths[1])
        return stacked(self.columns, first, second)

    def none(self, left: DataFrame, right: DataFrame) -> DataFrame:
        """Returns no rows, with the columns of pairs."""
        return without_rows(self._joined(left, right))

    def _joined(self, left: DataFrame, right: DataFrame, *, left_is_longer: bool = False) -> DataFrame:
        """Returns the pairs of tuples that agree on the join attributes; equal names become one attribute. Sail makes a
        hash table of the rows on the left, which are therefore the fewer."""
        renamed = {*self.moved, *(a for a, b in self.on if a == b)}
        right = right.selectExpr(
            *(_renamed(name) if name in renamed else column(name) for name in self.right)
        )
        if self.is_in_one_part:
            # Otherwise Spark reads one side in a job of its own, to broadcast it, or sorts both.
            left, right = (
                (left, right.hint("shuffle_hash")) if left_is_longer else (left.hint("shuffle_hash"), right)
            )
        is_turned = left_is_longer and engine_in(left.sparkSession) == "sail"
        # By name, not by DataFrame: both sides may come from one source.
        condition = " AND ".join(f"{column(a)} = {column(_theirs(b) if a == b else b)}" for a, b in self.on)
        sides = (right, left) if is_turned else (left, right)
        # An attribute that one input dropped before the other added it comes from the input that has it.
        both = {
            name: f"coalesce({column(name)}, {column(_theirs(name))}) AS {column(name)}"
            for name in self.moved
        }
        pairs = sides[0].join(sides[1], F.expr(condition))
        return pairs.selectExpr(*(both.get(name, column(name)) for name in self.columns))


def _renamed(name: str) -> str:
    return f"{column(name)} AS {column(_theirs(name))}"


def _theirs(name: str) -> str:
    return f"{name}$right"


# --- left tuples by whether the right has their key ------------------------------------------------------


def keys_of(right: DataFrame, operator: Matching) -> DataFrame:
    """Returns the distinct keys of right tuples, without keys that are undefined in part."""
    return _right_keys(right, operator).distinct()


def _right_keys(right: DataFrame, operator: Matching) -> DataFrame:
    names = [column(name) for name in operator.keys(1)]
    return right.select(*names).where(" AND ".join(f"{name} IS NOT NULL" for name in names))  # NaN is defined


def _as_right_keys(left: DataFrame, operator: Matching) -> DataFrame:
    """Returns the keys of left tuples under the right side's names."""
    mine = {b: a for a, b in operator.on}
    return left.selectExpr(*(f"{column(mine[name])} AS {column(name)}" for name in operator.keys(1)))


def where_key(
    left: DataFrame, how: Literal["semi", "anti"], keys: DataFrame, on: Sequence[tuple[str, str]]
) -> DataFrame:
    """Returns the left tuples with a key among some right keys (`semi`), or with another key (`anti`)."""
    names = dict.fromkeys(b for _, b in on)
    keys = keys.select(*(F.col(column(name)).alias(_theirs(name)) for name in names))
    condition = " AND ".join(f"{column(a)} = {column(_theirs(b))}" for a, b in on)
    return left.join(keys, F.expr(condition), f"left_{how}")


def _matched_columns(epoch: Epoch, operator: Matching) -> Columns:
    """Returns the columns of that second state: keys of left tuples under the right side's names."""
    left = epoch.input_columns(operator)
    return {right_name: left[left_name] for left_name, right_name in operator.on}


def key_columns(epoch: Epoch, operator: Matching) -> Columns:
    """Returns the columns of a state of right keys."""
    right = epoch.input_columns(operator, 1)
    return {name: right[name] for name in operator.keys(1)}


@frozen
class LeftTuples:
    """The left tuples of an epoch, by whether the right has or had a tuple of their key; `None` for an empty part.

    Tuples of earlier epochs are `newly_matched` if they match now, else `pending`. New ones are `matched` or
    `unmatched`.
    """

    newly_matched: DataFrame | None
    pending: DataFrame | None
    matched: DataFrame | None
    unmatched: DataFrame | None


def pending_left(epoch: Epoch, operator: Matching, key: str) -> DataFrame | None:
    """Returns the rows of a state of left tuples without those that have matched since."""
    pending = epoch.state.read(key, epoch.input_columns(operator))
    matched_since = epoch.state.read(_matched_key(key), _matched_columns(epoch, operator))
    if pending is None or matched_since is None:
        return pending
    return where_key(pending, "anti", matched_since, operator.on)


def _matched_key(key: str) -> str:
    """Returns the key of a second state: right keys whose left tuples have matched but are still in the first state."""
    return f"{key}.met"


def split_left(
    operator: Matching,
    pending: DataFrame | None,
    new: DataFrame | None,
    earlier: DataFrame | None,
    fresh: DataFrame | None,
) -> LeftTuples:
    """Splits the left tuples by right keys, `earlier` before this epoch and `fresh`."""
    newly_matched = None
    if pending is not None and fresh is not None:
        newly_matched = where_key(pending, "semi", fresh, operator.on)
        pending = where_key(pending, "anti", fresh, operator.on)
    keys = stacked(operator.keys(1), earlier, fresh)
    if new is None or keys is None:
        return LeftTuples(newly_matched, pending, None, new)
    matched, unmatched = (where_key(new, how, keys, operator.on) for how in ("semi", "anti"))
    return LeftTuples(newly_matched, pending, matched, unmatched)


def known_keys(
    epoch: Epoch, operator: Matching, key: str, old: DataFrame | None, new: DataFrame | None
) -> DataFrame | None:
    """Returns the keys of the right tuples in state that a new left tuple may have. `key`: the state's; `old`: its
    rows. For a large state, only the keys of the few new left tuples."""
    if old is None or new is None:
        return None
    keys = _right_keys(old, operator)
    if not epoch.is_small_input(key):
        return keys
    return epoch.cached(where_among(keys, "semi", _as_right_keys(new, operator), operator.keys(1)))


def update_pending(epoch: Epoch, operator: Matching, key: str, tuples: LeftTuples, purged: Tree) -> None:
    """Updates the state of left tuples without a match. If some of them match now, a small state is rewritten without
    them. For a large state, their keys are stored separately until it has to be rewritten anyway.

    With 1,000,000 pending tuples an epoch takes 2.0 s, as with 1,000; rewriting would take 3.5 s
    (tests/benchmarks/tuning-notes.md).
    """
    stays, columns = epoch.may_enter_state(operator.inputs[0], purged), epoch.input_columns(operator)
    new, matched_since = tuples.unmatched if stays else None, _matched_key(key)
    if tuples.newly_matched is None or purged is True:
        epoch.update_state(key, new, purged, columns)
    elif epoch.state.length_of(key) > costs.MATCHED_AT_ONCE and not any(
        map(epoch.state.is_full, (key, matched_since))
    ):
        epoch.update_state(key, new, purged, columns)
        matched = _as_right_keys(epoch.cached(tuples.newly_matched), operator)
        met = _matched_columns(epoch, operator)
        epoch.state.append(matched_since, matched.distinct(), met, epoch.number)
    else:
        rest = stacked(columns, tuples.pending, tuples.unmatched)
        assert rest is not None
        epoch.state.replace(key, epoch.unpurged(purged, columns)(rest), columns, epoch.number)
        epoch.state.clear(matched_since)
    if key not in epoch.state.segments:
        epoch.state.clear(matched_since)


def keep_keys(epoch: Epoch, operator: Matching, key: str, fresh: DataFrame | None, purged: Tree) -> None:
    """Updates the state of right keys: each key once in an epoch, and once in total after compaction."""
    stays = epoch.may_enter_state(operator.inputs[1], purged)
    columns = key_columns(epoch, operator)
    epoch.update_state(key, fresh if stays else None, purged, columns, lambda rows: rows.distinct())


def expired_left(epoch: Epoch, operator: Matching, tuples: LeftTuples) -> DataFrame | None:
    """Returns the left tuples that never matched a right one, and cannot from this epoch on."""
    purged, newly = operator.purge(epoch.inputs(operator.name))[0], newly_purged(epoch, operator)
    pending, unmatched, columns = tuples.pending, tuples.unmatched, epoch.input_columns(operator)
    return stacked(
        columns,
        None if pending is None or newly is False else where_inside(pending, newly, columns),
        None if unmatched is None or purged is False else where_inside(unmatched, purged, columns),
    )


def newly_purged(epoch: Epoch, operator: Matching) -> Tree:
    """Returns the region of left tuples that could match before this epoch, and cannot after it."""
    return epoch.newly(operator.name, lambda inputs: operator.purge(inputs)[0])


# --- semi and anti join ----------------------------------------------------------------------------------


class FilteringDataflow(Dataflow):
    """Semi and anti join. State: left tuples without a match (`left`), right keys (`right`)."""

    def split_left(self, epoch: Epoch, operator: Matching, left: DataFrame, right: DataFrame) -> LeftTuples:
        """Splits the left tuples by whether they match, and stores everything that later epochs need."""
        waiting, keys = (f"{operator.name}.{side}" for side in SIDES)
        busy = [epoch.has_rows(name) for name in operator.inputs]
        fresh = epoch.cached(keys_of(right, operator)) if busy[1] else None
        new = epoch.cached_input(operator.inputs[0], left) if busy[0] else None
        old = epoch.state.read(keys, key_columns(epoch, operator))
        right_keys = known_keys(epoch, operator, keys, old, new)
        tuples = split_left(operator, pending_left(epoch, operator, waiting), new, right_keys, fresh)
        purged = operator.purge(epoch.inputs(operator.name))
        update_pending(epoch, operator, waiting, tuples, purged[0])
        keep_keys(epoch, operator, keys, fresh, operator.released(epoch.inputs(operator.name))[1])
        report_vacant(
            epoch, operator, lambda _: kept_rows(epoch, operator, 0, tuples.pending, tuples.unmatched)
        )
        return tuples

    def attribute_states(self, epoch: Epoch, operator: Matching, attribute: str) -> Iterable[AttributeState]:
        key, columns = f"{operator.name}.left", epoch.input_columns(operator)
        purged = operator.purge(epoch.inputs(operator.name))[0]
        rows = partial(pending_left, epoch, operator, key)
        yield AttributeState(key, column(attribute), [attribute], columns, purged, rows)
