"""Finds the cause of the bad lines of a simulation (`records.unreadable`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import define, field

from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.records.unreadable import HEAD, BadLine, unreadable
from cedilla.runtime.tools.simulation.inputs import Input

_MAX = 1000
"""The most lines of a source that are looked at."""


@define
class SimulatedCauses:
    """Takes the lines that are not tuples."""

    _plan: Plan
    _lines: dict[str, list[BadLine]] = field(factory=dict[str, list[BadLine]])
    _counts: dict[str, int] = field(factory=dict[str, int])
    _heads: dict[str, bytes] = field(factory=dict[str, bytes])

    def see(self, aside: Iterable[tuple[Input, str]]) -> None:
        """Takes rejected lines with their codes."""
        for line, code in aside:
            if code == "RQ301" and not self._plan.source_of[line.source].format_kind.columnar:
                self._counts[line.source] = self._counts.get(line.source, 0) + 1
                if self._counts[line.source] <= _MAX:
                    bad = BadLine(line.line.place, self._head(line))
                    self._lines.setdefault(line.source, []).append(bad)

    def end(self) -> Iterator[Diagnostic]:
        """Yields RQ346 for each source with a cause."""
        for name, lines in self._lines.items():
            warning = unreadable(name, lines, is_all=self._counts[name] <= _MAX)
            if warning is not None:
                yield warning

    def _head(self, line: Input) -> bytes:
        path = line.line.place.rpartition(":")[0]
        if self._plan.source_of[line.source].is_topic or path == "<stdin>":
            return line.line.text[:HEAD].encode("utf-8", "replace")
        if path not in self._heads:
            with Path(path).open("rb") as stream:
                self._heads[path] = stream.read(HEAD)
        return self._heads[path]
