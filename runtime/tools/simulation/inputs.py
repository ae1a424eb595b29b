"""Reads the lines of local files as items of sources, with their places for messages."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from cedilla.compiler.plan import Source
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.records import csv_records
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.connectors.records.near_markers import KINDS, marker_of
from cedilla.runtime.connectors.records.path_keys import KEYS, Keys, keys_below, may_have_keys
from cedilla.runtime.connectors.records.rejections import no_object
from cedilla.runtime.engines.plain.items import Item

_NO_TUPLES = ("$accent", "$punctuation", "$malformed", "$stray", "$columns", "$end")


@frozen
class Input:
    """A line of a source, with its text and place for messages."""

    source: str
    item: Item
    line: Line
    reason: str = ""
    """The reason for its rejection, in words."""

    def marked(self, diagnostic: Diagnostic) -> Diagnostic:
        """Gives a diagnostic the place of the line, with an excerpt of a marker."""
        marker = self.item.get("$accent") or self.item.get("$punctuation")
        return self.line.mark(diagnostic, None if marker is None else str(marker))


def is_marker(item: Item) -> bool:
    """Returns True if an item is a marker, or a malformed or misplaced one, or the end of a file."""
    return any(item.get(key) is not None for key in _NO_TUPLES)


def parsed(source: Source, line: Line) -> Input:
    """Parses a line as an item of a source."""
    if line.is_header:
        return Input(source.name, {"$columns": line.text}, line)
    if line.is_csv:
        return Input(source.name, _of_record(line), line)
    if line.item is not None:
        return Input(source.name, line.item, line)
    if line.problem is not None:
        return Input(source.name, {"$malformed": line.text, "$problem": line.problem}, line)
    if line.translate is not None:
        text = line.holds()["$punctuation"]
        return Input(source.name, {"$punctuation": text, "$translate": line.translate}, line)
    fault = line.fault
    try:
        item: Any = line.holds() if line.is_utf8 else None
    except ValueError as problem:
        item, fault = None, fault or no_object(problem)
    marker = marker_of(line.text, item, {attribute.name for attribute in source.attributes})
    if marker is not None and marker[0] not in KINDS:
        item = {"$malformed": line.text}
    elif item is None:
        item = {"$corrupt": line.text, **({"$fault": fault} if fault else {})}
    return Input(source.name, item, line)


def keys_of_file(source: Source, file: Path) -> Keys:
    """Returns the keys in the path of a local file of a source."""
    return keys_below(source.path, file) if may_have_keys(source) else {}


def with_keys(read: Input, keys: Keys) -> Input:
    """Returns a tuple with the keys in the path of its file; a marker is unchanged."""
    if not keys or is_marker(read.item):
        return read
    item: Any = copy(read.item)
    item[KEYS] = keys
    return evolve(read, item=item)


def _of_record(line: Line) -> Item:
    if csv_records.is_marker(line.text):
        return {"$malformed": line.text, "$problem": csv_records.NO_MARKERS}
    return {"$corrupt": line.text, "$fault": line.fault} if line.item is None else line.item
