"""Tuples that are objects in objects, by the names of attributes: `city: string from "address.city"`.

An attribute with keys is what they lead to, and undefined where one of them is missing or null on the way, also the
last. A value on the way that is no object is wrong, as a value of another type is (RQ301): a list, too. A key of the
tuple that a path begins with is no field of its own, and neither is one with the name of an attribute that is read
elsewhere. Of keys that come twice in an object the last one counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from cedilla.compiler.plan.origins import Keys, TextKeys, path_text
from cedilla.runtime.items import json_objects
from cedilla.runtime.items.csv_records import number_in
from cedilla.runtime.items.json_objects import JsonObject, NoObject, parse_line

Paths = Mapping[str, Keys]
"""Attribute -> the keys that lead to its value; one that is not named is a field of the tuple."""


class NestedObject(JsonObject):
    """A tuple by the names of attributes. `whole`: as it is written."""

    whole: JsonObject
    paths: Paths

    def texts_of(self, names: Collection[str]) -> Mapping[str, str]:
        texts: dict[str, str] = {}
        for name in names:
            inner, key = self._inner(name)
            texts[name] = inner.texts_of([key])[key]
        return texts

    def shown(self, name: str) -> str:
        """A value for a message, and where it stands."""
        inner, key = self._inner(name)
        said = json_objects.shown(inner, key)
        if isinstance(self[name], NoObject):
            said = f"{said} is no object"
        return f"{said}{read_from(name, self.paths)}"

    def _inner(self, name: str) -> tuple[JsonObject, str]:
        """The object that a value, or what is no object on the way to it, stands in, and its key there."""
        *outer, last = self.paths.get(name, (name,))
        value = self.whole
        for key in outer:
            if not isinstance(value[key], dict):
                return value, key
            value = parse_line(value.texts_of([key])[key])
        return value, last


def by_names(item: JsonObject, paths: Paths) -> JsonObject:
    """A tuple by the names of attributes."""
    if not paths:
        return item
    outer = {keys[0] for keys in paths.values()}
    nested = NestedObject(
        {name: value for name, value in item.items() if name not in outer and name not in paths}
    )
    nested.line, nested.whole, nested.paths = item.line, item, paths
    for name, keys in paths.items():
        if (value := _value(item, keys)) is not None:
            nested[name] = in_text(value) if isinstance(keys, TextKeys) else value
    return nested


def in_text(value: Any) -> Any:
    """The number that a text is, as JSON would have it; else the value itself, which is no number then."""
    number = number_in(value) if isinstance(value, str) else None
    return value if number is None else number


def _value(item: Mapping[str, Any], keys: Keys) -> Any:
    value: Any = item
    for key in keys:
        if value is None:
            return None
        if not isinstance(value, dict):
            return NoObject()
        value = value.get(key)  # type: ignore[reportUnknownMemberType]
    return value  # type: ignore[reportUnknownVariableType]


def read_from(name: str, paths: Paths) -> str:
    """Where an attribute is read, for the end of a message; nothing where its name says it."""
    return f" (read from {path_text(paths[name])})" if name in paths else ""
