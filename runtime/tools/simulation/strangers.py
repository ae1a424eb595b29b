"""Detects files of a simulation without any attribute of the stream (`records.unrelated_files`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import define, field

from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.records.json_objects import JsonObject
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.connectors.records.near_names import NearNames, lacks_names
from cedilla.runtime.connectors.records.nested import whole_of
from cedilla.runtime.connectors.records.path_keys import KEYS, UnreadKeys
from cedilla.runtime.connectors.records.typed_rows import TypedRow
from cedilla.runtime.connectors.records.unrelated_files import (
    has_some,
    is_asked,
    keys_beside,
    paths_read,
    shown_keys,
    unrelated_file,
)
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.tools.simulation.inputs import Input, is_marker


@define
class SimulatedStrangers:
    """Examines tuples until a file has one with an attribute."""

    _plan: Plan
    _files: dict[tuple[str, str], list[str] | None] = field(factory=dict[tuple[str, str], list[str] | None])
    """Source and file -> the keys of its first tuple; `None` after a tuple with an attribute."""
    _near: NearNames = field(factory=NearNames)
    _unread: UnreadKeys = field(factory=UnreadKeys)
    _kinds: set[tuple[str | FieldPath, ...]] = field(factory=set[tuple[str | FieldPath, ...]])
    """The source and the keys of every kind of tuple so far."""

    def see(self, lines: Iterable[Input], states: Mapping[str, SourceState]) -> Iterator[Diagnostic]:
        """Takes lines, and yields RQ361 for near misses in them, and RQ347 for keys in the paths of their files.
        `states`: of the sources then."""
        for line in lines:
            source = self._plan.source_of[line.source]
            if is_marker(line.item) or "$corrupt" in line.item:
                continue
            file, attributes = line.line.place.rpartition(":")[0], states[line.source].field_types
            path_keys = line.item.get(KEYS, {})
            yield from self._unread.of(source, path_keys, attributes, file)
            if self._plan.settings["drift"] == "ignore" and lacks_names(source):
                yield from self._near_names(source, line, attributes, file)
            if not is_asked(source):
                continue
            key = line.source, file
            if self._files.get(key, ()) is None:
                continue
            item, paths = _whole(line.line), paths_read(source, attributes)
            if has_some(item, paths) or any((name,) in paths for name in path_keys):
                self._files[key] = None
            else:
                self._files.setdefault(key, shown_keys(item, paths, source.format))

    def _near_names(
        self, source: Source, line: Input, attributes: Iterable[str], file: str
    ) -> Iterator[Diagnostic]:
        keys = keys_beside(whole_of(line.item), paths_read(source, attributes))
        keys += [(key,) for key in line.item.get(KEYS, {})]
        if (kind := (line.source, *keys)) not in self._kinds:
            self._kinds.add(kind)
            yield from self._near.of(source, keys, attributes, file)

    def end(self, states: Mapping[str, SourceState]) -> Iterator[Diagnostic]:
        """Yields RQ320 for each file without such a tuple."""
        for (name, file), keys in self._files.items():
            if keys is not None:
                yield unrelated_file(self._plan.source_of[name], file, keys, states[name].field_types)


def _whole(line: Line) -> Mapping[str, Any]:
    """Returns a tuple as its producer has written it; of a row of typed columns, all of them."""
    item = whole_of(line.holds())
    return JsonObject.fromkeys(item.kinds) if isinstance(item, TypedRow) else item
