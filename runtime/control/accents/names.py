"""Names under which the tuples of a source contain its attributes (theory N2).

A name belongs to one attribute for the whole stream. The value of an attribute is the value under whichever of its
names a tuple has, at any position. A tree over canonical values gives the name that a tuple should use, as for
presence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Rename
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.regions import Tree, Universe
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.control.accents.placed import Placed


@frozen
class Names(Placed):
    """Names of the attributes of a source: the name of each that tuples use, in trees over canonical values.

    `of`: maps every name that renames have introduced to its attribute.
    """

    of: Mapping[str, str] = field(factory=dict[str, str])

    def all_of(self, attribute: str) -> tuple[str, ...]:
        """Returns every name of an attribute, its own first."""
        return (attribute, *(name for name, other in self.of.items() if other == attribute))

    def by(self, attribute: str, name: str, where: Tree = True) -> Tree:
        """Returns the canonical tuples of a region that use a name for an attribute."""
        return regions.within(where, self.here.get(attribute, attribute), lambda leaf: leaf == name)

    def with_rename(self, rename: Rename, where: Tree, places: Tree) -> Names:
        """Returns the names after a rename of some canonical tuples, from some positions on."""
        if rename.name == rename.attribute and rename.attribute not in self.here:
            return self  # the described tuples are closed, and the attribute has no other name
        of = (
            self.of
            if rename.name in (rename.attribute, *self.of)
            else {**self.of, rename.name: rename.attribute}
        )
        return evolve(self._used(rename.attribute, rename.name, where, places), of=of)

    def with_add(self, attribute: str, where: Tree, places: Tree) -> Names:
        """Returns the names after an Add: a new incarnation uses the name in the Add (G32)."""
        return self._used(attribute, attribute, where, places) if attribute in self.here else self

    def without(self, attribute: str) -> Names:
        """Returns the names of all attributes except one."""
        others = {name: other for name, other in self.of.items() if other != attribute}
        return evolve(super().without(attribute), of=others)

    def _used(self, attribute: str, name: str, where: Tree, places: Tree) -> Names:
        return self.with_value(attribute, attribute, where, places, name)

    def plain(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a tuple with attributes as keys; of several names of one attribute, the first value counts."""
        values = {name: value for name, value in item.items() if name not in self.of}
        for name, attribute in self.of.items():
            if item.get(name) is not None and values.get(attribute) is None:
                values[attribute] = item[name]
        return values

    def misnamed(self, raw: Mapping[str, Any], canonical: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yields the codes that reject a tuple for its names, each with a name. `raw`: the values of its fields, as in
        regions. One value under two names is one. `canonical`: its values by attribute."""
        for attribute, tree in self.here.items():
            came = [name for name in self.all_of(attribute) if name in raw]
            if len({raw[name] for name in came}) > 1:
                yield "RQ312", attribute
            elif came and regions.contains(tree, canonical) not in came:
                yield "RQ313", came[0]


def renamed_to(names: Names, accent: Accent, rename: Rename, live: Tree, universe: Universe) -> None:
    """Raises `DiagnosticError` RQ461 if some described tuples use the new name already. `live`: the canonical tuples
    described that may still come."""
    if not regions.is_empty(names.by(rename.attribute, rename.name, live), universe):
        raise failure(
            "RQ461",
            f"the accent renames `{rename.attribute}` to `{rename.name}`, a name that tuples there use for it already",
            accent.span,
            hint="the description must leave these out",
        )
