"""Join ⋈ with Spark: symmetric, each side's new tuples meet the other's old and new ones (theory 1.3). Also contains
functions that the other joins share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Literal

from attrs import frozen
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import column
from cedilla.compiler.operators import Join, Operator
from cedilla.compiler.operators.join import Matching
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines import costs
from cedilla.runtime.engines.frames import stacked, where_among, where_inside, without_rows
from cedilla.runtime.operators.base import AttributeState, Dataflow

if TYPE_CHECKING:
    from cedilla.runtime.operators.epoch import Epoch

SIDES = ("left", "right")


class JoinDataflow(Dataflow):
    """Returns every pair with at least one new tuple, then stores the new tuples that later ones may meet."""

    def run(self, epoch: Epoch, operator: Join, left: DataFrame, right: DataFrame) -> DataFrame:  # type: ignore[override]
        keys = [f"{operator.name}.{side}" for side in SIDES]
        old = [epoch.state.read(key) for key in keys]
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
        new = [None if r is None else epoch.cached(r, times) for r, times in zip(new, uses, strict=True)]
        is_near = epoch.is_read_from_memory(operator.name)
        for key, rows, purged, stay, times in zip(keys, new, purges, stays, uses, strict=True):
            near = rows if is_near and times > 1 else None
            epoch.update_state(key, rows if stay else None, purged, in_memory=near)
        pairs = matched_pairs(old[0], new[0], old[1], new[1], operator.on)
        return no_pairs(left, right, operator.on) if pairs is None else pairs

    def has_output(self, epoch: Epoch, operator: Operator) -> bool:
        return any(epoch.has_rows(name) for name in operator.inputs)

    def attribute_states(self, epoch: Epoch, operator: Join, attribute: str) -> Iterable[AttributeState]:
        inputs = epoch.inputs(operator.name)
        for side, facts, purged in zip(SIDES, inputs, operator.released(inputs), strict=True):
            if attribute in facts.types:
                yield AttributeState(f"{operator.name}.{side}", column(attribute), purged)


# --- pairs -----------------------------------------------------------------------------------------------


def matched_pairs(
    old_left: DataFrame | None,
    new_left: DataFrame | None,
    old_right: DataFrame | None,
    new_right: DataFrame | None,
    on: Sequence[tuple[str, str]],
) -> DataFrame | None:
    """Returns the pairs with at least one new tuple; `None` if there can be no pair."""
    right = stack_present(old_right, new_right)
    first = None if new_left is None or right is None else joined(new_left, right, on)
    second = None if old_left is None or new_right is None else joined(old_left, new_right, on)
    return stack_present(first, second)


def joined(left: DataFrame, right: DataFrame, on: Sequence[tuple[str, str]]) -> DataFrame:
    """Returns the pairs of tuples that agree on the join attributes; equal names become one attribute."""
    shared = {a for a, b in on if a == b}
    moved = [name for name in right.columns if name in left.columns and name not in shared]
    for name in (*shared, *moved):
        right = right.withColumnRenamed(name, _theirs(name))
    # By name, not by DataFrame: both sides may come from one source.
    condition = " AND ".join(f"{column(a)} = {column(_theirs(b) if a == b else b)}" for a, b in on)
    pairs = left.join(right, F.expr(condition))
    for name in moved:
        # An attribute that one input dropped before the other added it comes from the input that has it.
        both = f"coalesce({column(name)}, {column(_theirs(name))})"
        pairs = pairs.withColumn(name, F.expr(both))
    return pairs.drop(*(_theirs(name) for name in (*shared, *moved)))


def no_pairs(left: DataFrame, right: DataFrame, on: Sequence[tuple[str, str]]) -> DataFrame:
    """Returns no rows, with the columns of pairs."""
    return without_rows(joined(left, right, on))


def _theirs(name: str) -> str:
    return f"{name}$right"


def stack_present(*frames: DataFrame | None) -> DataFrame | None:
    """Stacks the rows of all frames that are not `None`; `None` if all are."""
    present = [frame for frame in frames if frame is not None]
    return reduce(stacked, present) if present else None


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
    keys = keys.select(*(F.col(column(name)).alias(_theirs(name)) for name in keys.columns))
    condition = " AND ".join(f"{column(a)} = {column(_theirs(b))}" for a, b in on)
    return left.join(keys, F.expr(condition), f"left_{how}")


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
    pending, matched_since = epoch.state.read(key), epoch.state.read(_matched_key(key))
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
    known: DataFrame | None,
    fresh: DataFrame | None,
) -> LeftTuples:
    """Splits the left tuples by right keys, `known` before this epoch and `fresh`."""
    newly_matched = None
    if pending is not None and fresh is not None:
        newly_matched = where_key(pending, "semi", fresh, operator.on)
        pending = where_key(pending, "anti", fresh, operator.on)
    keys = stack_present(known, fresh)
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
    stays = epoch.may_enter_state(operator.inputs[0], purged)
    new, matched_since = tuples.unmatched if stays else None, _matched_key(key)
    if tuples.newly_matched is None or purged is True:
        epoch.update_state(key, new, purged)
    elif epoch.state.length_of(key) > costs.MATCHED_AT_ONCE and not any(
        map(epoch.state.is_full, (key, matched_since))
    ):
        epoch.update_state(key, new, purged)
        matched = _as_right_keys(epoch.cached(tuples.newly_matched), operator)
        epoch.state.append(matched_since, matched.distinct(), epoch.number)
    else:
        rest = stack_present(tuples.pending, tuples.unmatched)
        assert rest is not None
        epoch.state.replace(key, epoch.unpurged(purged)(rest), epoch.number)
        epoch.state.clear(matched_since)
    if key not in epoch.state.segments:
        epoch.state.clear(matched_since)


def keep_keys(epoch: Epoch, operator: Matching, key: str, fresh: DataFrame | None, purged: Tree) -> None:
    """Updates the state of right keys: each key once in an epoch, and once in total after compaction."""
    stays = epoch.may_enter_state(operator.inputs[1], purged)
    epoch.update_state(key, fresh if stays else None, purged, lambda rows: rows.distinct())


def expired_left(epoch: Epoch, operator: Matching, tuples: LeftTuples) -> DataFrame | None:
    """Returns the left tuples that never matched a right one, and cannot from this epoch on."""
    purged, newly = operator.purge(epoch.inputs(operator.name))[0], newly_purged(epoch, operator)
    return stack_present(
        None if tuples.pending is None or newly is False else where_inside(tuples.pending, newly),
        None if tuples.unmatched is None or purged is False else where_inside(tuples.unmatched, purged),
    )


def newly_purged(epoch: Epoch, operator: Matching) -> Tree:
    """Returns the region of left tuples that could match before this epoch, and cannot after it."""
    inputs, before = epoch.inputs(operator.name), tuple(epoch.before[name] for name in operator.inputs)
    return regions.possible_difference(
        operator.purge(inputs)[0], operator.purge(before)[0], inputs[0].universe
    )


# --- semi and anti join ----------------------------------------------------------------------------------


class FilteringDataflow(Dataflow):
    """Semi and anti join. State: left tuples without a match (`left`), right keys (`right`)."""

    def split_left(self, epoch: Epoch, operator: Matching, left: DataFrame, right: DataFrame) -> LeftTuples:
        """Splits the left tuples by whether they match, and stores everything that later epochs need."""
        waiting, keys = (f"{operator.name}.{side}" for side in SIDES)
        busy = [epoch.has_rows(name) for name in operator.inputs]
        fresh = epoch.cached(keys_of(right, operator)) if busy[1] else None
        new = epoch.cached(left) if busy[0] else None
        right_keys = known_keys(epoch, operator, keys, epoch.state.read(keys), new)
        tuples = split_left(operator, pending_left(epoch, operator, waiting), new, right_keys, fresh)
        purged = operator.purge(epoch.inputs(operator.name))
        update_pending(epoch, operator, waiting, tuples, purged[0])
        keep_keys(epoch, operator, keys, fresh, operator.released(epoch.inputs(operator.name))[1])
        return tuples

    def attribute_states(self, epoch: Epoch, operator: Matching, attribute: str) -> Iterable[AttributeState]:
        key = f"{operator.name}.left"
        purged = operator.purge(epoch.inputs(operator.name))[0]
        yield AttributeState(key, column(attribute), purged, partial(pending_left, epoch, operator, key))
