"""Converts tuples with nested objects to attribute names: `city: string from "address.city"`.

An attribute with a path has the value at its end. It is undefined if a key of the path is missing or null. A value on
the path that is not an object, such as a list, is an error (RQ301), like a value of another type. An attribute with
several paths has the value at any of them; different values are an error (RQ312). A key of the tuple that begins a path
is not a field. The same holds for a key with the name of an attribute that has a path. If an object contains a key
twice, the last one counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from cedilla.compiler.expressions.types import DOUBLE, STRING, VERSION
from cedilla.compiler.plan.field_paths import (
    CommaPath,
    EitherPath,
    EitherSignPath,
    FieldPath,
    PointPath,
    TextPath,
    alternatives,
    leads_into,
    levels,
    outer_keys,
    path_text,
)
from cedilla.compiler.plan.record_fields import origin_text
from cedilla.runtime.connectors.records import json_objects
from cedilla.runtime.connectors.records.csv_records import number_in
from cedilla.runtime.connectors.records.json_objects import (
    JsonObject,
    NoObject,
    TwoValues,
    json_text,
    parse_line,
    word,
)
from cedilla.runtime.connectors.records.values import value_of_json

Paths = Mapping[str, FieldPath]
"""Maps attributes to the keys that lead to their values; other attributes are fields of the tuple."""


class NestedObject(JsonObject):
    """A tuple by the names of attributes. `whole`: the original object. `paths`: of several paths the one it has."""

    whole: JsonObject
    paths: dict[str, FieldPath]

    def texts_of(self, names: Collection[str]) -> Mapping[str, str]:
        texts: dict[str, str] = {}
        for name in names:
            texts[name] = _text_at(self.whole, self.paths.get(name, (name,)))
        return texts

    def shown(self, name: str) -> str:
        """Returns a value and its path for a message."""
        inner, key = _inner(self.whole, self.paths.get(name, (name,)))
        text = json_objects.shown(inner, key)
        if isinstance(self[name], NoObject):
            text = f"{text}, which is not an object"
        return f"{text}{_missed_sign(self.paths.get(name, ()))}{read_from(name, self.paths)}"


def _missed_sign(keys: FieldPath) -> str:
    if isinstance(keys, EitherSignPath):
        return ", which has no decimal comma or point, or may be thousands"
    if isinstance(keys, PointPath):
        return ", without a decimal point"
    return ", without a decimal comma" if isinstance(keys, CommaPath) else ""


def _inner(value: JsonObject, keys: FieldPath) -> tuple[JsonObject, str]:
    """Returns the innermost object on the path to a value, and the key in it."""
    *outer, last = keys
    for key in outer:
        if not isinstance(value[key], dict):
            return value, key
        value = parse_line(value.texts_of([key])[key])
    return value, last


def _text_at(item: JsonObject, keys: FieldPath) -> str:
    inner, key = _inner(item, keys)
    return inner.texts_of([key])[key]


def by_names(item: JsonObject, paths: Paths) -> JsonObject:
    """Converts a tuple to the names of attributes."""
    if not paths:
        return item
    outer = outer_keys(paths.values())
    nested = NestedObject(
        {name: value for name, value in item.items() if name not in outer and name not in paths}
    )
    nested.line, nested.whole, nested.paths = item.line, item, dict(paths)
    for name, keys in paths.items():
        if isinstance(keys, EitherPath):
            nested.paths[name], value = _value_with_path(item, keys, paths)
        else:
            value = value_at(item, keys)
            value = None if _is_other_form(item, keys, value, paths) else value
        if value is not None:
            nested[name] = _number(item, keys, value) if isinstance(keys, TextPath) else value
    return nested


def objects_at(
    item: Mapping[str, Any], outer: Iterable[FieldPath]
) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    """Yields the objects of a tuple at some paths, each with its path, from outside in."""
    for level in sorted(outer):
        inner = value_at(item, level)
        if isinstance(inner, dict):
            yield level, inner  # type: ignore[reportUnknownVariableType]


def siblings(item: Mapping[str, Any], paths: Paths) -> Iterator[tuple[FieldPath, Any]]:
    """Yields the values next to those at paths, in the tuple itself and in each object that contains the end of one."""
    every = [*all_paths(paths)]
    for level, inner in objects_at(item, {(), *levels(paths.values())}):
        taken = {keys[len(level)] for keys in every if leads_into(level, keys)}
        taken.update(("", *(() if level else paths)))
        yield from (((*level, key), value) for key, value in inner.items() if key not in taken)


def undeclared(
    item: Mapping[str, Any], paths: Paths, names: Collection[str], places: Collection[FieldPath]
) -> dict[str, Any]:
    """Maps the fields of a tuple that nothing has announced to their values; fields inside of objects by their paths.
    `places`: the objects with declared attributes."""
    fields = item.items()
    if isinstance(item, NestedObject):
        beside = siblings(item.whole, paths)
        fields = ((path_text(keys), value) for keys, value in beside if keys[:-1] in places)
    return {name: value for name, value in fields if value is not None and name not in names}


def _number(item: JsonObject, keys: TextPath, value: Any) -> Any:
    if not isinstance(keys, CommaPath):
        return in_text(value)
    text = item.written.get(keys[0], value)
    if not isinstance(text, str):
        return value
    return with_either_sign(text) if isinstance(keys, EitherSignPath) else with_comma(text)


def with_comma(text: str) -> Any:
    """Returns the number in a text with a decimal comma; the text itself if it is not such a number, as `1.234,5`."""
    return text if "." in text else in_text(text.replace(",", "."))


THOUSANDS = r"^[ \t]*[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}[ \t]*$"
"""Texts whose sign may separate whole thousands: `1,234` is 1.234 or 1234."""


def with_either_sign(text: str) -> Any:
    """Returns the number in a text with a decimal comma or point; the text itself if it is not such a number, or may be
    whole thousands."""
    is_unclear = re.search(THOUSANDS, text) is not None or ("," in text and "." in text)
    return text if is_unclear else in_text(text.replace(",", "."))


def in_text(value: Any) -> Any:
    """Returns the number in a text as in JSON; other values are returned unchanged."""
    number = number_in(value) if isinstance(value, str) else None
    return value if number is None else number


def value_at(item: Mapping[str, Any], keys: FieldPath) -> Any:
    """Returns the value at a path: `None` if a key is missing, `NoObject` for another value on the way."""
    value: Any = item
    for key in keys:
        if value is None:
            return None
        if not isinstance(value, dict):
            return NoObject()
        value = value.get(key)  # type: ignore[reportUnknownMemberType]
    return value  # type: ignore[reportUnknownVariableType]


def whole_of(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a tuple as the producer has written it, with its nested objects."""
    return item.whole if isinstance(item, NestedObject) else item


def after_renames(item: Mapping[str, Any], paths: Paths) -> JsonObject:
    """Converts a tuple by the names of attributes again, with the paths and signs that accents have given."""
    whole = whole_of(item)
    if isinstance(whole, JsonObject) and (again := whole.with_paths(paths)) is not None:
        return again
    if not isinstance(whole, JsonObject):
        whole = JsonObject(whole)
        whole.line = json_text(dict(whole))
    return by_names(whole, paths)


def _value_with_path(item: JsonObject, either: EitherPath, paths: Paths) -> tuple[FieldPath, Any]:
    """Returns the path where a tuple has the value of an attribute, and the value: `TwoValues` for different ones."""
    values = ((keys, value_at(item, keys)) for keys in either.every)
    own_values = [
        (keys, v) for keys, v in values if v is not None and not _is_other_form(item, keys, v, paths)
    ]
    different: set[Any] = set()
    for keys, value in own_values if len(own_values) > 1 else ():
        is_text = either.type in (STRING, VERSION) and not isinstance(value, str | NoObject)
        try:
            read = value_of_json(either.type, _text_at(item, keys) if is_text else value)
        except ValueError:
            return keys, value
        different.add((read, str(word(value))) if either.type == DOUBLE else read)
    if len(different) > 1:
        return either, TwoValues()
    return own_values[0] if own_values else (either, None)


def _is_other_form(item: JsonObject, keys: FieldPath, value: Any, paths: Paths) -> bool:
    """Returns True for an object with another path in it, and for a path into the plain value of another. Both are of
    one attribute: `"state" or "state.reading"`, or a rename."""
    if isinstance(value, dict):
        return any(leads_into(keys, path) for path in all_paths(paths))
    if not isinstance(value, NoObject):
        return False
    outer = (path for path in all_paths(paths) if leads_into(path, keys))
    return any(not isinstance(value_at(item, path), dict | NoObject) for path in outer)


def all_paths(paths: Paths) -> Iterator[FieldPath]:
    """Yields all paths, also alternatives."""
    return chain.from_iterable(map(alternatives, paths.values()))


def read_from(name: str, paths: Paths) -> str:
    """Returns the path of an attribute for the end of a message; empty if it has none."""
    keys = paths.get(name, ())
    text = origin_text(keys) or path_text(keys)
    return f" (read from {text})" if keys and text != name else ""
