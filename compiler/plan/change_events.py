"""Sources of change events of a database: `from json "in/customers" format debezium by id`.

A tuple is a row of the table. An attribute reads its column, or with `from change "source.lsn"` a field of the event
around it. Readers write these fields into the tuple, as an object under one key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cedilla.compiler.plan.formats import FORMATS, names_where
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean, unknown_attribute
from cedilla.grammar.formatting.expression_formatter import quote

if TYPE_CHECKING:
    from cedilla.compiler.plan.sources import Attribute

CHANGE = "change"
"""The word before the name of a field of an event."""
EVENT = "@change"
"""The key of the fields of an event in a tuple."""
FORMS = ("debezium",)
"""The kinds of change events that are read."""
READ = "Change events: inserted rows are tuples; updates and deletes are set aside (RQ540)."
"""What a stream reads of them, for comments in queries that tools write."""
COLUMNS, OPERATION, TIME = "columns", "op", "time"
"""Fields that are made of an event: the names of the columns of its row, with commas between them; the letter of its
operation; the time of the change in the database."""
OWN: Mapping[str, tuple[str, ...]] = {
    COLUMNS: ("string",),
    OPERATION: ("string",),
    TIME: ("timestamp",),
}
"""These fields, and the types of an attribute that reads each of them."""


def check_changes(node: syntax.StreamDeclaration, attributes: Mapping[str, Attribute]) -> None:
    """Checks the clause of a source of change events.

    Raises RQ542 for a format without objects, and for unknown events; RQ544 for `as latest`; RQ102 for a
    key that is not an attribute; RQ543 for a field of the event of another type.
    """
    changes = node.changes
    if changes is None:
        return
    if changes.format not in FORMS:
        message, hint = f"unknown events `{changes.format}`", did_you_mean(changes.format, FORMS, "events")
        if changes.format.lower() in ("avro", "protobuf", "json"):
            hint = "records are JSON, or by a `registry` of schemas also Avro and Protobuf, without `format`"
        raise failure("RQ542", message, changes.span, hint=hint)
    if not changes.keys:
        message = f"the rows of `{node.name}` have no key"
        raise failure("RQ542", message, changes.span, hint="that of the table, `format debezium by id`")
    if not FORMATS[node.format].has_objects:
        message = f"change events are objects of JSON, and `{node.name}` is `from {node.format}`"
        readable = " and ".join(f"`{name}`" for name in names_where(lambda kind: kind.has_objects))
        raise failure("RQ542", message, changes.span, hint=f"they are read from {readable}")
    if changes.latest is not None and node.kind == "stream":
        message = "a stream does not take back what an update or a delete has replaced"
        hint = (
            "a `table` has the last state of each row when the query begins; without `as latest`, updates and deletes "
            "are set aside (RQ540)"
        )
        raise failure("RQ544", message, changes.span, hint=hint)
    if changes.latest is not None and changes.latest != changes.keys:
        message, hint = (
            "last states are those of rows, by their key",
            f"`{clause(changes.keys, latest=True)}`",
        )
        raise failure("RQ544", message, changes.span, hint=hint)
    for key in changes.keys:
        if key not in attributes:
            raise unknown_attribute(key, attributes, changes.span, "in `format`")
    for declared in node.attributes:
        root, *path = attributes[declared.name].keys or (declared.name,)
        types = OWN.get(".".join(path)) if root == EVENT else None
        if types is not None and declared.type.name not in types:
            message = f"`{path[0]}` of a change event is not of type {declared.type.name}"
            raise failure("RQ543", message, declared.span, hint=f"it is read as `{'`, `'.join(types)}`")


def clause(keys: tuple[str, ...], *, latest: bool = False) -> str:
    """Returns the clause of a source by the key of its rows."""
    key = ", ".join(keys)
    return f"format {FORMS[0]} by {key}" + (f" as latest by {key}" if latest else "")


def event_text(path: str) -> str:
    """Returns the clause of a field of an event by its path, `change "source.lsn"`."""
    return f"{CHANGE} {quote(path)}"
