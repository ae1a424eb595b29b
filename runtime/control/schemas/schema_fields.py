"""Reads the fields of a registered schema, or those of the row in one of change events."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.runtime.connectors.topics.registry import RegisteredSchema
from cedilla.runtime.control.schemas.avro_fields import avro_fields
from cedilla.runtime.control.schemas.fields import SchemaField
from cedilla.runtime.control.schemas.json_fields import json_fields
from cedilla.runtime.control.schemas.protobuf_fields import protobuf_fields

KINDS = ("AVRO", "JSON", "PROTOBUF")
"""The kinds of schemas whose fields are read."""
_ROW, _OPERATION = "after", "op"
"""The fields of a change event with its row, and with what has happened."""


def fields_in(schema: RegisteredSchema, *, of_rows: bool = False) -> Mapping[FieldPath, SchemaField]:
    """Returns the fields of a schema by their paths. `of_rows`: those of the row, of change events.

    Raises `ValueError`, `KeyError` or `TypeError` for a schema of another kind or form.
    """
    row = _ROW if of_rows else ""
    match schema.kind:
        case "AVRO":
            return avro_fields(schema.text, schema.references, row)
        case "JSON":
            return _inside(json_fields(schema.text, schema.imported), row)
        case "PROTOBUF":
            return _inside(protobuf_fields(schema.text, schema.imported), row)
        case _:
            raise ValueError(f"a schema of {schema.kind}")


def paths_in(schema: RegisteredSchema) -> tuple[FieldPath, ...]:
    """Returns the paths of the fields of a schema; none if it is not that of a record."""
    try:
        return tuple(fields_in(schema))
    except (ValueError, KeyError, TypeError):
        return ()


def is_of_events(schema: RegisteredSchema) -> bool:
    """Returns True for a schema of change events as Debezium registers them."""
    paths = paths_in(schema)
    return (_OPERATION,) in paths and any(path[0] == _ROW and len(path) > 1 for path in paths)


def _inside(fields: Mapping[FieldPath, SchemaField], key: str) -> Mapping[FieldPath, SchemaField]:
    """Returns the fields inside of an object by their paths there; all fields without one."""
    inner = {path[1:]: one for path, one in fields.items() if key and path[0] == key and len(path) > 1}
    return {
        path: evolve(one, path=path, earlier=tuple(keys[1:] for keys in one.earlier if keys[0] == key))
        for path, one in inner.items()
    } or fields
