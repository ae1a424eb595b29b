"""The effects of edited `accent` statements on the sources of a checkpoint (theory N10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from attrs import evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Drop, Layer, Recode, Rename, SourceFunction, Swap, ToLevel, ToUnit
from cedilla.compiler.changes import Change as AccentChange
from cedilla.compiler.facts.facts import ABSENT, ORIGINAL, Facts, StateFacts
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.plan import Plan, Source, StatedAccent, derive
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.parser import single_accents
from cedilla.runtime.control.accents.originals import Originals
from cedilla.runtime.control.accents.sentinels import Sentinels
from cedilla.runtime.control.accents.swaps import Swaps
from cedilla.runtime.control.markers.source_marker_parser import read_accent, read_epoch_change
from cedilla.runtime.control.markers.stated_accents import (
    States,
    inverse,
    starting_state,
    with_accents,
)
from cedilla.runtime.control.markers.superseded import (
    attributes_of,
    stated_attributes,
    superseding,
    with_superseded,
)
from cedilla.runtime.control.sinks.held_drops import held_drops
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.text_forms import usual_form
from cedilla.runtime.epochs.checkpoint.edits.change import Change

_OTHERWISE = (
    "no accent leads from what is in force to what is stated now: other accents are about the same tuples"
)


def compare_accents(old: Plan, plan: Plan, states: States, epoch: int) -> tuple[list[Change], States]:
    """Applies accents that an edit states, and inverses of those that it no longer states.

    Returns the changes, and the states of the sources with them. `epoch`: the first of the edited query.
    """
    items: list[Change] = []
    for source in plan.sources:
        before = old.source_of.get(source.name)
        stated = () if before is None else before.accents
        changes, states = _compare(plan, source, stated, states, f"from epoch {epoch} on")
        items += changes
    return items, states


def _compare(
    plan: Plan, source: Source, stated: Sequence[StatedAccent], states: States, epoch: str
) -> tuple[list[Change], States]:
    gone, came = Counter(stated) - Counter(source.accents), Counter(source.accents) - Counter(stated)
    where = f"{'table' if source.table else 'stream'} {source.name} (line {source.line})"
    items: list[Change] = []
    undone: list[StatedAccent] = []
    for accent in reversed([*gone.elements()]):
        if (texts := inverse(source, states[source.name], accent)) is None:
            why = "no accent undoes it for the tuples that come"
            items.append(Change("new checkpoint", where, f"{accent.text} is gone", why))
            continue
        undone += map(StatedAccent, texts)
        why = f"{', '.join(texts)} holds {epoch}; earlier tuples do not change"
        items.append(Change("continues", where, f"{accent.text} is gone", why))
    new = [accent for accent in source.accents if accent in came]
    for accent in new:
        why = f"it holds {epoch}; earlier tuples do not change"
        items.append(Change("continues", where, f"{accent.text} is new", why))
    try:
        without, _ = with_accents(plan, states, {source.name: undone})
        kept = tuple(accent for accent in source.accents if accent not in came)
        is_refused = any(item.effect == "new checkpoint" for item in items)
        if kept != tuple(stated) and not is_refused:
            droppable = plan.droppable[source.name]
            first, last = (starting_state(evolve(source, accents=of), droppable) for of in (stated, kept))
            now, then = (of[source.name] for of in (states, without))
            singles = [single for text in gone for single in single_accents(text.text)]
            accents = [
                read_accent(source, now, single) for single in singles if not read_epoch_change(now, single)
            ]
            stated_of = Counter(name for text in stated for name in stated_attributes([text]))
            undone_by = _Undone(now, then, first, last, accents, stated_of)
            if not undone_by.leads_back():
                items.append(Change("new checkpoint", where, "accents", _OTHERWISE))
            without = {**without, source.name: undone_by.with_conditions()}
        states, _ = with_accents(plan, without, {source.name: new})
        after = _stating(source, stated_attributes(stated), new, without[source.name], states[source.name])
        states = {**states, source.name: after}
    except DiagnosticError as error:
        problem = error.diagnostics[0]
        items.append(Change("new checkpoint", where, "accents", f"{problem.message} ({problem.code})"))
    return items, states


def _stating(
    source: Source, before: Set[str], new: Sequence[StatedAccent], without: SourceState, after: SourceState
) -> SourceState:
    """Returns a source that begins to record which of its statements the stream supersedes, from the edit on.

    If a new statement changes nothing, an accent of the stream is in force already. A statement also counts as
    superseded if its inverse would lead further back than to the state before it. `before`: the attributes of the
    statements before the edit; `without`, `after`: the source without and with the new statements.
    """
    stated = stated_attributes(source.accents)
    superseded = {
        name: after.notes.superseded.get(name, False) if name in before else False for name in stated
    }
    after = evolve(after, notes=evolve(after.notes, superseded=superseded))
    for single in (single for accent in new for single in single_accents(accent.text)):
        change = read_epoch_change(without, single)
        if change is not None:
            if without.forms.get(change.attribute) == after.forms.get(change.attribute):
                after = with_superseded(after, change)
            continue
        accent = read_accent(source, without, single)
        if accent.primitive.layer not in (Layer.PLACE, Layer.SENTINEL):
            name = accent.primitive.attribute
            trees = (of for of, changes in _TREES if changes(accent.primitive))
            same = (regions.combine(of(without, name), of(after, name), _SAME) for of in trees)
            described = without.canonical(accent.description)
            where = regions.intersection(described, *same)
            if isinstance(accent.primitive, ToLevel | ToUnit) and name in after.bent:
                # Functions that bend have no history that leads from the declared unit to an earlier one.
                where = regions.union(where, without.written_otherwise(name, described))
            after = superseding(after, [name], where)
    return after


@frozen
class _Undone:
    """A source whose edit removes or moves statements.

    `now`, `then`: its states without and with the inverses. `first`, `kept`: its states before its first tuple, with
    all statements and with those that stay. `gone`: the accents of the others. `stated_of`: how many statements there
    were about each attribute.
    """

    now: SourceState
    then: SourceState
    first: SourceState
    kept: SourceState
    gone: Sequence[Accent]
    stated_of: Mapping[str, int]

    def leads_back(self) -> bool:
        """Returns True if the source reads tuples after the inverses as if it had never stated what is gone.

        Inverses do not lead there if what they undo was not the last change of its tuples, or if the descriptions are
        about other tuples by now. Recodes are left out: `with_conditions` gives their values codes again.
        """
        return all(map(self._is_traceable, self.gone)) and all(
            self._has_right_form(attribute) and all(self._is_right(attribute, *tree) for tree in _TREES)
            for attribute in self.now.types
        )

    def with_conditions(self) -> SourceState:
        """Returns the source after the inverses. Values that a recode or a function did not take have their codes and
        conditions again.

        Their conditions are lost in trees over raw values. The trees of statements that stay take their place, unless
        other accents have changed these trees; then such values have no code for good.
        """
        then = self.then
        for accent in self.gone:
            if isinstance(accent.primitive, Recode | SourceFunction):
                then = self._decoded_as_kept(then, accent.primitive.attribute)
        return then.next_epoch()

    def _decoded_as_kept(self, then: SourceState, attribute: str) -> SourceState:
        if not self._decodes_as_first(attribute):
            return then
        trees = {kind: dict(of(then)) for kind, of in _DECODING.items()}
        for kind, name in self._decoding(attribute):
            trees[kind].pop(name, None)
            if (tree := _DECODING[kind](self.kept).get(name)) is not None:
                trees[kind][name] = tree
        return evolve(
            then,
            codes=trees["codes"],
            originals=Originals(trees["original"]),
            sentinels=Sentinels(trees["sentinels"], listed=trees["listed"]),
            swaps=Swaps(trees["swaps"]),
        )

    def _decodes_as_first(self, attribute: str) -> bool:
        """Returns True if only statements have changed how an attribute is decoded, in their order."""
        now, first = ({kind: of(state) for kind, of in _DECODING.items()} for state in (self.now, self.first))
        return all(now[kind].get(name) == first[kind].get(name) for kind, name in self._decoding(attribute))

    def _decoding(self, attribute: str) -> set[tuple[str, str]]:
        """Returns the trees that decode an attribute, or others by its raw values."""
        return {
            (kind, name)
            for kind, of in _DECODING.items()
            for state in (self.now, self.first, self.kept)
            for name, tree in of(state).items()
            if name == attribute or (kind != "codes" and attribute in regions.attributes(tree))
        }

    def _has_right_form(self, attribute: str) -> bool:
        """Returns True if texts have the form of the statements that stay, or the statements say nothing new of it."""
        states = self.now, self.then, self.first, self.kept
        usual = usual_form(self.now.types[attribute])
        now, then, first, kept = (state.forms.get(attribute, usual) for state in states)
        if first == kept:
            return then == now
        return (now, then) == (first, kept) and self.now.notes.superseded.get(attribute, False) is False

    def _is_traceable(self, accent: Accent) -> bool:
        """Returns True unless the stream supersedes an accent, or other accents may have changed what has no history:
        names, functions that bend, and what the accent described."""
        described = self.now.canonical(accent.description)
        later = (self.now.notes.superseded.get(name, False) for name in attributes_of(accent))
        if not self._holds(regions.complement(regions.intersection(described, regions.union(*later)))):
            return False
        attribute = accent.primitive.attribute
        if isinstance(accent.primitive, Rename):
            return self.now.names.all_of(attribute) == self.first.names.all_of(attribute)
        if isinstance(accent.primitive, Recode) and self.stated_of[attribute] > 1:
            return self._decodes_as_first(attribute)
        if isinstance(accent.primitive, Recode | Swap):
            functions = map(self.now.written, accent.mentions)
            return all(
                self._holds(regions.map_leaves(tree, lambda function: function == IDENTITY))
                for tree in functions
            )
        same = regions.combine(self.now.written(attribute), self.first.written(attribute), _SAME)
        return attribute not in self.now.bent or self._holds(same)

    def _described(self, attribute: str, changes: Callable[[AccentChange], bool]) -> Tree:
        """Returns the canonical tuples that accents of an attribute describe by now. `changes`: which of them."""
        of = (
            accent.description
            for accent in self.gone
            if accent.primitive.attribute == attribute and changes(accent.primitive)
        )
        return regions.union(*map(self.now.canonical, of))

    def _is_right(
        self,
        attribute: str,
        tree_of: Callable[[SourceState, str], Tree],
        changes: Callable[[AccentChange], bool],
    ) -> bool:
        now, then, first, kept = (
            tree_of(state, attribute) for state in (self.now, self.then, self.first, self.kept)
        )
        outside = regions.intersection(regions.combine(now, then, _SAME), regions.combine(first, kept, _SAME))
        pairs = regions.combine(now, then, _PAIRS), regions.combine(first, kept, _PAIRS)
        return self._holds(
            regions.choose(self._described(attribute, changes), regions.combine(*pairs, _BACK), outside)
        )

    def _holds(self, region: Tree) -> bool:
        never = regions.union(region, self.then.closed)
        return regions.is_empty(regions.complement(never), self.then.universe)


_DECODING: Mapping[str, Callable[[SourceState], Mapping[str, Tree]]] = {
    "codes": lambda state: state.codes,
    "original": lambda state: state.original,
    "sentinels": lambda state: state.sentinels.here,
    "swaps": lambda state: state.swaps.here,
    "listed": lambda state: state.sentinels.listed,
}
"""The trees that a source decodes the values of an attribute with; all but codes and lists are over raw values."""


def _written_functions(state: SourceState, attribute: str) -> Tree:
    """Returns the histories of an attribute, or what leads to its raw values where it has none."""
    has_histories = attribute not in state.bent and attribute not in state.codes
    return state.units.get(attribute, ORIGINAL) if has_histories else state.written(attribute)


def _of_layer(layer: Layer) -> Callable[[AccentChange], bool]:
    return lambda change: change.layer is layer or isinstance(change, Add)


_TREES: tuple[tuple[Callable[[SourceState, str], Tree], Callable[[AccentChange], bool]], ...] = (
    (_written_functions, _of_layer(Layer.VALUE)),
    (lambda state, attribute: state.names.here.get(attribute, attribute), _of_layer(Layer.NAME)),
    (
        lambda state, attribute: state.present.get(attribute, ABSENT),
        lambda change: isinstance(change, Add | Drop),
    ),
)
"""Trees of an attribute, and which changes touch them."""
_SAME = regions.Operation(lambda *_: None, lambda one, other: _last(one) == _last(other))
_PAIRS = regions.Operation(lambda *_: None, lambda one, other: (one, other))
_BACK = regions.Operation(lambda *_: None, lambda one, other: _is_back(*one, *other))


def _is_back(now: Any, then: Any, first: Any, kept: Any) -> bool:
    """Returns True if an inverse leads from a history, name or presence to that without what is gone."""
    if any(isinstance(leaf, ValueMapping) for leaf in (now, then, first, kept)):
        return True
    if now == first:
        return _last(then) == _last(kept)
    # An edit stated what is gone after other accents: the last change is its, unless another statement says the same.
    return isinstance(now, tuple) and _last(first) != _last(kept) and _last(then) in now[-2:-1]


def _last(leaf: Any) -> Any:
    return leaf[-1] if isinstance(leaf, tuple) else leaf


def hold_drops(
    plan: Plan, before: States, states: States, state_facts: Mapping[str, StateFacts]
) -> tuple[Mapping[str, StateFacts], Mapping[str, Facts]]:
    """Lets Drops of the statements wait for state, as those of a stream do (G13).

    Returns the facts of state, and of all relations. The next epoch looks into state, and announces the Drops that need
    not wait. `before`, `states`: the sources without and with the statements of the edit.
    """
    during = derive(plan, {name: state.facts() for name, state in before.items()}, state_facts)
    closed = {name: evolve(facts, retained={}) for name, facts in state_facts.items()}
    after = derive(plan, {name: state.facts() for name, state in states.items()}, closed)
    return held_drops(_EditEnd(plan, after, closed), during)


@frozen
class _EditEnd:
    """The end of an epoch of nothing but the edit; all state may have all attributes."""

    plan: Plan
    after: Mapping[str, Facts]
    closed_by_state: Mapping[str, StateFacts]

    def state_has(self, name: str, attribute: str, region: Tree) -> bool:
        return True
