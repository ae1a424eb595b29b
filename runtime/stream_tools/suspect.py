"""`cedilla suspect`: finds unannounced jumps of attributes, per group, that a change of unit explains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.facts.markers import Accent, Add, accent_text
from cedilla.compiler.regions import Value
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.runtime.change_detection.groups import (
    MAX_SERIES,
    Group,
    added,
    announcement,
    jumps_like,
    new_series,
    notes_on,
    region_of,
    statement,
)
from cedilla.runtime.change_detection.series import Jump, Series
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.records.lines import Line
from cedilla.runtime.stream_tools.schema import Schema
from cedilla.runtime.stream_tools.stream_checker import Row, StreamChecker


@frozen
class Where:
    """A tuple: its place, the function to canonical values, and its value on the time axis."""

    place: str
    function: Affine
    moment: Value | None


@frozen
class Suspect:
    """A jump of an attribute in a group (attribute -> value), and the accent that explains it.

    `accent` belongs before the line at the jump's place. `planned` expresses the same by the time axis, if
    there is one, and may be sent earlier; `statement` puts it into the query.
    """

    group: Mapping[str, Value]
    attribute: str
    jump: Jump[Where]
    accent: str
    planned: str | None
    statement: str | None

    @property
    def place(self) -> str:
        return self.jump.place.place


@define
class Suspects:
    """Follows a stream. `by`: the attributes that identify groups; `axis`: the time attribute, if there is
    one.

    Values are canonical: an announced change is not a jump.
    """

    schema: Schema
    by: Sequence[str]
    axis: str | None = None
    tuples: int = 0
    passed_over: int = 0
    """Invalid lines; `validate` gives the reasons."""
    _series: dict[Group, dict[str, Series[Where]]] = field(factory=dict)
    _count: int = 0

    def of(self, lines: Iterable[Line]) -> Iterator[Suspect]:
        """Yields the suspects of a stream, each as soon as it becomes certain.

        Memory is a window of values for each group and attribute. Raises `DiagnosticError`: RQ228 if these
        are too many.
        """
        follower = StreamChecker(self.schema)
        for line in (single for many in lines for single in many.singles):
            before = follower.state
            item, _ = follower.take(line)
            if isinstance(item, Accent) and isinstance(item.primitive, Add):
                yield from self._begin_anew(follower, item.primitive.attribute, before)
            if isinstance(item, Row):
                self.tuples += 1
                yield from self._row(follower, item, line)
            elif item is None:
                self.passed_over += 1
        for group, series in self._series.items():
            for name, sequence in series.items():
                while (jump := _look(sequence)) is not None:
                    yield self._suspect(follower, group, name, jump)

    def _begin_anew(self, follower: StreamChecker, name: str, before: SourceState) -> Iterator[Suspect]:
        """Restarts the sequences of an attribute that is added again, because its unit may be any (G32)."""
        new = added(name, before, follower.state)
        for group, series in self._series.items():
            if name in series and regions.intersection(region_of(self.by, group), new) is not False:
                while (jump := _look(series[name])) is not None:
                    yield self._suspect(follower, group, name, jump)
                series[name] = new_series(self.schema.source, name, follower.state)

    def text(self, name: str, found: int) -> str:
        """Summarises the examined stream in one line."""
        by = f" by {', '.join(self.by)}" if self.by else ""
        wrong = f", {self.passed_over:,} lines passed over (`cedilla validate`)" if self.passed_over else ""
        return f"{name}: {found:,} suspects ({self.tuples:,} tuples, {self._count:,} sequences{by}{wrong})"

    def _row(self, follower: StreamChecker, row: Row, line: Line) -> Iterator[Suspect]:
        group = tuple(row.canonical.get(name) for name in self.by)
        series = self._series.setdefault(group, {})
        state = follower.state
        for name, value in row.canonical.items():
            if name in self.by or name in state.codes or not state.types[name].is_numeric:
                continue
            if name not in series:
                self._count += 1
                if self._count > MAX_SERIES:
                    raise _too_many(self.by)
                series[name] = new_series(self.schema.source, name, state)
            function = regions.contains(state.original.get(name, IDENTITY), row.raw)
            moment = None if self.axis in (None, name) else row.canonical.get(self.axis or "")
            if not isinstance(function, Affine):
                continue
            jump = series[name].add(Where(line.place, function, moment), float(value), lambda f=function: f)
            if jump is not None:
                yield self._suspect(follower, group, name, jump)

    def _suspect(self, follower: StreamChecker, group: Group, name: str, jump: Jump[Where]) -> Suspect:
        types = follower.state.types
        members = {n: value for n, value in zip(self.by, group, strict=True) if value is not None}
        conditions = [f"{n} = {types[n].wire(value)}" for n, value in members.items()]
        unit = self._series[group][name].unit
        alter = announcement(name, unit, jump, jump.place.function)
        planned = None
        # An accent on all of the stream would come before the one that it undoes.
        if self.axis is not None and jump.place.moment is not None and not jump.undoes:
            since = f"{self.axis} >= {types[self.axis].wire(jump.place.moment)}"
            planned = accent_text((*conditions, since), alter)
        text = None if planned is None else statement(self.schema.source, planned)
        return Suspect(members, name, jump, accent_text(tuple(conditions), alter), planned, text)


def _look(series: Series[Where]) -> Jump[Where] | None:
    return series.look(lambda: series.last.function)


def diagnostic(suspect: Suspect) -> Diagnostic:
    """Returns RQ227, with the place and the proposal."""
    hint = f"before that line: {suspect.accent}"
    if suspect.planned:
        hint += (
            f"; or earlier, or in a marker folder: {suspect.planned}; or in the query: {suspect.statement}"
        )
    message = jumps_like(suspect.attribute, suspect.group, suspect.jump)
    return Diagnostic("RQ227", "warning", message, None, notes_on(suspect.jump, suspect.place), hint)


def suspect_json(suspect: Suspect) -> dict[str, Any]:
    """Returns a suspect as plain JSON values; `slope` and `shift` are exact fractions."""
    function = suspect.jump.function
    return {
        "place": suspect.place,
        "group": {n: v if isinstance(v, str | bool | int) else str(v) for n, v in suspect.group.items()},
        "attribute": suspect.attribute,
        "conversion": suspect.jump.name,
        "slope": str(function.slope),
        "shift": str(function.shift),
        "confidence": round(suspect.jump.confidence, 3),
        "others": list(suspect.jump.others),
        "accent": suspect.accent,
        "planned": suspect.planned,
        "statement": suspect.statement,
    }


def _too_many(by: Sequence[str]) -> DiagnosticError:
    message = (
        f"more than {MAX_SERIES:,} groups and attributes are distinguished by {', '.join(by) or 'nothing'}"
    )
    hint = "--by NAME names attributes with fewer values"
    return failure("RQ228", message, hint=hint)
