"""Recognizes lines of a change stream, which report changes of rows of a database: an update or a delete is not a new
tuple (RQ348)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from cedilla.compiler.plan import Source
from cedilla.compiler.plan.field_paths import alternatives
from cedilla.grammar.diagnostics import Diagnostic

_FLAT = {
    "__op": "a flattened change stream of Debezium",
    "__deleted": "a flattened change stream of Debezium",
}
_TYPES = {"insert", "update", "delete", "bootstrap-insert"}
_OPERATIONS = {"c", "r", "u", "d", "t"}


@frozen
class ChangeStream:
    """The producer of a line, by its shape, and the path of the field that says what happened."""

    producer: str
    path: str

    @property
    def is_debezium(self) -> bool:
        """True if `format debezium` reads its lines."""
        return "Debezium" in self.producer


def change_stream(item: Mapping[str, Any]) -> ChangeStream | None:
    """Returns what a line shows of a change stream; `None` for an ordinary tuple."""
    match item:
        case {"payload": {"before": _, "after": _, "op": str(op)}} if op in _OPERATIONS:
            return ChangeStream("a change stream of Debezium", "payload.op")
        case {"before": _, "after": _, "op": str(op)} if op in _OPERATIONS:
            return ChangeStream("a change stream of Debezium", "op")
        case {"database": str(), "table": str(), "type": str(kind), "data": list()} if kind.lower() in _TYPES:
            return ChangeStream("a change stream of Canal", "type")
        case {"database": str(), "table": str(), "type": str(kind), "data": _} if kind in _TYPES:
            return ChangeStream("a change stream of Maxwell", "type")
        case _:
            return next((ChangeStream(_FLAT[key], key) for key in _FLAT if key in item), None)


def changes_told(source: Source, item: Mapping[str, Any], position: str) -> Diagnostic | None:
    """Returns RQ348 for a line of a change stream whose operation a source does not read."""
    stream = change_stream(item)
    if stream is None or source.changes or tuple(stream.path.split(".")) in _paths_read(source):
        return None
    message = (
        f"`{source.name}` reads {stream.producer}: an update or a delete of a row counts as one more tuple"
    )
    name = stream.path.rpartition(".")[2].lstrip("_")
    hint = (
        "`format debezium by KEY` after the path reads its inserts, and sets updates and deletes aside; "
        if stream.is_debezium
        else ""
    )
    hint += (
        f'an attribute `{name}: string from "{stream.path}"` says what happened, for a `select` of what counts; '
        "`top[1 by TIME desc per KEY]` keeps the last state of a row"
    )
    return Diagnostic("RQ348", "warning", message, None, (f"the first such line: {position}",), hint)


def _paths_read(source: Source) -> set[tuple[str, ...]]:
    names = (attribute.name for attribute in source.attributes)
    paths = (source.paths.get(name) or (name,) for name in names)
    return {tuple(path) for keys in paths for path in alternatives(keys)}
