"""Checks one stream line by line, without Spark, by the rules of validity (theory 2.7 G34, section 3).

The control plane is the engine's own (`control.SourceState`). Tuples are checked one at a time, with the
codes of the engine's quarantine (`intake`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

from attrs import evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import EpochChange
from cedilla.compiler.expressions.types.nearest import written
from cedilla.compiler.expressions.units.altered_decimals import holds
from cedilla.compiler.facts.markers import Accent, Punctuation
from cedilla.compiler.regions import Tree, Value
from cedilla.compiler.regions.function import NumberFunction
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.connectors.records import csv_records, near_markers
from cedilla.runtime.connectors.records.change_events import columns_in, is_gone
from cedilla.runtime.connectors.records.json_objects import read_strings, with_fields
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.connectors.records.marker import STRAY
from cedilla.runtime.connectors.records.near_markers import KINDS, marker_of
from cedilla.runtime.connectors.records.nested import Paths, after_renames, undeclared
from cedilla.runtime.connectors.records.path_keys import key_values
from cedilla.runtime.connectors.records.rejections import (
    BEYOND_HINT,
    FINER_HINT,
    FOREIGN,
    HINTS,
    NO_COLUMN,
    NO_MOMENT,
    NO_OBJECT,
    OF_VALUES,
    OTHER_KEY,
    UNKNOWN_SCHEMA,
    fault_in,
    of_fault,
    reason,
    right_form,
)
from cedilla.runtime.connectors.records.typed_rows import TypedRow
from cedilla.runtime.connectors.records.values import applied, near_digits, value_of_json
from cedilla.runtime.control.markers.absent import about_absent
from cedilla.runtime.control.markers.epoch_changes import begun, changes
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.markers.source_marker_parser import (
    read_accent,
    read_epoch_change,
    read_punctuation,
)
from cedilla.runtime.control.markers.stated_accents import starting_state
from cedilla.runtime.control.markers.unannounced import is_name
from cedilla.runtime.control.markers.undeclared import PassedOver, passed_over, with_passed_over
from cedilla.runtime.control.markers.warnings import warnings_about
from cedilla.runtime.control.sources import wall_clock
from cedilla.runtime.control.sources.columns import columns_of
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.text_forms import paths_of
from cedilla.runtime.control.sources.validity import Rejection, ahead, rejections
from cedilla.runtime.engines.plain.scalars.arithmetic import is_beyond
from cedilla.runtime.tools.stream_tools.schema import Schema

_REMEMBERED = 1000
"""The number of latest punctuations kept, to name the one that a late tuple violates."""

_MAX_NAMES = 20
"""The most unknown attributes of a line that are named, and the most known ones that a hint lists."""

_COALESCE_EVERY = 256
"""The number of punctuations after which neighbouring patterns become ranges (theory 1.4)."""

_HINTS = {
    **HINTS,
    **dict.fromkeys(NO_MOMENT, "write the time with an offset, `+02:00` or `Z`, so that it is one moment"),
}


@frozen
class Row:
    """A tuple: its attributes as JSON values, as control-plane values, and canonical.

    `differs`: the line has other names or fewer fields.
    """

    item: Mapping[str, Any]
    raw: Mapping[str, Value]
    canonical: Mapping[str, Value]
    differs: bool = False


Read = Accent | EpochChange | Punctuation | Row | PassedOver


class StreamChecker:
    """Takes a stream's lines in order; `state` is the state after the valid ones.

    `is_reader`: skips markers about attributes that a declared schema lacks, as queries do. A sender knows
    its attributes, so its marker is an error. `is_strict`: warns of what the papers call invalid (RQ341).
    """

    def __init__(self, schema: Schema, *, is_reader: bool = True, is_strict: bool = False) -> None:
        self._schema = schema
        self._is_strict = is_strict
        self._passes_over = is_reader and schema.declared
        self._source = schema.source
        self._declared = {a.name for a in schema.source.attributes}
        self._closing: deque[tuple[str, str, Tree]] = deque(maxlen=_REMEMBERED)
        self._rejecting: Sequence[Rejection] = ()
        self._judged: SourceState | None = None
        self._punctuations = 0
        # Any attribute may be dropped: the reader of the stream does not matter here.
        self.state = starting_state(
            schema.source, frozenset(attribute.name for attribute in schema.source.attributes)
        )

    def take(self, line: Line) -> tuple[Read | None, list[Diagnostic]]:
        """Returns a line's item, and its errors and warnings; `None` for a line that cannot be parsed.

        An invalid marker changes nothing; one with warnings only takes effect.
        """
        if self._source.markers_only and not line.only_markers and _resembles_marker(line, self._declared):
            hint = "write the marker into the marker folder: `cedilla accent STREAM --markers FOLDER`"
            return None, [_complaint(line, FOREIGN, reason(FOREIGN, ""), hint)]
        try:
            if line.is_csv and csv_records.is_marker(line.text):
                return None, [_complaint(line, "RQ212", *csv_records.NO_MARKERS)]
            if line.problem is not None:
                return None, [_complaint(line, "RQ212", *line.problem)]
            item = line.holds()
            if not line.is_utf8:
                raise ValueError("it is not UTF-8")
        except ValueError as problem:
            return None, [_complaint(line, *self._unreadable(line, problem))]
        is_typed = isinstance(item, TypedRow)  # whose columns of markers are null
        kind, marker = (None if is_typed else marker_of(line.text, item, self._declared)) or (None, None)
        if kind is not None and kind not in KINDS:
            return None, [_complaint(line, "RQ212", *near_markers.problem(line.text))]
        if kind is not None:
            text = str(marker) if line.translate is None else line.translate(self.state.field_types)
            return self._marker(kind, text, line)
        if line.only_markers:
            return None, [_complaint(line, "RQ224", *STRAY)]
        return self._tuple(item, line)

    def _unreadable(self, line: Line, problem: ValueError) -> tuple[str, str, str | None]:
        if marker_of(line.text, None, self._declared) is not None:
            return "RQ212", *near_markers.problem(line.text)
        if line.fault:
            return *of_fault(line.fault), None
        return "RQ301", NO_OBJECT, str(problem) if str(problem) != NO_OBJECT else None

    # --- markers ---

    def _marker(self, kind: str, text: str, line: Line) -> tuple[Read | None, list[Diagnostic]]:
        try:
            if kind == "punctuation":
                return self._punctuation(text, line), []
            accent, warnings = self._accent(text, line)
            return accent, [line.mark(diagnostic, text) for diagnostic in warnings]
        except DiagnosticError as error:
            about = passed_over(self._source, self.state, error, kind, text) if self._passes_over else None
            if about is None:
                return None, [line.mark(diagnostic, text) for diagnostic in error.diagnostics]
            self.state, notes = with_passed_over(self.state, about)
            return about, [line.mark(diagnostic, text) for diagnostic in notes]

    def _accent(self, text: str, line: Line) -> tuple[Accent | EpochChange, tuple[Diagnostic, ...]]:
        if (change := read_epoch_change(self.state, text)) is not None:
            if changes(self.state, self._source, change):
                self.state = begun(self.state, change)
            return change, ()
        accent = read_accent(self._source, self.state, text)
        warnings = warnings_about(self.state, accent)
        absent = tuple(about_absent(self.state, accent)) if self._is_strict else ()
        # Every marker is an epoch of its own here, so no epoch is cut at a re-Add (G32).
        self.state = evolve(with_accent(self.state, accent, 0, line.place), dropped={})
        return accent, (*warnings, *absent)

    def _punctuation(self, text: str, line: Line) -> Punctuation:
        punctuation = read_punctuation(self._source, self.state, text)
        closed = self.state.closed_by(punctuation)
        self.state = self.state.close(closed)
        self._closing.append((text, line.place, closed))
        self._punctuations += 1
        if self._punctuations % _COALESCE_EVERY == 0:
            self.state = self.state.next_epoch()
        return punctuation

    # --- tuples ---

    def _tuple(self, item: Mapping[str, Any], line: Line) -> tuple[Row | None, list[Diagnostic]]:
        state = self.state
        if is_gone(item):
            return None, []
        raw, fields = dict[str, Value](), dict[str, Value]()
        diagnostics: list[Diagnostic] = []
        types, paths = state.field_types, paths_of(self._source, state)
        try:
            parsed = with_fields(item, types)
            if paths is not self._source.paths:
                parsed = after_renames(parsed, paths)
        except ValueError as problem:
            return None, [_complaint(line, "RQ301", str(problem), None)]
        if fault := columns_of(self._source, state).fault(columns_in(parsed)):
            return None, [_complaint(line, *of_fault(fault), HINTS[NO_COLUMN])]
        item = read_strings(parsed, types)
        names = [field for field in item if state.names.of.get(field, field) in state.types]
        unknown = undeclared(parsed, paths, names, self._source.levels)
        for field in names:
            if (value := item[field]) is None:
                continue
            name = state.names.of.get(field, field)
            try:
                raw[name] = fields[field] = value_of_json(types[field], value)
            except ValueError:
                code, wrong = of_fault(fault_in(parsed, field, types[field]), paths)
                hint = right_form(types[field]) if code == "RQ301" else _HINTS.get(code)
                diagnostics.append(_complaint(line, code, wrong, hint))
        for field, value, fault in key_values(line.keys, types, paths):
            try:
                key = value_of_json(types[field], value)
            except ValueError:
                diagnostics.append(_complaint(line, *of_fault(fault, paths), right_form(types[field])))
                continue
            name = state.names.of.get(field, field)
            if fields.setdefault(field, key) != key:
                diagnostics.append(_complaint(line, OTHER_KEY, reason(OTHER_KEY, field, paths), None))
            raw[name], item = fields[field], {**item, field: value}
        diagnostics += self._unknown(unknown, line)
        if any(diagnostic.code in ("RQ301", *OF_VALUES) for diagnostic in diagnostics):
            return None, diagnostics
        raw = state.swaps.back(raw, raw)
        for name in state.sentinels.among(raw):
            del raw[name]
        canonical, refused = self._canonical(raw, line, paths)
        if refused:
            return None, [*diagnostics, *refused]
        for code, name in state.names.misnamed(fields, canonical):
            attribute = state.names.of.get(name, name)
            hint = f"write `{attribute}` by one name: that of the last rename of such tuples, else its own"
            diagnostics.append(_complaint(line, code, reason(code, name, paths), hint))
        renamed = not state.names.of.keys().isdisjoint(item)
        row = Row(state.names.plain(item) if renamed else item, raw, canonical, renamed or bool(line.keys))
        return row, [*diagnostics, *self._misplaced(row, line)]

    def _unknown(self, values: Mapping[str, Any], line: Line) -> Iterator[Diagnostic]:
        """Yields the errors of attributes that the stream does not have, the first ones by their names."""
        known_names = f"known attributes: {', '.join(islice(self.state.types, _MAX_NAMES))}" if values else ""
        for name, value in islice(values.items(), _MAX_NAMES):
            add = f"send an add before it: [[+({name}: {_type_of(value)})]]; " if _can_be_added(name) else ""
            yield _complaint(line, "RQ306", reason("RQ306", name), add + known_names)
        if (more := len(values) - _MAX_NAMES) > 0:
            yield _complaint(
                line, "RQ306", f"and {more:,} more attributes of the line were never declared", known_names
            )

    def _canonical(
        self, raw: Mapping[str, Value], line: Line, paths: Paths
    ) -> tuple[dict[str, Value], list[Diagnostic]]:
        """Returns the canonical values of raw ones, and the errors of those that have none."""
        state, diagnostics = self.state, list[Diagnostic]()
        canonical = {
            name: applied(regions.contains(state.original[name], raw), value)
            if name in state.original
            else value
            for name, value in raw.items()
        }
        for name in sorted(state.codes.keys() & raw.keys()):
            if canonical[name] is None:
                message = f"{reason('RQ314', name)}: {_text(state, name, raw[name])}"
                diagnostics.append(_complaint(line, "RQ314", message, _HINTS["RQ314"]))
        for name in sorted(state.bent.keys() & raw.keys()):
            if canonical[name] is None:
                message = f"{reason('RQ315', name)}: {_text(state, name, raw[name])}"
                if isinstance(undone := regions.contains(state.original[name], raw), NumberFunction):
                    message += f", by `{undone.text('y')}`"
                diagnostics.append(_complaint(line, "RQ315", message, _HINTS["RQ315"]))
        for name in sorted(state.numbers.raw_types.keys() & raw.keys()):
            value = canonical[name]
            if isinstance(value, int | Fraction) and not holds(state.types[name], value):
                values = f"{_text(state, name, raw[name])} is {_text(state, name, value)} there"
                message = f"{reason('RQ334', name)}: {values}, and the type is {state.types[name]}"
                diagnostics.append(_complaint(line, "RQ334", message, FINER_HINT))
        if diagnostics:
            return canonical, diagnostics
        for name in state.numbers.digits.keys() & canonical.keys():
            canonical[name] = near_digits(canonical[name], state.numbers.digits[name])
        for name in sorted(state.inexact & raw.keys()):
            if any(is_beyond(values[name]) for values in (raw, canonical)):
                diagnostics.append(_complaint(line, "RQ310", reason("RQ310", name, paths), BEYOND_HINT))
        return canonical, diagnostics

    def _misplaced(self, row: Row, line: Line) -> list[Diagnostic]:
        diagnostics: list[Diagnostic] = []
        for rejection in (*self._rejections(), *ahead(self._source, wall_clock.now())):
            if rejection.rejects(row.canonical):
                message = reason(rejection.code, rejection.attribute, self._source.paths)
                message += self._detail(rejection, row)
                diagnostics.append(_complaint(line, rejection.code, message, _HINTS.get(rejection.code)))
        return diagnostics

    def _detail(self, rejection: Rejection, row: Row) -> str:
        """Returns the refused value with what was expected, or the punctuation that the tuple violates."""
        if not rejection.attribute:
            return self._closed_by(row)
        if rejection.code not in ("RQ303", UNKNOWN_SCHEMA):
            return ""
        name, state = rejection.attribute, self.state
        allowed = written(name, state.types[name], rejection.tree)
        expected = f", and `{allowed}` is declared" if allowed else ""
        return f": {_text(state, name, row.canonical[name])}{expected}"

    def _rejections(self) -> Sequence[Rejection]:
        """Returns the conditions that reject tuples here; inferred attributes are not required."""
        if self._judged is not self.state:
            state, self._judged = self.state, self.state
            every = rejections(self._source, state, state.present, state.closed)
            self._rejecting = [
                rejection for rejection in every if rejection.code != "RQ302" or self._schema.declared
            ]
        return self._rejecting

    def _closed_by(self, row: Row) -> str:
        for text, position, region in self._closing:
            if regions.contains(region, row.canonical):
                return f": {text} of {position}"
        return ""


def _text(state: SourceState, name: str, value: Value) -> str:
    """Returns a value of an attribute for a message."""
    return state.types[name].wire(value)


@lru_cache(1024)
def _can_be_added(name: str) -> bool:
    """Returns True if an accent can write a name. It is parsed once, and not for each tuple."""
    return is_name(name)


def _resembles_marker(line: Line, attributes: Collection[str]) -> bool:
    """Returns True if a line is a marker, or resembles one."""
    if line.is_csv:
        return csv_records.is_marker(line.text)
    try:
        item = line.holds()
    except ValueError:
        item = None
    return marker_of(line.text, item, attributes) is not None


def _type_of(value: Any) -> str:
    """Returns the type that an Add of a value has."""
    if isinstance(value, bool):
        return "boolean"
    return "double" if isinstance(value, int | float | Decimal) else "string"


def _complaint(line: Line, code: str, message: str, hint: str | None) -> Diagnostic:
    return line.mark(Diagnostic(code, "error", message, help=hint))
