"""The fields of a schema of Avro: their paths, types, units and earlier names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from attrs import field, frozen

from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.runtime.connectors.records.avro import with_connect_type
from cedilla.runtime.control.schemas.fields import UNITS, SchemaField

_PRIMITIVES: Mapping[str, str] = {
    "int": "int",
    "long": "long",
    "float": "double",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
}
_LOGICAL: Mapping[str, str] = {
    **dict.fromkeys((f"timestamp-{of}" for of in ("millis", "micros", "nanos")), "timestamp"),
    **dict.fromkeys((f"local-timestamp-{of}" for of in ("millis", "micros", "nanos")), "timestamp"),
    **dict.fromkeys(("time-millis", "time-micros"), "string"),
    "date": "date",
    "uuid": "string",
}


def avro_fields(text: str, references: Sequence[str] = (), row: str = "") -> dict[FieldPath, SchemaField]:
    """Returns the fields of a schema by their paths. `references`: the schemas that it names. `row`: the field with the
    record whose fields are returned, if it is another one.

    Raises `ValueError` if it is not the schema of a record.
    """
    reader = _Reader()
    for reference in references:
        reader.name(json.loads(reference))
    schema = json.loads(text)
    reader.name(schema)
    if not isinstance(schema, dict) or cast(dict[str, Any], schema).get("type") != "record":
        raise ValueError("it is not the schema of a record")
    return {one.path: one for one in reader.fields(reader.record(schema, row), _Place())}


@frozen
class _Place:
    """The place of the fields of a record. `paths`: the path of the record, and those by aliases. `within`: the names
    of the records around it."""

    paths: tuple[FieldPath, ...] = ((),)
    is_optional: bool = False
    within: tuple[str, ...] = ()


@frozen
class _Reader:
    named: dict[str, dict[str, Any]] = field(factory=dict[str, dict[str, Any]])

    def name(self, schema: Any, space: str = "") -> None:
        """Notes the named types in a schema, by their names with and without the namespace."""
        match schema:
            case list():
                for branch in cast(list[Any], schema):
                    self.name(branch, space)
            case dict():
                node = cast(dict[str, Any], schema)
                inner = str(node.get("namespace", space))
                if "name" in node:
                    name = str(node["name"])
                    inner = name.rpartition(".")[0] or inner
                    short = name.rpartition(".")[2]
                    self.named.update(dict.fromkeys((name, short, f"{inner}.{short}"), node))
                for part in ("type", "items", "values"):
                    if isinstance(node.get(part), dict | list):
                        self.name(node[part], inner)
                for member in cast(list[dict[str, Any]], node.get("fields", [])):
                    self.name(member["type"], inner)
            case _:
                pass

    def record(self, schema: Mapping[str, Any], row: str) -> Mapping[str, Any]:
        """Returns the record in a field of a schema; the schema itself if it has no such field."""
        members = cast(list[dict[str, Any]], schema.get("fields", []))
        types = (self._without_null(member["type"])[0] for member in members if member["name"] == row)
        return next((node for type_ in types if (node := self._node(type_))["type"] == "record"), schema)

    def fields(self, record: Mapping[str, Any], at: _Place) -> Iterator[SchemaField]:
        """Yields the fields of a record, those of nested records at their paths. A record in itself is left out."""
        for member in cast(list[dict[str, Any]], record.get("fields", [])):
            names = (str(member["name"]), *map(str, member.get("aliases", ())))
            path, *earlier = ((*above, name) for above in at.paths for name in names)
            type_, is_null = self._without_null(member["type"])
            node = self._node(type_)
            is_optional = at.is_optional or is_null
            if node["type"] == "record":
                if (name := str(node.get("name", ""))) not in at.within:
                    yield from self.fields(node, _Place((path, *earlier), is_optional, (*at.within, name)))
                continue
            unit = next((str(of[key]) for of in (member, node) for key in UNITS if key in of), None)
            symbols = tuple(map(str, node.get("symbols", ())))
            read, stored = self._types(node)
            yield SchemaField(path, read, stored, is_optional, unit, tuple(earlier), symbols=symbols)

    def _without_null(self, type_: Any) -> tuple[Any, bool]:
        """Returns a type without the branch `null` of a union, and whether it had one."""
        if not isinstance(type_, list):
            return type_, False
        others = [branch for branch in cast(list[Any], type_) if branch != "null"]
        return (others[0] if len(others) == 1 else others), len(others) < len(cast(list[Any], type_))

    def _node(self, type_: Any) -> dict[str, Any]:
        """Returns a type as a node; a name stands for the type that it names."""
        match type_:
            case str():
                return self.named.get(type_, {"type": type_})
            case dict():
                node = cast(dict[str, Any], type_)
                inner = node.get("type")
                if isinstance(inner, dict):
                    return {**cast(dict[str, Any], inner), **{k: v for k, v in node.items() if k != "type"}}
                return node
            case _:
                return {"type": "union"}

    def _types(self, node: Mapping[str, Any]) -> tuple[str, str]:
        """Returns the type of an attribute, empty if none reads the field, and the name of the type in Avro."""
        node = with_connect_type(node)
        kind, logical = str(node["type"]), str(node.get("logicalType", ""))
        if logical == "decimal" and "precision" in node:
            return f"decimal({node['precision']},{node.get('scale', 0)})", "decimal"
        if logical in _LOGICAL:
            return _LOGICAL[logical], logical
        if kind == "enum":
            return "string", "enum"
        if kind == "array" and self._types(self._node(node.get("items")))[0] == "string":
            return "list of string", "array of strings"
        return _PRIMITIVES.get(kind, ""), kind
