"""Raw values that mean undefined: sentinels of accents `missing` (theory N11).

A sentinel is what the producer writes, whatever the unit or the codes of the attribute are. It is therefore removed
before anything else is undone, and an Alter or a recode does not change it. Raw tuples without their sentinels are
those that all descriptions and maps speak of.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types.zones import shown
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.regions import Tree, Value
from cedilla.grammar.diagnostics import Span, failure
from cedilla.runtime.control.accents.placed import Placed


@frozen
class Sentinels(Placed):
    """The sentinels of a source: the raw tuples whose value of an attribute is one.

    Their other conditions are over raw tuples without sentinels. `listed`: maps an attribute to a tree over canonical
    values, the sentinels that accents have listed for these tuples (`apart`).
    """

    listed: Mapping[str, Tree] = field(factory=dict[str, Tree])

    def with_values(
        self, attribute: str, values: Collection[Value], raw: Tree, where: Tree, places: Tree
    ) -> Sentinels:
        """Returns the sentinels after some tuples get other values, in place of earlier ones. `raw`, `where`: these
        tuples, over raw and over canonical values. `places`: the positions where they apply."""
        new = frozenset(values)
        before = self.listed.get(attribute, frozenset[Value]())
        listed = {**self.listed, attribute: regions.update(before, where, lambda _: new)}
        return evolve(self, listed=listed).with_listed(attribute, values, raw, places)

    def with_listed(self, attribute: str, values: Collection[Value], raw: Tree, places: Tree) -> Sentinels:
        """Returns the sentinels after raw tuples get values that are listed for them."""
        members = regions.values(attribute, values)
        return self.changed(
            attribute, False, raw, places, lambda tree, region: regions.choose(region, members, tree)
        )

    def with_functions(self, attribute: str, functions: Tree, places: Tree) -> Sentinels:
        """Returns the sentinels after functions of an attribute: conditions of others by its raw values change with
        them. `functions`: over raw values, `False` for unchanged cells.

        For example, -1 of `wind` means undefined if `height` is above 5 m, and heights are in feet from here on:

        >>> from cedilla.compiler.regions.affine import Affine
        >>> high = regions.interval("height", (5, 1), None)
        >>> before = Sentinels().with_values("wind", [-1], high, high, True)
        >>> after = before.with_functions("height", Affine("3.28", 0), True)
        >>> print(before.here["wind"], "|", after.here["wind"])
        height > 5: (wind = -1: True, else False), else False | height > 82/5: (wind = -1: True, else False), else False
        >>> before.among({"wind": -1, "height": 6}), after.among({"wind": -1, "height": 6})
        (frozenset({'wind'}), frozenset())
        """
        if not any(attribute in regions.attributes(tree) for tree in self.here.values()):
            return self
        return self.carried(attribute, self.removed(functions), places)

    def with_zone(self, attribute: str, before: str, after: str, span: Span | None) -> Sentinels:
        """Returns the sentinels of local times after another zone: as texts, they stay the same (theory N13). Raises
        RQ175 if the zone shows one of them twice, or skips it. `span`: of the accent."""
        if attribute not in self.here:
            return self

        def moved(moment: int) -> int:
            return shown(moment, before, after, span)

        def changed(trees: Mapping[str, Tree]) -> dict[str, Tree]:
            return {**trees, attribute: regions.transform(trees[attribute], attribute, moved)}

        values = regions.map_leaves(self.listed[attribute], lambda leaf: frozenset(map(moved, leaf)))
        listed = {**self.listed, attribute: values}
        return evolve(self, here=changed(self.here), placed=changed(self.placed), listed=listed)

    def without(self, attribute: str) -> Sentinels:
        """Returns the sentinels of all attributes except one."""
        listed = {name: tree for name, tree in self.listed.items() if name != attribute}
        return evolve(super().without(attribute), listed=listed)

    @cached_property
    def layers(self) -> tuple[tuple[str, ...], ...]:
        """The attributes in the order of their removal: each depends on those of earlier layers only.

        Raises `CycleError` if two depend on each other.
        """
        graph = {name: self._others(name) for name in self.here}
        sorter, layers = TopologicalSorter(graph), list[tuple[str, ...]]()
        sorter.prepare()
        while sorter.is_active():
            layers.append(tuple(sorted(sorter.get_ready())))
            sorter.done(*layers[-1])
        return tuple(layers)

    def _others(self, name: str) -> frozenset[str]:
        trees = (self.here[name], self.placed[name])
        return (frozenset[str]().union(*map(regions.attributes, trees)) & self.here.keys()) - {name}

    def among(self, row: Mapping[str, Any]) -> frozenset[str]:
        """Returns the attributes of a raw tuple, in values of regions, that have a sentinel."""
        undefined = frozenset[str]()
        for name in (attribute for layer in self.layers for attribute in layer if attribute in row):
            if regions.contains(self.here[name], row):
                undefined |= {name}
                row = {other: value for other, value in row.items() if other != name}
        return undefined

    def removed(self, raw: Tree) -> Tree:
        """Returns a region of raw tuples, or a tree with `False` elsewhere, without the tuples that have a sentinel of
        an attribute in its conditions: they match no pattern, as tuples without the attribute do."""
        sentinels = [self.here[name] for name in regions.attributes(raw) & self.here.keys()]
        return regions.restricted(raw, regions.complement(regions.union(*sentinels))) if sentinels else raw


def check_order(sentinels: Sentinels, accent: Accent) -> None:
    """Raises `DiagnosticError` RQ239 if sentinels of two attributes depend on each other after an accent."""
    try:
        _ = sentinels.layers
    except CycleError as error:
        names = " and ".join(f"`{name}`" for name in sorted({*error.args[1]}))
        hint = "one of the descriptions must name another attribute"
        message = f"missing values of {names} would depend on each other"
        raise failure("RQ239", message, accent.span, hint=hint) from None
