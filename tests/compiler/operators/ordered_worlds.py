"""Orders and sessions by their definition, over few tuples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LONG
from cedilla.compiler.facts.facts import PRESENT, Facts, StateFacts
from cedilla.compiler.operators import Session
from cedilla.compiler.operators.sort import prefix
from cedilla.compiler.regions import UNDEFINED, Domain
from tests.kit.strategies import Paint, Row, rows


def between(value: Any, run: tuple[Any, Any]) -> bool:
    low, high = run
    return (low is None or low <= (value, 0)) and (high is None or (value, 0) < high)


@frozen
class Ordered:
    """A key's domain: every value that can matter, with three in each gap of a dense one.

    Before an open gap there are values that a finite list cannot show, so only the middle of three is judged.
    """

    domain: Domain
    values: tuple[Any, ...]
    judged: tuple[Any, ...]


def ordered(name: str, kind: str, *, undefined: bool) -> Ordered:
    quarters = tuple(Fraction(n, 4) for n in range(1, 8))  # 1/4 to 7/4, with 1 in the middle
    inside, integral, probes, judged = {
        "finite": (regions.values(name, [0, 1, 2]), True, (0, 1, 2), (0, 1, 2)),
        "range": (regions.interval(name, (0, 0), (3, 0)), True, (0, 1, 2), (0, 1, 2)),
        "whole": (regions.defined(name), True, tuple(range(-3, 7)), tuple(range(-2, 6))),
        "between": (
            regions.interval(name, (0, 1), (2, 1)),
            False,
            (*quarters, 2),
            (Fraction(1, 2), 1, Fraction(3, 2), 2),
        ),
        "dense": (
            regions.defined(name),
            False,
            (-3, -2, -1, 0, *quarters, 2, 3, 4, 5),
            (-2, 0, Fraction(1, 2), 1, Fraction(3, 2), 2, 4),
        ),
    }[kind]
    if undefined:
        inside = regions.union(inside, regions.complement(regions.defined(name)))
        probes, judged = (*probes, UNDEFINED), (*judged, UNDEFINED)
    return Ordered(Domain(inside, integral), probes, judged)


def rank(row: Row, keys: Iterable[tuple[str, bool]]) -> list[tuple[bool, Any]]:
    """Returns the rank of a tuple in the order; ⊥ is last."""
    return [(n not in row, (-row[n] if descending else row[n]) if n in row else 0) for n, descending in keys]


def check_prefix(axes: dict[str, Ordered], paint: Paint, keys: Sequence[tuple[str, bool]]) -> None:
    closed = regions.quantify(
        paint.tree(), set(axes) - {n for n, _ in keys}, regions.INTERSECTION, universe(axes)
    )
    actual = prefix(closed, keys, universe(axes))
    cells = [(rank(c, keys), paint.meaning(c)) for c in rows({n: a.values for n, a in axes.items()})]
    first_open = min((position for position, shut in cells if not shut), default=None)
    for cell in rows({n: axes[n].judged for n, _ in keys}):
        passable = first_open is None or not first_open < rank(cell, keys)
        assert regions.contains(actual, cell) == passable, (cell, keys)


def universe(axes: dict[str, Ordered]) -> dict[str, Domain]:
    return {name: axis.domain for name, axis in axes.items()}


def facts(axes: dict[str, Ordered], closed: Paint, present: Any = PRESENT, units: Any = None) -> Facts:
    names = [*axes, "X"]
    return Facts(
        dict.fromkeys(names, LONG),
        {**universe(axes), "X": Domain(True, True)},
        {**dict.fromkeys(axes, PRESENT), "X": present},
        {} if units is None else {"X": units},
        closed.tree(),
    )


TIMES = tuple(range(7))
KEYS = (0, 1)
RESTS = (0, 1)
GAP = 2
Tuple = tuple[int, int, int]
"""Key, time, rest."""
CELLS: tuple[Tuple, ...] = tuple(product(KEYS, TIMES, RESTS))


def session_facts(closed: Paint, present: Any = PRESENT, units: Any = None) -> Facts:
    universe = {
        "k": Domain(regions.values("k", KEYS), True),
        "ts": Domain(regions.interval("ts", (0, 0), (7, 0)), True),
        "v": Domain(regions.values("v", RESTS), True),
        "X": Domain(True, True),
    }
    return Facts(
        dict.fromkeys(universe, LONG),
        universe,
        {**dict.fromkeys("kv", PRESENT), "ts": PRESENT, "X": present},
        {} if units is None else {"X": units},
        closed.tree(),
    )


def operator() -> Session:
    return Session(name="w", inputs=("r",), gap=GAP, on="ts", per=("k",), alias="sid")


def as_row(cell: Tuple) -> Row:
    return dict(zip(("k", "ts", "v"), cell, strict=True))


Run = tuple[Tuple, ...]
"""The tuples of a session, in order."""


def sessions(present: Iterable[Tuple]) -> list[Run]:
    """The sessions of a bag of tuples."""
    result: list[Run] = []
    for one in sorted(present):
        last = result[-1][-1] if result else None
        if last is not None and last[0] == one[0] and one[1] - last[1] < GAP:
            result[-1] = (*result[-1], one)
        else:
            result.append((one,))
    return result


def is_closed(closed: Paint, run: Run) -> bool:
    """The pass rule: all times in (first - gap, last + gap) are closed for the key (theory 1.3)."""
    key, first, last = run[0][0], run[0][1], run[-1][1]
    around = [t for t in TIMES if first - GAP < t < last + GAP]
    return all(closed.meaning(as_row((key, t, v))) for t in around for v in RESTS)


PROMISED = frozenset(map(frozenset, ("k", ["ts"], ["ts", "v"], ["k", "ts"])))


def vacant(source: Facts, arrived: Iterable[Tuple], passed: Iterable[Run]) -> Any:
    """The region that is closed and of which no open session has a tuple or a start."""
    kept = [
        {**as_row(cell), "sid": run[0][1]} for run in sessions(arrived) if run not in passed for cell in run
    ]
    session = operator()
    return regions.union(
        *(
            session.vacant(
                vacancy,
                (source,),
                [tuple(row[n] for n in vacancy.names) for row in kept if regions.contains(closed_there, row)],
            )
            for vacancy in session.vacancies((source,), (PROMISED,))
            for closed_there in [session.closable(vacancy, (source,))]
        )
    )


def check_session(closed: Paint, arrived: Iterable[Tuple]) -> None:
    """Against completions: the arrived tuples and any set of open ones."""
    opened = [c for c in CELLS if not closed.meaning(as_row(c))][:6]
    passed = {run for run in sessions(arrived) if is_closed(closed, run)}
    source = session_facts(closed)
    out = operator().facts((source,), StateFacts(closed=vacant(source, arrived, passed))).closed
    later: set[tuple[int, int]] = set()
    for more in chain.from_iterable(combinations(opened, n) for n in range(len(opened) + 1)):
        completion = sessions([*arrived, *more])
        assert passed <= set(completion)
        for run in set(completion) - passed:
            later.add((run[0][0], run[0][1]))
            for cell in run:
                assert not regions.contains(out, {**as_row(cell), "sid": run[0][1]}), (cell, run)
    everything = [{**as_row(cell), "sid": start} for cell in CELLS for start in TIMES]
    for row in everything if len(opened) < 6 else ():  # every open tuple has been tried
        start = (row["k"], row["sid"])
        assert regions.contains(out, row) or start in later, f"{row}: no later session begins there"
    runs = operator().closed_times(source)
    for key in KEYS:
        times = [t for t in TIMES if all(closed.meaning(as_row((key, t, v))) for v in RESTS)]
        mine = regions.contains(runs, {"k": key})
        assert [t for t in TIMES if any(between(t, run) for run in mine)] == times
