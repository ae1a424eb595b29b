"""The control plane of a source: markers move its state of evolution forward (theory 2.5, 2.7, 3.1).

Everything is kept in *canonical* values, except the maps that lead there from raw ones. What data needs to
know of a marker's place is kept in trees with `regions.POSITION` as one more attribute, until the epoch ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import DOUBLE, Type
from cedilla.compiler.facts.facts import ABSENT, ORIGINAL, PRESENT, Facts
from cedilla.compiler.facts.markers import Add, Alter, Grow, Punctuation, ToUnit
from cedilla.compiler.plan import Attribute, Source
from cedilla.compiler.regions import Domain, Tree
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.compiler.regions.code import Code
from cedilla.runtime.control.accents import new_codes, unit_accents
from cedilla.runtime.control.accents.codes import is_own, unspoken
from cedilla.runtime.control.accents.names import Names
from cedilla.runtime.control.accents.trees import (
    Altered,
    after,
    altered,
    begun,
    changed,
    changed_by,
    composed,
    inside,
    shifted,
)
from cedilla.runtime.control.descriptions.translation import translate
from cedilla.runtime.control.sources.partitions import together, with_partitions
from cedilla.runtime.items.values import digits_behind

ALTERS, _SMALL = 100, 64
"""So many Alters of so few cells are remembered, to name one that is repeated."""


@frozen
class SourceState:
    """Where a source stands after some of its markers.

    `original`: attribute -> tree over *raw* values: the function that leads to the canonical value.
    `placed_*`: the same trees with positions, for the tuples of the epoch under way.
    `dropped`: what the epoch under way has dropped so far. `alters`: the latest Alters of not too many cells.
    `doubled`: attributes of whole numbers or decimals that an Alter has made doubles, or is about to (`expecting`).
    `codes`: attribute -> tree over canonical values: the code that leads to raw ones (theory N3).
    `digits`: attribute -> the digits behind the point that its type had before it was altered (`near_digits`).
    `grown`: attribute -> the values that markers have added to its declared domain, and all values of one that comes
    from a table. `undeclared`: attributes about which markers were passed over -> the first accent that changed how
    their values are written, else empty. `added_units`: attribute -> the unit of canonical values, where an Add has
    named it; `named_units`: the units that accents have named.
    """

    types: Mapping[str, Type]
    universe: Mapping[str, Domain]
    present: Mapping[str, Tree]
    units: Mapping[str, Tree]
    original: Mapping[str, Tree]
    closed: Tree = False
    alters: tuple[Altered, ...] = ()
    grown: Mapping[str, Tree] = field(factory=dict[str, Tree])
    placed_present: Mapping[str, Tree] = field(factory=dict[str, Tree])
    placed_original: Mapping[str, Tree] = field(factory=dict[str, Tree])
    placed_closed: Tree = False
    most_present: Mapping[str, Tree] = field(factory=dict[str, Tree])
    dropped: Mapping[str, Tree] = field(factory=dict[str, Tree])
    doubled: frozenset[str] = frozenset()
    digits: Mapping[str, int] = field(factory=dict[str, int])
    names: Names = field(factory=Names)
    added_units: Mapping[str, str] = field(factory=dict[str, str])
    named_units: unit_accents.Named = field(factory=dict[str, tuple[str, ...]])
    codes: Mapping[str, Tree] = field(factory=dict[str, Tree])
    undeclared: Mapping[str, str] = field(factory=dict[str, str])

    @classmethod
    def start(cls, source: Source, droppable: frozenset[str]) -> SourceState:
        facts = source.facts(droppable)
        grown = {a.name: a.members for a in source.attributes if a.members is not None}
        universe = with_partitions(facts.universe, source.partitions)
        state = cls(facts.types, universe, facts.present, {}, {}, grown=grown)
        for described, alter in unit_accents.first_alters(source):
            raw, where = (inside(each, alter.function) for each in (described, state.canonical(described)))
            state = state.with_functions(alter.attribute, raw, where, after(0))
        return state.next_epoch()

    def next_epoch(self) -> SourceState:
        """The state with no epoch under way."""
        closed = regions.coalesced(self.closed, self.universe)
        return evolve(
            self,
            closed=closed,
            units={name: self._remembered(tree, closed) for name, tree in self.units.items()},
            placed_present=self.present,
            placed_original=self.original,
            placed_closed=closed,
            most_present=self.present,
            dropped={},
            names=self.names.next_epoch(),
        )

    def _remembered(self, tree: Tree, closed: Tree) -> Tree:
        """Nothing comes to a closed cell, so what its values have gone through may be forgotten (theory 1.4).

        Not where that would only tell apart what the tree does not: one closed time after the other, for each
        of its points.
        """
        others = regions.attributes(closed) - regions.attributes(tree)
        return regions.update(tree, regions.forall(closed, others, self.universe), lambda _: ORIGINAL)

    @property
    def inexact(self) -> frozenset[str]:
        """The attributes of which values beyond 2^53 cannot be kept (RQ310)."""
        return frozenset(name for name in self.doubled if self.types[name] == DOUBLE)

    def facts(self) -> Facts:
        """The stream after the markers so far."""
        return together(self.facts_by_partition())

    def facts_by_partition(self) -> Facts:
        """The same, of a topic over the partitions too."""
        return Facts(self.types, self.universe, self.present, self.units, self.closed)

    def facts_during(self, closed_before: Tree) -> Facts:
        """The stream with every attribute that tuples of this epoch may have (Add comes first, theory 3.3)."""
        return together(Facts(self.types, self.universe, self.most_present, self.units, closed_before))

    # --- markers ---

    @property
    def field_types(self) -> Mapping[str, Type]:
        """The types of the fields of raw tuples: attributes, by all of their names."""
        more = {name: self.types[attribute] for name, attribute in self.names.of.items()}
        return {**self.types, **more} if more else self.types

    def canonical(self, raw: Tree) -> Tree:
        """A region over raw values at this place, in canonical values (G22, N3)."""
        region = translate(raw, self.original)
        return regions.difference(region, unspoken(self.codes, self.universe, raw)) if self.codes else region

    def punctuate(self, punctuation: Punctuation, position: int) -> SourceState:
        """The state after a punctuation (theory 3): what it closes, it closes for ever."""
        return self.close(self.canonical(punctuation.pattern), after(position))

    def close(self, region: Tree, places: Tree = False) -> SourceState:
        """The state with a canonical region closed, at some places (by default from the epoch's end on)."""
        placed = regions.union(self.placed_closed, regions.intersection(region, places))
        return evolve(self, closed=regions.union(self.closed, region), placed_closed=placed)

    def grow(self, attribute: str, members: Tree) -> SourceState:
        """The state with more values in the domain of an attribute (theory N1).

        A new value has the presence and the history that descriptions which match it have given it, else the
        original ones: the trees say so already. What was closed because the domain was covered stays closed,
        for the new values too. Where the attribute is recoded, a new value is written as it is (theory N3); a growth
        for which that would be another one's code is not for here (`growth.check_codes`).
        """
        domain, over = self.universe[attribute], {attribute}
        covered = regions.forall(self.closed, over, self.universe)
        placed = regions.forall(self.placed_closed, over, self.universe)
        wider = evolve(domain, members=regions.union(domain.members, members))
        closed = regions.union(self.closed, covered)
        new = regions.difference(members, domain.members)
        codes = new_codes.with_values(self.codes, attribute, new)
        original = new_codes.maps_with_values(self.original, self.units, codes, attribute, new, closed)
        return evolve(
            self,
            universe={**self.universe, attribute: wider},
            closed=closed,
            placed_closed=regions.union(self.placed_closed, placed),
            codes=codes,
            original=original,
            placed_original=self.placed_original if original is self.original else original,
        )

    def domain(self, attribute: Attribute) -> Tree:
        """The values that a declared attribute may have here, without ⊥ (RQ303)."""
        grown = self.grown.get(attribute.name, False)
        if attribute.column is not None:  # no value is ever taken back that the table has had
            return grown or attribute.domain_members()
        return regions.union(attribute.domain_members(), grown)

    def grown_by(self, growth: Grow) -> SourceState:
        """The state after a growth, at the beginning of an epoch (theory N1)."""
        return self.with_values(growth.attribute, growth.members)

    def with_values(self, name: str, members: Tree) -> SourceState:
        """The state whose domain of an attribute has more values, which are remembered as such."""
        values = regions.union(self.grown.get(name, False), members)
        return evolve(self.grow(name, members), grown={**self.grown, name: values})

    def remembering(self, alters: Sequence[Altered]) -> SourceState:
        """The state that remembers the latest of some more Alters, of those of not too many cells."""
        small = (each for each in alters if regions.is_small(each.where, _SMALL))
        return evolve(self, alters=(*self.alters, *small)[-ALTERS:])

    def naming(self, change: Alter | ToUnit | Add) -> SourceState:
        """The state that knows the unit which an accent names."""
        named = unit_accents.with_name(self.named_units, change)
        return self if named is self.named_units else evolve(self, named_units=named)

    def written(self, attribute: str) -> Tree:
        """The functions that lead from canonical values of an attribute to those that are written here."""
        if attribute in self.codes:
            domain = self.universe[attribute]
            return regions.map_leaves(
                self.codes[attribute], lambda code: IDENTITY if is_own(code, domain) else code
            )
        histories = self.units.get(attribute, ORIGINAL)
        return regions.map_leaves(histories, lambda history: history[-1] if history else IDENTITY)

    def written_otherwise(self, attribute: str, where: Tree) -> Tree:
        """The tuples of a region whose values of an attribute are not written as they are in canonical ones; costs as
        much as the region is large."""
        if attribute in self.codes:
            codes, domain = self.codes[attribute], self.universe[attribute]
            return regions.within(where, codes, lambda code: not (code.is_identity or is_own(code, domain)))
        histories = self.units.get(attribute, ORIGINAL)
        return regions.within(where, histories, lambda history: history and not history[-1].is_identity)

    def there(self, attribute: str, where: Tree) -> Tree:
        """The tuples of a region that may have an attribute."""
        return regions.within(where, self.present.get(attribute, ABSENT), lambda leaf: leaf is not ABSENT)

    # What follows is what markers do once they are known to be right (`one_accent`). `places`: where in the stream
    # they count.

    def with_add(self, added: Add, raw: Tree, where: Tree, places: Tree) -> SourceState:
        """`raw`, `where`: the tuples described, over raw and over canonical values."""
        attribute, type_ = added.attribute, added.type
        before = self.types.get(attribute)
        here = regions.intersection(where, places)
        state = evolve(
            self,
            types=self.types if before is not None else {**self.types, attribute: type_},
            universe=self.universe
            if before is not None
            else {**self.universe, attribute: Domain(True, type_.is_integral)},
            present=changed(self.present, attribute, ABSENT, where, PRESENT),
            placed_present=changed(self.placed_present, attribute, ABSENT, here, PRESENT),
            most_present=changed(self.most_present, attribute, ABSENT, where, PRESENT),
            names=self.names.with_add(attribute, where, here),
            added_units=unit_accents.with_unit(self.added_units, added),
            named_units=unit_accents.with_name(self.named_units, added),
        )
        if attribute not in self.original:
            return state
        # A new incarnation: its canonical unit is that of its Add (theory 2.5, G32).
        raw_here = regions.intersection(raw, places)
        return evolve(
            state,
            units=begun(self.units, attribute, where, ORIGINAL),
            codes=begun(self.codes, attribute, where, IDENTITY),
            original=changed(self.original, attribute, IDENTITY, raw, IDENTITY),
            placed_original=changed(self.placed_original, attribute, IDENTITY, raw_here, IDENTITY),
        )

    def with_drop(self, attribute: str, where: Tree, places: Tree) -> SourceState:
        here = regions.intersection(where, places)
        return evolve(
            self,
            present=changed(self.present, attribute, ABSENT, where, ABSENT),
            placed_present=changed(self.placed_present, attribute, ABSENT, here, ABSENT),
            dropped={
                **self.dropped,
                attribute: regions.union(self.dropped.get(attribute, False), where),
            },
        )

    def with_functions(self, attribute: str, raw: Tree, where: Tree, places: Tree) -> SourceState:
        """`raw`, `where`: the functions, over raw and over canonical values; `False` where there is none."""
        return evolve(
            self,
            # From now on values may lie between whole numbers; what is closed stays so, without holes.
            closed=self._without_holes(self.closed, attribute),
            placed_closed=self._without_holes(self.placed_closed, attribute),
            types={**self.types, attribute: DOUBLE},
            doubled=self.doubled if self.types[attribute] == DOUBLE else self.doubled | {attribute},
            digits={**self.digits, **digits_behind(attribute, self.types[attribute])},
            universe={
                **self.universe,
                attribute: evolve(self.universe[attribute], integral=False),
            },
            units=changed_by(self.units, attribute, ORIGINAL, where, altered),
            original=shifted(self.original, attribute, raw),
            placed_original=shifted(self.placed_original, attribute, regions.restricted(raw, places)),
        )

    def with_code(self, attribute: str, code: Code, raw: Tree, where: Tree, places: Tree) -> SourceState:
        codes = inside(raw, code)
        return evolve(
            self,
            codes=changed_by(
                self.codes, attribute, IDENTITY, where, lambda before, _: composed(code, before)
            ),
            original=shifted(self.original, attribute, codes),
            placed_original=shifted(self.placed_original, attribute, regions.restricted(codes, places)),
        )

    def _without_holes(self, closed: Tree, attribute: str) -> Tree:
        whole = self.universe[attribute]
        return regions.coalesced(closed, {attribute: whole}, least=1) if whole.integral else closed
