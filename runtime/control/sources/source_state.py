"""The control plane of a source: markers advance its state of evolution (theory 2.5, 2.7, 3.1).

All trees are over *canonical* values, except the maps from raw values to them. Trees with `regions.POSITION` as one
more attribute keep the positions of markers until the epoch ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, ToLevel, ToUnit
from cedilla.compiler.expressions.types import DOUBLE, Type
from cedilla.compiler.facts.facts import ABSENT, ORIGINAL, PRESENT, Facts
from cedilla.compiler.facts.markers import Punctuation
from cedilla.compiler.plan import Attribute, Source
from cedilla.compiler.regions import Domain, Tree
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.compiler.regions.composition import composed
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.runtime.control.accents import new_codes, unit_accents
from cedilla.runtime.control.accents.codes import coded, is_own
from cedilla.runtime.control.accents.forward_maps import ForwardMaps
from cedilla.runtime.control.accents.names import Names
from cedilla.runtime.control.accents.numbers import Numbers
from cedilla.runtime.control.accents.originals import Originals
from cedilla.runtime.control.accents.placed import Placed
from cedilla.runtime.control.accents.regained import followed, originals_after, regained, sentinels_after
from cedilla.runtime.control.accents.sentinels import Sentinels
from cedilla.runtime.control.accents.swaps import Swaps
from cedilla.runtime.control.accents.trees import (
    Altered,
    altered,
    changed_by,
    positions_after,
    reset,
    restrict_to,
    set_in,
)
from cedilla.runtime.control.descriptions.translation import translate
from cedilla.runtime.control.sources.latest_time import LatestTime
from cedilla.runtime.control.sources.notes import Notes
from cedilla.runtime.control.sources.partitions import merge_partitions, with_partitions

_MANY_ATTRIBUTES, _MAX_HISTORIES = 7, 100
"""Alters that many attributes describe have as many histories as combinations, and an output announces each."""


@frozen
class SourceState:
    """The state of a source after some of its markers.

    `presence`, `originals`: whether tuples have an attribute, and how raw values lead to canonical ones; both with
    positions in the current epoch, as `placed_closed` is. `dropped`: attribute -> the region of its Drops. `numbers`:
    how altered numbers are read. `codes`: attribute -> tree over canonical values: the code that leads to raw ones
    (theory N3). `bent`: attribute that a function falls or bends -> tree over canonical values: all functions that lead
    to raw ones (theory N11). `sentinels`: raw values that mean undefined; `swaps`: attributes that have changed places.
    "Raw" tuples elsewhere are those without both. `forms`: attribute -> its zone (theory N13), or its decimal signs.
    `grown`: attribute -> the values added to its declared domain; for a domain from a table, all of its values.
    `notes`: what it remembers besides. `latest`: the greatest time, for a heartbeat; `reached`: in a part of a file.
    """

    types: Mapping[str, Type]
    universe: Mapping[str, Domain]
    presence: Placed
    units: Mapping[str, Tree] = field(factory=dict[str, Tree])
    originals: Originals = field(factory=Originals)
    closed: Tree = False
    placed_closed: Tree = False
    grown: Mapping[str, Tree] = field(factory=dict[str, Tree])
    most_present: Mapping[str, Tree] = field(factory=dict[str, Tree])
    dropped: Mapping[str, Tree] = field(factory=dict[str, Tree])
    numbers: Numbers = field(factory=Numbers)
    names: Names = field(factory=Names)
    codes: Mapping[str, Tree] = field(factory=dict[str, Tree])
    bent: Mapping[str, Tree] = field(factory=dict[str, Tree])
    sentinels: Sentinels = field(factory=Sentinels)
    swaps: Swaps = field(factory=Swaps)
    forms: Mapping[str, str] = field(factory=dict[str, str])
    notes: Notes = field(factory=Notes)
    reached: Fraction | None = None
    latest: LatestTime | None = None

    @classmethod
    def start(cls, source: Source, droppable: frozenset[str]) -> SourceState:
        facts = source.facts(droppable)
        grown = {a.name: a.members for a in source.attributes if a.members is not None}
        universe = with_partitions(facts.universe, source.partitions)
        state = cls(facts.types, universe, Placed(facts.present), grown=grown, forms=source.forms)
        for described, alter in unit_accents.first_alters(source):
            state = state.with_alter(alter, described)
        return state.next_epoch()

    def next_epoch(self) -> SourceState:
        closed = regions.coalesced(self.closed, self.universe)
        return evolve(
            self,
            closed=closed,
            units={name: self._remembered(tree, closed) for name, tree in self.units.items()},
            presence=self.presence.next_epoch(),
            originals=self.originals.next_epoch(),
            placed_closed=closed,
            most_present=self.present,
            dropped={},
            names=self.names.next_epoch(),
            sentinels=self.sentinels.next_epoch(),
            swaps=self.swaps.next_epoch(),
        )

    def _remembered(self, tree: Tree, closed: Tree) -> Tree:
        """Returns a tree whose closed cells have forgotten their history, because no tuple comes there (theory 1.4).

        Closed regions with conditions on further attributes are left out: they would split the tree, for example at
        each closed time.
        """
        others = regions.attributes(closed) - regions.attributes(tree)
        return regions.update(tree, regions.forall(closed, others, self.universe), lambda _: ORIGINAL)

    @property
    def present(self) -> Mapping[str, Tree]:
        """Returns the presence of each attribute after all markers so far."""
        return self.presence.here

    @property
    def original(self) -> Mapping[str, Tree]:
        """Returns the functions from raw to canonical values after all markers so far."""
        return self.originals.here

    @property
    def inexact(self) -> frozenset[str]:
        """Returns the attributes whose values beyond 2^53 cannot be kept (RQ310)."""
        return frozenset(name for name in self.numbers.doubled if self.types[name] == DOUBLE)

    @property
    def decoded(self) -> frozenset[str]:
        """Returns the attributes whose raw values may differ from canonical ones."""
        return frozenset((*self.original, *self.sentinels.here))

    def facts(self) -> Facts:
        """Returns the facts of the stream after the markers so far."""
        return merge_partitions(self.facts_by_partition())

    def facts_by_partition(self) -> Facts:
        """Returns the facts of the stream, for a topic with its partitions."""
        return Facts(self.types, self.universe, self.present, self.units, self.closed)

    def facts_during(self, closed_before: Tree) -> Facts:
        """Returns the facts with every attribute that tuples of this epoch may have (Add comes first, theory 3.3)."""
        during = Facts(self.types, self.universe, self.most_present, self.units, closed_before)
        return merge_partitions(during)

    # --- markers ---

    @property
    def types_of_raw(self) -> Mapping[str, Type]:
        """Returns the types of the attributes of raw tuples."""
        raw_types = self.numbers.raw_types
        return {**self.types, **raw_types} if raw_types else self.types

    @property
    def field_types(self) -> Mapping[str, Type]:
        """Returns the types of the fields of raw tuples: attributes by all of their names."""
        types, names = self._written_types(self.types_of_raw), self.names.of
        return {**types, **{name: types[of] for name, of in names.items()}} if names else types

    @property
    def written_types(self) -> Mapping[str, Type]:
        """Returns the types of attributes for constants of markers: local times have a zone."""
        return self._written_types(self.types)

    def _written_types(self, types: Mapping[str, Type]) -> Mapping[str, Type]:
        zones = {n: form for n, form in self.forms.items() if n in types and types[n].name == "timestamp"}
        return {**types, **{n: evolve(types[n], zone=zone) for n, zone in zones.items()}}

    def canonical(self, raw: Tree) -> Tree:
        """Converts a region over raw values at this position to canonical values (G22, N3)."""
        if self.codes:
            return coded(raw, self.codes, self.written_maps, self.universe)
        return translate(raw, self.original)

    def punctuate(self, punctuation: Punctuation, position: int) -> SourceState:
        """Returns the state after a punctuation (theory 3), which closes its region permanently."""
        return self.close(self.closed_by(punctuation), positions_after(position))

    def closed_by(self, punctuation: Punctuation) -> Tree:
        """Returns the canonical tuples that a punctuation closes; sentinels match no pattern (N11)."""
        return self.canonical(self.sentinels.removed(punctuation.pattern))

    def close(self, region: Tree, places: Tree = False) -> SourceState:
        """Returns the state after closing a canonical region at some positions (by default from the epoch's end on)."""
        placed = regions.union(self.placed_closed, regions.intersection(region, places))
        return evolve(self, closed=regions.union(self.closed, region), placed_closed=placed)

    def grow(self, attribute: str, members: Tree) -> SourceState:
        """Returns the state with more values in the domain of an attribute (theory N1).

        A new value has the presence and the history that matching descriptions have given it, else the original ones;
        the trees contain this already. A region that was closed because the domain was covered stays closed for the new
        values. If the attribute is recoded, a new value is written unchanged (theory N3). The caller refuses a value
        that is the code of another one (`growth.check_codes`).
        """
        domain, over = self.universe[attribute], {attribute}
        covered = regions.forall(self.closed, over, self.universe)
        placed = regions.forall(self.placed_closed, over, self.universe)
        wider = evolve(domain, members=regions.union(domain.members, members))
        closed = regions.union(self.closed, covered)
        new = regions.difference(members, domain.members)
        codes = new_codes.with_values(self.codes, attribute, new)
        original = new_codes.maps_with_values(self.original, self.forward_maps, codes, attribute, new, closed)
        return evolve(
            self,
            universe={**self.universe, attribute: wider},
            closed=closed,
            placed_closed=regions.union(self.placed_closed, placed),
            codes=codes,
            originals=self.originals if original is self.original else Originals(original, original),
        )

    def domain(self, attribute: Attribute) -> Tree:
        """Returns the values that a declared attribute may have here, without ⊥ (RQ303)."""
        grown = self.grown.get(attribute.name, False)
        if attribute.column is not None:  # values that the table once had remain
            return grown or attribute.domain_members()
        return regions.union(attribute.domain_members(), grown)

    def with_values(self, name: str, members: Tree) -> SourceState:
        """Returns the state with more values in an attribute's domain, recorded in `grown`."""
        values = regions.union(self.grown.get(name, False), members)
        return evolve(self.grow(name, members), grown={**self.grown, name: values})

    def remembering(self, alters: Sequence[Altered]) -> SourceState:
        """Returns the state that also remembers the latest of these Alters, if they have few cells."""
        return evolve(self, notes=self.notes.remembering(alters)) if alters else self

    def naming(self, change: Alter | ToUnit | ToLevel | Add) -> SourceState:
        """Returns the state that records the unit named by an accent."""
        named = unit_accents.with_name(self.notes.named_units, change)
        if named is self.notes.named_units:
            return self
        return evolve(self, notes=evolve(self.notes, named_units=named))

    def written(self, attribute: str) -> Tree:
        """Returns the functions from canonical values of an attribute to the values that are written here."""
        if attribute in self.codes:
            domain = self.universe[attribute]
            return regions.map_leaves(
                self.codes[attribute], lambda code: IDENTITY if is_own(code, domain) else code
            )
        return self.forward(attribute)

    @property
    def forward_maps(self) -> Mapping[str, Tree]:
        """Returns the functions from canonical to raw values by attribute; codes are not included."""
        return ForwardMaps(self.bent, self.units, self.forward)

    @property
    def written_maps(self) -> Mapping[str, Tree]:
        """Returns the functions from canonical to raw values by attribute, codes included."""
        return ForwardMaps({**self.bent, **self.codes}, self.units, self.forward)

    def forward(self, attribute: str) -> Tree:
        """Returns the functions from canonical values of an attribute without codes to raw ones."""
        if attribute in self.bent:
            return self.bent[attribute]
        histories = self.units.get(attribute, ORIGINAL)
        return regions.map_leaves(histories, lambda history: history[-1] if history else IDENTITY)

    def written_otherwise(self, attribute: str, where: Tree) -> Tree:
        """Returns the tuples of a region whose raw values of an attribute differ from their canonical ones. The cost
        grows with the size of the region."""
        if attribute in self.codes:
            codes, domain = self.codes[attribute], self.universe[attribute]
            return regions.within(where, codes, lambda code: not (code.is_identity or is_own(code, domain)))
        return regions.within(where, self.forward(attribute), lambda function: not function.is_identity)

    def there(self, attribute: str, where: Tree) -> Tree:
        """Returns the tuples of a region that may have an attribute."""
        return regions.within(where, self.present.get(attribute, ABSENT), lambda leaf: leaf is not ABSENT)

    # The following methods apply markers after their checks (`one_accent`), from the positions `places` on.

    def with_add(self, added: Add, raw: Tree, where: Tree, places: Tree) -> SourceState:
        """Returns the state after an Add. `raw`, `where`: the tuples described, over raw and over canonical values."""
        attribute, type_ = added.attribute, added.type
        before = self.types.get(attribute)
        state = evolve(
            self,
            types=self.types if before is not None else {**self.types, attribute: type_},
            universe=self.universe
            if before is not None
            else {**self.universe, attribute: Domain(True, type_.is_integral)},
            presence=self.presence.with_value(attribute, ABSENT, where, places, PRESENT),
            most_present=set_in(self.most_present, attribute, ABSENT, where, PRESENT),
            names=self.names.with_add(attribute, where, places),
            notes=evolve(
                self.notes,
                added_units=unit_accents.with_unit(self.notes.added_units, added),
                named_units=unit_accents.with_name(self.notes.named_units, added),
            ),
            sentinels=self.sentinels.with_values(attribute, (), raw, where, places)
            if attribute in self.sentinels.here
            else self.sentinels,
        )
        if attribute not in self.original:
            return state
        # A new incarnation has the unit of its Add as its canonical unit (theory 2.5, G32).
        return evolve(
            state,
            units=reset(self.units, attribute, where, ORIGINAL),
            codes=reset(self.codes, attribute, where, IDENTITY),
            bent=reset(self.bent, attribute, where, IDENTITY),
            originals=self.originals.with_value(attribute, IDENTITY, raw, places, IDENTITY),
        )

    def with_drop(self, attribute: str, where: Tree, places: Tree) -> SourceState:
        dropped = regions.union(self.dropped.get(attribute, False), where)
        return evolve(
            self,
            presence=self.presence.with_value(attribute, ABSENT, where, places, ABSENT),
            dropped={**self.dropped, attribute: dropped},
        )

    def with_functions(self, attribute: str, raw: Tree, where: Tree, places: Tree) -> SourceState:
        """Returns the state after Alters. `raw`, `where`: their functions over raw and over canonical values, `False`
        for unchanged cells. Raises `DiagnosticError` RQ480 if too many attributes decide about too many histories."""
        units = changed_by(self.units, attribute, ORIGINAL, where, altered)
        by_many = len(regions.attributes(units[attribute])) >= _MANY_ATTRIBUTES
        if by_many and len(regions.leaves(units[attribute])) > _MAX_HISTORIES:
            raise regions.too_many_cases()
        if attribute in self.bent:
            return evolve(self.with_bent(attribute, raw, where, places), units=units)
        exact = self.numbers.raw_type_after(attribute, self.types[attribute], units[attribute], where)
        return evolve(self._undoing(attribute, raw, places, exact), units=units)

    def with_alter(self, alter: Alter, described: Tree) -> SourceState:
        """Returns the state after an Alter of the tuples of a raw region that precedes all tuples of the epoch."""
        raw, where = (restrict_to(part, alter.function) for part in (described, self.canonical(described)))
        return self.with_functions(alter.attribute, raw, where, positions_after(0))

    def with_bent(self, attribute: str, raw: Tree, where: Tree, places: Tree) -> SourceState:
        """Returns the state after functions that only the source undoes; arguments as in `with_functions`."""
        before = {**self.bent, attribute: self.forward(attribute)}
        after, is_regained = followed(before, attribute, where)
        exact = self.numbers.raw_type_bent(attribute, self.types[attribute], after[attribute])
        state = evolve(self, bent=after)._undoing(attribute, raw, places, exact)
        if not is_regained:
            return state
        again, forward = regained(attribute, before[attribute], after[attribute]), state.written_maps
        return evolve(
            state,
            originals=originals_after(state.originals, attribute, again, forward, places),
            sentinels=sentinels_after(state.sentinels, attribute, again, forward, places),
        )

    def _undoing(self, attribute: str, raw: Tree, places: Tree, exact: Type | None = None) -> SourceState:
        """Returns the state that undoes further functions of an attribute. Numbers are doubles from here on, unless
        they stay exact; `exact`: the type of their raw values."""
        state, type_ = self, self.types[attribute]
        if exact is not None:
            held = exact if type_.is_integral else type_
            state = self._with_type(attribute, held, self.numbers.with_raw_type(attribute, exact))
        elif type_.is_numeric:
            state = self._with_type(attribute, DOUBLE, self.numbers.with_double(attribute, type_))
        return state._carried(attribute, raw, places)

    def _carried(self, attribute: str, functions: Tree, places: Tree) -> SourceState:
        """Returns the state whose trees over raw values follow functions of an attribute: the source undoes them, and
        conditions by it have its raw values after them."""
        return evolve(
            self,
            originals=self.originals.carried(attribute, functions, places),
            sentinels=self.sentinels.with_functions(attribute, functions, places),
            swaps=self.swaps.with_functions(attribute, functions, places),
        )

    def _with_type(self, attribute: str, type_: Type, numbers: Numbers) -> SourceState:
        """Returns the state after altered numbers have got a type. Values may lie between whole numbers from now on;
        closed ranges become ranges without holes."""
        return evolve(
            self,
            closed=self._without_holes(self.closed, attribute),
            placed_closed=self._without_holes(self.placed_closed, attribute),
            types={**self.types, attribute: type_},
            numbers=numbers,
            universe={**self.universe, attribute: evolve(self.universe[attribute], integral=False)},
        )

    def with_code(
        self, attribute: str, code: ValueMapping, raw: Tree, where: Tree, places: Tree
    ) -> SourceState:
        codes = changed_by(self.codes, attribute, IDENTITY, where, lambda before, _: composed(code, before))
        return evolve(self, codes=codes)._carried(attribute, restrict_to(raw, code), places)

    def _without_holes(self, closed: Tree, attribute: str) -> Tree:
        whole = self.universe[attribute]
        return regions.coalesced(closed, {attribute: whole}, least=1) if whole.integral else closed
