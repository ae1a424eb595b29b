"""The names of a query's text: each with its place, and the thing that it names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from attrs import field, frozen, mutable

Kind = Literal["relation", "attribute", "constant", "operator", "function", "unit"]


@frozen
class Occurrence:
    """A name at a place of a text: characters from `start` to `end`.

    `symbol`: equal for all names of one thing. `source`: the file of the text. `declares`: a source declares it.
    """

    name: str
    kind: Kind
    symbol: int
    start: int
    end: int
    source: str
    defines: bool = False
    declares: bool = False


@mutable
class Symbols:
    """Things that names stand for. Two may turn out to be one, as an attribute of both inputs of a union."""

    parents: list[int] = field(factory=list[int])

    def new(self) -> int:
        """Returns a thing unlike all others."""
        self.parents.append(len(self.parents))
        return len(self.parents) - 1

    def root(self, symbol: int) -> int:
        """Returns the one number of a thing."""
        while self.parents[symbol] != symbol:
            symbol = self.parents[symbol]
        return symbol

    def unite(self, one: int, other: int) -> None:
        """Makes two things one."""
        one, other = self.root(one), self.root(other)
        self.parents[max(one, other)] = min(one, other)


@frozen
class Names:
    """All names of a text and of the files that it uses, in their order."""

    occurrences: tuple[Occurrence, ...]
    relations: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    """Units that the query defines."""

    def at(self, offset: int, source: str) -> Occurrence | None:
        """Returns the name at a place of a text, or just before it."""
        near = [
            occurrence
            for occurrence in self.occurrences
            if occurrence.source == source and occurrence.start <= offset <= occurrence.end
        ]
        return max(near, key=lambda occurrence: occurrence.start, default=None)

    def uses(self, symbol: int) -> Iterator[Occurrence]:
        return (occurrence for occurrence in self.occurrences if occurrence.symbol == symbol)

    def definition(self, occurrence: Occurrence) -> Occurrence | None:
        """Returns the name that defines the thing; the first one if several do."""
        return next((use for use in self.uses(occurrence.symbol) if use.defines), None)
