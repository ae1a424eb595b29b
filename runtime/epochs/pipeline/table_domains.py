"""Domains that come from tables, read with Spark: once when a query starts, and when files of the tables change."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, evolve, field
from pyspark.sql import SparkSession

from cedilla.compiler.changes import ToForm
from cedilla.compiler.expressions.types import column
from cedilla.compiler.facts.facts import StateFacts
from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.regions import Tree, Value
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.grammar.parser import single_accents
from cedilla.runtime.connectors.formats.listing import listed_files
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.formats.source_formats import format_of
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.connectors.records.near_markers import problem
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.control.domains.table_domains import MAX_VALUES, Values, gone, grown, listed, looked_up
from cedilla.runtime.control.markers.epoch_changes import changes
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.markers.source_marker_parser import (
    read_accent,
    read_epoch_change,
    read_punctuation,
)
from cedilla.runtime.control.markers.stated_accents import starting_state
from cedilla.runtime.control.markers.undeclared import passed_over
from cedilla.runtime.control.sources.columns import columns_of
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.text_forms import paths_of
from cedilla.runtime.engines.spark.columns import axis_value
from cedilla.runtime.epochs.ingest.intake import tuples
from cedilla.runtime.epochs.ingest.marker_search import MarkerSearch
from cedilla.runtime.epochs.ingest.path_keys import keys_of_files
from cedilla.runtime.epochs.ingest.read_counts import REJECT
from cedilla.runtime.epochs.ingest.slices import Slice


@define(eq=False, slots=False)
class TableDomains:
    """The tables of a plan that give domains. `values`: what they had at the last look."""

    spark: SparkSession
    files: Files
    marker_search: MarkerSearch
    values: Values = field(init=False, factory=dict)
    _seen: tuple[FoundFile, ...] = field(init=False, default=())
    _unsaid: list[Diagnostic] = field(init=False, factory=list[Diagnostic])
    _said: list[Diagnostic] = field(init=False, factory=list[Diagnostic])
    _covered: dict[tuple[str, str], Tree] = field(init=False, factory=dict[tuple[str, str], Tree])
    """Source and attribute -> the known values, where they are found to be all."""

    def of(self, plan: Plan) -> Plan:
        """The plan with its domains. Raises `DiagnosticError`: RQ416, RQ417, or for a bad marker in a table."""
        if not any(listed(plan)):
            return plan
        self._seen = self._table_files(plan)
        plan, self.values = looked_up(plan, self._read)
        self._covered = {}
        return plan

    def look(self, plan: Plan, states: Mapping[str, SourceState]) -> None:
        """Read the tables again if their files have changed. Raises as `of` does."""
        if any(listed(plan)):
            if self._table_files(plan) != self._seen:
                self.of(plan)
            self._unsaid = [
                warning for warning in gone(plan, states, self.values) if warning not in self._said
            ]

    def grown(
        self, plan: Plan, states: Mapping[str, SourceState], state_facts: Mapping[str, StateFacts]
    ) -> Mapping[str, SourceState]:
        """The sources with what tables have that domains do not. Raises `DiagnosticError` RQ222."""
        values = {(s.name, a.name): states[s.name].grown.get(a.name, False) for s, a, _ in listed(plan)}
        if all(self._covered.get(name) is tree for name, tree in values.items()):
            return states
        after = grown(plan, states, self.values, state_facts)
        if after is states:
            self._covered = values
        return after

    def warnings(self) -> tuple[Diagnostic, ...]:
        """Returns warnings, once, about values of domains that tables no longer have."""
        warnings, self._unsaid = tuple(self._unsaid), []
        self._said += warnings
        return warnings

    def _table_files(self, plan: Plan) -> tuple[FoundFile, ...]:
        paths = dict.fromkeys(plan.source_of[c.table].path for *_, c in listed(plan))
        return tuple(file for path in paths for file in self.files.tree(path))

    def _read(self, plan: Plan, table: Source, names: tuple[str, ...]) -> Mapping[str, frozenset[Value]]:
        """The values of a table's valid rows, canonical."""
        format_ = format_of(plan, table)
        files = tuple(listed_files(self.files, table.path))
        if not files:
            return dict.fromkeys(names, frozenset[Value]())
        part = Slice(format_, files, keys=keys_of_files(self.files, table, files))
        part = self.marker_search.at({table.name: part})[table.name]
        state = starting_state(table, plan.droppable[table.name])
        for marker in (
            m for m in part.scan.markers if m.kind != "columns"
        ):  # the first epoch complains of these
            state = _after(table, state, marker, part)
        part = part.with_paths(paths_of(table, state)).expecting(columns_of(table, state, part.path_keys))
        rows = tuples(self.spark, table, state, part).where(f"{column(REJECT)} IS NULL")
        values: dict[str, frozenset[Value]] = {}
        for name in names:
            value = state.types[name].axis(column(name))
            some = rows.selectExpr(f"{value} AS value").where("value IS NOT NULL").groupBy("value").count()
            values[name] = frozenset(axis_value(row["value"]) for row in some.limit(MAX_VALUES + 1).collect())
        return values


def unread_tables(files: Files, plan: Plan, states: Mapping[str, SourceState]) -> dict[str, list[InputFile]]:
    """Returns all files of every table that is not read yet: in the first epochs of a query."""
    return {
        source.name: listed_files(files, source.path)
        for source in plan.sources
        if source.table and states[source.name].closed is not True
    }


def _after(table: Source, state: SourceState, marker: MarkerLine, part: Slice) -> SourceState:
    """A table's state after one of its markers; the whole table is one epoch. Raises where the marker is wrong."""
    try:
        if marker.kind in ("malformed", "suspicious_key"):
            message, hint = marker.problem or problem(marker.text)
            raise failure(marker.code, message, hint=hint)
        text = marker.wire(state.field_types)
        if marker.kind == "punctuation":
            return state.punctuate(read_punctuation(table, state, text), marker.position)
        for single in single_accents(text):
            change = read_epoch_change(state, single)
            if isinstance(change, ToForm):
                changes(state, table, change)
            elif change is None:
                accent = read_accent(table, state, single)
                state = evolve(with_accent(state, accent, marker.position), dropped={})
        return state
    except DiagnosticError as error:
        if passed_over(table, state, error, marker.kind, marker.wire(state.field_types)) is not None:
            return state
        position = f"{part.files[marker.file].path}: {marker.text}"
        raise DiagnosticError(
            evolve(d, span=None, notes=(*d.notes, position)) for d in error.diagnostics
        ) from None
