"""The formulas of the seeds in plain Python, over few values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, combinations, product

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LONG
from cedilla.compiler.facts.facts import PRESENT, Facts
from cedilla.compiler.operators.sort import prefix

Tuples = frozenset[int]


def subsets(of: Iterable[int]) -> list[Tuples]:
    of = list(of)
    return [frozenset(s) for s in chain.from_iterable(combinations(of, n) for n in range(len(of) + 1))]


def minus(r1: Tuples, r2: Tuples) -> Tuples:
    return r1 - r2


def intersect(r1: Tuples, r2: Tuples) -> Tuples:
    return r1 & r2


def unite(r1: Tuples, r2: Tuples) -> Tuples:
    return r1 | r2


@frozen
class State:
    """The state of a difference for one tuple: it waits, was on the right, has passed."""

    left: bool = False
    right: bool = False
    passed: bool = False


Keep = Callable[[State, bool, bool], State]


def everything(state: State, c1: bool, c2: bool) -> State:
    return state


def corrected(state: State, c1: bool, c2: bool) -> State:
    """Keep1 = {t ∈ T1 : t ∉ T2, t ∉ C2} + emitted t ∉ C1; Keep2 = {t ∈ T2 : t ∉ C1}."""
    return State(state.left and not state.right and not c2, state.right and not c1, state.passed and not c1)


def right_by_p2(state: State, c1: bool, c2: bool) -> State:
    """The natural guess: what the right input has closed is no longer needed of it."""
    return State(state.left, state.right and not c2, state.passed)


def forgetful(state: State, c1: bool, c2: bool) -> State:
    """Like `corrected`, but what has passed is forgotten."""
    kept = corrected(state, c1, c2)
    return State(kept.left, kept.right, False)


def passed(events: Sequence[str], keep: Keep) -> list[int]:
    """After which events the tuple passes. `l`, `r`: it comes; `1`, `2`: an input closes it."""
    state, closed, out = State(), set[str](), list[int]()
    for index, event in enumerate(events):
        if event in "12":
            closed.add(event)
        else:
            state = State(state.left or event == "l", state.right or event == "r", state.passed)
        if state.left and not state.right and "2" in closed and not state.passed:
            out.append(index)
            state = State(state.left, state.right, True)
        state = keep(state, "1" in closed, "2" in closed)
    return out


def grammatical(events: Sequence[str]) -> bool:
    ends = {"1": "l", "2": "r"}
    return not any(ends[e] in events[i:] for i, e in enumerate(events) if e in ends)


def facts(closed: regions.Tree) -> Facts:
    whole = regions.Domain(regions.defined("a"), integral=True)
    return Facts({"a": LONG}, {"a": whole}, {"a": PRESENT}, {}, closed)


Cell = tuple[int, int]
Cells = frozenset[Cell]
PAIRS: Cells = frozenset(product(range(4), range(2)))


def matched(patterns: Iterable[Cells]) -> Cells:
    return frozenset[Cell]().union(*patterns)


def first_of_every_completion(arrived: Cells, closed: Cells) -> Cells:
    """Returns the tuples that may be written: no completion has a missing tuple before them."""
    return frozenset(t for t in arrived if not any(late[0] < t[0] for late in PAIRS - closed))


def is_down_set(cells: Cells) -> bool:
    """The condition in full: no t1 inside and t2 outside with t2 <_A t1."""
    return not any(t2[0] < t1[0] for t1 in cells for t2 in PAIRS - cells)


def printed_initial(patterns: list[Cells]) -> Cells:
    """The greatest subset *of the punctuations* whose region is a down-set."""
    subsets_of = chain.from_iterable(combinations(patterns, n) for n in range(len(patterns) + 1))
    return max((cells for some in subsets_of if is_down_set(cells := matched(some))), key=len)


def passable(closed: Cells) -> Cells:
    """Returns the cells that the engine passes, by its region."""
    ranges = {"A": range(4), "B": range(2)}
    universe = {n: regions.Domain(regions.values(n, values), integral=True) for n, values in ranges.items()}
    boxes = (regions.box({"A": regions.values("A", [a]), "B": regions.values("B", [b])}) for a, b in closed)
    region = prefix(regions.forall(regions.union(*boxes), {"B"}, universe), [("A", False)], universe)
    return frozenset(c for c in PAIRS if regions.contains(region, {"A": c[0]}))
