"""Monitors one source of a running query (`set suspect = warn`).

Applies the test of `cedilla suspect` to medians of consecutive values of each group, epoch by epoch. Values
are canonical, so a change that an accent announced is not a jump (theory D0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from statistics import median

from attrs import define, evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import NO_FEEDER
from cedilla.compiler.facts.markers import accent_text
from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.syntax.settings import word_and_names
from cedilla.runtime.control.change_detection.groups import (
    MAX_SERIES,
    Group,
    added,
    announcement,
    described_by,
    jumps_like,
    new_series,
    of_group,
    region_of,
    statement,
)
from cedilla.runtime.control.change_detection.points import Point
from cedilla.runtime.control.change_detection.series import Decoded, Jump, Series
from cedilla.runtime.control.sources.source_state import SourceState

MAX_GROUPS = 1_000
"""The most groups of a source that are monitored; with more, only a share of them is (RQ419)."""

MAX_REPORTED = 20
"""The number of jumps that `status` remembers."""

_OTHER_WIDTH = 6
"""Medians of this many times more values, or fewer, form another sequence: they vary less, and move further."""


@frozen
class ReportedChange:
    """A reported jump: its place, its group, its conversion, and the accent that announces it."""

    place: str
    where: str
    conversion: str
    accent: str | None

    def text(self) -> str:
        """Returns the same for people."""
        proposal = f": {self.accent}" if self.accent else ""
        return f"{self.place}: {self.where} jumps like {self.conversion}{proposal}"


@define
class MonitoredSeries:
    """One attribute of one group.

    `width`: the number of values of each median.
    """

    series: Series[str] = field(factory=Series[str])
    width: float = 1.0


def monitored_sources(plan: Plan) -> list[Source]:
    """Returns the sources that `set suspect = warn` or `set doubtful = abort` monitors: streams, because tables have no
    order."""
    is_monitored = (
        word_and_names(plan.settings["suspect"])[0] == "warn" or plan.settings["doubtful"] == "abort"
    )
    return [s for s in plan.sources if not s.table] if is_monitored else []


def grouping(plan: Plan, source: Source) -> tuple[str, ...]:
    """Returns the attributes that identify the groups of a source: those that the query names and the source has, else
    those that accents likely describe."""
    _, names = word_and_names(plan.settings["suspect"])
    own = {attribute.name for attribute in source.attributes}
    return tuple(name for name in names if name in own) or tuple(described_by(source))


@define
class Monitor:
    """Monitors one source of a plan.

    `share`: one group in this number is monitored; `reported`: the latest jumps.
    """

    source: Source
    by: tuple[str, ...]
    share: int = 1
    reported: tuple[ReportedChange, ...] = ()
    groups: dict[Group, dict[str, MonitoredSeries]] = field(factory=dict[Group, dict[str, MonitoredSeries]])

    def text(self) -> str:
        """Names the groups, and the setting that chooses others."""
        by = f"by {', '.join(self.by)}" if self.by else "as a whole"
        return f"jumps of `{self.source.name}` are looked for {by}; `set suspect = warn by NAME;` chooses"

    def attributes(self, state: SourceState) -> list[str]:
        """Returns the monitored attributes: numbers that neither identify groups nor are codes."""
        others = {*self.by, *state.codes}
        return [name for name, type_ in state.types.items() if type_.is_numeric and name not in others]

    def max_groups(self, attributes: int) -> int:
        """Returns the most groups that are monitored."""
        return max(1, min(MAX_GROUPS, MAX_SERIES // max(1, attributes)))

    def take(
        self, points: Sequence[Point], share: int, before: SourceState, after: SourceState
    ) -> list[Diagnostic]:
        """Returns diagnostics for an epoch's points, in stream order: RQ223, RQ419.

        `share`: that of the groups in the points. `before`, `after`: the source's state at the ends of the
        epoch.
        """
        if share != self.share:  # the epoch began before the share changed
            return []
        self._forget_added(before, after)
        all_groups = self.groups.keys() | {point.group for point in points}
        most = self.max_groups(len(self.attributes(after)))
        if len(all_groups) > most:
            return self._take_fewer(len(all_groups), most)
        jumps: list[Diagnostic] = []
        for group, own in _grouped(points).items():
            for name in dict.fromkeys(name for point in own for name in point.medians):
                values = [(p.place, p.medians[name]) for p in own if name in p.medians]
                width = median(p.counts[name] for p in own if name in p.medians)
                series = self._series_of(group, name, width, after)
                for jump in _jumps(series, values, partial(self._decoded, group, name, after)):
                    jumps.append(self._report(group, name, jump, after))
        return jumps

    def end(self, state: SourceState) -> list[Diagnostic]:
        """Returns diagnostics from the latest values when no more will come."""
        return [
            self._report(group, name, jump, state)
            for group, monitored in self.groups.items()
            for name, sequence in monitored.items()
            if sequence.series.unseen
            and (jump := sequence.series.look(partial(self._decoded, group, name, state))) is not None
        ]

    def _take_fewer(self, groups: int, most: int) -> list[Diagnostic]:
        """Reduces the share of monitored groups and restarts their sequences."""
        is_first = self.share == 1
        while groups > most:
            groups, self.share = groups // 2, self.share * 2
        self.groups.clear()
        by = ", ".join(self.by)
        warning = Diagnostic(
            "RQ419",
            "warning",
            f"`set suspect = warn` monitors at most {most:,} groups by {by}; `{self.source.name}` has more",
            notes=(f"one group in {self.share} is monitored from here on",),
            help="jumps of the other groups are not reported; `cedilla suspect --by NAME` examines recorded files",
        )
        return [warning] if is_first else []

    def _forget_added(self, before: SourceState, after: SourceState) -> None:
        """Forgets sequences of an attribute that is added again, because its unit may be any (G32)."""
        for name in after.present:
            if (new := added(name, before, after)) is False:
                continue
            for group, monitored in self.groups.items():
                if name in monitored and regions.intersection(region_of(self.by, group), new) is not False:
                    del monitored[name]

    def _series_of(self, group: Group, name: str, width: float, state: SourceState) -> Series[str]:
        monitored = self.groups.setdefault(group, {})
        earlier = monitored.get(name)
        if earlier is None or not 1 / _OTHER_WIDTH <= width / earlier.width <= _OTHER_WIDTH:
            series: Series[str] = new_series(self.source, name, state)
            # `net` stays: without the values before it, a jump is not reported again.
            series.net = earlier.series.net if earlier else IDENTITY
            monitored[name] = MonitoredSeries(series, width)
        return monitored[name].series

    def _report(self, group: Group, name: str, jump: Jump[str], state: SourceState) -> Diagnostic:
        members = {n: value for n, value in zip(self.by, group, strict=True) if value is not None}
        where = of_group(name, members)
        if jump.net.is_identity and jump.came_from is None:
            return Diagnostic("RQ223", "note", f"{where} continues as before its jump, since {jump.place}")
        accent = self._accent(group, name, jump, state)
        self.reported = (*self.reported, ReportedChange(jump.place, where, jump.name, accent))[-MAX_REPORTED:]
        proposal = "it has several units, and each takes an accent"
        if jump.came_from is not None and accent is not None:
            proposal = f"it needs no accent from there on; a new checkpoint with {accent} at its start reads all of it"
        elif accent is not None:
            proposal = statement(self.source, accent)
        return Diagnostic(
            "RQ223", "warning", f"{jumps_like(name, members, jump)}, since {jump.place}: {proposal}"
        )

    def _accent(self, group: Group, name: str, jump: Jump[str], state: SourceState) -> str | None:
        """Returns the accent that announces a change of canonical values, in the active units.

        Returns `None` if the group has several units.
        """
        conditions: list[str] = []
        for attribute, value in zip(self.by, group, strict=True):
            if value is None:
                continue
            function = self._function(group, attribute, state)
            if function is None:
                return None
            raw = value if function.is_identity or isinstance(value, bool | str) else function(value)
            conditions.append(f"{attribute} = {state.types[attribute].wire(raw)}")
        function = self._function(group, name, state)
        if function is None:
            return None
        whole = evolve(jump, function=jump.net)
        series = self.groups[group][name].series
        return accent_text(tuple(conditions), announcement(name, series, whole, function.inverse()))

    def _decoded(self, group: Group, name: str, state: SourceState) -> Affine:
        """Returns the function with which active accents decode an attribute of a group; none if there are several."""
        function = self._function(group, name, state)
        return IDENTITY if function is None else function.inverse()

    def _function(self, group: Group, name: str, state: SourceState) -> Affine | None:
        """Returns the function of the active accents on an attribute of a group; `None` if it is not a single
        one.
        """
        if name not in state.units:
            return IDENTITY
        units = regions.choose(region_of(self.by, group), state.facts().live_units(name), NO_FEEDER)
        functions = {history[-1] for history in regions.leaves(units) if history}
        function = functions.pop() if len(functions) == 1 else None
        return function if isinstance(function, Affine) else None


def _jumps(series: Series[str], values: Iterable[tuple[str, float]], decoded: Decoded) -> Iterator[Jump[str]]:
    """Yields the jumps that values confirm. A look comes after a number of them, whatever the epochs."""
    for position, value in values:
        if (jump := series.add(position, value, decoded)) is not None:
            yield jump


def _grouped(points: Iterable[Point]) -> dict[Group, list[Point]]:
    groups: dict[Group, list[Point]] = {}
    for point in points:
        groups.setdefault(point.group, []).append(point)
    return groups
