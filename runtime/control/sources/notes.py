"""Notes of a source about its markers, apart from their effect on tuples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.regions import Tree
from cedilla.runtime.control.accents.trees import Altered
from cedilla.runtime.control.accents.unit_accents import Named

MAX_ALTERS, _MAX_CELLS = 100, 64
"""Maximum number of remembered Alters, and of cells of each; they are named when one is repeated."""


@frozen
class Notes:
    """The latest Alters with few cells, and by attribute:

    `added_units`: the unit of canonical values that an Add names; `named_units`: the units that accents name.
    `undeclared`: for attributes of skipped markers, the first accent that changed how values are written, else empty.
    `superseded`: for attributes that the query's accents change, the tuples of later accents of the stream.
    """

    alters: tuple[Altered, ...] = ()
    added_units: Mapping[str, str] = field(factory=dict[str, str])
    named_units: Named = field(factory=dict[str, tuple[str, ...]])
    undeclared: Mapping[str, str] = field(factory=dict[str, str])
    superseded: Mapping[str, Tree] = field(factory=dict[str, Tree])

    def remembering(self, alters: Iterable[Altered]) -> Notes:
        """Returns the notes with the latest of these Alters, too, if they have few cells."""
        small = (alter for alter in alters if regions.is_small(alter.where, _MAX_CELLS))
        return evolve(self, alters=(*self.alters, *small)[-MAX_ALTERS:])

    def without(self, attribute: str, marker: str) -> Notes:
        """Returns the notes without an attribute that the query no longer has. `marker`: what changed how its values
        are written, else empty."""
        return Notes(
            tuple(alter for alter in self.alters if alter.attribute != attribute),
            {name: unit for name, unit in self.added_units.items() if name != attribute},
            {name: units for name, units in self.named_units.items() if name != attribute},
            {**self.undeclared, attribute: marker} if marker else self.undeclared,
            self.superseded,
        )
