"""Looks for change streams of databases in a simulation (`records.change_streams`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import define, field

from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.records.change_streams import changes_told
from cedilla.runtime.connectors.records.json_objects import object_of
from cedilla.runtime.tools.simulation.inputs import Input, is_marker

_LOOKED_AT = 100
"""The lines of a source that are looked at."""


@define
class SimulatedChanges:
    """Takes the first lines of each source, until one is of a change stream."""

    _plan: Plan
    _seen: dict[str, int] = field(factory=dict[str, int])

    def see(self, lines: Iterable[Input]) -> Iterator[Diagnostic]:
        """Yields RQ348 once for a source."""
        for line in lines:
            source, number = self._plan.source_of[line.source], self._seen.get(line.source, 0)
            if number >= _LOOKED_AT or is_marker(line.item):
                continue
            self._seen[line.source] = number + 1
            if not source.format_kind.has_objects:
                continue
            if (warning := changes_told(source, object_of(line.line.text), line.line.place)) is not None:
                self._seen[line.source] = _LOOKED_AT
                yield warning
