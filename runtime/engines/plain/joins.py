"""Joins in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cedilla.compiler.facts.facts import Facts, fold_closed
from cedilla.compiler.operators.shared.vacancies import Vacancy
from cedilla.compiler.regions import Tree
from cedilla.runtime.engines.plain.node import Node, Row, Rows, inside, some_have
from cedilla.runtime.engines.plain.scalars.order import equal


class _Pairing(Node):
    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.kept: tuple[Rows, Rows] = ([], [])

    def agree(self, left: Row, right: Row) -> bool:
        """Returns True if two tuples agree on the join attributes; ⊥ agrees with nothing."""
        return all(left.get(a) is not None and equal(left[a], right.get(b)) for a, b in self.operator.on)

    def meets_no_more(self, row: Row, side: int, inputs: tuple[Facts, ...]) -> bool:
        """Returns True if every possible partner of a row is closed on the other side (Keep of Join)."""
        pairs = [(pair[side], pair[1 - side]) for pair in self.operator.on]
        if any(row.get(mine) is None for mine, _ in pairs):
            return True
        other = inputs[1 - side]
        keys = frozenset(theirs for _, theirs in pairs)
        closed = fold_closed(other, frozenset(other.types) - keys)
        return inside(closed, {theirs: row[mine] for mine, theirs in pairs})

    def of_side(self, rows: Iterable[Row], side: int, inputs: tuple[Facts, ...]) -> Iterable[Row]:
        """The rows of one side that may still come out."""
        gone = self.operator.gone(inputs, side)
        return (row for row in rows if not inside(gone, row))

    def forget(self, side: int, inputs: tuple[Facts, ...]) -> None:
        if self.purge:
            rows = self.kept[side]
            rows[:] = [row for row in rows if not self.meets_no_more(row, side, inputs)]


class Join(_Pairing):
    """All pairs that agree on the join attributes."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        pairs = [(a, b) for a in new[0] for b in (*self.kept[1], *new[1])]
        pairs += [(a, b) for a in self.kept[0] for b in new[1]]
        out = [self.pair(a, b) for a, b in pairs if self.agree(a, b)]
        for side in (0, 1):
            self.kept[side].extend(new[side])
            self.forget(side, inputs)
        return out

    def pair(self, left: Row, right: Row) -> Row:
        return {**left, **right, **left}  # in the order of the output, with the values of the left

    def stored(self) -> Iterable[Row]:
        return (*self.kept[0], *self.kept[1])

    def kept_of(self, vacancy: Vacancy, inputs: tuple[Facts, ...]) -> Iterable[Row]:
        return self.of_side(self.kept[vacancy.side], vacancy.side, inputs)

    def state_has(self, attribute: str, region: Tree, inputs: tuple[Facts, ...]) -> bool:
        sides = zip(self.kept, inputs, strict=True)
        return any(some_have(rows, attribute, region, facts.types.keys()) for rows, facts in sides)


class _Matching(_Pairing):
    """Left tuples without a match so far are pending; the right tuples are kept as they come."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.pending: Rows = []

    def match(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> tuple[Rows, Rows]:
        """Returns the left tuples with their first match now, and those that will never have one."""
        self.kept[1].extend(new[1])
        matched: Rows = []
        never: Rows = []
        waiting: Rows = []
        for row in (*self.pending, *new[0]):
            if any(self.agree(row, other) for other in self.kept[1]):
                matched.append(row)
            elif self.meets_no_more(row, 0, inputs):
                never.append(row)
            else:
                waiting.append(row)
        self.pending = waiting
        self.forget(1, inputs)
        return matched, never

    def stored(self) -> Iterable[Row]:
        return self.pending

    def kept_of(self, vacancy: Vacancy, inputs: tuple[Facts, ...]) -> Iterable[Row]:
        return self.of_side(self.pending, 0, inputs)


class SemiJoin(_Matching):
    """Left tuples with a right match."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        return self.match(new, inputs)[0]


class AntiJoin(_Matching):
    """Left tuples that can have no match any more."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        return self.match(new, inputs)[1]


class LeftJoin(Node):
    """Inner pairs, and the tuples that an anti join would pass."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.inner, self.unmatched = Join(operator, purge), AntiJoin(operator, purge)

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        return [*self.inner.step(new, inputs), *self.unmatched.step(new, inputs)]

    def waiting(self) -> int:
        return self.unmatched.waiting()

    def stored(self) -> Iterable[Row]:
        return (*self.inner.stored(), *self.unmatched.stored())

    def kept_of(self, vacancy: Vacancy, inputs: tuple[Facts, ...]) -> Iterable[Row]:
        return self.inner.kept_of(vacancy, inputs)

    def state_has(self, attribute: str, region: Tree, inputs: tuple[Facts, ...]) -> bool:
        parts = (self.inner, self.unmatched)
        return any(part.state_has(attribute, region, inputs) for part in parts)
