"""Orders of tuples by several attributes, as regions, and frames in an order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import field

from cedilla.compiler import regions
from cedilla.compiler.regions import ANYTHING, Box, Tree, Universe
from cedilla.compiler.regions.spans import spans
from cedilla.grammar.syntax.classes import lean

Key = tuple[str, bool]
"""An attribute, and whether it descends."""
MAX_LENGTH = 2**62
"""The least length that no frame has; differences of times fit into 64 bits."""


@lean(kw_only=True)
class Frame:
    """The last tuples up to each that functions see: so many, or those of a length on the axis of the order.

    A length ends with the tuple and its ties, and begins with the value a length before. Without either, they see all
    up to the tuple and its ties.
    """

    text: str = field(kw_only=False)
    rows: int | None = None
    length: int | None = None

    @property
    def begins(self) -> bool:
        """True if it leaves tuples out."""
        return self.rows is not None or self.length is not None


def from_first(box: Mapping[str, Tree], keys: Sequence[Key], universe: Universe) -> Iterator[Box]:
    """Yields boxes of the tuples that come with the first one of a box, or after it; an undefined value comes first.

    >>> from cedilla.compiler.regions import interval
    >>> for image in from_first({"a": interval("a", (1, 0), None)}, [("a", False), ("b", True)], {}):
    ...     print(" and ".join(map(str, image.values())))
    a > 1: True, else False
    a = 1: True, else False and b defined: True, else False
    """
    equal = {name: members for name, members in box.items() if name not in dict(keys)}
    for position, (name, descending) in enumerate(keys):
        domain = universe.get(name, ANYTHING)
        runs = spans(box.get(name, True), integral=domain.integral)
        if not runs:
            return
        bound = runs[-1][1] if descending else runs[0][0]
        if bound is None:
            yield {**equal, name: regions.defined(name)} if position else equal
            return
        value, after = bound
        if not descending:
            first = [] if after else [value]
        else:
            first = [value - 1] if domain.integral else [value] if after else []
        cut = (first[0], 0 if descending else 1) if first and position < len(keys) - 1 else bound
        low, high = (None, cut) if descending else (cut, None)
        yield {**equal, name: regions.interval(name, low, high)}
        if not first:
            return
        equal[name] = regions.values(name, first)
