"""Fields of the records of a topic, or of the rows of a table, next to their value: `from record "schema"`,
`from header "ce_type"`.

The reader of a topic writes such a field into the tuple, under a key that is its path. Files of recorded records have
the same keys. The log of a table has it for each of its files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from attrs import frozen

from cedilla.compiler.plan.change_events import EVENT, event_text
from cedilla.compiler.plan.formats import FORMATS, names_where
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.formatting.expression_formatter import quote

if TYPE_CHECKING:
    from cedilla.compiler.plan.sources import Attribute, Source

RECORD, HEADER = "record", "header"
ROOTS = (RECORD, HEADER)
"""The words before the name of a field of a record, and before the key of a header."""
_PREFIX = f"@{RECORD}."
_OF_HEADER = f"{_PREFIX}{HEADER}."
_ANY = ("string", "int", "long", "double", "decimal", "boolean", "timestamp", "date", "version")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "key": _ANY,
    "timestamp": ("timestamp", "long"),
    "partition": ("int", "long"),
    "offset": ("long",),
    "schema": ("int", "long", "string"),
    "version": ("int", "long"),
    "snapshot": ("long",),
}
"""The fields of records, and the types of an attribute that reads each of them; `FormatKind.beside` has those of a
format."""


def is_schema(attribute: Attribute) -> bool:
    """Returns True if an attribute reads the id of the schema of its record."""
    return tuple(attribute.keys) == path_of(RECORD, "schema")


def unknown_schema_fault(sources: Iterable[Source], value: str) -> tuple[str, str] | None:
    """Returns message and hint if no source has what a value of `unknown_schema` requires, else `None`."""
    own = [(source, next(filter(is_schema, source.attributes), None)) for source in sources]
    listed = [(source, a) for source, a in own if a is not None and a.has_list]
    match value:
        case "abort" if not listed:
            what = "a stream that lists the ids of its schemas"
        case "import" if not any(
            s.registry is not None and a.type.name in ("int", "long") for s, a in listed
        ):
            what = "a stream with a registry that lists the ids of its schemas"
        case _:
            return None
    hint = '`schema: int from record "schema" in {3, 5}`, as `cedilla import registry` writes it'
    return f"`unknown_schema = {value}` is for {what}, and the query has none", hint


@frozen
class RecordField:
    """A field of records that an attribute reads. `path`: its key in the tuple. `header`: the key of a header, `None`
    for another field. `type`: the name of the attribute's type."""

    path: str
    name: str
    header: str | None
    type: str


def path_of(root: str, name: str) -> tuple[str, ...]:
    """Returns the path of a field of records, which is one key."""
    return (f"{_OF_HEADER if root == HEADER else _PREFIX}{name}",)


def origin_text(keys: tuple[str, ...]) -> str | None:
    """Returns the clause of a field of records, `record "schema"`, or of change events; `None` for other paths."""
    if keys[:1] == (EVENT,):
        return event_text(".".join(keys[1:]))
    if len(keys) != 1 or not keys[0].startswith(_PREFIX):
        return None
    if keys[0].startswith(_OF_HEADER):
        return f"{HEADER} {quote(keys[0].removeprefix(_OF_HEADER))}"
    return f"{RECORD} {quote(keys[0].removeprefix(_PREFIX))}"


def record_fields(source: Source) -> tuple[RecordField, ...]:
    """Returns the fields of records that a topic's attributes read; none for other sources."""
    if not source.is_topic:
        return ()
    return tuple(_fields((a.keys, a.type.name) for a in source.attributes))


def _fields(attributes: Iterable[tuple[tuple[str, ...], str]]) -> Iterable[RecordField]:
    for keys, type_ in attributes:
        if origin_text(keys) is None or keys[0] == EVENT:
            continue
        is_header = keys[0].startswith(_OF_HEADER)
        name = keys[0].removeprefix(_OF_HEADER if is_header else _PREFIX)
        yield RecordField(keys[0], HEADER if is_header else name, name if is_header else None, type_)


def check_record_fields(node: syntax.StreamDeclaration, attributes: Mapping[str, Attribute]) -> None:
    """Raises RQ503 for a field of records in a source without such fields, an unknown one, or one of another type."""
    kind = FORMATS[node.format]
    for declared in node.attributes:
        origin, attribute = declared.origin, attributes[declared.name]
        if origin is None:
            continue
        if origin.root in ROOTS and not (kind.is_topic or (origin.root == RECORD and kind.beside)):
            message = f"`{declared.name}` is read from a record of a topic, and `{node.name}` is `from {node.format}`"
            hint = f"records are those of {' and '.join(names_where(lambda kind: kind.is_topic))}"
            if origin.root == HEADER and kind.beside:
                hint = f'a row of a table has `from record "{kind.beside[0]}"`'
            elif kind.has_objects:
                hint += f'; `from "{origin.root}.{origin.text}"` is a path into the tuple'
            raise failure("RQ503", message, origin.span, hint=hint)
        if not kind.beside or not [*_fields([(attribute.keys, "")])]:
            continue
        (field,) = _fields([(attribute.keys, declared.type.name)])
        if field.header is None and field.name not in kind.beside:
            hint = did_you_mean(field.name, kind.beside, "fields")
            if field.name.startswith(HEADER):
                hint = 'a header is read by its own key, `from header "ce_type"`'
            raise failure("RQ503", f"a record has no field `{field.name}`", origin.span, hint=hint)
        types = _ANY if field.header is not None else FIELDS[field.name]
        if declared.type.name not in types or declared.type.element is not None:
            shown = "list" if declared.type.element is not None else declared.type.name
            message = f"the {field.name} of a record is not of type {shown}"
            raise failure("RQ503", message, declared.span, hint=f"it is read as `{'`, `'.join(types)}`")
