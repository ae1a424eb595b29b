"""Sets and bags in plain Python: distinct, intersect, minus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from cedilla.compiler.expressions.types import DOUBLE
from cedilla.compiler.facts.facts import Facts, fold_closed
from cedilla.compiler.operators.shared.equality import largest_in_counts
from cedilla.compiler.operators.shared.vacancies import Vacancy
from cedilla.runtime.connectors.records.rejections import beyond
from cedilla.runtime.engines.plain.node import Node, Row, Rows, arrived, inside, key_of, whole


class Distinct(Node):
    """The first tuple, or the first for each key."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.seen: dict[Any, Row] = {}

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        passed: Rows = []
        on = self.operator.on
        for row in arrived(new[0]):
            key = key_of(row, on) if on else whole(row)
            if key not in self.seen:
                self.seen[key] = row
                passed.append(row)
        if self.purge:
            others = frozenset(inputs[0].types) - frozenset(on) if on else frozenset[str]()
            closed = fold_closed(inputs[0], others)
            self.seen = {key: row for key, row in self.seen.items() if not inside(closed, row)}
        return passed


class _Counting(Node):
    """Counts how often each tuple came on either side, and how often it passed."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.rows: dict[Any, Row] = {}
        self.came = (Counter[Any](), Counter[Any]())
        self.passed: Counter[Any] = Counter()

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        for side in (0, 1):
            for row, common in zip(new[side], self.in_common_types(new[side], inputs), strict=True):
                key = whole(common)
                if side == 0 or key not in self.rows:  # a difference has the left's types
                    self.rows[key] = row
                self.came[side][key] += 1
        out: Rows = []
        for key, row in list(self.rows.items()):
            closed = tuple(inside(facts.closed, row) for facts in inputs)
            counts = self.came[0][key], self.came[1][key]
            due = self.due(counts, closed) - self.passed[key]
            out += [row] * due
            self.passed[key] += max(due, 0)
            if self.purge and self.done(counts, self.passed[key], closed):
                for counter in (self.rows, *self.came, self.passed):
                    counter.pop(key, None)
        return out

    def kept_of(self, vacancy: Vacancy, inputs: tuple[Facts, ...]) -> Iterable[Row]:
        """The tuples of one side that the other may still decide: it has fewer of them, as sets none."""
        mine, theirs = self.came[vacancy.side], self.came[1 - vacancy.side]
        closed = inputs[1 - vacancy.side].closed
        for key, row in self.rows.items():
            fewer = mine[key] > theirs[key] if self.operator.all else mine[key] > 0 and not theirs[key]
            if fewer and not inside(closed, row):
                yield row

    def due(self, counts: tuple[int, int], closed: tuple[bool, ...]) -> int:
        """Returns how often a tuple passes in total."""
        raise NotImplementedError

    def done(self, counts: tuple[int, int], passed: int, closed: tuple[bool, ...]) -> bool:
        """Returns True if a tuple can be forgotten."""
        raise NotImplementedError


class Intersect(_Counting):
    """Passes a tuple as often as both sides have it; as sets, once."""

    def due(self, counts: tuple[int, int], closed: tuple[bool, ...]) -> int:
        both = min(counts)
        return both if self.operator.all else min(both, 1)

    def done(self, counts: tuple[int, int], passed: int, closed: tuple[bool, ...]) -> bool:
        exhausted = any(c and n <= passed for c, n in zip(closed, counts, strict=True))
        settled = not self.operator.all and passed > 0 and any(closed)
        return all(closed) or exhausted or settled


class Minus(_Counting):
    """Passes a tuple as often as the left side has it more than the right, once that is certain."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        out = super().step(new, inputs)
        left, right = (facts.types for facts in inputs)
        for name in (n for n, type_ in left.items() if type_.name == "decimal" and right.get(n) == DOUBLE):
            if any(abs(row.get(name, 0)) >= largest_in_counts(left[name]) for row in out):
                raise beyond(name)
        return out

    def due(self, counts: tuple[int, int], closed: tuple[bool, ...]) -> int:
        if not closed[1]:
            return 0
        left, right = counts
        return max(0, left - right) if self.operator.all else int(left > 0 and not right)

    def done(self, counts: tuple[int, int], passed: int, closed: tuple[bool, ...]) -> bool:
        left, right = counts
        decided = left <= right if self.operator.all else right > 0
        return closed[0] and (closed[1] or decided)

    def stored(self) -> Iterable[Row]:
        return (row for key, row in self.rows.items() if self.came[0][key] > self.passed[key])
