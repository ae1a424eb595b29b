"""Operators with an order, in plain Python: sort, running, top, limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.expressions.counters import INCREASES
from cedilla.compiler.expressions.expressions import type_of
from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.facts.facts import Facts, fold_closed
from cedilla.compiler.operators.shared.running_calls import LAST, PLACES
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.plain.aggregate_results import ORDER, result
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.plain.node import (
    Groups,
    Node,
    Row,
    Rows,
    arrived,
    control,
    exactly,
    inside,
    key_of,
    only_defined,
)
from cedilla.runtime.engines.plain.scalars.order import equal, rank


def by_keys(keys: Sequence[tuple[str, bool]]) -> Callable[[Row], Any]:
    """Returns a sort key of rows: attributes, each descending or not; ⊥ comes last."""

    def compare(a: Row, b: Row) -> int:
        for name, descending in keys:
            x, y = a.get(name), b.get(name)
            if x is None or y is None:
                if x is y:
                    continue
                return 1 if x is None else -1
            if not equal(x, y):
                return (1 if rank(x) > rank(y) else -1) * (-1 if descending else 1)
        return 0

    return cmp_to_key(compare)


class Sort(Node):
    """Tuples in the order of some keys, once nothing can come before them (E4)."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.pending: Rows = []
        self.written = 0

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        keys = self.operator.keys
        rows = sorted(arrived([*self.pending, *new[0]]), key=by_keys(keys))
        closed = fold_closed(inputs[0], frozenset(inputs[0].types) - {name for name, _ in keys})
        passed = [row for row in rows if self._all_before_closed(row, closed, inputs[0])]
        self.pending = [row for row in rows if not any(row is other for other in passed)]
        self.written += len(passed)
        return [{**row, ORDER: number} for number, row in enumerate(passed, self.written - len(passed))]

    def _all_before_closed(self, row: Row, closed: Tree, facts: Facts) -> bool:
        """Returns True if ∀ t' <_A t: t' ∈ C (E4); if ties wait for each other, also t ∈ C."""
        if self.operator.settled and not inside(closed, row):
            return False
        before: Tree = False
        equal: Tree = True
        for name, descending in self.operator.keys:
            value = row.get(name)
            here = regions.defined(name)  # ⊥ comes last
            if value is not None:
                sign = ">" if descending else "<"
                here = patterns.compare(name, facts.types[name], sign, control(value))
            before = regions.union(before, regions.intersection(equal, here))
            equal = regions.intersection(equal, exactly(name, value))
        return regions.is_empty(regions.difference(before, closed), facts.universe)

    def stored(self) -> Iterable[Row]:
        return self.pending


class Running(Node):
    """Functions of the tuples of a key up to each, once no other can come before it (N14)."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.pending: Rows = []
        self.passed: dict[tuple[Any, ...], Rows] = {}

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        (source,) = inputs
        per, types, out = self.operator.per, source.types, list[Row]()
        closed = fold_closed(source, frozenset(types).difference(self.operator.named(0)))
        rows = arrived([*self.pending, *new[0]])
        for key in reversed(self.operator.on):
            rows.sort(key=by_keys([key]))
            rows.sort(key=lambda row, name=key[0]: name in row)  # undefined values come first
        self.pending = []
        passed = list[tuple[Rows, int]]()
        for row in rows:
            if not self._is_closed_up_to(row, closed, source):
                self.pending.append(row)
                continue
            of_key = self.passed.setdefault(key_of(row, per), [])
            of_key.append(row)
            passed.append((of_key, len(of_key)))
        for of_key, count in passed:  # ties of a frame of a length share it
            seen_by = self._framed(of_key, count)
            calls = self.operator.calls if seen_by else ()
            results = {name: self._result(name, seen_by, types) for name in calls}
            out.append(only_defined({**of_key[count - 1], **results}))
        gone = fold_closed(source, frozenset(types).difference(per))
        if self.purge:
            self.passed = {key: rows for key, rows in self.passed.items() if not inside(gone, rows[-1])}
        return out

    def _framed(self, rows: Rows, count: int) -> Rows:
        """Returns the rows of a key that the functions see at one of them, the number `count`.

        A row without a time is in no frame of a length.
        """
        frame, axis = self.operator.frame, self.operator.axis
        if frame is None:
            return rows[:count]
        if not frame.begins:
            tie = key_of(rows[count - 1], self.operator.ordered_by)
            return rows[:count] + [r for r in rows[count:] if key_of(r, self.operator.ordered_by) == tie]
        if frame.rows is not None:
            return rows[max(count - frame.rows, 0) : count]
        times = [(control(row[axis]), row) for row in rows if axis in row]
        at = control(rows[count - 1].get(axis))
        if at is regions.UNDEFINED:
            return []
        return [row for time, row in times if at - frame.length <= time <= at]

    def _is_closed_up_to(self, row: Row, closed: Tree, facts: Facts) -> bool:
        """Returns True if {k} x (-inf, ts] is closed; no tuple has to come before an undefined value."""
        until: Tree = False
        equal: Tree = True
        for name in self.operator.per:
            equal = regions.intersection(equal, exactly(name, row.get(name)))
        for name, descending in self.operator.on:
            if (value := control(row.get(name))) is regions.UNDEFINED:
                equal = False
                break
            before = patterns.compare(name, facts.types[name], ">" if descending else "<", value)
            until = regions.union(until, regions.intersection(equal, before))
            equal = regions.intersection(equal, exactly(name, row.get(name)))
        until = regions.union(until, equal)
        return regions.is_empty(regions.difference(until, closed), facts.universe)

    def _result(self, name: str, so_far: Rows, types: Mapping[str, Type]) -> Any:
        call, row = self.operator.calls[name], so_far[-1]
        if call.function in INCREASES:
            return self._increase(name, so_far, types)
        if call.function in PLACES:
            return self._place(call.function, so_far)
        if call.function in ("first", "last", "nth"):
            values = [x for row in so_far if (x := evaluate(call.arguments[0], row, types)) is not None]
            first = -1 if call.function == "last" else self.operator.place(name) - 1
            return next(iter(values[first:]), None)
        if call.function not in LAST:
            return result(call, so_far, types, self.operator.type_of(name, types))
        back = self.operator.place(name) + 1
        before = evaluate(call.arguments[0], so_far[-back], types) if len(so_far) >= back else None
        if call.function == "lag":
            return before
        column = self.operator.before(name)
        widened = {**types, column: type_of(call.arguments[0], types)}
        return evaluate(self.operator.difference(name), only_defined({**row, column: before}), widened)

    def _place(self, function: str, so_far: Rows) -> int:
        """Returns the number of a tuple, of the first of its ties, or of its part of the order."""
        keys = [key_of(row, self.operator.ordered_by) for row in so_far]
        begins = [number for number, pair in enumerate(pairwise([None, *keys]), 1) if pair[0] != pair[1]]
        return {"row_number": len(keys), "rank": begins[-1], "dense_rank": len(begins)}[function]

    def _increase(self, name: str, so_far: Rows, types: Mapping[str, Type]) -> Any:
        counter, read = self.operator.counter(name), self.operator.columns(name, types)
        widened, columns = {**types, **read}, (self.operator.before(name), self.operator.earlier(name))
        readings, since = list[Any](), None
        for row in so_far[:-1]:
            if (value := evaluate(counter.reading, row, types)) is None:
                continue
            pair = dict(zip(columns, (value, *readings[-1:]), strict=False))
            start = None if counter.started is None else evaluate(counter.started, row, types)
            is_later = since is not None and start is not None and start > since
            if is_later:
                readings = [value, value]
            elif not readings or evaluate(self.operator.differs(*columns), pair, widened):
                readings.append(value)
            since = start if since is None or is_later else since
        last = dict(zip(columns, reversed(readings[-2:]), strict=False)) | {self.operator.since(name): since}
        return evaluate(self.operator.difference(name), only_defined({**so_far[-1], **last}), widened)

    def stored(self) -> Iterable[Row]:
        return self.pending

    def state_has(self, attribute: str, region: Tree, inputs: tuple[Facts, ...]) -> bool:
        if attribute not in self.operator.calls:
            return super().state_has(attribute, region, inputs)
        call = self.operator.calls[attribute]
        types, last = inputs[0].types, self.operator.kept(attribute)
        frame = self.operator.frame
        is_short = call.function in LAST or (frame is not None and frame.begins)
        kept = [rows[-last:] if is_short else rows for rows in self.passed.values()]
        if self.operator.length is not None:
            gone = self.operator.outlived(inputs[0])
            kept = [[row for row in rows if self._is_in_frames(row, gone)] for rows in self.passed.values()]
        if call.function == "nth":
            kept = [rows for rows in kept if self._result(attribute, rows, types) is not None]
        keys = regions.exists(region, regions.attributes(region) - frozenset(self.operator.per), {})
        return any(
            evaluate(call.arguments[0], row, types) is not None and inside(keys, row)
            for row in (*self.pending, *(row for rows in kept for row in rows))
        )

    def _is_in_frames(self, row: Row, gone: Tree) -> bool:
        """Returns True if a later tuple may have a written row in its frame of a length."""
        return self.operator.axis in row and not inside(gone, row)


class Top(Groups):
    """The best tuples of each group, once it is closed."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        o = self.operator
        done = self.closed_groups(new[0], o.per, inputs[0])
        best = by_keys(o.keys)
        return [row for key in done for row in sorted(arrived(self.groups.pop(key)), key=best)[: o.count]]


class Limit(Node):
    """The first tuples to arrive."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.left: int = operator.count

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        passed = arrived(new[0])[: self.left]
        self.left -= len(passed)
        return passed

    def closed(self, inputs: tuple[Facts, ...], *, has_new: bool) -> Tree:
        return not self.left
