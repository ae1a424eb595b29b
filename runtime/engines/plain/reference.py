"""Runs a whole query in plain Python, without Spark: for `cedilla simulate`, and as the oracle of tests.

Data goes tuple by tuple through `nodes`; decoding and encoding work accent by accent, in exact arithmetic.
The control plane is the engine's own (`control`, `announce`, the operators' facts): other tests verify it.
Over 400 lines, as a step is one reading: from lines to rows, through the operators, to the lines of each output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from attrs import define, evolve, field

from cedilla.compiler import regions
from cedilla.compiler.explain.analysis.safety import vacancies
from cedilla.compiler.expressions.types import DOUBLE, Type, patterns
from cedilla.compiler.expressions.units.own import short
from cedilla.compiler.facts.facts import ABSENT, NO_STATE, PRESENT, Facts, StateFacts
from cedilla.compiler.plan import Emit, Plan, derive
from cedilla.compiler.plan.sources import Heartbeat
from cedilla.compiler.regions import PARTITION, Tree
from cedilla.compiler.regions.affine import exact
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.connectors.records.change_events import columns_in, is_gone
from cedilla.runtime.connectors.records.json_objects import read_strings, with_fields
from cedilla.runtime.connectors.records.marker_files import Markers
from cedilla.runtime.connectors.records.nested import after_renames, undeclared
from cedilla.runtime.connectors.records.path_keys import KEYS, Keys
from cedilla.runtime.connectors.records.rejections import FOREIGN, NO_OBJECT, is_ignored, of_fault, reason
from cedilla.runtime.connectors.records.values import near_digits
from cedilla.runtime.control.domains.table_domains import Values, grown
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.markers.stated_accents import starting_states
from cedilla.runtime.control.markers.unannounced import add_inferred, is_inferable, refusals
from cedilla.runtime.control.sinks.announce import SinkState, begin, finish
from cedilla.runtime.control.sinks.held_drops import held_drops
from cedilla.runtime.control.sources import wall_clock
from cedilla.runtime.control.sources.columns import columns_of
from cedilla.runtime.control.sources.partitions import within
from cedilla.runtime.control.sources.required_attributes import required_attributes
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.text_forms import paths_of
from cedilla.runtime.control.sources.undecodable import undecodable
from cedilla.runtime.control.sources.unit_names import NO_NAMES, UnitNames, output_names
from cedilla.runtime.engines.plain.aggregate_results import ORDER
from cedilla.runtime.engines.plain.encode import encoded_row
from cedilla.runtime.engines.plain.grouping import provisional_rows
from cedilla.runtime.engines.plain.items import Item, marker_of_item
from cedilla.runtime.engines.plain.last_states import LastStates, rejection_of_gone
from cedilla.runtime.engines.plain.node import Node, Row, Rows, control, inside, without_places
from cedilla.runtime.engines.plain.nodes import node_of
from cedilla.runtime.engines.plain.output import Output
from cedilla.runtime.engines.plain.raw_values import NO_CODE, canonical_values, value_at
from cedilla.runtime.engines.plain.scalars.arithmetic import is_beyond, is_odd
from cedilla.runtime.engines.plain.scalars.decoded import nearest
from cedilla.runtime.engines.plain.values import fault_of_keys, inferred_of, misfit_of, read_value

Latest = Mapping[int | None, Any]
"""Partition of a topic, or `None` -> its greatest time."""
Rejection = tuple[str, str]
"""The code that rejects a tuple, and the reason in words."""


@define(eq=False, slots=False)
class Reference:
    """Runs a plan step by step; a step is an epoch: its tuples, then its markers, as a whole.

    With one item a step this is the element-at-a-time semantics. `purge`: removes purged rows from state, as
    the theory says. `rejected`: the tuples rejected so far, each with its source and code; `reasons`: the
    same in words. `on_taken`: gets every accepted tuple, canonical and raw. `reached`: source -> partition -> the
    greatest time for its heartbeat since the end of its last file.
    """

    plan: Plan
    purge: bool = True
    place: Callable[[Item], str] = lambda item: ""
    on_taken: Callable[[str, Row, Item], None] = lambda source, row, item: None
    states: dict[str, SourceState] = field(init=False)
    sinks: dict[str, SinkState] = field(init=False)
    nodes: dict[str, Node] = field(init=False)
    state_facts: Mapping[str, StateFacts] = field(factory=dict[str, StateFacts])
    rejected: list[tuple[str, str, Item]] = field(factory=list[tuple[str, str, Item]])
    reasons: list[str] = field(factory=list[str])
    warnings: list[tuple[Diagnostic, Item]] = field(factory=list[tuple[Diagnostic, Item]])
    after: Mapping[str, Facts] = field(init=False)
    closed_by_state: Mapping[str, StateFacts] = field(factory=dict[str, StateFacts])
    arrived: int = 0
    last: LastStates = field(factory=LastStates)
    reached: Mapping[str, Latest] = field(factory=dict[str, Latest])
    _has_new_facts: bool = True  # at first: of the accents that the query states
    _inputs: dict[str, tuple[Facts, ...]] = field(factory=dict[str, tuple[Facts, ...]])

    def __attrs_post_init__(self) -> None:
        plan = self.plan
        self.states = starting_states(plan)
        self.sinks = {e.name: SinkState.start(plan.start[e.relation]) for e in plan.emits}
        self.nodes = {o.name: node_of(o, self.purge) for o in plan.operators}
        for name, node in self.nodes.items():
            node.declared_doubles = {n for n, type_ in plan.start[name].types.items() if type_ == DOUBLE}
            node.vacancies = vacancies(plan)[name]
            node.is_shown = name in plan.updated_groups
            node.begin(plan.start[name])
        self.after = plan.start

    def step(self, items: Sequence[tuple[str, Item]]) -> list[dict[str, Output]]:
        """Takes the next items, each with its source; returns the outputs by emit.

        There is one epoch, or several if a marker must begin one (G32, N1). Raises `DiagnosticError` if a
        marker ends the query; then nothing of the step counts.
        """
        arrived: dict[str, Rows] = {}
        quiet = not any(
            name.startswith("$") and name not in (PARTITION, KEYS) for _, item in items for name in item
        )
        states = self.states if quiet else {name: s.next_epoch() for name, s in self.states.items()}
        began = {name: state.closed for name, state in states.items()}
        rejected: list[tuple[str, str, Item]] = []
        reasons: list[str] = []
        warnings: list[tuple[Diagnostic, Item]] = []
        taken: list[tuple[str, Row, Item]] = []
        reached = dict(self.reached)
        infers = self.plan.settings["drift"] == "infer"
        for position, (source, item) in enumerate(items):
            if "$end" in item:
                if (beat := self.plan.source_of[source].heartbeat) is not None:
                    states = {**states, source: _beaten(beat, states[source], reached.pop(source, {}))}
                continue
            if (marker := marker_of_item(item, position)) is not None:
                at = self.place(item)
                first = {source} if position == 0 else set[str]()
                effects = advance(
                    self.plan, states, {source: [marker]}, lambda *_, at=at: at, first, self.state_facts, {}
                )
                if source not in effects.stops:
                    states = dict(effects.states)
                    began[source] = effects.begun[source].closed if position == 0 else began[source]
                    warnings += ((warning.diagnostic, item) for warning in effects.warnings)
                    for aside in effects.set_aside:
                        rejected.append((source, aside.code, item))
                        reasons.append(aside.reason)
                        warnings += [] if aside.warning is None else [(aside.warning, item)]
                    continue
                if effects.failures:
                    raise DiagnosticError(effects.stops[source].diagnostics)
                outputs = self.step(items[:position])
                numbers = self.states[source].numbers.as_expected(effects.states[source].numbers)
                self.states[source] = evolve(self.states[source], numbers=numbers)
                return [*outputs, *self.step(items[position:])]
            if infers and (unknown := self._unknown(states[source], source, item)):
                states = {**states, source: states[source].next_epoch()} if quiet else dict(states)
                quiet = False
                for name, type_ in unknown.items():
                    add_inferred(self.plan, states, source, name, type_)
            row, rejection = self._tuple(states[source], source, item)
            if rejection is None:
                taken.append((source, row, item))
                reached[source] = self._reached(source, row, item, reached.get(source, {}))
                if source in self.plan.placed:
                    self.arrived += 1
                    row[ORDER] = self.arrived
                if not self.last.sees(self.plan.source_of[source], row, item):
                    arrived.setdefault(source, []).append(row)
            elif not is_ignored(rejection[0], self.plan.settings):
                rejected.append((source, rejection[0], item))
                reasons.append(rejection[1])
        self.reached = reached
        self.rejected += rejected
        self.reasons += reasons
        self.warnings += warnings
        for accepted in taken:
            self.on_taken(*accepted)
        arrived |= self.last.taken(lambda name: states[name].closed is True)
        return [self._epoch(states, began, arrived)]

    def grow(self, values: Values) -> None:
        """Adds values to the domains that come from tables (theory N1). Raises `DiagnosticError` RQ222."""
        states = {name: state.next_epoch() for name, state in self.states.items()}
        self.states = dict(grown(self.plan, states, values, self.state_facts))
        self.after = derive(self.plan, {n: s.facts() for n, s in self.states.items()}, self.closed_by_state)
        self._has_new_facts = True

    # --- input ---

    def decoded(self, source: str, item: Item) -> tuple[Row, Rejection | None]:
        """Returns a tuple in canonical values, in the present state, and the reason for its rejection."""
        return self._tuple(self.states[source], source, item)

    def _tuple(self, state: SourceState, source: str, item: Item) -> tuple[Row, Rejection | None]:
        """Returns a tuple in canonical values, and the reason for its rejection."""
        if "$corrupt" in item:
            return {}, of_fault(str(item.get("$fault", NO_OBJECT)))
        if "$foreign" in item:
            return {}, (FOREIGN, reason(FOREIGN, ""))
        types = state.field_types
        partition = {PARTITION: item[PARTITION]} if PARTITION in item else {}
        keys: Keys = item.get(KEYS, {})
        columns = columns_of(self.plan.source_of[source], state, keys)
        if not is_gone(item) and (fault := columns.fault(columns_in(item))):
            return {}, of_fault(fault)
        paths = paths_of(self.plan.source_of[source], state)
        try:
            item = with_fields(item, types)
            if paths is not self.plan.source_of[source].paths:
                item = after_renames(item, paths)
            fields = {
                n: read_value(types[n], v)
                for n, v in read_strings(item, types).items()
                if n in types and v is not None
            }
        except ValueError:
            return {}, of_fault(misfit_of(item, types), paths)
        if keys and (fault := fault_of_keys(keys, types, paths, fields)) is not None:
            return {}, of_fault(fault, paths)
        raw = {n: v for n, v in fields.items() if n in state.types}
        raw |= partition  # trees distinguish tuples of a topic by it
        for name, attribute in state.names.of.items():
            if name in fields:
                raw.setdefault(attribute, fields[name])
        row = canonical_values(state, raw)
        if strange := sorted(name for name, value in row.items() if value is NO_CODE):
            code, name = next(
                (code, name) for code, names in undecodable(state) for name in strange if name in names
            )
            return {}, (code, reason(code, name))
        for name in sorted(state.inexact & row.keys()):
            if is_beyond(raw[name]) or is_beyond(row[name]):
                return {}, ("RQ310", reason("RQ310", name, paths))
            row[name] = float(row[name]) if isinstance(row[name], int) else row[name]
        for name in state.numbers.digits.keys() & row.keys():
            if not is_odd(row[name]):
                near = near_digits(control(row[name]), state.numbers.digits[name])
                row[name] = nearest(float(near), near)
        rejection = rejection_of_gone(self.plan.source_of[source], row)
        rejection = rejection if is_gone(item) else self._rejection(state, source, row, item, fields)
        row.pop(PARTITION, None)
        return row, rejection and (rejection[0], reason(*rejection, paths))

    def _reached(self, source: str, row: Row, item: Item, before: Latest) -> Latest:
        """Returns the greatest times after a tuple: of each partition, if the source is a topic (theory N9)."""
        beat, partition = self.plan.source_of[source].heartbeat, item.get(PARTITION)
        if beat is None or beat.attribute not in row or is_odd(value := row[beat.attribute]):
            return before
        return {**before, partition: max(control(value), before.get(partition, control(value)))}

    def _unknown(self, state: SourceState, source: str, item: Item) -> dict[str, Type]:
        """Returns the fields of a tuple that become attributes, because nothing has announced them, with their
        types."""
        if "$corrupt" in item or "$foreign" in item:
            return {}
        of = self.plan.source_of[source]
        if columns_of(of, state, item.get(KEYS, {})).fault(columns_in(item)):
            return {}
        fields = self._undeclared(state, source, item)
        types = ((name, inferred_of(item, name, fields[name])) for name in sorted(fields))
        return {n: type_ for n, type_ in types if type_ is not None and is_inferable(of, state, n)}

    def _undeclared(self, state: SourceState, source: str, item: Item) -> dict[str, Any]:
        of = self.plan.source_of[source]
        announced = {*state.field_types, PARTITION, KEYS}
        return undeclared(item, paths_of(of, state), announced, of.levels)

    def _rejection(
        self, state: SourceState, source: str, row: Row, item: Item, fields: Row
    ) -> tuple[str, str] | None:
        """Returns the code that rejects a tuple, and its first wrong attribute. `fields`: its raw values by name."""

        def leaf(name: str) -> Any:
            tree = state.present.get(name, ABSENT)
            return regions.contains(tree, {n: control(row.get(n)) for n in regions.attributes(tree)})

        for name, tree in state.names.here.items():
            names = (name, *state.names.of)
            by = [raw for raw in names if state.names.of.get(raw, raw) == name and raw in fields]
            if len({control(fields[raw]) for raw in by}) > 1:
                return "RQ312", name
            if by and value_at(tree, row) not in by:
                return "RQ313", by[0]
        declared = self.plan.source_of[source].attributes
        for attribute in declared:
            if not attribute.optional and attribute.name not in row and leaf(attribute.name) is PRESENT:
                return "RQ302", attribute.name
            bounded = attribute.domain is not None and attribute.name in row
            if bounded and not inside(state.domain(attribute), row):
                is_id = attribute.keys == ("@record.schema",)
                return "RQ520" if is_id else "RQ303", attribute.name
            if attribute.unit_from is not None and attribute.name in row:
                unit, units = attribute.unit_from
                if row.get(unit) not in [short(name) for name in units]:
                    return "RQ311", attribute.name
        if misplaced := [name for name in state.types if name in row and leaf(name) is ABSENT]:
            return "RQ304", misplaced[0]
        if inside(state.closed, row):
            return "RQ305", ""
        beat = self.plan.source_of[source].heartbeat
        within = None if beat is None or beat.attribute not in row else beat.within
        if (
            beat is not None
            and within is not None
            and control(row[beat.attribute]) > wall_clock.now() + within
        ):
            return "RQ368", beat.attribute
        drift = self.plan.settings["drift"]
        if drift == "ignore" or not (unknown := self._undeclared(state, source, item)):
            return None
        codes = refusals(self.plan.source_of[source], state, unknown, infers=drift == "infer")
        return next((code, name) for name, code in codes.items())

    # --- one epoch ---

    def _epoch(
        self, states: dict[str, SourceState], began: Mapping[str, Tree], arrived: Mapping[str, Rows]
    ) -> dict[str, Output]:
        # Without markers, facts change only if the state of an operator has closed something.
        unmarked = all(state is self.states[name] for name, state in states.items())
        quiet = unmarked and not self._has_new_facts
        self._has_new_facts = False
        facts = dict(self.after) if quiet else {name: state.facts() for name, state in states.items()}
        rows: dict[str, Rows] = {name: list(arrived.get(name, ())) for name in self.plan.source_of}
        closed_by_state: dict[str, StateFacts] = {}
        for operator in self.plan.operators:
            name = operator.name
            inputs = self._inputs[name] = tuple(facts[i] for i in operator.inputs)
            rows_in = [
                rows[i] if self.plan.takes_places(operator, side) else without_places(rows[i])
                for side, i in enumerate(operator.inputs)
            ]
            rows[name] = self.nodes[name].step(rows_in, inputs)
            reported = StateFacts(closed=self.nodes[name].closed(inputs, has_new=any(rows_in)))
            if reported != NO_STATE:
                closed_by_state[name] = reported
            quiet = quiet and reported == self.closed_by_state.get(name, NO_STATE)
            if not quiet:
                facts[name] = operator.facts(inputs, reported)
        self.after, self.closed_by_state = facts, closed_by_state
        if quiet and self.state_facts == closed_by_state:
            return {
                e.name: self._output(e, rows[e.relation], None, facts[e.relation]) for e in self.plan.emits
            }
        if unmarked:  # Adds and Drops of the epoch before are not of this one
            states = {name: state.next_epoch() for name, state in states.items()}
        during = derive(self.plan, {n: s.facts_during(began[n]) for n, s in states.items()}, self.state_facts)
        state_facts, final = held_drops(self, during)
        names = output_names(self.plan, states)
        outputs: dict[str, Output] = {}
        for e in self.plan.emits:
            at, always = e.relation, required_attributes(self.plan, e.relation, states)
            outputs[e.name] = self._output(e, rows[at], during[at], final[at], always, names[e.name])
        self.states, self.state_facts = states, state_facts
        return outputs

    def state_has(self, name: str, attribute: str, region: Tree) -> bool:
        """Returns True if state has rows of a region with an attribute (G13)."""
        return self.nodes[name].state_has(attribute, region, self._inputs[name])

    def _output(
        self,
        emit: Emit,
        rows: Rows,
        during: Facts | None,
        after: Facts,
        always: frozenset[str] = frozenset(),
        names: UnitNames = NO_NAMES,
    ) -> Output:
        """Returns the output of an emit. `during`: `None` without markers. `always`: the result of
        `required_attributes`. `names`: names of the units of its attributes."""
        sink, adds = self.sinks[emit.name], ()
        if during is not None:
            sink, adds = begin(sink, during, always, names.units)
        is_eager = self.plan.settings["drop"] == "eager"
        dropped = sink.dropped(during or after) if is_eager else dict[str, Tree]()
        rows = without_places(rows)
        shown = provisional_rows(self.plan.updated.get(emit.name, ()), self.nodes, self._inputs)
        start = self.plan.start[emit.relation]
        encoded, provisional = (
            tuple(encoded_row(row, sink, start, after, dropped) for row in some) for some in (rows, shown)
        )
        markers = Markers()
        if during is not None:
            self.sinks[emit.name], markers = finish(
                sink, adds, after, always, keeps_units=emit.keeps_units, names=names
            )
        return Output(tuple(rows), encoded, markers, provisional)


def _beaten(beat: Heartbeat, state: SourceState, latest: Latest) -> SourceState:
    """Closes what is before the greatest times of a file."""
    for partition, value in latest.items():
        cut = patterns.before(state.types[beat.attribute], exact(Fraction(value) - beat.delay))
        state = state.close(within(regions.interval(beat.attribute, None, cut), partition))
    return state
