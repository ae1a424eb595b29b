"""Joins by their definition, over few tuples."""

from __future__ import annotations

from collections.abc import Sequence

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LONG
from cedilla.compiler.facts.facts import PRESENT, Facts
from cedilla.compiler.operators.join import Matching
from cedilla.compiler.regions import Domain
from tests.compiler.worlds import World
from tests.kit.strategies import Row, rows, values

Pairs = Sequence[tuple[str, str]]


def agree(left: Row, right: Row, on: Pairs) -> bool:
    """Returns True if two tuples have equal, defined join attributes."""
    return all(a in left and left[a] == right.get(b) for a, b in on)


def partners(tuple_: Row, other: World, on: Pairs) -> list[Row]:
    return [row for row in rows(values(other.axes)) if agree(tuple_, row, on)]


def meets_later(tuple_: Row, other: World, on: Pairs) -> bool:
    """Returns True if a tuple that it agrees with is live."""
    return bool(other.live(partners(tuple_, other, on)))


def swapped(on: Pairs) -> Pairs:
    return [(b, a) for a, b in on]


def possible(facts: Facts, row: Row) -> bool:
    """Returns True if a relation's universe contains a tuple."""
    return all(
        regions.contains(domain.members, {name: row[name]} if name in row else {})
        for name, domain in facts.universe.items()
    )


def built(operator: type[Matching], on: Pairs) -> Matching:
    return operator(name="j", inputs=("l", "r"), on=on)


def plain(*names: str) -> Facts:
    universe = {n: Domain(regions.defined(n), True) for n in names}
    return Facts(dict.fromkeys(names, LONG), universe, dict.fromkeys(names, PRESENT))
