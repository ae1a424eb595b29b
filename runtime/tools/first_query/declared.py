"""Declares the stream of a sample: its attributes with comments, and its clauses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import define, field, frozen

from cedilla.compiler.expressions.types import STRING
from cedilla.compiler.plan.change_events import EVENT, clause, event_text
from cedilla.compiler.plan.field_paths import FieldPath, path_text
from cedilla.compiler.plan.formats import FORMATS, FormatKind
from cedilla.grammar.diagnostics.printable import one_line
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.runtime.control.markers.unannounced import is_name
from cedilla.runtime.tools.first_query.fields import Field, fields_of, without_objects
from cedilla.runtime.tools.first_query.roles import (
    LENGTHS,
    REQUIRED,
    Versions,
    delay_of,
    growth,
    key_of,
    measures_of,
    row_key_of,
    time_of,
    unit_field_of,
    versions_of,
    window_of,
)
from cedilla.runtime.tools.first_query.samples import Sample

_OWN = ("begin", "end", "n")
"""Names that the query gives: attributes take others if the format lets them, else the query does."""
_OTLP_FIELDS = (
    *("metric", "unit", "kind", "time", "start", "value", "count", "sum", "temporality"),
    *("schema", "scope_version"),
)
_MEASURES = 3
"""The most measured attributes that the first query averages."""


@frozen
class Attribute:
    """An attribute of the stream: its declaration, and comments on it."""

    name: str
    text: str
    notes: tuple[str, ...]


@define
class Declared:
    """The stream of a sample. `names`: path of a field -> its attribute."""

    sample: Sample
    name: str
    path: str
    fields: list[Field] = field(init=False)
    versions: list[Versions] = field(init=False)
    time: Field | None = field(init=False)
    key: Field | None = field(init=False)
    row_key: Field | None = field(init=False, default=None)
    """The key of the table, of change events."""
    names: dict[FieldPath, str] = field(factory=dict[FieldPath, str])

    def __attrs_post_init__(self) -> None:
        fields = without_objects(fields_of(self.sample))
        self.versions = versions_of(fields, self.sample)
        self.fields = fields
        self.time = time_of([f for f in fields if self._is_read(f)], self.sample)
        later = {versions.after.path for versions in self.versions if self._is_one(versions)}
        self.fields = [f for f in fields if f.path not in later]
        for own in self.fields:
            if self._is_read(own) and own.values and not self._is_set_aside(own):
                self.names[own.path] = self._free_name(own.path)
        named = [f for f in self.fields if f.path in self.names]
        self.key = key_of([f for f in named if f is not unit_field_of(named)], self.time, self.sample)
        if self.sample.events is not None:
            self.row_key = row_key_of([f for f in named if f.path[0] != EVENT])

    @property
    def kind(self) -> FormatKind:
        return FORMATS[self.sample.format]

    @property
    def axis(self) -> Field | None:
        """The time, or else a number that punctuations close."""
        if self.time is not None and self.time.path in self.names:
            return self.time
        closed = self.punctuated()
        numbers = [own for own in self.fields if self.names.get(own.path) in closed and own.guess.is_number]
        most = [own for own in numbers if len(own.values) >= REQUIRED * own.rows]
        return max(most, key=lambda own: len(own.distinct), default=None)

    @property
    def unit_field(self) -> Field | None:
        """The field that names the unit of what is measured, if all of that has no other unit."""
        named = [own for own in self.fields if own.path in self.names]
        unit = unit_field_of(named)
        measured = self._of_unit()
        is_clear = len(measured) == 1 or self.kind.has_requests
        if unit is None or not measured or not is_clear:
            return None
        return None if any(own.values.keys() - unit.values.keys() for own in measured) else unit

    def _of_unit(self) -> list[Field]:
        """Returns the measured fields whose unit another field may name."""
        if self.kind.has_requests:
            return [
                own for own in self.fields if own.path in (("sum",), ("value",)) and own.path in self.names
            ]
        return [own for own in self.measures if not own.guess.unit]

    def groups(self) -> list[str]:
        """Returns the attributes that the first query groups by: the key, and the metric of data points."""
        keys = [("metric",)] if self.kind.has_requests else []
        keys += [self.key.path] if self.key is not None and self.key.path not in keys else []
        return [self.names[path] for path in keys if path in self.names]

    def results(self, measured: Sequence[str]) -> list[str]:
        """Returns the results of the first query: averages of what is measured; of histograms, sums and counts."""
        if not self.kind.has_requests:
            return [f"avg({name}) as {name}" for name in measured[:_MEASURES]]
        values = ["avg(value) as value"] if ("value",) in self.names else []
        if self._is_delta() and {("sum",), ("count",)} <= self.names.keys():
            values += ["sum(sum) as total", "sum(count) as points"]
        return values

    def _is_delta(self) -> bool:
        """Returns True if no data point counts from the start of its process on."""
        own = next((own for own in self.fields if own.path == ("temporality",)), None)
        return own is not None and [*own.distinct] == ["delta"]

    @property
    def measures(self) -> list[Field]:
        """The measured fields that are attributes."""
        return measures_of([f for f in self.fields if f.path in self.names], self.axis, self.key)

    def _is_read(self, own: Field) -> bool:
        """Returns True if a declaration can name a field."""
        if not own.guess.type:
            return False
        if self.kind.has_requests:
            return len(own.path) == 2 or own.path[0] in _OTLP_FIELDS
        return self.kind.has_any_names or is_name(own.path[0])

    def _is_set_aside(self, own: Field) -> bool:
        """Returns True for a column that change events lack, if no other one has its place there."""
        is_one = any(own is versions.before and self._is_one(versions) for versions in self.versions)
        return self.sample.lacks(own.path) and not is_one

    def _is_one(self, versions: Versions) -> bool:
        """Returns True for two fields that one attribute reads."""
        return not versions.function and self.kind.has_alternatives

    def _free_name(self, path: FieldPath) -> str:
        plain = re.sub(r"\W+", "_", path[-1]).strip("_")
        short = plain if plain and not plain[0].isdigit() else f"n_{plain}"
        taken = {*self.names.values(), *(_OWN if self.kind.has_any_names else ())}
        options = (
            short,
            "_".join(re.sub(r"\W+", "_", key) for key in path),
            *(f"{short}_{n}" for n in range(2, 999)),
        )
        return next(name for name in options if name not in taken and is_name(name))

    @property
    def own(self) -> tuple[str, str, str]:
        """The names of a window's bounds and of the count of its tuples; no attribute has them."""
        names = {*self.names.values()}
        begin, end, count = (f"window_{word}" if word in names else word for word in _OWN)
        return begin, end, count

    def attributes(self) -> list[Attribute]:
        """Returns the attributes in the order of their fields."""
        return [self._attribute(own) for own in self.fields if own.path in self.names]

    def left_out(self) -> list[str]:
        """Returns comments on the fields without an attribute."""
        shown: list[str] = []
        for own in self.fields:
            if own.path not in self.names:
                why = own.guess.notes[0] if not own.guess.type else "no value in the sample"
                if own.guess.type and own.values:
                    why = "no name of the language, and this format has no other"
                if own.values and self._is_set_aside(own):
                    lacking = own.rows - self.sample.having[own.path[0]]
                    why = f"{lacking:,} of {own.rows:,} rows lack the column, and would be set aside (RQ541)"
                shown.append(f"`{one_line(path_text(own.path))}` is left out: {why}")
        return shown

    def _attribute(self, own: Field) -> Attribute:
        guess, name = own.guess, self.names[own.path]
        one = next((v for v in self.versions if v.before.path == own.path and self._is_one(v)), None)
        is_optional = (own.is_optional or bool(guess.none)) and own is not self.axis
        type_ = guess.type
        if one is not None:
            is_optional = len(one.before.values) + len(one.after.values) < own.rows
            type_ = "double" if {type_, one.after.guess.type} == {"long", "double"} else type_
        two = next(
            (v for v in self.versions if v.function and own.path in (v.before.path, v.after.path)), None
        )
        type_ = "double" if two is not None else type_
        unit = f" unit {unit_text(guess.unit)}" if guess.unit else ""
        by = self.unit_field
        if by is not None and own in self._of_unit():
            type_ = "double"
            units = ", ".join(unit_text(name) for name, _ in by.distinct.most_common())
            unit = f" unit from {self.names[by.path]} in {{{units}}}"
        origin = self._origin(own, name, one)
        domain = ' in {"delta"}' if own.path == ("temporality",) and self._is_delta() else ""
        text = f"{name}{'?' if is_optional else ''}: {type_}{guess.more}{origin}{unit}{domain}"
        return Attribute(name, text, self._notes(own, one))

    def _origin(self, own: Field, name: str, one: Versions | None) -> str:
        if self.kind.has_requests:
            if len(own.path) == 2:
                return f" from {own.path[0]} {STRING.wire(own.path[1])}"
            return "" if own.path[0] == name else f" from {STRING.wire(own.path[0])}"
        if own.path[0] == EVENT:
            return f" from {event_text('.'.join(own.path[1:]))}"
        paths = [own.path, *([one.after.path] if one is not None else [])]
        if paths == [(name,)] and not own.guess.in_text:
            return ""
        if own.guess.in_text:
            return f" from text {STRING.wire(path_text(own.path))}"
        texts = [path[0] if self.kind.has_columns else path_text(path) for path in paths]
        return f" from {' or '.join(map(STRING.wire, texts))}"

    def _notes(self, own: Field, one: Versions | None) -> tuple[str, ...]:
        notes = [*filter(None, own.guess.notes), *own.more]
        if own is self.time:
            notes.insert(0, f"the time, in order in {growth(own, self.sample):.0%} of the rows")
        if own is self.key:
            notes.insert(0, "the key")
        if own is self.row_key:
            notes.insert(0, "likely the key of the table")
        if one is not None:
            first = min(one.after.values) + 1
            notes.append(
                f"two versions: row {first:,} is the first with `{one_line(path_text(one.after.path))}`"
            )
        elif own.is_optional:
            lacking = own.rows - len(own.values)
            what = "are set aside (RQ302)" if own is self.axis else "lack it"
            notes.append(f"{lacking:,} of {own.rows:,} rows {what}")
        return tuple(notes)

    # --- the statement ---

    def text(self) -> str:
        """Returns the statement of the stream."""
        lines = [f"stream {self.name}("]
        attributes = self.attributes()
        for number, attribute in enumerate(attributes, 1):
            comma = "," if number < len(attributes) else ""
            note = "; ".join(attribute.notes)
            lines.append(f"  {attribute.text}{comma}{f'  # {note}' if note else ''}")
        lines += [f"  # {text}" for text in self.left_out()]
        lines += [")", f"  from {self.sample.format} {STRING.wire(self.path)}", *self.clauses()]
        return "\n".join(lines) + ";\n"

    def clauses(self) -> list[str]:
        """Returns the clauses of the stream, with comments."""
        clauses: list[str] = []
        if self.row_key is not None:
            clauses.append(f"  {clause((self.names[self.row_key.path],))}")
        none = sorted({text for own in self.fields for text in own.guess.none})
        if none:
            clauses.append(f"  none {{{', '.join(map(STRING.wire, none))}}}")
        closing = self.punctuated()
        if closing:
            clauses += [
                f"  # {len(self.sample.closing):,} punctuations are among the rows",
                f"  punctuated on {', '.join(closing)}",
            ]
        elif self.time is not None and self.time.path in self.names:
            clauses += self._heartbeat(self.time)
        return clauses

    def punctuated(self) -> list[str]:
        """Returns the attributes that the punctuations of the sample close."""
        names = {name for closed in self.sample.closing for name in closed}
        return [name for path, name in self.names.items() if len(path) == 1 and path[0] in names]

    def _heartbeat(self, time: Field) -> list[str]:
        behind, name = delay_of(time, self.sample), self.names[time.path]
        unit = window_of(time)
        count = max(-(-behind // LENGTHS[unit]), 1)
        delay = f"{count} {unit}{'' if count == 1 else 's'}"
        if time.guess.scale:
            delay = str(count * LENGTHS[unit] // time.guess.scale)
        order = "no time of the sample is before one of an earlier file"
        if behind:
            order = (
                f"a time of the sample is up to {behind / 1e6:,.6g} s before one of an earlier file or record"
            )
        return [f"  # {order}; later tuples are set aside (RQ305)", f"  heartbeat {name} delay {delay}"]
