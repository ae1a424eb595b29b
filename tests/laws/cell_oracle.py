"""An oracle of what one output cell announces about one attribute (theory D1, D2), restated from the proof.

Each function names the definition of `tests/proof` that it restates; `test_cell_oracle.py` compares it with what Coq
computes from that definition. It shares no code with the product. Functions may be any values that can be compared.
Histories are oldest first, as those of `Facts`; in Coq they are latest first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

from attrs import evolve, frozen

F = TypeVar("F")
C = TypeVar("C")
V = TypeVar("V")


@frozen
class Feeder:
    """An input cell that can produce tuples of the output cell (`D1.feeder`)."""

    live: bool
    present: bool
    history: tuple[object, ...]

    @property
    def counts(self) -> bool:
        """True if its functions count (`D1.lp`)."""
        return self.live and self.present


@frozen
class Cell:
    """What an output cell has announced about an attribute (`D1.st`); `own` is the function in force."""

    present: bool
    own: object
    announced: frozenset[object]
    closed: bool = False


def next_function(own: F, announced: Collection[F], common: Sequence[F]) -> F:
    """Returns the function that a cell announces next (D2): `D1.next`.

    It is the latest common function, if the cell's own one is common too or the cell has never announced that one.
    """
    if not common:
        return own
    latest = common[-1]
    return latest if own in common or latest not in announced else own


def common_functions(a: tuple[F, ...], b: tuple[F, ...]) -> tuple[F, ...]:
    """Returns a longest common subsequence of two histories: `D1.lcs`. Of several ones it takes that which leaves out
    of `a` as late as it can; the product decides otherwise, so laws compare cases with one."""
    if not a or not b:
        return ()
    if a[-1] == b[-1]:
        return (*common_functions(a[:-1], b[:-1]), a[-1])
    return max(common_functions(a[:-1], b), common_functions(a, b[:-1]), key=len)


def common_history(feeders: Sequence[Feeder]) -> tuple[object, ...]:
    """Returns the functions common to all feeders that count: `D1.common`."""
    histories = [feeder.history for feeder in feeders if feeder.counts]
    common = histories[0] if histories else ()
    for history in histories[1:]:
        common = common_functions(common, history)
    return common


def is_wanted(feeders: Sequence[Feeder]) -> bool:
    """Returns True if some live feeder has the attribute, so that the cell must have it: `D1.want`."""
    return any(feeder.counts for feeder in feeders)


def is_closed(feeders: Sequence[Feeder]) -> bool:
    """Returns True if no feeder is live, so that the cell must be closed: the contrary of `D1.alive`."""
    return not any(feeder.live for feeder in feeders)


def step(cell: Cell, feeders: Sequence[Feeder], original: object, *, kept: bool = False) -> Cell:
    """Returns a cell after an item that leaves its feeders as given: `D1.step`.

    `original`: the function from which an Add starts. `kept`: stored tuples still have the attribute, so that its Drop
    waits (G13).
    """
    wanted = is_wanted(feeders)
    if wanted and not cell.present:
        cell = evolve(cell, present=True, own=original, announced=frozenset({original}))
    if cell.present:
        own = next_function(cell.own, cell.announced, common_history(feeders))
        cell = evolve(cell, own=own, announced=cell.announced | {own})
    return evolve(cell, present=cell.present and (wanted or kept), closed=cell.closed or is_closed(feeders))


def without(
    changing: Collection[tuple[C, V]],
    nowhere: Collection[tuple[C, V]],
    cells: Collection[C],
    values: Collection[V],
) -> set[C]:
    """Returns the cells in which an Alter can be announced without naming the altered attribute: `Without.inner_b`.

    `changing`: cell and value of tuples that are to change. `nowhere`: those of which no tuple can come.
    """
    return {
        cell
        for cell in cells
        if any((cell, value) in changing for value in values)
        and all((cell, value) in changing or (cell, value) in nowhere for value in values)
    }
