"""`set suspect = warn` without Spark: computes the points of a step for the monitors of a plan's streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from zlib import crc32

from attrs import define, field

from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.control.change_detection.groups import Group
from cedilla.runtime.control.change_detection.monitor import Monitor, grouping, monitored_sources
from cedilla.runtime.control.change_detection.points import MAX_TUPLES, points_of, run_bits
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.plain.node import Row, key_value


@define
class SimulatedWatches:
    """The monitors of a plan's streams; none unless the plan sets `suspect`."""

    watches: Mapping[str, Monitor]
    _taken: dict[str, list[tuple[Group, str, Row]]] = field(factory=dict[str, list[tuple[Group, str, Row]]])

    @classmethod
    def of(cls, plan: Plan) -> SimulatedWatches:
        """Returns the monitors at the start of a plan."""
        return cls({s.name: Monitor(s, grouping(plan, s)) for s in monitored_sources(plan)})

    def add(self, source: str, row: Row, location: str) -> None:
        """Takes a canonical tuple that was not rejected."""
        if (watch := self.watches.get(source)) is not None:
            group = tuple(key_value(row.get(name)) for name in watch.by)
            if crc32(repr(group).encode()) % watch.share == 0:
                self._taken.setdefault(source, []).append((group, location, row))

    def step(
        self, before: Mapping[str, SourceState], after: Mapping[str, SourceState]
    ) -> Iterator[Diagnostic]:
        """Yields warnings about the tuples since the last step (`Monitor.take`).

        `before`, `after`: the sources' states.
        """
        taken, self._taken = self._taken, {}
        for name, watch in self.watches.items():
            rows, names = taken.get(name, []), watch.attributes(after[name])
            groups = len({group for group, *_ in rows})
            bits = 0 if len(rows) <= MAX_TUPLES else run_bits(len(rows), groups)
            values = ((group, at, {n: row[n] for n in names if n in row}) for group, at, row in rows)
            yield from watch.take(list(points_of(values, bits)), watch.share, before[name], after[name])

    def end(self, states: Mapping[str, SourceState]) -> Iterator[Diagnostic]:
        """Yields warnings about the latest tuples when no more come."""
        for name, watch in self.watches.items():
            yield from watch.end(states[name])
