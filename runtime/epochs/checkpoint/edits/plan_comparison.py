"""The effects of an edited query on a checkpoint, and the commit that it continues from (`cedilla plan`).

An operator that is the same over the same inputs keeps its state, whatever it is called. Any other state is
built again from a named epoch on. An output continues if that breaks no promise to its readers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import ABSENT, Facts, closed_for_readers
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.join import released_too_much
from cedilla.compiler.plan import Emit, Plan, Source, derive, follow
from cedilla.compiler.regions import Tree
from cedilla.runtime.control.domains.table_domains import of_states
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.edits.accent_changes import compare_accents
from cedilla.runtime.epochs.checkpoint.edits.added_streams import continued
from cedilla.runtime.epochs.checkpoint.edits.change import Change, Changes, Effect
from cedilla.runtime.epochs.checkpoint.edits.plan_matching import (
    SIDES,
    differences,
    match_emits,
    read_by_emits,
)
from cedilla.runtime.epochs.checkpoint.edits.source_changes import compare_source, region_texts
from cedilla.runtime.epochs.checkpoint.stored_plan import StoredPlan
from cedilla.runtime.epochs.state.segments import Segment


def compare(
    stored: StoredPlan, commit: Commit, plan: Plan, is_fresh: Callable[[Emit], bool] = lambda emit: True
) -> Changes:
    """Compare an edited plan with that of a checkpoint after its last commit. `is_fresh`: whether no epoch was ever
    published in an output's folder."""
    return _Comparison(stored, commit, plan, is_fresh).compared()


class _Comparison:
    def __init__(
        self, stored: StoredPlan, commit: Commit, plan: Plan, is_fresh: Callable[[Emit], bool]
    ) -> None:
        self.stored, self.commit, self.is_fresh = stored, commit, is_fresh
        self.plan, self.old = (of_states(compared, commit.sources) for compared in (plan, stored.plan))
        self.epoch = commit.epoch + 2  # the one before it is the edit itself
        self.items: list[Change] = []
        self.states: dict[str, SourceState] = {}
        self.sinks: dict[str, SinkState] = {}
        self.written: dict[str, int] = {}

    def compared(self) -> Changes:
        intact = self._sources()
        unstated = self.states
        if self.commit.epoch >= 0:
            items, states = compare_accents(self.old, self.plan, unstated, self.epoch)
            self.items, self.states = [*self.items, *items], dict(states)
        if self.commit.epoch < 0 or any(item.effect == "new checkpoint" for item in self.items):
            return Changes(self.epoch, self.items, self.commit)
        before = {name: state.facts() for name, state in self.commit.sources.items()}
        self.before = derive(self.old, before, self.commit.state_facts)
        self.was_read, self.is_read = read_by_emits(self.old), read_by_emits(self.plan)
        after = continued(self.old, self.plan, self.commit, self.before, intact, self.states, unstated)
        self.matched, self.kept, self.after = after.matched, after.kept, after.after
        self.states, self.state_facts = dict(after.states), after.state_facts
        for stream, region in after.late.items():
            self._late(stream, region)
        self.kept.update(self.matched.kept_sides(self.old, self.plan, self.before, self.after))
        self._evolution()
        self._operators()
        self._outputs()
        self._settings()
        return Changes(self.epoch, self.items, self._commit())

    def _late(self, stream: str, closed: Tree) -> None:
        facts = self.states[stream].facts()
        if not regions.is_empty(closed, facts.universe):
            texts = ", ".join(region_texts(closed, facts))
            why = f"its tuples are late (RQ305) in what is closed already: {texts}"
            self._add("continues", f"stream {stream}", "comes to tuples with state", why)

    def _add(self, effect: Effect, where: str, what: str, why: str = "") -> None:
        self.items.append(Change(effect, where, what, why))

    # --- sources ---

    def _sources(self) -> set[str]:
        """Compare the sources; those whose tuples are of the same kind as before."""
        self._streams()
        if self.commit.epoch < 0:
            return set()
        intact: set[str] = set()
        for source in self.plan.sources:
            old = self.old.source_of.get(source.name)
            if old is None:
                self.states[source.name] = SourceState.start(source, self.plan.droppable[source.name])
                if source.table:
                    why = f"it is read in epoch {self.epoch}, or when files come"
                    self._add("at once", f"table {source.name} (line {source.line})", "is new", why)
                continue
            state = self.commit.sources[source.name]
            changes = compare_source(old, self.plan, source.name, state, self.epoch)
            self.items += changes.items
            self.states[source.name] = changes.state
            if changes.intact:
                intact.add(source.name)
        for old in self.old.sources:
            if old.table and old.name not in self.plan.source_of:
                self._add("at once", f"table {old.name}", "is gone")
        return intact

    def _streams(self) -> None:
        """Compare the names of the streams. One that is removed has lost its state, so its name is not free again."""
        was = [s.name for s in self.old.sources if not s.table]
        now = [s for s in self.plan.sources if not s.table]
        for stream in now:
            where = f"stream {stream.name} (line {stream.line})"
            if stream.name in self.commit.removed:
                why = "a stream of this name was removed, and its markers are forgotten; choose another name"
                self._add("new checkpoint", where, "is new", why)
            elif stream.name not in self.old.source_of:
                self._add("continues", where, "is new", f"its files are read from epoch {self.epoch} on")
        for name in was:
            if name not in self.plan.source_of:
                why = "its files are not read any more, and its markers are forgotten"
                self._add("continues", f"stream {name}", "is gone", why)
        names = [s.name for s in now]
        if set(was) == set(names) and was != names:
            self._add("at once", "streams", "the order of their declarations")

    # --- what evolution has done already ---

    def _evolution(self) -> None:
        """Yields the accents and punctuations so far that the edited query would have refused."""
        for operator in self.plan.operators:
            inputs = tuple(self.after[name] for name in operator.inputs)
            if (name := operator.conflict(inputs)) is not None:
                why = f"an accent has added `{name}`, which it would have twice (RQ210)"
                self._add("new checkpoint", _label(operator), "cannot take its inputs", why)
            self._reopened(operator)
        for source in self.plan.sources:
            for attribute in source.attributes:
                self._dropped(source, attribute.name)

    def _reopened(self, operator: Operator) -> None:
        """A wider domain must not open what an operator counts on (theory N1, G8)."""
        old = self.matched.same.get(operator.name)
        if old is None:
            return
        now = self.after[operator.name]
        opened = regions.difference(self.before[old].closed, now.closed)
        if not regions.is_empty(opened, now.universe):
            why = "it was closed by what two inputs have closed together; tuples with a new value would open it again"
            self._add("new checkpoint", _label(operator), "a wider domain", why)

    def _dropped(self, source: Source, name: str) -> None:
        state = self.states[source.name]
        absent = regions.map_leaves(state.present.get(name, ABSENT), lambda leaf: leaf is ABSENT)
        gone = regions.difference(absent, state.closed)
        if regions.is_empty(gone, state.universe):
            return
        mentions = regions.attributes(gone)
        for operator, reaction in follow(self.plan, source.name, "drop", name, mentions):
            if reaction.kind == "aborts":
                why = f"`{name}` was dropped from `{source.name}`, and the operator requires it (RQ209)"
                self._add("new checkpoint", _label(operator), "cannot take its input", why)

    # --- operators ---

    def _operators(self) -> None:
        for operator in self.plan.operators:
            if operator.name not in self.is_read:
                continue
            if (old := self.matched.same.get(operator.name)) is not None and old in self.was_read:
                if old != operator.name:
                    self._add("at once", _label(operator), f"is called {operator.name}, was {old}")
                self._let_go(self.old.operator_of[old], operator)
                continue
            if (alike := self.matched.alike.get(operator.name)) is not None:
                self._changed(self.old.operator_of[alike], operator)
            elif operator.stateful:
                self._anew(operator, "is new", (0, 1)[: len(operator.inputs)], continued=False)
        taken = {*self.matched.same.values(), *self.matched.alike.values()}
        for old in self.old.operators:
            gone = old.name not in taken
            if gone and old.name not in self.was_read:
                self._add("at once", f"{old.title} {old.name}", "is gone", "no output read it")
            elif gone and old.stateful:
                self._add("continues", f"{old.title} {old.name}", "is gone", "its state is forgotten")

    def _let_go(self, old: Operator, new: Operator) -> None:
        """Adds the tuples that an operator has forgotten, because no tuple of the other input could have met them."""
        for side in range(len(new.inputs)):
            lost = released_too_much(old, new, side, self.before, self.after)
            if lost is False:
                continue
            regions_text = ", ".join(region_texts(lost, self.before[old.inputs[side]]))
            if tables := sorted(set(self._read_tables(new.inputs[side]))):
                why = f"it has released {regions_text}, and {_read(tables)}"
                self._add("new checkpoint", _label(new), "a wider domain", why)
            else:
                why = f"of {new.inputs[side]} it has released {regions_text}: send those that were read before again"
                self._add("continues after", _label(new), "a wider domain", why)

    def _changed(self, old: Operator, new: Operator) -> None:
        what = ", ".join(differences(old, new))
        if not new.stateful:
            if what:
                self._add(
                    "continues after", _label(new), what, f"holds for tuples from epoch {self.epoch} on"
                )
            return
        sides = [side for side in range(len(new.inputs)) if f"{old.name}.{SIDES[side]}" not in self.kept]
        self._anew(new, what or "comes after what has changed", sides, continued=old.name in self.was_read)

    def _anew(self, operator: Operator, what: str, sides: Any, *, continued: bool) -> None:
        """Notes a state that begins with this epoch. `sides`: the inputs without kept tuples."""
        tables = sorted({table for side in sides for table in self._read_tables(operator.inputs[side])})
        assert operator.state is not None
        if tables:
            why = f"its state would be rebuilt, and {_read(tables)}"
            self._add("new checkpoint", _label(operator), what, why)
        elif continued and operator.state.wrong and set(sides) & set(operator.state.decisive):
            why = f"its state would be rebuilt: {operator.state.wrong}"
            self._add("new checkpoint", _label(operator), what, why)
        else:
            of = "" if len(sides) == len(operator.inputs) else f" of the {SIDES[sides[0]]} input"
            why = f"its state{of} is rebuilt from epoch {self.epoch} on: {operator.state.restart}"
            self._add("continues after", _label(operator), what, why)

    def _read_tables(self, relation: str) -> Iterator[str]:
        """The sources that are read to their end and reach a relation through no state."""
        operator = self.plan.operator_of.get(relation)
        if operator is None:
            is_read = relation in self.old.source_of and self.old.source_of[relation].table
            if is_read or self.states[relation].closed is True:
                yield relation
        elif not operator.stateful:
            for name in operator.inputs:
                yield from self._read_tables(name)

    # --- outputs ---

    def _outputs(self) -> None:
        matches = match_emits(self.stored, self.plan, self.matched)
        for emit in self.plan.emits:
            where = f"output {emit.name} (line {emit.line})"
            old = matches.get(emit.name)
            if old is None:
                self._new_output(emit, where)
            elif self._is_moved(old, emit) and self.is_fresh(emit):
                self.sinks[emit.name] = SinkState.start(self.plan.start[emit.relation])
                why = f"it begins there with epoch {self.epoch}, {_BEGINS}; {old.path} ends before"
                self._add("continues", where, f"{old.path} → {emit.path}", why)
            else:
                self.sinks[emit.name] = self.commit.sinks[old.name]
                if old.name in self.commit.written:
                    self.written[emit.name] = self.commit.written[old.name]
                self._continued(old, emit, where)
        claimed = {old.name for old in matches.values()}
        for old in self.old.emits:
            if old.name not in claimed:
                self._add(
                    "continues", f"output {old.name}", "is gone", f"it ends with epoch {self.commit.epoch}"
                )

    def _is_moved(self, old: Emit, new: Emit) -> bool:
        return old.path.rstrip("/") != new.path.rstrip("/")

    def _new_output(self, emit: Emit, where: str) -> None:
        self.sinks[emit.name] = SinkState.start(self.plan.start[emit.relation])
        if tables := sorted(set(self._read_tables(emit.relation))):
            self._add("new checkpoint", where, "is new", _read(tables))
        elif not self.is_fresh(emit):
            why = f"{emit.path} holds the output of an earlier run (RQ405): choose another folder"
            self._add("new checkpoint", where, "is new", why)
        else:
            self._add("at once", where, "is new", f"it begins with epoch {self.epoch}, {_BEGINS}")

    def _continued(self, old: Emit, emit: Emit, where: str) -> None:
        if self._is_moved(old, emit):
            why = f"it continues in {emit.path}, which has epochs already, because the folder has moved"
            self._add("continues", where, f"{old.path} → {emit.path}", why)
        if old.original_units != emit.original_units:
            what = "in original units" if emit.original_units else "no more in original units"
            self._add("at once", where, what, f"Alters at the end of epoch {self.epoch} say so")
        if old.latest != emit.latest:
            was, now = (
                f"latest by {', '.join(e.latest)}" if e.latest else "not updated" for e in (old, emit)
            )
            why = f"from epoch {self.epoch} on it has provisional rows" if not old.latest else _KEPT_ROWS
            self._add("new checkpoint" if old.latest else "at once", where, f"{was} → {now}", why)
        if old.format != emit.format:
            why = "a folder has one format; another folder, `--sink NAME=PATH`"
            self._add("new checkpoint", where, f"to {old.format} → to {emit.format}", why)
        was, now = self.before[old.relation], self.after[emit.relation]
        if self.matched.same.get(emit.relation) == old.relation:
            for why in self._contradicted(self.sinks[emit.name], was, now, is_same=True):
                self._add("new checkpoint", where, "a wider domain", why)
            if retyped := "; ".join(self._retyped(was, now)):
                self._add("new checkpoint", where, "another type", f"{retyped}. {_ANOTHER_FOLDER}")
            if self.matched.same[emit.relation] != emit.relation or emit.name != old.name:
                self._add("at once", where, f"is called {emit.name}, was {old.name}")
            return
        broken = [*self._retyped(was, now), *self._contradicted(self.sinks[emit.name], was, now)]
        broken += [_read([t]) for t in sorted(set(self._read_tables(emit.relation)))]
        if broken:
            why = f"{'; '.join(broken)}. {_ANOTHER_FOLDER}"
            self._add("new checkpoint", where, "is of another relation now", why)
            return
        if emit.latest and emit.latest == old.latest and self._is_of_other_groups(emit):
            self._add("new checkpoint", where, "is of what has changed", _KEPT_ROWS)
            return
        came = [n for n in now.types if n not in was.types]
        gone = [n for n in was.types if n not in now.types]
        says = [f"an Add of {', '.join(came)}"] * bool(came) + [f"a Drop of {', '.join(gone)}"] * bool(gone)
        why = f"from epoch {self.epoch} on its tuples are those of the edited query; no accent announces the change"
        self._add("continues after", where, "is of what has changed", "; ".join([why, *says]))

    def _is_of_other_groups(self, emit: Emit) -> bool:
        """Returns True if an updated output may never get the final rows of groups that are open: their state begins
        again, or another condition leaves them out."""
        groups, *above = self.plan.updated[emit.name]
        conditions = [operator for operator in above if operator.required() is not None]
        return any(operator.name not in self.matched.same for operator in (groups, *conditions))

    def _retyped(self, was: Facts, now: Facts) -> Iterator[str]:
        for name, type_ in was.types.items():
            if name in now.types and now.types[name] != type_:
                yield f"`{name}` would be {now.types[name]}, its readers know it as {type_}"

    def _contradicted(
        self, sink: SinkState, was: Facts, now: Facts, *, is_same: bool = False
    ) -> Iterator[str]:
        """Yields a message if tuples of the edited query may break punctuations of the output.

        `is_same`: the relation is the same. All that it has closed once stays closed in the old domain, although a sort
        does not know it any more after an Alter of whole numbers.
        """
        closed = closed_for_readers(sink.closed, was.universe)
        if is_same:
            once = regions.difference(closed, was.closed)
            domains = [was.universe[name].members for name in regions.attributes(once) & was.universe.keys()]
            closed = regions.difference(closed, regions.intersection(once, *domains))
        closed = regions.without(closed, regions.attributes(closed) - now.types.keys())
        if not regions.is_empty(regions.difference(closed, now.closed), now.universe):
            yield "tuples may come that its punctuations have excluded"

    def _settings(self) -> None:
        for name, value in self.plan.settings.items():
            if (before := self.old.settings[name]) != value:
                self._add("at once", "settings", f"{name}: {before} → {value}")

    # --- the commit ---

    def _commit(self) -> Commit:
        segments: dict[str, tuple[Segment, ...]] = {}
        for key, kept in self.commit.segments.items():
            operator, dot, rest = key.partition(".")
            name = self.kept.get(operator)
            renamed = f"{name}{dot}{rest}" if name is not None else self.kept.get(key)
            if renamed is not None:
                segments[renamed] = kept
        progress = {n: p for n, p in self.commit.progress.items() if n in self.plan.source_of}
        return evolve(
            self.commit,
            epoch=self.epoch - 1,
            progress=progress,
            removed=(*self.commit.removed, *(n for n in self.old.source_of if n not in self.plan.source_of)),
            sources=self.states,
            sinks=self.sinks,
            state_facts=self.state_facts,
            segments=segments,
            written=self.written,
        )


_BEGINS = "and says by Adds and Alters what is in force"
_KEPT_ROWS = "provisional rows of open groups would stay; another place begins a new output"
_ANOTHER_FOLDER = "Another folder begins a new output"


def _read(tables: list[str]) -> str:
    names = ", ".join(f"`{name}`" for name in tables)
    return f"the rows of {names} have been read and do not come again; declared once more by another name, they do"


def _label(operator: Operator) -> str:
    return f"{operator.title} {operator.name} (line {operator.line})"
