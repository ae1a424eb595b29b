"""Splits sets of values into ordered runs, for operators that follow an order."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from cedilla.compiler.regions import Bound, Level, Tree, ceiling

Span = tuple[Bound | None, Bound | None]
"""The values between two cuts; `None` is unbounded."""


def spans(members: Tree, *, integral: bool) -> tuple[Span, ...]:
    """Returns the defined values of a set over one attribute as few runs, in order.

    `integral`: only whole numbers count, so both cuts come before a whole number, and neighbours are one run.
    """
    if not isinstance(members, Level):
        return ((None, None),) if members else ()
    cuts = sorted({*members.cuts, *((value, after) for value in members.points for after in (0, 1))})
    spans: list[Span] = []
    for low, high in pairwise((None, *cuts, None)):
        if not _inside(members, low, high):
            continue
        if integral:
            low, high = _whole(low), _whole(high)  # noqa: PLW2901
            if low is not None and low == high:
                continue
        if spans and spans[-1][1] == low:
            low = spans.pop()[0]  # noqa: PLW2901
        spans.append((low, high))
    return tuple(spans)


def _inside(members: Level, low: Bound | None, high: Bound | None) -> Tree:
    if low is not None and high is not None and low[0] == high[0]:
        return members.at(low[0])
    return members.pieces[0 if low is None else bisect_right(members.cuts, low)]


def _whole(cut: Bound | None) -> Bound | None:
    return None if cut is None else (ceiling(cut), 0)
