"""A watch over one source of a query that runs (`set suspect = warn`): the test of `cedilla suspect` on the medians of
consecutive values of each group, epoch by epoch.

Values are canonical, so what an accent has announced is no jump (theory D0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from attrs import define, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import NO_FEEDER
from cedilla.compiler.facts.markers import Alter, accent_text
from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.jumps.groups import (
    MOST_SERIES,
    Group,
    added,
    described_by,
    jumps_like,
    notes_on,
    of_group,
    region_of,
)
from cedilla.runtime.jumps.points import Point
from cedilla.runtime.jumps.series import Jump, Series

MOST_GROUPS = 1_000
"""So many groups of a source are watched; of more, one in so many that they are no more (RQ419)."""

MOST_TOLD = 20
"""So many jumps are remembered, for `status`."""

_LOOK = 8
"""So many new values at the end of an epoch are worth a look."""

_OTHER_WIDTH = 6
"""Medians of so many times as many values, or as few, are another sequence: they vary less, and move further."""


@frozen
class Told:
    """A jump that was told: where, of whom, what explains it, and the accent that would have announced it."""

    place: str
    where: str
    conversion: str
    accent: str | None

    def text(self) -> str:
        """The same for people."""
        proposal = f": {self.accent}" if self.accent else ""
        return f"{self.place}: {self.where} jumps like {self.conversion}{proposal}"


@define
class Watched:
    """One attribute of one group. `width`: of how many values its medians are; `net`: all jumps together that no accent
    has announced."""

    series: Series[str] = field(factory=Series[str])
    width: float = 1.0
    net: Affine = IDENTITY


def watched_sources(plan: Plan) -> list[Source]:
    """The sources that `set suspect = warn` has watched: streams, as tables have no order."""
    return [s for s in plan.sources if not s.table] if plan.settings["suspect"] == "warn" else []


@define
class Watch:
    """Follows one source of a plan. `share`: one group in so many is watched; `told`: the latest jumps."""

    source: Source
    by: tuple[str, ...]
    share: int = 1
    told: tuple[Told, ...] = ()
    groups: dict[Group, dict[str, Watched]] = field(factory=dict[Group, dict[str, Watched]])

    @classmethod
    def of(cls, source: Source) -> Watch:
        """A watch that begins."""
        return cls(source, tuple(described_by(source)))

    def attributes(self, state: SourceState) -> list[str]:
        """The attributes that are watched: the numbers that do not tell groups apart and are no codes."""
        others = {*self.by, *state.codes}
        return [name for name, type_ in state.types.items() if type_.is_numeric and name not in others]

    def most_groups(self, attributes: int) -> int:
        """How many groups are watched at most."""
        return max(1, min(MOST_GROUPS, MOST_SERIES // max(1, attributes)))

    def take(
        self, points: Sequence[Point], share: int, before: SourceState, after: SourceState
    ) -> list[Diagnostic]:
        """What is doubtful about an epoch's points, in stream order: RQ223, RQ419. `share`: of the groups that were
        looked at; `before`, `after`: where the source stands at the epoch's ends."""
        if share != self.share:  # the epoch began before that was known
            return []
        self._forget_added(before, after)
        all_groups = self.groups.keys() | {point.group for point in points}
        most = self.most_groups(len(self.attributes(after)))
        if len(all_groups) > most:
            return self._take_fewer(len(all_groups), most)
        jumps: list[Diagnostic] = []
        for group, own in _grouped(points).items():
            for name in dict.fromkeys(name for point in own for name in point.medians):
                values = [(p.place, p.medians[name]) for p in own if name in p.medians]
                width = median(p.counts[name] for p in own if name in p.medians)
                for jump in self._jumps(self._watched(group, name, width), values):
                    jumps.append(self._tell(group, name, jump, after))
        return jumps

    def end(self, state: SourceState) -> list[Diagnostic]:
        """What the latest values tell where no more will come."""
        return [
            self._tell(group, name, jump, state)
            for group, watched in self.groups.items()
            for name, each in watched.items()
            if each.series.unseen and (jump := each.series.look()) is not None
        ]

    def _take_fewer(self, groups: int, most: int) -> list[Diagnostic]:
        """Watch fewer groups, from now on and anew."""
        is_first = self.share == 1
        while groups > most:
            groups, self.share = groups // 2, self.share * 2
        self.groups.clear()
        by = ", ".join(self.by)
        warning = Diagnostic(
            "RQ419",
            "warning",
            f"`set suspect = warn` watches at most {most:,} groups by {by}; `{self.source.name}` has more",
            notes=(f"one group in {self.share} is watched from here on",),
            help="a jump of one of the others is not told; `cedilla suspect --by NAME` looks at what was recorded",
        )
        return [warning] if is_first else []

    def _forget_added(self, before: SourceState, after: SourceState) -> None:
        """An attribute that is added anew may come in any unit (G32): there its sequences begin anew, too."""
        for name in after.present:
            if (new := added(name, before, after)) is False:
                continue
            for group, watched in self.groups.items():
                if name in watched and regions.intersection(region_of(self.by, group), new) is not False:
                    del watched[name]

    def _watched(self, group: Group, name: str, width: float) -> Watched:
        watched = self.groups.setdefault(group, {})
        earlier = watched.get(name)
        if earlier is None or not 1 / _OTHER_WIDTH <= width / earlier.width <= _OTHER_WIDTH:
            # What was told stays: without the values before it, it is not told again.
            watched[name] = Watched(width=width, net=earlier.net if earlier else IDENTITY)
        return watched[name]

    def _jumps(self, watched: Watched, values: Iterable[tuple[str, float]]) -> Iterator[Jump[str]]:
        for place, value in values:
            if (jump := watched.series.add(place, value)) is not None:
                yield jump
        if watched.series.unseen >= _LOOK and (jump := watched.series.look()) is not None:
            yield jump

    def _tell(self, group: Group, name: str, jump: Jump[str], state: SourceState) -> Diagnostic:
        watched = self.groups[group][name]
        watched.net = jump.function.after(watched.net)
        members = {n: value for n, value in zip(self.by, group, strict=True) if value is not None}
        where = of_group(name, members)
        if watched.net.is_identity:
            message = f"{where} goes on as it was before it jumped"
            return Diagnostic("RQ223", "note", message, notes=(f"{jump.place}: the first value that does",))
        accent = self._accent(group, name, watched.net, state)
        self.told = (*self.told, Told(jump.place, where, jump.name, accent))[-MOST_TOLD:]
        message = jumps_like(name, members, jump)
        return Diagnostic("RQ223", "warning", message, None, notes_on(jump, jump.place), _help(accent))

    def _accent(self, group: Group, name: str, change: Affine, state: SourceState) -> str | None:
        """The accent that announces a change of canonical values, in the units in force; `None` where the group has
        several."""
        conditions: list[str] = []
        for each, value in zip(self.by, group, strict=True):
            if value is None:
                continue
            function = self._function(group, each, state)
            if function is None:
                return None
            raw = value if function.is_identity or isinstance(value, bool | str) else function(value)
            conditions.append(f"{each} = {state.types[each].wire(raw)}")
        function = self._function(group, name, state)
        if function is None:
            return None
        return accent_text(tuple(conditions), Alter(name, function.after(change).after(function.inverse())))

    def _function(self, group: Group, name: str, state: SourceState) -> Affine | None:
        """What the accents in force have made of an attribute of a group; `None` where that is not one function."""
        if name not in state.units:
            return IDENTITY
        units = regions.choose(region_of(self.by, group), state.facts().live_units(name), NO_FEEDER)
        functions = {history[-1] for history in regions.leaves(units) if history}
        return functions.pop() if len(functions) == 1 else None


def _help(accent: str | None) -> str:
    what = accent or "an accent for each of its units"
    return (
        f"if the unit did change, what comes next is read right behind {what}; what came since was read in the old "
        "unit: with the accent before the first value behind the jump, a new checkpoint computes all anew"
    )


def _grouped(points: Iterable[Point]) -> dict[Group, list[Point]]:
    groups: dict[Group, list[Point]] = {}
    for point in points:
        groups.setdefault(point.group, []).append(point)
    return groups
