"""`cedilla suspect`: finds unannounced jumps of attributes, per group, that a change of unit explains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from attrs import define, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Alter, Change, SourceAlter, Swap, ToUnit
from cedilla.compiler.expressions.units.own import short
from cedilla.compiler.facts.markers import accent_text
from cedilla.compiler.regions import Value
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.bent import Shift
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.control.change_detection.clocks import Clocks, ticks_of
from cedilla.runtime.control.change_detection.groups import (
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
from cedilla.runtime.control.change_detection.points import MAX_VALUE
from cedilla.runtime.control.change_detection.series import LEAST, Jump, Series
from cedilla.runtime.control.change_detection.swaps import find_swap
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.tools.stream_tools.schema import Schema
from cedilla.runtime.tools.stream_tools.stream_checker import Row, StreamChecker


@frozen
class Where:
    """A tuple: its place, the function to canonical values, and its value on the time axis."""

    place: str
    function: Affine
    moment: Value | None


@frozen
class Suspect:
    """A jump of an attribute in a group (attribute -> value), and the accent that explains it.

    `accent` belongs before the line at the jump's place. `planned` expresses the same by the time axis, if one
    divides the values at least as well, and may be sent earlier; `statement` puts it into the query. `overlap`: how
    the values around the place overlap; `first`: an accent that belongs before the first line, as well.
    """

    group: Mapping[str, Value]
    attribute: str
    jump: Jump[Where]
    accent: str
    planned: str | None
    statement: str | None
    overlap: str | None = None
    first: str | None = None

    @property
    def place(self) -> str:
        return self.jump.place.place


@define
class Suspects:
    """Follows the tuples of a stream in groups. `by`: the attributes that identify these; `axis`: the time attribute,
    if there is one; `count`: the sequences.

    Values are canonical: an announced change is not a jump. Memory is a window of values for each group and attribute.
    """

    schema: Schema
    by: Sequence[str]
    axis: str | None = None
    count: int = 0
    _series: dict[Group, dict[str, Series[Where]]] = field(factory=dict)
    _clocks: dict[Group, Clocks[Where]] = field(factory=dict)

    @property
    def too_short(self) -> int:
        """The number of sequences with fewer values than any jump takes."""
        return sum(s.size < LEAST for own in self._series.values() for s in own.values())

    def end(self, follower: StreamChecker) -> Iterator[Suspect]:
        """Yields what the latest values of each sequence show when no more will come."""
        for group, series in self._series.items():
            yield from self._swaps(follower, group, [n for n, sequence in series.items() if sequence.unseen])
            for name, sequence in series.items():
                while (jump := _look(sequence)) is not None:
                    yield self._suspect(follower, group, name, jump)
            yield from self._set_clocks(follower, group)

    def begin_anew(self, follower: StreamChecker, name: str, before: SourceState) -> Iterator[Suspect]:
        """Restarts the sequences of an attribute that is added again, because its unit may be any (G32)."""
        new = added(name, before, follower.state)
        for group, series in self._series.items():
            if name in series and regions.intersection(region_of(self.by, group), new) is not False:
                while (jump := _look(series[name])) is not None:
                    yield self._suspect(follower, group, name, jump)
                series[name] = new_series(self.schema.source, name, follower.state)

    def row(self, follower: StreamChecker, row: Row, line: Line) -> Iterator[Suspect]:
        """Yields the suspects that the next tuple makes certain. Raises `DiagnosticError`: RQ228 for too many
        sequences."""
        group = tuple(row.canonical.get(name) for name in self.by)
        series, state = self._series.setdefault(group, {}), follower.state
        numbers = {n: v for n, v in row.canonical.items() if n not in self.by and n not in state.codes}
        functions = {n: regions.contains(state.original.get(n, IDENTITY), row.raw) for n in numbers}
        due: dict[str, Affine] = {}
        for name, value in numbers.items():
            function = functions[name]
            if not state.types[name].is_numeric:
                continue
            if name not in series:
                self.count += 1
                if self.count > MAX_SERIES:
                    raise _too_many(self.by)
                series[name] = new_series(self.schema.source, name, state)
            if not isinstance(function, Affine) or isinstance(value, str) or not abs(value) <= MAX_VALUE:
                continue
            series[name].append(self._where(row, line, name, function), float(value))
            if series[name].is_due:
                due[name] = function
        if due:
            yield from self._swaps(follower, group, due)
        for name, function in due.items():
            if (jump := series[name].look(lambda f=function: f, is_last=False)) is not None:
                yield self._suspect(follower, group, name, jump)
        yield from self._clock(follower, group, row, line, numbers)

    def _where(self, row: Row, line: Line, name: str, function: Affine) -> Where:
        moment = None if self.axis in (None, name) else row.canonical.get(self.axis or "")
        return Where(line.place, function, moment)

    def _swaps(self, follower: StreamChecker, group: Group, names: Iterable[str]) -> Iterator[Suspect]:
        """Yields attributes that have changed places. Those that accents convert cannot be swapped (theory N11)."""
        state, series = follower.state, self._series[group]
        alike = {
            name: (state.types[name], series[name].unit)
            for name in names
            if series[name].last.function.is_identity and series[name].net.is_identity
        }
        if (swap := find_swap(series, alike)) is not None:
            one, other, jump = swap
            yield self._proposal(follower, group, one, jump, Swap(one, other))

    def _clock(
        self, follower: StreamChecker, group: Group, row: Row, line: Line, numbers: Mapping[str, Value]
    ) -> Iterator[Suspect]:
        types = follower.state.types
        if group not in self._clocks:
            ticks = {
                name: count
                for name, value in numbers.items()
                if (count := ticks_of(types[name], value)) is not None
            }
            self._clocks[group] = Clocks(ticks)
        clocks = self._clocks[group]
        if not clocks.ticks:
            return
        values = {n: float(v) for n, v in numbers.items() if types[n].is_numeric or n in clocks.ticks}
        if clocks.add(Where(line.place, IDENTITY, row.canonical.get(self.axis or "")), values):
            yield from self._set_clocks(follower, group)

    def _set_clocks(self, follower: StreamChecker, group: Group) -> Iterator[Suspect]:
        for name, jump in self._clocks[group].look():
            shift = int(jump.function.shift)
            is_time = follower.state.types[name].name == "timestamp"
            primitive = SourceAlter(name, Shift(shift)) if is_time else Alter(name, jump.function)
            yield self._proposal(follower, group, name, jump, primitive)

    def _suspect(self, follower: StreamChecker, group: Group, name: str, jump: Jump[Where]) -> Suspect:
        series = self._series[group][name]
        return self._proposal(
            follower, group, name, jump, announcement(name, series, jump, jump.place.function)
        )

    def _proposal(
        self, follower: StreamChecker, group: Group, name: str, jump: Jump[Where], primitive: Change
    ) -> Suspect:
        types = follower.state.types
        members = {n: value for n, value in zip(self.by, group, strict=True) if value is not None}
        conditions = [f"{n} = {types[n].wire(value)}" for n, value in members.items()]
        planned, overlap = None, None
        # An accent on all of the stream would come before the one that it undoes; none describes what it changes.
        moment = None if self.axis == name else jump.place.moment
        if self.axis is not None and moment is not None and not jump.undoes:
            moment, by_time = dividing([(where.moment, after) for where, after in jump.sides], moment)
            by_place = _inversions([after for _, after in jump.sides])
            sign = ">=" if jump.came_from is None else "<"
            since = f"{self.axis} {sign} {types[self.axis].wire(moment)}"
            if by_time <= by_place:
                planned = accent_text((*conditions, since), primitive)
            if by_time:
                better = "better than" if by_time < by_place else "no better than"
                overlap = (
                    f"`{since}` divides them {better} the place: {by_time} of the {len(jump.sides)} values around it "
                    f"stay in the other unit, {by_place} by the place"
                )
        text = None if planned is None else statement(self.schema.source, planned)
        accent, first = accent_text(tuple(conditions), primitive), None
        if jump.came_from is not None:
            unit = ToUnit(name, short(self._series[group][name].unit or ""), IDENTITY)
            accent, first = accent_text(tuple(conditions), unit), accent
        return Suspect(members, name, jump, accent, planned, text, overlap, first)


def dividing(sides: Sequence[tuple[Value | None, bool]], moment: Value) -> tuple[Value, int]:
    """Returns the moment that divides values best into those before and after a jump, and how many are on the wrong
    side of it; `moment` if none is known.

    For example, the values have the moments 1, 4, 3, 5, and the second and the last are after the jump: 4, and 0.
    """
    ordered = sorted((at, after) for at, after in sides if at is not None)
    wrong = sum(not after for _, after in ordered)  # if all of them were after it
    best: tuple[int, Value] | None = None
    for at, group in groupby(ordered, key=itemgetter(0)):
        members = [after for _, after in group]
        if any(members) and (best is None or wrong < best[0]):
            best = wrong, at
        wrong += sum(1 if after else -1 for after in members)
    return (moment, 0) if best is None else (best[1], best[0])


def _inversions(sides: Sequence[bool]) -> int:
    """Returns how many values are on the wrong side of the best place between them."""
    wrong = [sum(sides[:at]) + sides[at:].count(False) for at in range(len(sides) + 1)]
    return min(wrong)


def _look(series: Series[Where]) -> Jump[Where] | None:
    return series.look(lambda: series.last.function)


def diagnostic(suspect: Suspect) -> Diagnostic:
    """Returns RQ227, with the place and the proposal."""
    hint = f"before that line: {suspect.accent}"
    if suspect.first:
        hint = f"before the first line: {suspect.first}, and {hint}"
    if suspect.planned:
        hint += (
            f"; or earlier, or in a marker folder: {suspect.planned}; or in the query: {suspect.statement}"
        )
    message = jumps_like(suspect.attribute, suspect.group, suspect.jump)
    notes = notes_on(suspect.jump, suspect.place)
    notes = notes if suspect.overlap is None else (*notes, suspect.overlap)
    return Diagnostic("RQ227", "warning", message, None, notes, hint)


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
        "first": suspect.first,
        "accent": suspect.accent,
        "planned": suspect.planned,
        "statement": suspect.statement,
        "overlap": suspect.overlap,
    }


def _too_many(by: Sequence[str]) -> DiagnosticError:
    message = (
        f"more than {MAX_SERIES:,} groups and attributes are distinguished by {', '.join(by) or 'nothing'}"
    )
    hint = "--by NAME names attributes with fewer values"
    return failure("RQ228", message, hint=hint)
