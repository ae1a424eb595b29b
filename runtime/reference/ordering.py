"""Operators with an order, in plain Python: sort, top, limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.expressions import patterns
from cedilla.compiler.facts.facts import Facts, fold_closed
from cedilla.compiler.regions import Tree
from cedilla.runtime.reference.aggregate_results import ORDER
from cedilla.runtime.reference.node import Groups, Node, Row, Rows, arrived, control, exactly, inside
from cedilla.runtime.reference.scalars.order import equal, rank


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
        return [{**row, ORDER: place} for place, row in enumerate(passed, self.written - len(passed))]

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

    def closed(self) -> Tree:
        return not self.left
