"""The effects of an edited declaration of a stream or table on its state in a checkpoint (theory N1)."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import patterns
from cedilla.compiler.facts.facts import ABSENT, LATENT, PRESENT, Facts
from cedilla.compiler.facts.markers import punctuation_text
from cedilla.compiler.plan import Attribute, Plan, Source
from cedilla.compiler.plan.field_paths import alternatives, field_path, overlap
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.control.accents.codes import listed
from cedilla.runtime.control.accents.swaps import is_swapped
from cedilla.runtime.control.descriptions.boxes import simple_boxes
from cedilla.runtime.control.domains.growth import taken
from cedilla.runtime.control.domains.table_domains import value_texts
from cedilla.runtime.control.sources.dependents import is_mentioned
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.text_forms import with_form
from cedilla.runtime.epochs.checkpoint.edits.change import Change, Effect
from cedilla.runtime.epochs.checkpoint.edits.value_changes import (
    ValueChange,
    another_type,
    another_unit,
    other_units,
)

_SHOWN = 3
_CLOSED = "it holds from now on; closed regions stay closed"
_AT_ONCE = (
    (("punctuated",), "`punctuated on`", "it promises, and changes nothing in a run"),
    (("metrics", "over"), "`metrics`", "data points of these are read from now on"),
    (("partitioned",), "`partitioned by`", _CLOSED),
    (("registry",), "`registry`", "schemas that are not in the checkpoint are asked for there"),
    (("changes", "latest"), "`format debezium`", "tuples that come from now on are read so"),
    (("by_name",), "`ordered by name`", "it orders the files that come from now on"),
    (("none",), "`none`", "these words mean undefined in files that come from now on"),
    (("unfolded",), "`each` or `parsed`", "lines that come from now on are taken apart so"),
    (("heartbeat",), "`heartbeat`", _CLOSED),
)
"""Attributes of a source, the words that declare them, and the effect of another value."""
_OF_ROWS = frozenset({"changes", "latest", "none", "unfolded"})
"""Those that decide which tuples the files have: a table does not get other ones, because it is read once."""
_HAS_BEEN_READ = "the table has been read before, and its rows do not come again"
_BY_ATTRIBUTE = ("types", "universe", "units", "grown", "codes", "bent", "forms")
"""The fields of the state of a source that map each attribute to something."""


@frozen
class SourceChanges:
    """A source after an edit. `intact`: what state has of its tuples is as if they had been declared so."""

    state: SourceState
    intact: bool
    items: tuple[Change, ...] = field(converter=tuple)


def compare_source(old: Source, plan: Plan, name: str, state: SourceState, epoch: int) -> SourceChanges:
    """Compares a declaration with the old one. `state`: of the source after the last commit."""
    return _Comparison(old, plan, plan.source_of[name], state, epoch).compared()


class _Comparison:
    def __init__(self, old: Source, plan: Plan, new: Source, state: SourceState, epoch: int) -> None:
        self.old, self.new, self.state, self.epoch = old, new, state, epoch
        self.start = new.facts(plan.droppable[new.name])
        self.before = {a.name: a for a in old.attributes}
        self.after = {a.name: a for a in new.attributes}
        self.where = f"{'table' if new.table else 'stream'} {new.name} (line {new.line})"
        self.is_read = new.table  # in the first epoch, if only in part

    def compared(self) -> SourceChanges:
        items = [*self._kind(), *self._own_units(), *self._removed(), *self._attributes(), *self._promises()]
        return SourceChanges(self.state, self.before.keys() <= self.after.keys(), items)

    def _change(self, effect: Effect, what: str, why: str = "") -> Change:
        return Change(effect, self.where, what, why)

    def _kind(self) -> Iterator[Change]:
        if self.old.table != self.new.table:
            words = ["table" if source.table else "stream" for source in (self.old, self.new)]
            yield self._change("new checkpoint", " → ".join(words), "earlier tuples were read as the other")
        if self.old.format != self.new.format:
            what = f"from {self.old.format} → from {self.new.format}"
            yield self._change("new checkpoint", what, "files that are listed already are in the old format")

        if (self.old.markers is None) != (self.new.markers is None):
            what = "`markers` is new" if self.old.markers is None else "`markers` is gone"
            yield self._change(
                "new checkpoint", what, "the list of files that were seen is of the other folders"
            )

    def _own_units(self) -> Iterator[Change]:
        before, after = self.old.own_units, self.new.own_units
        names = {**before.units, **before.substances}
        for name, meaning in {**after.units, **after.substances}.items():
            if name in names and names[name] != meaning:
                what = f"unit {names[name]} → {meaning}"
                why = "markers that name it have been read with the old meaning; another name is free"
                yield self._change("new checkpoint", what, why)

    def _promises(self) -> Iterator[Change]:
        if None not in (self.old.markers, self.new.markers) and self.old.markers != self.new.markers:
            what = f"markers {self.old.markers} → {self.new.markers}"
            yield self._change("at once", what, "files are read from there from now on")
        if self.old.markers_only != self.new.markers_only and None not in (
            self.old.markers,
            self.new.markers,
        ):
            why = "earlier lines do not change; from now on a marker among the tuples "
            why += "is a bad tuple (RQ326)" if self.new.markers_only else "counts"
            yield self._change("continues", f"`markers{' only' if self.new.markers_only else ''}`", why)
        if self.old.path.rstrip("/") != self.new.path.rstrip("/"):
            why = "files are read from there from now on"
            why = "it has been read: nothing is read from there" if self.is_read else why
            yield self._change("at once", f"path {self.old.path} → {self.new.path}", why)
        for names, what, why in _AT_ONCE:
            if any(getattr(self.old, name) != getattr(self.new, name) for name in names):
                if self.is_read and _OF_ROWS.intersection(names):
                    yield self._change("new checkpoint", what, _HAS_BEEN_READ)
                else:
                    yield self._change("at once", what, why)
        beats = self.old.heartbeat, self.new.heartbeat
        if len({beat.attribute for beat in beats if beat is not None}) > 1:
            self.state = evolve(self.state, reached=None, latest=None)  # a time of another attribute

    # --- attributes ---

    def _removed(self) -> Iterator[Change]:
        for name in sorted(self.before.keys() - self.after.keys()):
            if self.is_read:
                yield self._change("new checkpoint", f"{name} is gone", "the table has been read with it")
            elif is_mentioned(self.state, name):
                why = "an accent in force or a punctuation describes tuples by it"
                yield self._change("new checkpoint", f"{name} is gone", why)
            else:
                self._forget(name)
                why = "from then on it is a field that nothing announces (`set drift`)"
                yield self._change("continues after", f"{name} is gone", why)

    def _forget(self, name: str) -> None:
        state = self.state
        kinds = (state.units, state.codes, state.bent, state.names.here, state.sentinels.here)
        has_other_form = state.forms.get(name) != self.before[name].form
        is_changed = has_other_form or any(name in kept for kept in kinds)
        self.state = evolve(
            state,
            **{
                kind: {n: kept for n, kept in getattr(state, kind).items() if n != name}
                for kind in _BY_ATTRIBUTE
            },
            presence=state.presence.without(name),
            originals=state.originals.without(name),
            numbers=state.numbers.without(name),
            names=state.names.without(name),
            sentinels=state.sentinels.without(name),
            notes=state.notes.without(name, "an accent before it was removed" if is_changed else ""),
        ).next_epoch()

    def _attributes(self) -> Iterator[Change]:
        for name, attribute in self.after.items():
            yield from self._form(attribute)
            if name not in self.before and (marker := self.state.notes.undeclared.get(name)):
                why = f"how tuples write it was changed while it was not declared, by {marker}"
                yield self._change("new checkpoint", f"{attribute} is new", why)
                continue
            if name not in self.state.types:
                yield from self._new(attribute)
                continue
            yield from self._declared(attribute)
            self._widen(name)
            self._remember(attribute)

    def _form(self, attribute: Attribute) -> Iterator[Change]:
        """Another declared zone or decimal sign takes the place of those of accents."""
        name, old = attribute.name, self.before.get(attribute.name)
        if (None if old is None else old.form) == attribute.form:
            return
        try:
            self.state = with_form(self.state, name, attribute.form)
        except DiagnosticError as error:
            yield self._change("new checkpoint", f"{attribute}", f"{error.diagnostics[0].message} (RQ175)")
            return
        if is_swapped(self.state.swaps, name):
            why = "an accent in force brings it by a field that is read otherwise (RQ318)"
            yield self._change("new checkpoint", f"{attribute}", why)
        elif old is not None and attribute.type.name == "timestamp":
            what = f"{name}: zone {old.zone or 'UTC'} → zone {attribute.zone or 'UTC'}"
            why = "times without an offset are of it from now on; earlier tuples do not change"
            yield self._change("at once", what, why)
        elif old is not None:
            why = "its texts are read so from now on; numbers of JSON do not change"
            yield self._change("at once", f"{old} → {attribute}", why)

    def _new(self, attribute: Attribute) -> Iterator[Change]:
        name = attribute.name
        if self.is_read:
            yield self._change("new checkpoint", f"{attribute} is new", "the table has been read without it")
            return
        if (renamed := self._renamed_to(attribute)) is not None:
            yield self._change("new checkpoint", f"{attribute} is new", renamed)
            return
        domain = self.start.universe[name]
        undefined = regions.complement(regions.defined(name))  # earlier tuples lack it
        self.state = evolve(
            self.state,
            types={**self.state.types, name: attribute.type},
            universe={
                **self.state.universe,
                name: evolve(domain, members=regions.union(domain.members, undefined)),
            },
            presence=self.state.presence.with_trees({name: self.start.present[name]}),
        ).next_epoch()
        if attribute.optional:
            yield self._change("continues", f"{attribute} is new", _ADDED)
        else:
            why = f"{_ADDED}; a tuple without it is rejected (RQ302)"
            yield self._change("continues", f"{attribute} is new", why)

    def _renamed_to(self, attribute: Attribute) -> str | None:
        """Returns the reason if a rename has given another attribute the name of this one, or a path where it is
        read."""
        paths = alternatives(attribute.path or (attribute.name,))
        for renamed, of in self.state.names.of.items():
            keys = field_path(renamed, self.new.format)
            if of != attribute.name and (renamed == attribute.name or any(overlap(p, keys) for p in paths)):
                return f"an accent has renamed `{of}` to `{renamed}`; another name is free"
        return None

    def _declared(self, attribute: Attribute) -> Iterator[Change]:
        """An attribute that the stream had already: declared before, or by an Add."""
        name, old = attribute.name, self.before.get(attribute.name)
        was = old.type if old is not None else self.state.types[name]
        if was != attribute.type:
            retyped = another_type(self.state, name, was, attribute.type, self.epoch, is_read=self.is_read)
            yield self._values(retyped)
            if retyped.effect == "new checkpoint":
                return
        if old is not None and old.unit_from != attribute.unit_from:
            yield self._values(other_units(self.state, old, attribute, self.epoch))
        unit = old.unit if old is not None and old.unit else self.state.notes.added_units.get(name)
        if (old is None or old.unit_from == attribute.unit_from) and unit != attribute.unit:
            yield self._values(another_unit(self.state, name, unit, attribute.unit))
        if old is not None and _place_of(old) != _place_of(attribute):
            if (renamed := self._renamed_to(attribute)) is not None:
                yield self._change("new checkpoint", f"{old} → {attribute}", renamed)
                return
            if self.is_read:
                yield self._change("new checkpoint", f"{old} → {attribute}", _HAS_BEEN_READ)
            else:
                yield self._change("at once", f"{old} → {attribute}", "it is read from there from now on")
        if old is None:
            self._expect(name, LATENT if attribute.optional else PRESENT)
            yield self._change("continues", f"{attribute} is declared", "an accent has added it already")
            return
        if old.optional and not attribute.optional:
            self._expect(name, PRESENT)
            why = f"from epoch {self.epoch} on a tuple without it is rejected (RQ302)"
            yield self._change("continues", f"{name} is not optional any more", why)
        if attribute.optional and not old.optional:
            what = f"{name} is optional" if attribute.default is None else f"{attribute}"
            yield self._change("continues", what, "tuples without it are no more rejected")
        yield from self._domain(old, attribute)

    def _values(self, change: ValueChange) -> Change:
        self.state = change.state
        return self._change(change.effect, change.what, change.why)

    def _expect(self, name: str, presence: object) -> None:
        """Every tuple may (LATENT) or must (PRESENT) have an attribute from here on."""
        tree = regions.map_leaves(
            self.state.present.get(name, ABSENT), lambda leaf: leaf if leaf is PRESENT else presence
        )
        self.state = evolve(self.state, presence=self.state.presence.with_trees({name: tree})).next_epoch()

    # --- domains ---

    def _domain(self, old: Attribute, new: Attribute) -> Iterator[Change]:
        before, after = old.domain_members(), new.domain_members()
        gone, came = regions.difference(before, after), regions.difference(after, before)
        universe = {new.name: evolve(self.start.universe[new.name], members=True)}
        what = f"{_domain_text(old)} → {_domain_text(new)}"
        if new.column is not None and new.domain == old.domain:
            yield from self._same_table(new, came, gone)
            return
        if not regions.is_empty(came, universe):
            if self.is_read:
                why = "the table has been read, without the rows that have new values (RQ303)"
                yield self._change("new checkpoint", what, why)
            else:
                yield self._wider("continues", what, new, came)
        if not regions.is_empty(gone, universe):
            why = (
                f"from epoch {self.epoch} on tuples with other values are rejected (RQ303); announcements "
                "wait for them until a punctuation closes them"
            )
            yield self._change("continues", what, why)

    def _same_table(self, attribute: Attribute, came: Tree, gone: Tree) -> Iterator[Change]:
        """A domain that comes from the same table as before: nothing is asked, as while the query runs."""
        if came is not False:
            what = f"{_domain_text(attribute)}: {value_texts(attribute, came)} is new"
            yield self._wider("at once", what, attribute, came)
        if gone is not False:
            what = f"{_domain_text(attribute)}: {value_texts(attribute, gone)} is gone"
            yield self._change("at once", what, "in the domain it stays (RQ418)")

    def _remember(self, attribute: Attribute) -> None:
        """Keep the values of a domain that comes from a table, and what it is called."""
        name = attribute.name
        if name not in self.state.universe:
            return
        before = self.before.get(name)
        was = before.column if before is not None else None
        # Values that markers have added stay, and those of the same table; those of another one do not count any more.
        kept = self.state.grown.get(name, False) if was == attribute.column else False
        values = regions.union(kept, attribute.members or False)
        grown = {**self.state.grown, name: values}
        domain = evolve(self.state.universe[name], listed=attribute.listed)
        self.state = evolve(
            self.state,
            universe={**self.state.universe, name: domain},
            grown={n: growth for n, growth in grown.items() if growth is not False},
        )

    def _wider(self, effect: Effect, what: str, attribute: Attribute, came: Tree) -> Change:
        """Values that are new in a domain. One that is the code of another value would be read as that one."""
        if (clash := taken(self.state, attribute, came)) is not None:
            return self._change("new checkpoint", what, f"{clash.what} (RQ466): {clash.advice}")
        why = self._why_wider(came)
        if attribute.name in self.state.codes and not listed(came):
            why += "; recoded tuples have no codes for values that no list brings (RQ314)"
        return self._change(effect, what, why)

    def _why_wider(self, came: Tree) -> str:
        grown = self.state.grow(_only(came), came)
        closed = regions.intersection(grown.closed, came)
        if regions.is_empty(closed, grown.universe):
            return _GROWN
        late = ", ".join(region_texts(closed, grown.facts()))
        return f"{_GROWN}; tuples with a new value are late (RQ305) where that is closed already: {late}"

    def _widen(self, name: str) -> None:
        """Grow what the attribute may be to what is declared, ⊥ too where a Drop has become possible."""
        if name not in self.start.universe:
            return
        extra = regions.difference(self.start.universe[name].members, self.state.universe[name].members)
        if extra is not False:
            self.state = self.state.grow(name, extra)


_ADDED = "earlier tuples lack it; an output that has it says so by an Add"
_GROWN = (
    "a new value has changed nothing yet: what all have announced stays announced, what some have announced "
    "waits for it, too (N1)"
)


def _only(members: Tree) -> str:
    (name,) = regions.attributes(members)
    return name


def _place_of(attribute: Attribute) -> tuple[object, ...]:
    return attribute.keys, attribute.others, attribute.in_text


def _domain_text(attribute: Attribute) -> str:
    return (
        f"{attribute.name} in {attribute.domain}"
        if attribute.domain
        else f"{attribute.name} without a domain"
    )


def region_texts(region: Tree, of: Facts) -> Iterator[str]:
    """A region of canonical tuples as punctuations, the first few."""
    count = 0
    for box in simple_boxes(region, of.universe, False):
        conditions = {n: m for n, m in box.items() if m is not True}
        for text in patterns.texts(conditions, of.types, outer=False):
            if count == _SHOWN:
                yield "..."
                return
            count += 1
            yield punctuation_text(text)
