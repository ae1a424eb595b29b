"""Converts tuples with nested objects to attribute names: `city: string from "address.city"`.

An attribute with a path has the value at its end. It is undefined if a key of the path is missing or null. A value on
the path that is not an object, such as a list, is an error (RQ301), like a value of another type. A key of the tuple
that begins a path is not a field. The same holds for a key with the name of an attribute that has a path. If an object
contains a key twice, the last one counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from cedilla.compiler.plan.field_paths import CommaPath, FieldPath, TextPath, path_text
from cedilla.runtime.records import json_objects
from cedilla.runtime.records.csv_records import number_in
from cedilla.runtime.records.json_objects import JsonObject, NoObject, parse_line

Paths = Mapping[str, FieldPath]
"""Maps attributes to the keys that lead to their values; other attributes are fields of the tuple."""


class NestedObject(JsonObject):
    """A tuple by the names of attributes. `whole`: the original object."""

    whole: JsonObject
    paths: Paths

    def texts_of(self, names: Collection[str]) -> Mapping[str, str]:
        texts: dict[str, str] = {}
        for name in names:
            inner, key = self._inner(name)
            texts[name] = inner.texts_of([key])[key]
        return texts

    def shown(self, name: str) -> str:
        """Returns a value and its path for a message."""
        inner, key = self._inner(name)
        text = json_objects.shown(inner, key)
        if isinstance(self[name], NoObject):
            text = f"{text} is no object"
        comma = ", without a decimal comma" if isinstance(self.paths.get(name), CommaPath) else ""
        return f"{text}{comma}{read_from(name, self.paths)}"

    def _inner(self, name: str) -> tuple[JsonObject, str]:
        """Returns the innermost object on the path to a value, and the key in it."""
        *outer, last = self.paths.get(name, (name,))
        value = self.whole
        for key in outer:
            if not isinstance(value[key], dict):
                return value, key
            value = parse_line(value.texts_of([key])[key])
        return value, last


def by_names(item: JsonObject, paths: Paths) -> JsonObject:
    """Converts a tuple to the names of attributes."""
    if not paths:
        return item
    outer = {keys[0] for keys in paths.values()}
    nested = NestedObject(
        {name: value for name, value in item.items() if name not in outer and name not in paths}
    )
    nested.line, nested.whole, nested.paths = item.line, item, paths
    for name, keys in paths.items():
        if (value := _value(item, keys)) is not None:
            nested[name] = _number(item, keys, value) if isinstance(keys, TextPath) else value
    return nested


def _number(item: JsonObject, keys: TextPath, value: Any) -> Any:
    if not isinstance(keys, CommaPath):
        return in_text(value)
    text = item.written.get(keys[0], value)
    return with_comma(text) if isinstance(text, str) else value


def with_comma(text: str) -> Any:
    """Returns the number in a text with a decimal comma; the text itself if it is no such number, as `1.234,5`."""
    return text if "." in text else in_text(text.replace(",", "."))


def in_text(value: Any) -> Any:
    """Returns the number in a text as in JSON; other values are returned unchanged."""
    number = number_in(value) if isinstance(value, str) else None
    return value if number is None else number


def _value(item: Mapping[str, Any], keys: FieldPath) -> Any:
    value: Any = item
    for key in keys:
        if value is None:
            return None
        if not isinstance(value, dict):
            return NoObject()
        value = value.get(key)  # type: ignore[reportUnknownMemberType]
    return value  # type: ignore[reportUnknownVariableType]


def read_from(name: str, paths: Paths) -> str:
    """Returns the path of an attribute for the end of a message; empty if it has none."""
    keys = paths.get(name, ())
    is_own = isinstance(keys, CommaPath) and keys == (name,)
    return f" (read from {path_text(keys)})" if keys and not is_own else ""
