"""Vacant regions: an input has closed them, and the operator keeps no tuple in them (theory 1.3, 2.9; E5, J1).

Nothing of a vacant region comes out later. The region depends on what is closed and kept at one instant, never on the
epochs that led there, because what is vacant stays so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import FARTHEST
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.schemes import Scheme, is_finite
from cedilla.compiler.regions import UNDEFINED, Tree

MOST = 16
"""The number of kept points that a vacant region goes around; it ends before the next one."""

Point = tuple[Any, ...]
"""The values of a kept tuple, as regions have them; `UNDEFINED` is one."""


@frozen
class Vacancy:
    """Finds the vacant regions of one input by some attributes: those of a scheme that the input promises.

    Tuples that agree on `names` lie in a vacant region together or not at all. In the order of the first name, a region
    ends. `side`: the number of the input.
    """

    side: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, side: int, scheme: Scheme, facts: Facts, first: str | None = None) -> Vacancy:
        """Returns that of a scheme. `first`: regions end in the order of this name; by default one that grows as
        times do."""

        def rank(name: str) -> tuple[bool, bool, bool, str]:
            type_ = facts.types[name]
            is_time = type_.name in ("timestamp", "date")
            return name != first, not is_time, not type_.is_axis or is_finite(name, facts), name

        return cls(side, tuple(sorted(scheme, key=rank)))

    def around(self, closed: Tree, kept: Iterable[Point]) -> Tree:
        """Returns the part of a closed region over the names without kept points.

        For example, with `a < 10` closed and 3 and 7 kept, these are the values before 3, between them, and from 7 to
        10. Nothing is vacant with an infinity or NaN, because no constant of a punctuation could name it.

        >>> print(Vacancy(0, ("a",)).around(regions.interval("a", None, (10, 0)), [(3,), (7,)]))
        a in {3, 7}: False, a < 10: True, else False
        """
        points = sorted(set(kept), key=lambda point: [(value is UNDEFINED, value) for value in point])
        if any(_is_odd(value) for point in points[: MOST + 1] for value in point):
            return False
        if len(points) > MOST:
            first, value = self.names[0], points[MOST][0]
            end = regions.defined(first) if value is UNDEFINED else regions.interval(first, None, (value, 0))
            closed = regions.intersection(closed, end)
        return regions.difference(closed, regions.union(*map(self._at, points[:MOST])))

    def _at(self, point: Point) -> Tree:
        return regions.box({name: _exactly(name, v) for name, v in zip(self.names, point, strict=True)})


def _is_odd(value: Any) -> bool:
    return not isinstance(value, str) and value is not UNDEFINED and abs(value) >= FARTHEST


def _exactly(name: str, value: Any) -> Tree:
    undefined = regions.complement(regions.defined(name))
    return undefined if value is UNDEFINED else regions.values(name, [value])
