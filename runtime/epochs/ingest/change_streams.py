"""Looks at the first lines of each stream of a run for a change stream of a database (`records.change_streams`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import define, field

from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.records.change_streams import changes_told
from cedilla.runtime.connectors.records.json_objects import object_of
from cedilla.runtime.connectors.records.lines import unpacked
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.epochs.ingest.slices import Slice

_BEGIN = 1 << 16
"""The bytes of a file that are looked at; an envelope with its schema may be long."""


@define
class ChangeStreamSearch:
    """The streams of a run whose first file with tuples is not seen yet are looked at, each once."""

    files: Files
    _seen: set[str] = field(init=False, factory=set[str])

    def warnings(self, plan: Plan, parts: Mapping[str, Slice]) -> Iterator[Diagnostic]:
        """Yields RQ348 for streams of change events."""
        for name, part in parts.items():
            source = plan.source_of[name]
            if name in self._seen or not source.format_kind.has_objects:
                continue
            for number, file in part.numbered.items():
                if file.is_markers or number in part.scan.empty:
                    continue
                self._seen.add(name)
                for line, item in self._items(file):
                    if (warning := changes_told(source, item, f"{file.shown}:{line}")) is not None:
                        yield warning
                        break
                break

    def _items(self, file: InputFile) -> Iterator[tuple[int, Mapping[str, object]]]:
        with self.files.open(file.path) as stream, unpacked(stream, file.path) as text:
            begin: bytes = text.read(_BEGIN)
        for number, line in enumerate(begin.split(b"\n"), 1):
            if item := object_of(line):
                yield number, item
