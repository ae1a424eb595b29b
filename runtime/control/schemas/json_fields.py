"""The fields of a JSON Schema: their paths, types and units."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from attrs import frozen

from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.runtime.control.schemas.fields import UNITS, SchemaField

_Node = dict[str, Any]
_TYPES: Mapping[str, str] = {"integer": "long", "number": "double", "boolean": "boolean", "string": "string"}
_FORMATS: Mapping[str, str] = {"date-time": "timestamp", "date": "date"}
_DEEPEST = 20
"""The most objects that a field may be inside of, and the most references to a schema."""


def json_fields(text: str, imported: Mapping[str, str]) -> dict[FieldPath, SchemaField]:
    """Returns the fields of a schema by their paths. `imported`: the texts of the schemas that it names, by names.

    Raises `ValueError` if it is not the schema of an object.
    """
    root = json.loads(text)
    documents = {name: json.loads(other) for name, other in imported.items()}
    if not isinstance(root, dict):
        raise ValueError("it is not the schema of an object")
    reader = _Reader({**documents, "": root})
    node, document = reader.resolved(cast(_Node, root), "")
    if "properties" not in node:
        raise ValueError("it is not the schema of an object")
    return {one.path: one for one in reader.fields(node, document)}


@frozen
class _Reader:
    """Reads schemas. `documents`: by their names, the schema itself without one."""

    documents: Mapping[str, Any]

    def resolved(self, node: _Node, document: str) -> tuple[_Node, str]:
        """Returns the schema that a reference names, with the other properties of the reference, and its document.

        Raises `ValueError` if the schema is missing.
        """
        for _ in range(_DEEPEST):
            if not isinstance(reference := node.get("$ref"), str):
                return node, document
            name, _, pointer = reference.partition("#")
            document = name or document
            target = self.documents.get(document)
            for part in filter(None, pointer.split("/")):
                key = part.replace("~1", "/").replace("~0", "~")
                target = cast(_Node, target).get(key) if isinstance(target, dict) else None
            if not isinstance(target, dict):
                raise ValueError(f"it names `{reference}`, which is not known")
            node = {**cast(_Node, target), **{key: value for key, value in node.items() if key != "$ref"}}
        raise ValueError("its references have no end")

    def fields(
        self, node: _Node, document: str, at: FieldPath = (), *, is_optional: bool = False
    ) -> Iterator[SchemaField]:
        """Yields the fields of an object, those of objects inside of it at their paths."""
        required = cast(list[str], node.get("required", []))
        for name, schema in cast(dict[str, Any], node["properties"]).items():
            member: _Node = schema if isinstance(schema, dict) else {}
            one, within, is_null = self._without_null(member, document)
            may_lack = is_optional or is_null or name not in required
            path = (*at, name)
            if "properties" in one:
                if len(path) < _DEEPEST:
                    yield from self.fields(one, within, path, is_optional=may_lack)
                continue
            unit = next((str(of[key]) for of in (member, one) for key in UNITS if key in of), None)
            read, stored = self._types(one, within)
            symbols = tuple(value for value in one.get("enum", ()) if isinstance(value, str))
            yield SchemaField(path, read, stored, may_lack, unit, symbols=symbols)

    def _without_null(self, node: _Node, document: str) -> tuple[_Node, str, bool]:
        """Returns a schema without its branch `null`, its document, and whether it had one."""
        one, document = self.resolved(node, document)
        for word in ("oneOf", "anyOf"):
            if isinstance(branches := one.get(word), list):
                others = [b for b in cast(list[_Node], branches) if b.get("type") != "null"]
                if len(others) == 1:
                    inner, document = self.resolved(others[0], document)
                    return inner, document, len(branches) > 1
        type_ = one.get("type")
        if isinstance(type_, list):
            kinds = [kind for kind in cast(list[str], type_) if kind != "null"]
            return {**one, "type": kinds[0] if len(kinds) == 1 else "union"}, document, "null" in type_
        return one, document, False

    def _types(self, node: _Node, document: str) -> tuple[str, str]:
        """Returns the type of an attribute, empty if none reads the field, and the name of the type in the schema."""
        kind = str(node.get("type", "string" if "enum" in node else "union"))
        if kind == "array" and isinstance(items := node.get("items"), dict):
            inner, _ = self.resolved(cast(_Node, items), document)
            return ("list of string", "array of strings") if inner.get("type") == "string" else ("", "array")
        if kind == "string" and node.get("format") in _FORMATS:
            return _FORMATS[node["format"]], node["format"]
        return _TYPES.get(kind, ""), kind
